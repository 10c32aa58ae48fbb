"""Two load tests compared: how much B differs from A in goodput and in the 95th percentile of latency.

Both must have at least three repeats at the same load: one run is never judged against another (statistics.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import geometric_mean

from inkgate_bench.load.results import LoadReport, LoadSummary, compare_goodput, error_share
from inkgate_bench.reports.wording import change, level_words, number, seconds, share
from inkgate_bench.statistics import (
    CONFIDENCE,
    EQUAL_WITHIN,
    MIN_REPEATS,
    RatioEstimate,
    StatisticsError,
    Verdict,
    compare_repeats,
)

FORMAT = "inkgate.comparison/2"
METHOD = "Welch's t-test on the logarithms of the repeats"
_ANSWERED_DIFFER = 0.05
"""Difference of the shares of answered requests from which percentiles of latency are of different requests."""


@dataclass(frozen=True, slots=True)
class FigureRatio:
    """B's figure over A's, each the geometric mean of its repeats.

    Attributes:
        a, b, ratio: None where a side has no such figure.
        low, high: the interval that holds the true ratio with `confidence`; None where it is not judged.
        p: probability of repeats this far apart if there were no difference; verdict: None where it is not judged.
        why: why it is not judged, as the end of a sentence.
    """

    a: float | None
    b: float | None
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    confidence: float
    verdict: Verdict | None
    method: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class LevelRatios:
    """Ratios of both tests at one load. The intervals of all levels of one figure hold together with 95 %
    (Bonferroni).
    """

    level: float
    goodput: FigureRatio
    p95: FigureRatio


@dataclass(frozen=True, slots=True)
class LoadComparison:
    """Two load tests, A and B.

    Attributes:
        level: the load that is judged by: of those that both were tested at, three times if any was, the one with the
            most goodput of both together, so that the choice favours neither.
        goodput, p95: B over A there, with a 95 % interval.
        statement: the result in sentences; concerns: what speaks against comparing the two.
    """

    a: LoadReport
    b: LoadReport
    names: tuple[str, str]
    level: float | None
    goodput: FigureRatio
    p95: FigureRatio
    levels: tuple[LevelRatios, ...]
    statement: tuple[str, ...]
    concerns: tuple[str, ...]


def compare(a: LoadReport, b: LoadReport, names: tuple[str, str] = ("A", "B")) -> LoadComparison:
    """How B differs from A."""
    obstacle = _obstacle(a, b)
    runs = {} if obstacle else _shared_runs(a, b)
    if not runs:
        why = obstacle or "no load was tested in both"
        nothing = FigureRatio(None, None, None, None, None, None, CONFIDENCE, None, "", why)
        said = f"A and B can't be compared: {why}."
        return LoadComparison(a, b, names, None, nothing, nothing, (), (said,), _concerns(a, b, None))
    each = 1 - (1 - CONFIDENCE) / len(runs)
    levels = tuple(LevelRatios(level, _goodput(*sides, each), _p95(*sides, each)) for level, sides in runs.items())
    level = max(runs, key=lambda one: _weight(runs[one]))
    sides = runs[level]
    goodput, p95 = _goodput(*sides, CONFIDENCE), _p95(*sides, CONFIDENCE)
    where = level_words(a.axis, level)
    statement = (
        f"At {where}, {figure_words(goodput, 'goodput', _per_second)}",
        f"At {where}, {figure_words(p95, 'p95 latency', seconds)}",
    )
    return LoadComparison(a, b, names, level, goodput, p95, levels, statement, _concerns(a, b, sides))


def _per_second(value: float | None) -> str:
    return f"{number(value)}/s"


def _obstacle(a: LoadReport, b: LoadReport) -> str:
    """Why the two have no figure in common; empty where they have."""
    if a.axis is not b.axis:
        return f"A was tested by {a.axis.value}, B by {b.axis.value}"
    if not math.isclose(a.deadline_s, b.deadline_s):
        return f"the latency target was {a.deadline_s:g} s for A and {b.deadline_s:g} s for B"
    return ""


Sides = tuple[Sequence[LoadSummary], Sequence[LoadSummary]]


def _shared_runs(a: LoadReport, b: LoadReport) -> dict[float, Sides]:
    """The runs of both, by the loads that both were tested at."""
    found: dict[float, Sides] = {}
    for point in a.points:
        other = next((each for each in b.points if math.isclose(each.level, point.level, rel_tol=1e-6)), None)
        if other is not None and point.runs and other.runs:
            found[point.level] = point.runs, other.runs
    return found


def _weight(sides: Sides) -> tuple[bool, float]:
    """Whether both sides were repeated often enough, then the goodput of both together, each by its geometric mean."""
    goodputs = [_geometric_mean([run.goodput for run in side]) for side in sides]
    return min(map(len, sides)) >= MIN_REPEATS, math.prod(goodputs)


def _geometric_mean(values: Sequence[float]) -> float:
    """0 if a value is 0."""
    return geometric_mean(values) if min(values) > 0 else 0.0


def _goodput(a: Sequence[LoadSummary], b: Sequence[LoadSummary], confidence: float) -> FigureRatio:
    missing = " and ".join(
        f"in {late} of {len(side)} repeats of {name} no response was in time"
        for name, side in (("A", a), ("B", b))
        if (late := sum(not run.in_time for run in side))
    )
    judge = partial(compare_goodput, a, b, confidence)
    return _ratio([run.goodput for run in a], [run.goodput for run in b], confidence, missing, judge)


def _p95(a: Sequence[LoadSummary], b: Sequence[LoadSummary], confidence: float) -> FigureRatio:
    first, second = ([run.latency.p95_s if run.latency else 0.0 for run in side] for side in (a, b))
    judge = partial(compare_repeats, first, second, confidence=confidence)
    found = _ratio(first, second, confidence, "in a repeat no request was answered", judge)
    return replace(found, a=found.a or None, b=found.b or None)


def _ratio(
    a: Sequence[float], b: Sequence[float], confidence: float, missing: str, judge: Callable[[], RatioEstimate]
) -> FigureRatio:
    """`missing`: why nothing is judged where a repeat has no figure, which is 0."""
    first, second = _geometric_mean(a), _geometric_mean(b)
    try:
        if not first or not second:
            raise StatisticsError(missing)
        if min(len(a), len(b)) < MIN_REPEATS:
            raise StatisticsError("repeat each test at least three times")
        found = judge()
    except StatisticsError as error:
        ratio = second / first if first and second else None
        return FigureRatio(first, second, ratio, None, None, None, confidence, None, "", str(error))
    return FigureRatio(
        first, second, found.ratio, found.low, found.high, found.p, confidence, found.verdict,
        f"{METHOD}, {len(a)} and {len(b)} repeats",
    )  # fmt: skip


def figure_words(found: FigureRatio, name: str, show: Callable[[float | None], str]) -> str:
    """What is known of a figure, as the end of a sentence."""
    if found.ratio is None or found.low is None or found.high is None:
        difference = f" ({change(found.ratio)})" if found.ratio is not None else ""
        return f"{name} is {show(found.a)} for A and {show(found.b)} for B{difference}. Not judged: {found.why}."
    limits = f"({100 * found.confidence:.0f} % interval {change(found.low)} to {change(found.high)})"
    if found.verdict is Verdict.DIFFERENT:
        amount = change(found.ratio).lstrip("+−")
        return f"B's {name} is {amount} {'higher' if found.ratio > 1 else 'lower'} than A's {limits}."
    if found.verdict is Verdict.EQUAL:
        return f"{name} is equal within {100 * EQUAL_WITHIN:.0f} %: {change(found.ratio)} {limits}."
    return f"it is unclear whether {name} differs: {change(found.ratio)} {limits}. More repeats may tell."


def _concerns(a: LoadReport, b: LoadReport, sides: Sides | None) -> tuple[str, ...]:
    """What a reader should know before believing the figures. `sides`: the runs that are judged."""
    found = []
    for name, report in (("A", a), ("B", b)):
        if report.own.bottleneck:
            found.append(f"In {name} the load generator was the bottleneck: {report.own.why or 'see its report'}.")
        if report.partial:
            found.append(f"{name} was interrupted.")
    if (a.machine.name, a.machine.processor, a.machine.gpus) != (b.machine.name, b.machine.processor, b.machine.gpus):
        found.append("They ran on different machines, which may cause the difference.")
    if a.protocol != b.protocol:
        found.append(f"A used the protocol {a.protocol}, B {b.protocol}.")
    pages = a.asked.get("pages"), b.asked.get("pages")
    if pages[0] != pages[1]:
        found.append(f"A sent the pages {pages[0] or 'of its default'}, B {pages[1] or 'of its default'}.")
    if sides is not None:
        answered = [1 - error_share(side) for side in sides]
        if abs(answered[0] - answered[1]) > _ANSWERED_DIFFER:
            found.append(
                f"A answered {share(answered[0])} of its requests, B {share(answered[1])}: their latencies are of "
                "different requests."
            )
    return tuple(found)
