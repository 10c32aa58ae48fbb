"""A finding of the doctor: one condition, the numbers that show it, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

Number = int | float


class Severity(StrEnum):
    """`critical`: documents aren't read, or soon won't be. `warning`: the condition slows the service down now.
    `note`: nothing hurts now, but another setting would be better.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A number or a word that a rule judged. One whose value is None, because it is unknown, isn't shown.

    Attributes:
        what: its name, such as `pages waiting`.
        unit: of `value`; the report formats `bytes`, `s` and `share` (of 1) for people: 1.5 GB, 2 min, 40%.
        against: the threshold, such as `under 4`; empty where the value only explains.
    """

    what: str
    value: Number | str | None
    unit: str = ""
    against: str = ""


def over(what: str, value: Number | None, limit: Number, unit: str = "") -> Evidence:
    """A value that is over its threshold."""
    return Evidence(what, value, unit, f"over {amount(limit, unit)}")


def under(what: str, value: Number | None, limit: Number, unit: str = "") -> Evidence:
    """A value that is under its threshold."""
    return Evidence(what, value, unit, f"under {amount(limit, unit)}")


@dataclass(frozen=True, slots=True)
class Advice:
    """A remedy. `setting`: the setting to change to `value`, which is `now`; empty where the remedy isn't a setting."""

    text: str
    setting: str = ""
    value: Number | str | bool | None = None
    now: Number | str | bool | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a rule returns. The condition's meaning, remedy and severity stand in for a title, advice or severity that
    is left out.
    """

    evidence: Sequence[Evidence]
    advice: Sequence[Advice] = ()
    severity: Severity | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition that the service has.

    Attributes:
        code: the name of the condition; it stays the same between versions.
        title: one sentence.
        runbook: the section of the documentation, relative to its base; empty where there is none.
    """

    code: str
    severity: Severity
    title: str
    evidence: tuple[Evidence, ...]
    advice: tuple[Advice, ...]
    runbook: str = ""


def amount(value: Number | str | None, unit: str = "") -> str:
    """A number with its unit, for people: 1.5 GB, 2 h 5 min, 40%."""
    if value is None or isinstance(value, str):
        return value or ""
    if unit == "share":
        return f"{value:.0%}"
    if unit.startswith("bytes"):
        size, name = next((s, n) for s, n in ((1e9, "GB"), (1e6, "MB"), (0, "bytes")) if abs(value) >= s)
        shown = f"{value / size:.1f}" if size == 1e9 else f"{value / (size or 1):.0f}"
        return f"{shown} {name}{unit.removeprefix('bytes')}"
    if unit == "s":
        return duration(value)
    shown = f"{value:.3g}" if isinstance(value, float) and value < 1000 else f"{value:.0f}"
    return f"{shown} {unit}".rstrip()


def duration(seconds: Number) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days"
