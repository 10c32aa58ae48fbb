"""Finds the knee: the least load from which on more of it buys nothing. Stated whole in docs/guides/load-testing.md.

A level is *allowed* when at it, and at each level below, no more than `max_error` of the requests offered were not
answered. The best is the allowed level of most goodput (answers within the deadline, a second). The knee is the
smallest allowed level whose goodput is less than the best's by no more than 5 % or no more than one standard error of
the difference, whichever is more (the one-standard-error rule of L. Breiman et al., Classification and Regression
Trees, 1984, section 3.4.3). It is not reached where no level 1.25 times as high was measured.

Its interval holds with 95 % the load at which the true curve comes within 5 % of its highest: above the last level
that is tellably less than 95 % of the best, up to the first that tellably is not (multiple comparisons with the best;
J. C. Hsu, Annals of Statistics 12, 1984), or to the step after it where goodput falls there or the error bound breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.bench.load import usl
from inkgate.bench.load.results import Axis, Knee, Point, Second, Usl
from inkgate.bench.load.spread import Spread, Z, mean_goodput, resample
from inkgate.bench.load.why import Bounds, why_here, why_not_reached

MARGIN = 0.05
"""Of the best goodput: what nobody would notice."""
BEYOND = 1.25
"""Steps at a knee and a little above it can't show that goodput has stopped rising."""
_CONFIDENCE = 0.975


def find_knee(
    points: Sequence[Point], axis: Axis, deadline_s: float, max_error: float, timeline: Sequence[Second] = ()
) -> Knee:
    """The knee of what was measured, or why there is none. `timeline` tells the noise where each level ran once."""
    measured = sorted((point for point in points if point.runs), key=lambda point: point.level)
    allowed = _allowed(measured, max_error)
    law = _law(allowed, axis)
    bounds = Bounds(axis, deadline_s, max_error)
    if not allowed or max(map(mean_goodput, allowed)) <= 0:
        return _not_reached(measured, allowed, bounds, law)
    curve = _Curve(allowed, resample(allowed, timeline))
    at = curve.knee()
    broken = measured[len(allowed)] if len(allowed) < len(measured) else None
    if broken is None and measured[-1].level < BEYOND * allowed[at].level:
        return _not_reached(measured, allowed, bounds, law)
    first, last = curve.interval()
    first, last = min(first, at), max(last, at)
    return Knee(
        reached=True,
        level=allowed[at].level,
        low=allowed[first - 1].level if first else float(axis is Axis.CONCURRENCY),
        high=_end(curve, last, broken),
        goodput=float(curve.goodputs[at]),
        best=float(curve.goodputs.max()),
        method=_method(curve.spread.how, bounds),
        why=why_here(allowed, at, broken, bounds),
        usl=law,
    )


def error_share(point: Point) -> float:
    """Of all requests offered at a level, in all runs, those not answered."""
    offered = sum(run.offered for run in point.runs)
    return sum(run.offered - run.answered for run in point.runs) / offered if offered else 0.0


@dataclass(frozen=True, slots=True)
class _Curve:
    """Goodput by allowed level, and its draws."""

    points: Sequence[Point]
    spread: Spread

    @property
    def goodputs(self) -> NDArray[np.float64]:
        return np.array([mean_goodput(point) for point in self.points])

    def knee(self) -> int:
        """Index of the smallest level that is within 5 %, or one standard error, of the best."""
        goodputs, draws = self.goodputs, self.spread.draws
        best = int(goodputs.argmax())
        error = (draws - draws[:, [best]]).std(axis=0)
        return int(np.flatnonzero(goodputs >= goodputs[best] - np.maximum(MARGIN * goodputs[best], error))[0])

    def interval(self) -> tuple[int, int]:
        """Indexes of the first level not tellably below 95 % of the best, and of the first tellably not below it.

        The latter is no later than the last level before goodput tellably falls: a curve rises, then falls.
        """
        last = len(self.points) - 1
        first = next((level for level in range(last) if not self.less(level)), last)
        falls = next(
            (level for level in range(int(self.goodputs.argmax()) + 1, last + 1) if self.less(level)), last + 1
        )
        return first, next((level for level in range(falls - 1) if self._surely_enough(level)), falls - 1)

    def less(self, level: int) -> bool:
        """It is tellably less than 95 % of some other level: of the largest of its studentised differences."""
        difference, draws = self._differences(level)
        errors = draws.std(axis=0)
        certain = errors < 1e-12
        if (difference[certain] < 0).any():
            return True
        difference, draws, errors = difference[~certain], draws[:, ~certain], errors[~certain]
        if not len(errors):
            return False
        largest = np.quantile(((draws - difference) / errors).max(axis=1), _CONFIDENCE)
        return bool((difference / errors).min() < -max(float(largest), Z))

    def _surely_enough(self, level: int) -> bool:
        """It is tellably not less than 95 % of any other level."""
        difference, draws = self._differences(level)
        return bool((difference >= Z * draws.std(axis=0)).all())

    def _differences(self, level: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By how much the level is above 95 % of each other one: as measured, and by draw."""
        others = [other for other in range(len(self.points)) if other != level]
        draws = self.spread.draws
        return (
            self.goodputs[level] - (1 - MARGIN) * self.goodputs[others],
            draws[:, [level]] - (1 - MARGIN) * draws[:, others],
        )


def _allowed(measured: Sequence[Point], max_error: float) -> list[Point]:
    allowed: list[Point] = []
    for point in measured:
        if error_share(point) > max_error:
            break
        allowed.append(point)
    return allowed


def _end(curve: _Curve, last: int, broken: Point | None) -> float:
    """The upper end of the interval: the step after `last` where the top may lie between the two."""
    if last + 1 == len(curve.points):
        return broken.level if broken is not None else curve.points[last].level
    falls = curve.less(last + 1)
    return curve.points[last + 1 if falls else last].level


def _law(allowed: Sequence[Point], axis: Axis) -> Usl | None:
    """The law over requests in flight: those asked for, or those that a rate led to."""
    at_once = [
        point.level if axis is Axis.CONCURRENCY else float(np.mean([run.in_flight for run in point.runs]))
        for point in allowed
    ]
    return usl.fit(at_once, [float(np.mean([run.answered_per_s for run in point.runs])) for point in allowed])


def _not_reached(measured: Sequence[Point], allowed: Sequence[Point], bounds: Bounds, law: Usl | None) -> Knee:
    best = max(map(mean_goodput, allowed), default=None)
    why = why_not_reached(measured, allowed, bounds)
    return Knee(
        reached=False, level=None, low=None, high=None, goodput=None, best=best, method=_method("", bounds), why=why,
        usl=law,
    )  # fmt: skip


def _method(how: str, bounds: Bounds) -> str:
    told = f"; 95 % interval by bootstrap over {how} and comparison with the best" if how else ""
    return (
        f"the smallest level whose answers within {bounds.deadline_s:g} s, a second, are within {MARGIN:.0%} or one "
        f"standard error of the best, of the levels up to which at most {bounds.max_error:.2%} of requests were not "
        f"answered{told}"
    )
