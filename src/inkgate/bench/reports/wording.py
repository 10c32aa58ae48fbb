"""Figures and findings in words: the same in tables, on charts and in sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from inkgate.bench.load.results import Axis
from inkgate.bench.reports.differences import ALIKE, Ratio, Verdict

NONE = "–"
"""What stands where there is no figure."""
_DIGITS = 3


def number(value: float | None, digits: int = _DIGITS) -> str:
    """Rounded to so many significant digits, thousands with a comma: `1,240`, `9.63`, `0.0042`."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, places):,.{places}f}"


def plain(value: float | None, digits: int = _DIGITS) -> str:
    """The same for what was chosen and not measured: without zeros at the end."""
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
    """Of 1, in per cent: `0 %`, `0.05 %`, `12 %`."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{plain(100 * value, 2 if abs(value) < 0.1 else _DIGITS)} %"


def interval(low: float | None, high: float | None) -> str:
    """`12 to 20`; what stands for no figure where one end is missing."""
    return NONE if low is None or high is None else f"{plain(low)} to {plain(high)}"


def change(value: float | None) -> str:
    """A ratio as what it changes: `+18 %`, `−6.2 %`."""
    if value is None or not math.isfinite(value):
        return NONE
    if value >= 10:
        return f"× {number(value)}"
    percent = 100 * (value - 1)
    digits = 1 if abs(percent) < 10 else 0
    return f"{'−' if round(percent, digits) < 0 else '+'}{abs(percent):.{digits}f} %"


def moment(iso: str) -> str:
    """`21 November 2026, 16:20 UTC`; what can't be read is shown as it is."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def axis_words(axis: Axis) -> str:
    """What the axis of a chart says."""
    return "requests in flight" if axis is Axis.CONCURRENCY else "requests offered a second"


def level_words(axis: Axis, level: float) -> str:
    """A load in words: `16 requests in flight`."""
    unit = "in flight" if axis is Axis.CONCURRENCY else "a second"
    return f"{plain(level, 4)} request{'' if level == 1 else 's'} {unit}"


@dataclass(frozen=True, slots=True)
class Compared:
    """How a figure is spoken of: `differ`: the subject where it does not, or can't be told; `says`: B's against A's."""

    differ: str
    says: str
    more: str
    less: str


GOODPUT = Compared("their answers in time", "B gives {amount} {direction} answers in time than A", "more", "fewer")
P95 = Compared(
    "their 95th percentiles of latency", "B's 95th percentile of latency is {amount} {direction} than A's", "longer",
    "shorter",
)  # fmt: skip


def ratio_words(found: Ratio, compared: Compared, where: str = "") -> str:
    """What a comparison found, in a sentence."""
    sentence = _ratio_words(found, compared)
    return f"At {where}, {sentence}." if where else f"{sentence[:1].upper()}{sentence[1:]}."


def _ratio_words(found: Ratio, compared: Compared) -> str:
    if found.ratio is None or found.low is None or found.high is None:
        return f"whether {compared.differ} differ can't be told: {found.why}"
    limits = f"({100 * found.confidence:.0f} % interval {change(found.low)} to {change(found.high)})"
    if found.verdict is Verdict.NOT_TELLABLE:
        return f"it is not tellable whether {compared.differ} differ: {change(found.ratio)} {limits}"
    if found.verdict is Verdict.NONE:
        return f"{compared.differ} do not differ by more than {100 * ALIKE:.0f} %: {change(found.ratio)} {limits}"
    direction = compared.more if found.ratio > 1 else compared.less
    amount = change(found.ratio).lstrip("+−")
    return f"{compared.says.format(amount=amount, direction=direction)} {limits}: the difference is real"
