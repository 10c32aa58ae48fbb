"""A smooth response surface through noisy trials: a Gaussian process over the settings and the time of day.

Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), chapters 2 and 5. A trial's score is taken to
be f(settings) + g(time) + b * taken + noise: f a Matérn-5/2 process over the unit cube of `space.py`, g a slow one, for
machines that become slower or faster while they are measured, b what it costs that others take the machine, noise in
proportion to the score. What belongs to g and what to noise is told from the trials by their marginal likelihood, with
weak priors; b by regression, as a part of the process (chapter 2.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inkgate.bench.tune.space import Floats

FLOOR = 0.5
"""Scores below this share of the best count as this much: that they are bad is known, how bad is of no use, and a cliff
of its full height would bend the surface beside it."""
_LENGTHS = (0.1, 0.17, 0.28, 0.45, 0.75, 1.2)
_SIGNALS = (0.08, 0.16, 0.3)
_NOISES = (0.015, 0.025, 0.04, 0.06, 0.09, 0.13)
_DRIFTS = (0.0, 0.03, 0.08, 0.15, 0.25)
_DRIFT_TIMES = (0.3, 1.0)
_LEVEL = 0.5
_COST = 1.0
"""Standard deviation of b: from nothing, where a GPU does the work, to more than the share that is taken."""
_LEAST_NOISE_AT = 0.3


@dataclass(frozen=True, slots=True)
class Shape:
    """Parameters of the process. Scores are parts of the best one, times parts of the budget.

    `lengths`: over which f changes, by dial; `signal`, `noise`, `drift`: standard deviations.
    """

    lengths: tuple[float, ...]
    signal: float = 0.3
    noise: float = 0.06
    drift: float = 0.0
    drift_time: float = 0.7


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of some points, at the machine's mean speed: `mean` (points,) and `covariance` (points, points), as scores."""

    mean: Floats
    covariance: Floats

    @property
    def sd(self) -> Floats:
        found: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return found

    def difference(self, one: int, other: int) -> tuple[float, float]:
        """Mean and standard deviation of the score at `one` less that at `other`."""
        spread = self.covariance[one, one] + self.covariance[other, other] - 2 * self.covariance[one, other]
        return float(self.mean[one] - self.mean[other]), float(max(spread, 0.0)) ** 0.5


class Surface:
    """Fitted to trials: `points` (n, dials), `times` (n,) as parts of the budget, `scores` (n,), one above 0."""

    def __init__(self, points: Floats, times: Floats, scores: Floats, taken: Floats, doubts: Floats) -> None:
        """`taken` (n,): shares of the machine that others took; `doubts` (n,): shares of the score by which a trial may
        be off beyond the usual noise.
        """
        self._points, self._times, self._taken = points, times, taken
        self._best = float(np.max(scores))
        share = np.maximum(scores / self._best, FLOOR)
        self._centre = float(np.mean(share))
        self._y = share - self._centre
        self._noise_at = np.maximum(share, _LEAST_NOISE_AT)
        self._doubts = doubts
        self.shape = self._fit(points.shape[1])
        self._root = np.linalg.cholesky(self._trials(self.shape))
        self._weights = self._solve(self._y)

    def at(self, points: Floats) -> Estimate:
        """What the score is at `points` (m, dials) while others take nothing."""
        shape = self.shape
        drift = _smooth(self._times, self._times, shape)
        across = _rough(points, self._points, shape) + _LEVEL**2 + drift.mean(axis=0)
        mean = self._centre + across @ self._weights
        half = np.linalg.solve(self._root, across.T)
        covariance = _rough(points, points, shape) + _LEVEL**2 + drift.mean() - half.T @ half
        return Estimate(mean * self._best, covariance * self._best**2)

    def _solve(self, values: Floats) -> Floats:
        half = np.linalg.solve(self._root, values)
        found: Floats = np.linalg.solve(self._root.T, half)
        return found

    def _trials(self, shape: Shape) -> Floats:
        together = _rough(self._points, self._points, shape) + _LEVEL**2 + _smooth(self._times, self._times, shape)
        together += _COST**2 * np.outer(self._taken, self._taken)
        found: Floats = together + np.diag((shape.noise**2 + self._doubts**2) * self._noise_at**2)
        return found

    def _fit(self, dials: int) -> Shape:
        """The most probable shape, by coordinate ascent over coarse grids."""
        best = Shape((0.45,) * dials)
        best_value = self._log_probability(best)
        for _ in range(3):
            before = best
            for tried in _variations(before):
                value = self._log_probability(tried)
                if value > best_value:
                    best, best_value = tried, value
            if best == before:
                break
        return best

    def _log_probability(self, shape: Shape) -> float:
        root = np.linalg.cholesky(self._trials(shape))
        half = np.linalg.solve(root, self._y)
        likelihood = -0.5 * float(half @ half) - float(np.log(np.diag(root)).sum())
        return likelihood + _log_prior(shape)


def _variations(shape: Shape) -> Sequence[Shape]:
    found = [
        replace(shape, lengths=(*shape.lengths[:dial], length, *shape.lengths[dial + 1 :]))
        for dial in range(len(shape.lengths))
        for length in _LENGTHS
    ]
    found += [replace(shape, signal=signal, noise=noise) for signal in _SIGNALS for noise in _NOISES]
    found += [replace(shape, drift=drift, drift_time=time) for drift in _DRIFTS for time in _DRIFT_TIMES]
    return found


def _log_prior(shape: Shape) -> float:
    """Log-normal around usual values: throughput is smooth over octaves, and repeated runs differ by some 5 %."""
    lengths = sum((np.log(length / 0.45) / 0.7) ** 2 for length in shape.lengths)
    noise = (np.log(shape.noise / 0.05) / 0.6) ** 2
    drift = (shape.drift / 0.15) ** 2 + (1.0 if shape.drift else 0.0)
    return -0.5 * float(lengths + noise + drift)


def _rough(one: Floats, other: Floats, shape: Shape) -> Floats:
    """Matérn-5/2, a product over the dials."""
    apart = np.abs(one[:, None, :] - other[None, :, :]) * (5**0.5 / np.array(shape.lengths))
    found: Floats = shape.signal**2 * np.prod((1 + apart + apart**2 / 3) * np.exp(-apart), axis=2)
    return found


def _smooth(one: Floats, other: Floats, shape: Shape) -> Floats:
    apart = np.abs(one[:, None] - other[None, :]) / shape.drift_time
    found: Floats = shape.drift**2 * np.exp(-apart)
    return found
