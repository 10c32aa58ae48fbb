"""Whether more works at once bring more tokens a second, as far as that can be told from their noise."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class GainSample:
    """A step's mean concurrency and throughput, and the limit then."""

    limit: float
    in_flight: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Elasticity:
    """Per cent of throughput for one of concurrency: 1 while an engine has room, 0 when it is full.

    The slope of least squares through the samples, over their means; `error` is its standard error.
    """

    value: float
    error: float


class Gain:
    """Whether more works at once bring more tokens a second: their covariance, as in Uber's Cinnamon.

    It is taken as an elasticity, which has no unit, over the shortest recent history that says anything: in which
    concurrency was varied enough, and whose standard error is small. Growth is called useless on evidence only: if all
    that noise leaves open is too little (a one-sided t-test of the slope; Student, 1908). Until then growth goes on,
    and makes the evidence: the range gets wider. So an engine that gains little for a while, and much beyond, is not
    left there for a few seconds of other pages.

    Growth that brought nothing is undone, and not tried again for a while: otherwise an engine that takes anything,
    and is full all the same, would be filled up to the largest limit, a little with each try.
    """

    _LEAST_SPREAD = 0.05
    """Standard deviation of the concurrency over its mean, under which a covariance is noise."""
    _LEAST_ELASTICITY = 0.2
    _LEAST_SAMPLES = 8
    _MOST_SAMPLES = 32
    _SMALL_ERROR = 0.1
    """Standard error of an elasticity that older samples need not make smaller."""
    _ERRORS = 2.0
    """Standard errors above the slope that have to be too little: 95 % with 8 samples, 97 % with 32."""

    def __init__(self) -> None:
        self._samples: deque[GainSample] = deque(maxlen=self._MOST_SAMPLES)
        self._held_until = -math.inf

    def add(self, sample: GainSample) -> None:
        self._samples.append(sample)
        while len(self._samples) > self._LEAST_SAMPLES and self._says_enough([*self._samples][1:]):
            self._samples.popleft()

    def forget(self) -> None:
        """Pressure or damage has changed the limit: what was seen before was of another time."""
        self._samples.clear()
        self._held_until = -math.inf

    def may_be(self, now: float) -> bool:
        """Whether growth may be tried."""
        return now >= self._held_until

    @property
    def is_none(self) -> bool:
        """Whether more concurrency was tried and brought no more. False where that isn't known."""
        if len(self._samples) < self._LEAST_SAMPLES:
            return False
        seen = _elasticity(self._samples, self._LEAST_SPREAD)
        return seen is not None and seen.value + self._ERRORS * seen.error < self._LEAST_ELASTICITY

    def undone(self, until: float) -> float:
        """The limit before the growth that brought nothing; none is tried again before clock time `until`."""
        before = self._samples[0].limit
        self._samples.clear()
        self._held_until = until
        return before

    def _says_enough(self, samples: Sequence[GainSample]) -> bool:
        seen = _elasticity(samples, self._LEAST_SPREAD)
        return seen is not None and seen.error <= self._SMALL_ERROR


def _elasticity(samples: Sequence[GainSample], least_spread: float) -> Elasticity | None:
    """None of samples that hardly differ, or without a token."""
    in_flight, tokens_per_s = (
        fmean(each) for each in zip(*((s.in_flight, s.tokens_per_s) for s in samples), strict=True)
    )
    x = [sample.in_flight - in_flight for sample in samples]
    y = [sample.tokens_per_s - tokens_per_s for sample in samples]
    squares = math.fsum(each * each for each in x)
    if squares <= len(x) * (least_spread * in_flight) ** 2 or not tokens_per_s:
        return None
    slope = math.fsum(dx * dy for dx, dy in zip(x, y, strict=True)) / squares
    residuals = math.fsum((dy - slope * dx) ** 2 for dx, dy in zip(x, y, strict=True))
    error = math.sqrt(residuals / (len(x) - 2) / squares)
    unit = in_flight / tokens_per_s
    return Elasticity(slope * unit, error * unit)
