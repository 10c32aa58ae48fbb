"""Estimates the tokens of an answer from earlier answers; work is charged with the estimate before it runs."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable

_FACTOR = 1.1
"""Ratio of a bucket's edges: estimates are too high by at most this factor."""
_HALF_LIFE = 100
"""Half-life in samples: enough for the 95th percentile (144 on average), few enough to follow changes."""
_KEYS = 512
_MIN_SAMPLES = 20
"""Minimum samples of a key: with fewer, the largest of them is no 95th percentile."""


class OutputEstimates:
    """Quantiles of output tokens by key (preset, task and size class, say). Used from one event loop.

    For each key an exponentially decayed histogram of logarithmic buckets, read with the product-limit estimator
    (Kaplan and Meier, 1958):

        S(b) = product over buckets up to b of (1 - ended / at risk); the first b with S(b) <= 1 - quantile

    Answers that were cut off or cancelled count as censored: they had at least that many tokens. Dropping them, or
    counting them as complete, would make estimates too low, as the longest are the likeliest to be cut off.
    """

    def __init__(self, quantile: float = 0.95, floor: int = 16, cap: int = 16_384) -> None:
        """`floor` and `cap`, in tokens, bound every estimate."""
        self._quantile = quantile
        self._floor = floor
        self._cap = cap
        self._known: OrderedDict[Hashable, _Histogram] = OrderedDict()

    def estimates(self, key: Hashable, cap: int) -> tuple[int, int]:
        """The mean tokens of an answer, and the quantile.

        Both are `cap` until enough samples are known, and if so many answers were cut off that the quantile lies beyond
        all samples.
        """
        cap = min(cap, self._cap)
        known = self._known.get(key)
        if known is None:
            return cap, cap
        self._known.move_to_end(key)
        found = known.mean_and_quantile(self._quantile)
        if found is None:
            return cap, cap
        mean, quantile = (min(cap, max(self._floor, each)) for each in found)
        return mean, quantile

    def finished(self, key: Hashable, tokens: int) -> None:
        """Counts an answer that ended by itself after `tokens`."""
        self._histogram(key).add(tokens, ended=True)

    def unfinished(self, key: Hashable, tokens_so_far: int) -> None:
        """Counts an answer that was cut off or cancelled after `tokens_so_far`."""
        self._histogram(key).add(tokens_so_far, ended=False)

    def _histogram(self, key: Hashable) -> _Histogram:
        known = self._known.setdefault(key, _Histogram())
        self._known.move_to_end(key)
        if len(self._known) > _KEYS:
            self._known.popitem(last=False)
        return known


class _Histogram:
    """Weights by bucket, of complete and of censored answers.

    The weight of each new sample grows instead of all old weights decaying; the ratios are the same.
    """

    def __init__(self) -> None:
        self._ended: dict[int, float] = {}
        self._censored: dict[int, float] = {}
        self._weight = 1.0
        self._samples = 0

    def add(self, tokens: int, *, ended: bool) -> None:
        weights = self._ended if ended else self._censored
        bucket = math.ceil(math.log(max(1, tokens)) / math.log(_FACTOR))
        weights[bucket] = weights.get(bucket, 0.0) + self._weight
        self._weight *= 2 ** (1 / _HALF_LIFE)
        self._samples += 1
        if self._weight > 2**20:
            self._ended = _rescaled(self._ended, self._weight)
            self._censored = _rescaled(self._censored, self._weight)
            self._weight = 1.0

    def mean_and_quantile(self, quantile: float) -> tuple[int, int] | None:
        """The mean, with samples beyond the quantile counted as the quantile; and the upper edge of the quantile's
        bucket. None if the quantile is unknown.
        """
        if self._samples < _MIN_SAMPLES:
            return None
        at_risk = sum(self._ended.values()) + sum(self._censored.values())
        surviving, mean, edge = 1.0, 0.0, 0.0
        for bucket in sorted(self._ended.keys() | self._censored.keys()):
            below, edge = edge, _FACTOR**bucket
            mean += surviving * (edge - below)
            ended = self._ended.get(bucket, 0.0)
            surviving *= 1 - min(1.0, ended / at_risk)
            if surviving <= 1 - quantile:
                return math.ceil(mean), math.ceil(edge)
            at_risk -= ended + self._censored.get(bucket, 0.0)
            if at_risk <= 0:
                break
        return None


def _rescaled(weights: dict[int, float], by: float) -> dict[int, float]:
    """All weights divided by `by`, without negligible ones."""
    return {bucket: weight / by for bucket, weight in weights.items() if weight / by > 1e-6}
