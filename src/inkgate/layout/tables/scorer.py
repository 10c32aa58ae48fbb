"""The probability that rows of a page are a table with certain cells: boosted trees over the measures of features.py.

More precisely, how right they are: the F1 of the cells' neighbours (M. Göbel, T. Hassan, E. Oro, G. Orsi, "ICDAR 2013
table competition"), less for rows too many or missing. training/layout/fit_tables.py fits it
to generated and annotated pages.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray


@dataclass(frozen=True, slots=True)
class TreeScorer:
    """Trees as arrays by node. A leaf points to itself.

    Attributes:
        features, limits: a node sends measures of at most the limit to the left.
        left, right: the nodes below.
        values: of the leaves, as logits.
        roots: the first node of each tree.
        start: the logit that the trees' values are added to.
    """

    features: NDArray[np.int64]
    limits: FloatArray
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: FloatArray
    roots: NDArray[np.int64]
    start: float
    depth: int

    def probabilities(self, measures: FloatArray) -> FloatArray:
        """For each row of `measures` (N, len(NAMES)) its probability (N,)."""
        rows = np.arange(len(measures))[:, None]
        nodes = np.broadcast_to(self.roots, (len(measures), len(self.roots)))
        for _ in range(self.depth):
            below = measures[rows, self.features[nodes]] <= self.limits[nodes]
            nodes = np.where(below, self.left[nodes], self.right[nodes])
        found: FloatArray = 1 / (1 + np.exp(-(self.start + self.values[nodes].sum(axis=1))))
        return found


@cache
def table_scorer() -> TreeScorer:
    """The scorer that is shipped."""
    kept = json.loads((Path(__file__).parent / "scorer.json").read_text("utf-8"))

    def nodes(name: str) -> NDArray[np.int64]:
        return np.array(kept[name], dtype=np.int64)

    def floats(name: str) -> FloatArray:
        return np.array(kept[name], dtype=np.float64)

    return TreeScorer(
        features=nodes("features"),
        limits=floats("limits"),
        left=nodes("left"),
        right=nodes("right"),
        values=floats("values"),
        roots=nodes("roots"),
        start=kept["start"],
        depth=kept["depth"],
    )
