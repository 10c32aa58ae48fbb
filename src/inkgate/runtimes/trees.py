"""Gradient-boosted trees over measures, as arrays: what scikit-learn fits, without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Trees as arrays by node. A leaf points to itself.

    Attributes:
        features, limits: a node sends measures of at most the limit to the left.
        left, right: the nodes below.
        values: of the leaves, as logits.
        roots: the first node of each tree.
        start: the logit that the trees' values are added to.
        depth: of the deepest tree.
    """

    features: NDArray[np.int64]
    limits: FloatArray
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: FloatArray
    roots: NDArray[np.int64]
    start: float
    depth: int

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> BoostedTrees:
        """The trees from lists or arrays by the names of the attributes."""
        return cls(
            features=np.asarray(kept["features"], dtype=np.int64),
            limits=np.asarray(kept["limits"], dtype=np.float64),
            left=np.asarray(kept["left"], dtype=np.int64),
            right=np.asarray(kept["right"], dtype=np.int64),
            values=np.asarray(kept["values"], dtype=np.float64),
            roots=np.asarray(kept["roots"], dtype=np.int64),
            start=float(kept["start"]),
            depth=int(kept["depth"]),
        )

    def probabilities(self, measures: FloatArray) -> FloatArray:
        """For each row of `measures` (N, M) its probability (N,)."""
        rows = np.arange(len(measures))[:, None]
        nodes = np.broadcast_to(self.roots, (len(measures), len(self.roots)))
        for _ in range(self.depth):
            below = measures[rows, self.features[nodes]] <= self.limits[nodes]
            nodes = np.where(below, self.left[nodes], self.right[nodes])
        found: FloatArray = 1 / (1 + np.exp(-(self.start + self.values[nodes].sum(axis=1))))
        return found
