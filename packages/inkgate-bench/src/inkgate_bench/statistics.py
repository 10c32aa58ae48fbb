"""Statistics of repeated measurements: mean and spread of repeats, and whether two sets of repeats differ.

Every instrument judges by repeats: at least three runs of the same thing. One run says nothing about how much the next
one would differ, so one run is never compared with another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, stdev
from types import ModuleType

MIN_REPEATS = 3
CONFIDENCE = 0.95
EQUAL_WITHIN = 0.05
"""Two means within 5 % of each other are as good as equal: no user would notice."""

_USUAL_FREEDOM = 2


class StatisticsError(Exception):
    """The measurements can't be compared; the message says why, as the end of a sentence."""


class Verdict(StrEnum):
    """What the interval of a ratio says."""

    DIFFERENT = "different"
    """The interval excludes 1."""
    EQUAL = "equal"
    """The whole interval is within `EQUAL_WITHIN` of 1."""
    UNCLEAR = "unclear"
    """More repeats may tell."""


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """A figure measured `count` times. `deviation`: sample standard deviation; None for a single measurement."""

    mean: float
    deviation: float | None
    count: int

    @property
    def relative_deviation(self) -> float | None:
        """The deviation as a share of the mean; None where either is missing."""
        return None if self.deviation is None or not self.mean else self.deviation / self.mean


@dataclass(frozen=True, slots=True)
class RatioEstimate:
    """B over A: the ratio of the geometric means of their repeats.

    Attributes:
        low, high: the interval that holds the true ratio with probability `confidence`.
        p: probability of repeats at least this far apart if there were no difference.
    """

    ratio: float
    low: float
    high: float
    p: float
    confidence: float

    @property
    def verdict(self) -> Verdict:
        if 1 - EQUAL_WITHIN <= self.low <= 1 <= self.high <= 1 + EQUAL_WITHIN:
            return Verdict.EQUAL
        return Verdict.UNCLEAR if self.low <= 1 <= self.high else Verdict.DIFFERENT


def summarize_repeats(values: Sequence[float]) -> RepeatSummary:
    """Mean and spread of one or more measurements of the same thing."""
    return RepeatSummary(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def compare_repeats(
    a: Sequence[float], b: Sequence[float], *, confidence: float = CONFIDENCE, resolution: float = 0.0
) -> RatioEstimate:
    """B's figure over A's by Welch's t-test on the logarithms of their repeats.

    `a`, `b`: at least three measurements each, all above 0. `confidence`: of the interval; where many comparisons are
    made at once, ask for more (Bonferroni: 1 - 0.05 / comparisons). `resolution`: the least relative standard deviation
    that one measurement can have, such as 1 / n for a count of n: without it, equal counts make any difference certain.

    Raises:
        StatisticsError: a side has fewer than three repeats, or a figure that is not above 0.
    """
    if min(len(a), len(b)) < MIN_REPEATS:
        raise StatisticsError(f"{len(a)} and {len(b)} repeats were measured: repeat each at least {MIN_REPEATS} times")
    if min(*a, *b) <= 0:
        raise StatisticsError("a repeat measured 0")
    first, second = (summarize_repeats([math.log(value) for value in side]) for side in (a, b))
    squares = [max(side.deviation or 0.0, resolution) ** 2 / side.count for side in (first, second)]
    log, error = second.mean - first.mean, math.sqrt(sum(squares))
    if not error:
        return RatioEstimate(_exp(log), _exp(log), _exp(log), float(not log), confidence)
    # Degrees of freedom after Welch and Satterthwaite.
    freedom = sum(squares) ** 2 / sum(
        square**2 / (side.count - 1) for square, side in zip(squares, (first, second), strict=True)
    )
    special = _scipy_special()
    reach = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    p = 2 * float(special.stdtr(freedom, -abs(log) / error))
    return RatioEstimate(_exp(log), _exp(log - reach), _exp(log + reach), p, confidence)


def pooled_deviation(groups: Iterable[Sequence[float]], usual: float) -> float:
    """The relative standard deviation of one measurement, from the repeats of several things together.

    Values are compared by their logarithms, within their group only. `usual`: what is known from experience; it counts
    as much as three repeats, so that two equal measurements don't make everything certain.
    """
    logs = [[math.log(value) for value in group] for group in groups]
    repeated = [group for group in logs if len(group) > 1]
    squares = usual**2 * _USUAL_FREEDOM + sum(stdev(group) ** 2 * (len(group) - 1) for group in repeated)
    return math.sqrt(squares / (_USUAL_FREEDOM + sum(len(group) - 1 for group in repeated)))


def _exp(log: float) -> float:
    """Returns at most 1e304: a report may hold any figures."""
    return math.exp(min(log, 700.0))


def _scipy_special() -> ModuleType:
    """Student's t (`stdtr`, `stdtrit`). Not scipy.stats, which takes a second to import."""
    from scipy import special

    found: ModuleType = special
    return found
