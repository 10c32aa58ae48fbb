"""Two load tests side by side, and whether they differ: in answers in time, and in the 95th percentile of latency."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from inkgate.bench.load.results import LoadReport, Point, Second, Summary
from inkgate.bench.reports.differences import (
    LEAST_REPEATS,
    Figure,
    Ratio,
    Untellable,
    Verdict,
    goodput_of_repeats,
    goodput_of_seconds,
    p95_of_repeats,
    p95_of_seconds,
    ratio,
)
from inkgate.bench.reports.window import counted_seconds
from inkgate.bench.reports.wording import GOODPUT, P95, level_words, ratio_words, share

Sample = TypeVar("Sample", Second, Summary)

CONFIDENCE = 0.95
BY_REPEATS = "Welch's t on the logarithms of {a} and {b} repeats"
BY_SECONDS = "circular block bootstrap over {a} and {b} seconds"
_APART = 0.05
"""Shares of requests answered that differ by more make percentiles of answers hard to compare."""


@dataclass(frozen=True, slots=True)
class AtLevel:
    """Both runs at the same load. Of each figure, the intervals of all levels hold together with 95 %."""

    level: float
    goodput: Ratio
    p95: Ratio


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two load tests, A and B.

    Attributes:
        level: the load that is judged by: among those both were tested at, where they answered most in time together.
            Chosen by both alike, so that the choice favours none.
        goodput, p95: B over A there, each with a 95 % interval.
        statement: whether they differ, in words; concerns: what speaks against comparing them.
    """

    a: LoadReport
    b: LoadReport
    names: tuple[str, str]
    level: float | None
    goodput: Ratio
    p95: Ratio
    levels: tuple[AtLevel, ...]
    statement: tuple[str, ...]
    concerns: tuple[str, ...]


def compare(a: LoadReport, b: LoadReport, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """What can be said of B against A. Deterministic: what is drawn is drawn from a fixed seed."""
    hindrance = _hindrance(a, b)
    shared = [] if hindrance else _shared(a, b)
    if not shared:
        why = hindrance or "no load was tested in both"
        nothing = Ratio(None, None, None, None, None, CONFIDENCE, Verdict.NOT_TELLABLE, "", why)
        said = (f"Whether they differ can't be told: {why}.",)
        return Comparison(a, b, names, None, nothing, nothing, (), said, _concerns(a, b, None))
    each = 1 - (1 - CONFIDENCE) / len(shared)
    levels = tuple(AtLevel(level, *_ratios(a, b, level, each)) for level in shared)
    level = max(shared, key=lambda one: _together(a, b, one))
    goodput, p95 = _ratios(a, b, level, CONFIDENCE)
    statement = (
        ratio_words(goodput, GOODPUT, level_words(a.axis, level)),
        ratio_words(p95, P95),
    )
    return Comparison(a, b, names, level, goodput, p95, levels, statement, _concerns(a, b, level))


def _hindrance(a: LoadReport, b: LoadReport) -> str:
    """Why goodput of the two is not the same measure; empty where it is."""
    if a.axis is not b.axis:
        return f"A was tested by {a.axis.value}, B by {b.axis.value}"
    if not math.isclose(a.deadline_s, b.deadline_s):
        return f"in time meant {a.deadline_s:g} s for A, {b.deadline_s:g} s for B"
    return ""


def _shared(a: LoadReport, b: LoadReport) -> list[float]:
    return [point.level for point in a.points if _point(b, point.level) is not None]


def _point(report: LoadReport, level: float) -> Point | None:
    return next((point for point in report.points if math.isclose(point.level, level, rel_tol=1e-6)), None)


def _runs(report: LoadReport, level: float) -> Point:
    point = _point(report, level)
    assert point is not None  # noqa: S101  # levels are those that both have
    return point


def _together(a: LoadReport, b: LoadReport, level: float) -> float:
    runs = [*_runs(a, level).runs, *_runs(b, level).runs]
    return math.prod(run.goodput for run in runs) ** (1 / len(runs)) if runs else 0.0


def _ratios(a: LoadReport, b: LoadReport, level: float, confidence: float) -> tuple[Ratio, Ratio]:
    """Of goodput and of p95: by repeats where both have several, else by seconds."""
    runs = _runs(a, level).runs, _runs(b, level).runs
    if min(len(side) for side in runs) >= LEAST_REPEATS:
        method = BY_REPEATS.format(a=len(runs[0]), b=len(runs[1]))
        return (
            _judged(goodput_of_repeats, runs, confidence, method),
            _judged(p95_of_repeats, runs, confidence, method),
        )
    seconds = counted_seconds(a.timeline, _runs(a, level)), counted_seconds(b.timeline, _runs(b, level))
    method = BY_SECONDS.format(a=len(seconds[0]), b=len(seconds[1]))
    return (
        _judged(goodput_of_seconds, seconds, confidence, method),
        _judged(p95_of_seconds, seconds, confidence, method),
    )


def _judged(
    figure: Callable[[Sequence[Sample]], Figure],
    sides: tuple[Sequence[Sample], Sequence[Sample]],
    confidence: float,
    method: str,
) -> Ratio:
    found: list[Figure | None] = []
    whys: list[str] = []
    for name, side in zip("AB", sides, strict=True):
        try:
            found.append(figure(side))
        except Untellable as error:
            found.append(None)
            whys.append(f"{name}: {error}")
    a, b = found
    if a is None or b is None:
        known_a, known_b = (None if each is None else math.exp(each.log) for each in found)
        return Ratio(known_a, known_b, None, None, None, confidence, Verdict.NOT_TELLABLE, method, "; ".join(whys))
    return ratio(a, b, confidence, method)


def _concerns(a: LoadReport, b: LoadReport, level: float | None) -> tuple[str, ...]:
    """What a reader should know before believing the figures."""
    found = []
    for name, report in (("A", a), ("B", b)):
        if report.own.bottleneck:
            found.append(f"In {name} the load generator was the limit: {report.own.why or 'see its report'}.")
        if report.partial:
            found.append(f"{name} was interrupted.")
    if (a.machine.name, a.machine.processor, a.machine.gpus) != (b.machine.name, b.machine.processor, b.machine.gpus):
        found.append("They ran on different machines: the difference may be theirs.")
    if a.protocol != b.protocol:
        found.append(f"A spoke {a.protocol}, B {b.protocol}.")
    pages = a.asked.get("pages"), b.asked.get("pages")
    if pages[0] != pages[1]:
        found.append(f"A sent the pages {pages[0] or 'of its default'}, B {pages[1] or 'of its default'}.")
    if level is not None:
        answered = [_answered_share(_runs(report, level).runs) for report in (a, b)]
        if abs(answered[0] - answered[1]) > _APART:
            found.append(
                f"A answered {share(answered[0])} of its requests, B {share(answered[1])}: their latencies are of "
                "different requests."
            )
        if min(len(_runs(report, level).runs) for report in (a, b)) < LEAST_REPEATS:
            found.append("One run each: what differs from start to start of a service, is not in the intervals.")
    return tuple(found)


def _answered_share(runs: Sequence[Summary]) -> float:
    offered = sum(run.offered for run in runs)
    return sum(run.answered for run in runs) / offered if offered else 0.0
