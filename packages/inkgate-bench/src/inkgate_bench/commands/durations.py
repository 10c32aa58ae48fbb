"""Parses durations and percentages in options: 500ms, 5s, 2m, 1m30s; 0.1%."""

from __future__ import annotations

import re

import typer

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|s|m|h)")
_BARE = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def seconds_of(text: str) -> float:
    """Seconds of a length of time such as `2m` or `1m30s`; a bare number is seconds. Raises ValueError."""
    rest = text.strip().lower().replace(" ", "")
    if _BARE.fullmatch(rest):
        return float(rest)
    parts = list(_PART.finditer(rest))
    if not parts or "".join(part[0] for part in parts) != rest:
        raise ValueError(f"{text!r} is not a duration. Write 500ms, 5s, 2m or 1m30s.")
    return sum(float(part[1]) * _SECONDS[part[2]] for part in parts)


def duration(value: str | float) -> float:
    """The `parser` of an option whose value is a length of time in seconds; its default may be a number or words."""
    if isinstance(value, int | float):
        return float(value)
    try:
        return seconds_of(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def share(value: str | float) -> float:
    """The `parser` of an option whose value is a share: `0.1%` and `0.001` are the same."""
    if isinstance(value, int | float):
        return float(value)
    number = value.strip()
    try:
        found = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not a percentage. Write 0.1% or 0.001.") from error
    if not 0 <= found <= 1:
        raise typer.BadParameter(f"{value!r} is not between 0 and 100%.")
    return found
