"""Which levels to try: those that were asked for, or up until more load buys nothing and then around the knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.knee import BEYOND, MARGIN, error_share
from inkgate.bench.load.results import Axis, Knee, Point
from inkgate.bench.load.spread import mean_goodput

REFINEMENTS = 2
FLAT = 2
"""Doublings in a row that bring nothing end the climb: one may be bad luck."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What is stepped through.

    Attributes:
        levels: in rising order; empty: found by itself, from `first` on by doubling, no further than `most`.
        repeats: runs of each level, in rounds through all of them.
    """

    levels: tuple[float, ...] = ()
    repeats: int = 1
    first: float = 1.0
    most: float = 1024.0


def parse_steps(text: str, axis: Axis) -> tuple[float, ...]:
    """Levels from `1,2,4,8`, rising and each once; none from `auto`.

    Raises:
        LoadImpossible: it is neither.
    """
    if text.strip().lower() == "auto":
        return ()
    try:
        levels = sorted({float(level) for level in text.split(",")})
    except ValueError as error:
        raise LoadImpossible(f"Steps are numbers with commas between them, or auto; not {text!r}.") from error
    if not 0 < levels[0] <= levels[-1] < float("inf"):
        raise LoadImpossible("Every step must be above 0.")
    if axis is Axis.CONCURRENCY and any(level != int(level) for level in levels):
        raise LoadImpossible("Steps of requests at once are whole numbers.")
    return tuple(levels)


def in_order(levels: Sequence[float], number: int) -> list[float]:
    """The levels of the round `number` (from 0): up, then down, then up: a machine that slows down evenly is as unfair
    to the low ones as to the high ones.
    """
    return sorted(levels, reverse=bool(number % 2))


def next_up(points: Sequence[Point], steps: Steps, max_error: float) -> float | None:
    """Twice the last level, `first` to begin with; None where goodput fell, rises no more, or the bound is broken."""
    if not points:
        return steps.first
    goodputs = [mean_goodput(point) for point in points]
    if error_share(points[-1]) > max_error or goodputs[-1] < (1 - MARGIN) * max(goodputs):
        return None
    flat = [after <= (1 + MARGIN) * before for before, after in pairwise(goodputs)]
    if len(flat) >= FLAT and all(flat[-FLAT:]) and goodputs[-1] > 0:
        return None
    doubled = 2 * points[-1].level
    return doubled if doubled <= steps.most else None


def between(points: Sequence[Point], knee: Knee, axis: Axis) -> list[float]:
    """Levels half way from the knee to the steps below and above it, where those are further than a quarter away."""
    if knee.level is None:
        return []
    levels = sorted(point.level for point in points)
    at = levels.index(knee.level)
    around = levels[max(at - 1, 0) : at + 2]
    halves = [_rounded((low + high) / 2, axis) for low, high in pairwise(around) if high > BEYOND * low]
    return [level for level in halves if level not in levels]


def _rounded(level: float, axis: Axis) -> float:
    return float(round(level)) if axis is Axis.CONCURRENCY else float(f"{level:.3g}")
