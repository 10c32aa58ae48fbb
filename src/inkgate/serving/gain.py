"""Tests whether higher concurrency gives more tokens per second, given the noise."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class GainSample:
    """Mean concurrency, throughput and limit of one step."""

    limit: float
    in_flight: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Elasticity:
    """Relative change of throughput per relative change of concurrency: 1 with free capacity, 0 at capacity.

    The slope of least squares through the samples, over their means; `error` is its standard error.
    """

    value: float
    error: float


class Gain:
    """Whether higher concurrency gives more throughput: their covariance, as in Uber's Cinnamon.

    Measured as an elasticity, which has no unit, over the shortest recent history in which concurrency varied enough
    and whose standard error is small. Growth counts as useless only if the largest plausible gain is too small (a
    one-sided t-test of the slope; Student, 1908). Until then the limit keeps growing, which widens the range and adds
    evidence.

    Useless growth is undone and not tried again for a while. Otherwise repeated tries would raise the limit of a
    saturated engine up to the maximum.
    """

    _LEAST_SPREAD = 0.05
    """Minimum coefficient of variation of the concurrency; below it, a covariance is noise."""
    _LEAST_ELASTICITY = 0.2
    _LEAST_SAMPLES = 8
    _MOST_SAMPLES = 32
    _SMALL_ERROR = 0.1
    """Standard error of the elasticity at which older samples are not needed."""
    _ERRORS = 2.0
    """Upper bound in standard errors above the slope: 95 % confidence with 8 samples, 97 % with 32."""

    def __init__(self) -> None:
        self._samples: deque[GainSample] = deque(maxlen=self._MOST_SAMPLES)
        self._held_until = -math.inf

    def add(self, sample: GainSample) -> None:
        self._samples.append(sample)
        while len(self._samples) > self._LEAST_SAMPLES and self._says_enough([*self._samples][1:]):
            self._samples.popleft()

    def forget(self) -> None:
        """Drops all samples, after pressure or failures changed the limit."""
        self._samples.clear()
        self._held_until = -math.inf

    def may_be(self, now: float) -> bool:
        """Whether the limit may grow."""
        return now >= self._held_until

    @property
    def is_none(self) -> bool:
        """Whether higher concurrency was tried without gain. False if unknown."""
        if len(self._samples) < self._LEAST_SAMPLES:
            return False
        seen = _elasticity(self._samples, self._LEAST_SPREAD)
        return seen is not None and seen.value + self._ERRORS * seen.error < self._LEAST_ELASTICITY

    def undone(self, until: float) -> float:
        """The limit before the useless growth. Growth is blocked until clock time `until`."""
        before = self._samples[0].limit
        self._samples.clear()
        self._held_until = until
        return before

    def _says_enough(self, samples: Sequence[GainSample]) -> bool:
        seen = _elasticity(samples, self._LEAST_SPREAD)
        return seen is not None and seen.error <= self._SMALL_ERROR


def _elasticity(samples: Sequence[GainSample], least_spread: float) -> Elasticity | None:
    """None if the samples hardly differ or have no tokens."""
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
