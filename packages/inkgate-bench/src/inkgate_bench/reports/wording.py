"""Numbers, times and shares as text: the same in tables, on charts and in sentences."""

from __future__ import annotations

import math
import re
from datetime import datetime

from inkgate_bench.load.results import Axis

NONE = "–"
"""Stands where a figure is missing."""
_DIGITS = 3
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters, unpaired surrogates, and characters that reverse the direction of text."""


def printable(raw: str) -> str:
    """The text, with a replacement character for each that HTML or XML can't hold or that reverses its direction."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", raw)


def cut(raw: str, longest: int) -> str:
    """The text on one line of at most `longest` characters, for charts and table headings."""
    line = " ".join(printable(raw).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def number(value: float | None, digits: int = _DIGITS) -> str:
    """Rounded to `digits` significant digits, thousands with a comma: `1,240`, `9.63`, `0.0042`."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, places):,.{places}f}"


def plain(value: float | None, digits: int = _DIGITS) -> str:
    """The same without trailing zeros, for values that were chosen and not measured."""
    shown = number(value, digits)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def count(value: float | None) -> str:
    """A whole number, thousands with a comma."""
    return NONE if value is None else f"{value:,.0f}"


def seconds(value: float | None, *, exact: bool = False) -> str:
    """A duration: `850 µs`, `12.0 ms`, `1.24 s`, `3 min 20 s`. `exact`: it was chosen, so `12 ms`."""
    if value is None or not math.isfinite(value):
        return NONE
    if value >= 120:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    shown = plain if exact else number
    if value >= 0.9995:
        return f"{shown(value)} s"
    return f"{shown(value * 1e3)} ms" if value >= 0.9995e-3 or value == 0 else f"{shown(value * 1e6)} µs"


def share(value: float | None) -> str:
    """A share of 1 as a percentage: `0 %`, `0.05 %`, `12 %`."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{plain(100 * value, 2 if abs(value) < 0.1 else _DIGITS)} %"


def change(value: float | None) -> str:
    """A ratio as a change: `+18 %`, `−6.2 %`."""
    if value is None or not math.isfinite(value):
        return NONE
    if value >= 10:
        return f"× {number(value)}"
    percent = 100 * (value - 1)
    digits = 1 if abs(percent) < 10 else 0
    return f"{'−' if round(percent, digits) < 0 else '+'}{abs(percent):.{digits}f} %"


def moment(iso: str) -> str:
    """`21 November 2026, 16:20 UTC`; text that is no time is shown unchanged."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def axis_words(axis: Axis) -> str:
    """The label of a chart's axis and of a table's column."""
    return "concurrent requests" if axis is Axis.CONCURRENCY else "requests per second"


def level_words(axis: Axis, level: float) -> str:
    """A load in words: `16 concurrent requests`."""
    words = axis_words(axis)
    return f"{plain(level, 4)} {words.replace('requests', 'request') if level == 1 else words}"
