"""The knee: the smallest load at which the service gives nearly its best goodput, and what limits it beyond.

A level is within the bound when at it, and at each level below, at most `max_error` of the requests failed. Of those
levels that were measured at least three times, the knee is the smallest whose mean goodput is within 5 % of the best
mean. It is not reached where no level 1.25 times as high was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.results import (
    Axis,
    Knee,
    LoadPoint,
    ServerSide,
    count_errors,
    error_share,
    mean_goodput,
    mean_latency,
)
from inkgate_bench.load.tables import level_text
from inkgate_bench.statistics import EQUAL_WITHIN, MIN_REPEATS, summarize_repeats

BEYOND = 1.25
"""Levels just above a knee can't show that goodput has stopped rising."""
FULL = 0.95
"""Use of a KV cache or GPU from which on it is the limit."""
REFINEMENTS = 2
FLAT_DOUBLINGS = 2
"""Doublings in a row without a gain end the search: a single one may be chance."""


@dataclass(frozen=True, slots=True)
class StepBounds:
    """What a level is, and what it must keep to."""

    axis: Axis
    deadline_s: float
    max_error: float

    def at(self, level: float) -> str:
        """Such as `At 16 clients` or `At 2.5 requests/s`."""
        return f"At {level_text(self.axis, level)}"


def find_knee(points: Sequence[LoadPoint], axis: Axis, deadline_s: float, max_error: float) -> Knee:
    """The knee of the measured levels, or why there is none."""
    bounds = StepBounds(axis, deadline_s, max_error)
    measured = sorted((point for point in points if point.runs), key=lambda point: point.level)
    allowed = _allowed(measured, max_error)
    repeated = [point for point in allowed if len(point.runs) >= MIN_REPEATS]
    best = max(map(_goodput, repeated), default=0.0)
    if len(measured) < 2 or not best:
        return _not_reached(_why_none(measured, allowed, repeated, bounds), None, bounds)
    knee = _smallest_near_best(repeated)
    broken = measured[len(allowed)] if len(allowed) < len(measured) else None
    if repeated[-1] is not allowed[-1]:  # it was ended early
        why = f"{bounds.at(allowed[-1].level)} there were fewer than {MIN_REPEATS} runs: goodput may be higher there."
        return _not_reached(why, best, bounds)
    if not _is_reached(knee, repeated, broken):
        why = f"{bounds.at(repeated[-1].level)}, the highest level, goodput still rose: test higher levels."
        return _not_reached(why, best, bounds)
    repeats = summarize_repeats([run.goodput for run in knee.runs])
    beyond = [point for point in repeated if point.level > knee.level]
    return Knee(
        reached=True,
        level=knee.level,
        goodput=repeats.mean,
        deviation=repeats.deviation,
        best=best,
        method=_method(bounds),
        why=_why_here(knee, beyond, broken, bounds),
    )


def _goodput(point: LoadPoint) -> float:
    return mean_goodput(point.runs)


def _allowed(measured: Sequence[LoadPoint], max_error: float) -> list[LoadPoint]:
    """The levels below the first that exceeds the error bound."""
    over = next((number for number, point in enumerate(measured) if error_share(point.runs) > max_error), len(measured))
    return list(measured[:over])


def _smallest_near_best(points: Sequence[LoadPoint]) -> LoadPoint:
    best = max(map(_goodput, points))
    return next(point for point in points if _goodput(point) >= (1 - EQUAL_WITHIN) * best)


def _is_reached(knee: LoadPoint, allowed: Sequence[LoadPoint], broken: LoadPoint | None) -> bool:
    """Whether a level far enough above shows that goodput has stopped rising."""
    return broken is not None or allowed[-1].level >= BEYOND * knee.level


def _not_reached(why: str, best: float | None, bounds: StepBounds) -> Knee:
    return Knee(reached=False, level=None, goodput=None, deviation=None, best=best, method=_method(bounds), why=why)


def _method(bounds: StepBounds) -> str:
    return (
        f"smallest level whose mean goodput (responses within {bounds.deadline_s:g} s, per second) is within "
        f"{EQUAL_WITHIN:.0%} of the best mean; at least {MIN_REPEATS} runs of a level; error rate at most "
        f"{bounds.max_error:.2%}"
    )


def _why_none(
    measured: Sequence[LoadPoint], allowed: Sequence[LoadPoint], repeated: Sequence[LoadPoint], bounds: StepBounds
) -> str:
    if not measured:
        return "Nothing was measured."
    if not allowed:
        return f"No level kept to the maximum error rate. {_exceeded(measured[0], bounds)}"
    if not any(map(_goodput, allowed)):
        return f"No response came within {bounds.deadline_s:g} s."
    if len(measured) < 2:
        return "Only one level was measured: test several."
    if not repeated:
        return f"Repeat each level at least {MIN_REPEATS} times (--repeats {MIN_REPEATS}): one run may be chance."
    return f"No response of the repeated levels came within {bounds.deadline_s:g} s."


def _why_here(knee: LoadPoint, beyond: Sequence[LoadPoint], broken: LoadPoint | None, bounds: StepBounds) -> str:
    """Why more load gains nothing. `beyond`: higher levels within the bound; `broken`: the first that exceeds it."""
    sentences = [_compared(knee, beyond[-1], bounds)] if beyond else []
    if broken is not None:
        sentences.append(_exceeded(broken, bounds))
    sentences += _server_signs([knee, *beyond, *([broken] if broken else [])], bounds)
    offered = sum(run.offered for run in knee.runs)
    if offered and not error_share(knee.runs) and 3 / offered > bounds.max_error:  # rule of three, 95 %
        sentences.append(f"All {offered} requests there succeeded; the true error rate may still be {3 / offered:.2%}.")
    return " ".join(sentences)


def _compared(knee: LoadPoint, beyond: LoadPoint, bounds: StepBounds) -> str:
    """What the highest level within the bound gains over the knee."""
    change = _goodput(beyond) / _goodput(knee) - 1
    load = beyond.level / knee.level
    text = f"{bounds.at(beyond.level)}, {load:.3g}x the load, goodput is {abs(change):.0%} "
    text += "higher" if change >= 0 else "lower"
    before, after = mean_latency(knee.runs), mean_latency(beyond.runs)
    if before and after:
        text += f" and the median latency {after.p50_s / before.p50_s:.1f}x"
    late = 1 - sum(run.in_time for run in beyond.runs) / max(sum(run.answered for run in beyond.runs), 1)
    if late >= 0.01:
        text += f"; {late:.0%} of responses take longer than {bounds.deadline_s:g} s"
    return text + "."


def _exceeded(broken: LoadPoint, bounds: StepBounds) -> str:
    """Says that a level exceeds the error bound, and with which errors."""
    kinds = count_errors(broken.runs)
    mostly = f", mostly {kinds.most_common(1)[0][0]}" if kinds else ""
    failed = f"{error_share(broken.runs):.2%} of requests failed{mostly}"
    return f"{bounds.at(broken.level)} {failed}; the maximum is {bounds.max_error:.2%}."


def _server_signs(points: Sequence[LoadPoint], bounds: StepBounds) -> list[str]:
    """Each sign of a limit, at the first level that shows it."""
    sentences: dict[str, str] = {}
    for point in points:
        server = point.server or ServerSide()
        signs = {
            "gpu": f"the GPU was {server.gpu_share:.0%} busy" if (server.gpu_share or 0) >= FULL else "",
            "kv": f"the KV cache was {server.kv_share:.0%} full" if (server.kv_share or 0) >= FULL else "",
            "preemptions": f"the model server preempted {server.preemptions} requests" if server.preemptions else "",
            "restarts": f"the model server was restarted {server.restarts} times" if server.restarts else "",
        }
        for kind, text in signs.items():
            if text:
                sentences.setdefault(kind, f"{bounds.at(point.level)} {text}.")
    return list(sentences.values())


@dataclass(frozen=True, slots=True)
class Steps:
    """Levels to test.

    Attributes:
        levels: ascending; empty: searched for by doubling from `first`, up to `most`.
        repeats: runs of each level, in rounds.
    """

    levels: tuple[float, ...] = ()
    repeats: int = MIN_REPEATS
    first: float = 1.0
    most: float = 1024.0


def parse_steps(text: str, axis: Axis) -> tuple[float, ...]:
    """Levels from `1,2,4,8`, ascending and distinct; none from `auto`.

    Raises:
        LoadImpossible: it is neither.
    """
    if text.strip().lower() == "auto":
        return ()
    try:
        levels = sorted({float(level) for level in text.split(",")})
    except ValueError as error:
        raise LoadImpossible(f"Levels are numbers separated by commas, or auto, not {text!r}.") from error
    if not all(0 < level < float("inf") for level in levels):
        raise LoadImpossible("Every level must be above 0.")
    if axis is Axis.CONCURRENCY and any(level != int(level) for level in levels):
        raise LoadImpossible("Numbers of clients must be whole numbers.")
    return tuple(levels)


def round_order(levels: Sequence[float], number: int) -> list[float]:
    """The levels of the round `number` (from 0): up, then down, and so on, so that a machine that slows down over time
    is unfair to none.
    """
    return sorted(levels, reverse=bool(number % 2))


def next_level(points: Sequence[LoadPoint], steps: Steps, max_error: float) -> float | None:
    """Twice the last level, `first` to begin with; None where goodput falls or stays, or the bound is exceeded."""
    if not points:
        return steps.first
    goodputs = [_goodput(point) for point in points]
    if error_share(points[-1].runs) > max_error or goodputs[-1] < (1 - EQUAL_WITHIN) * max(goodputs):
        return None
    flat = [after <= (1 + EQUAL_WITHIN) * before for before, after in pairwise(goodputs)]
    if len(flat) >= FLAT_DOUBLINGS and all(flat[-FLAT_DOUBLINGS:]) and goodputs[-1] > 0:
        return None
    doubled = 2 * points[-1].level
    return doubled if doubled <= steps.most else None


def levels_around_knee(points: Sequence[LoadPoint], max_error: float) -> list[float]:
    """The level that looks like the knee after single runs, with its neighbours; empty where it is not reached."""
    allowed = _allowed(points, max_error)
    if not allowed or not any(map(_goodput, allowed)):
        return []
    knee = _smallest_near_best(allowed)
    if not _is_reached(knee, allowed, points[len(allowed)] if len(allowed) < len(points) else None):
        return []
    levels = [point.level for point in points]
    at = levels.index(knee.level)
    return levels[max(at - 1, 0) : at + 2]


def levels_between(levels: Sequence[float], axis: Axis) -> list[float]:
    """New levels halfway between neighbours that are more than a quarter apart."""
    halves = [(low + high) / 2 for low, high in pairwise(levels) if high > BEYOND * low]
    rounded = [float(round(half)) if axis is Axis.CONCURRENCY else float(f"{half:.3g}") for half in halves]
    return [level for level in rounded if level not in levels]
