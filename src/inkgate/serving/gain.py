"""What more works at once bring."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression, pstdev


@dataclass(frozen=True, slots=True)
class Sample:
    """A step's mean concurrency and throughput, and the limit then."""

    limit: float
    in_flight: float
    tokens_per_s: float


class Gain:
    """Whether more works at once bring more tokens a second: their covariance, as in Uber's Cinnamon.

    It is taken over the shortest recent history in which concurrency was varied enough, and as an elasticity, which
    has no unit. Growth that brought nothing is undone, and not tried again for a while: otherwise an engine that takes
    anything, and is full all the same, would be filled up to the largest limit, a little with each try.
    """

    _LEAST_SPREAD = 0.05
    """Standard deviation of the concurrency over its mean, under which a covariance is noise."""
    _LEAST_ELASTICITY = 0.2
    """Per cent of throughput for one of concurrency: 1 while an engine has room, 0 when it is full."""
    _LEAST_SAMPLES = 6

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=32)
        self._held_until = -math.inf

    def add(self, sample: Sample) -> None:
        self._samples.append(sample)
        while len(self._samples) > self._LEAST_SAMPLES and self._is_spread([*self._samples][1:]):
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
        if len(self._samples) < self._LEAST_SAMPLES or not self._is_spread(self._samples):
            return False
        in_flight = [sample.in_flight for sample in self._samples]
        tokens_per_s = [sample.tokens_per_s for sample in self._samples]
        if not any(tokens_per_s):
            return False
        slope = linear_regression(in_flight, tokens_per_s).slope
        return slope * fmean(in_flight) / fmean(tokens_per_s) < self._LEAST_ELASTICITY

    def undone(self, until: float) -> float:
        """The limit before the growth that brought nothing; none is tried again before clock time `until`."""
        before = self._samples[0].limit
        self._samples.clear()
        self._held_until = until
        return before

    def _is_spread(self, samples: Sequence[Sample]) -> bool:
        in_flight = [sample.in_flight for sample in samples]
        return pstdev(in_flight) >= self._LEAST_SPREAD * fmean(in_flight) > 0
