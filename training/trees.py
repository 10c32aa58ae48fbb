"""Boosted trees of scikit-learn as the arrays that inkgate.runtimes.trees reads."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier


def exported(trees: HistGradientBoostingClassifier) -> dict[str, Any]:
    """The trees as lists of nodes, by the names of BoostedTrees. A leaf points to itself."""
    features: list[int] = []
    limits: list[float] = []
    left: list[int] = []
    right: list[int] = []
    values: list[float] = []
    roots: list[int] = []
    depth = 0
    for (tree,) in trees._predictors:  # noqa: SLF001 - scikit-learn has no public form of these trees
        first = len(features)
        roots.append(first)
        for number, node in enumerate(tree.nodes):
            leaf = bool(node["is_leaf"])
            features.append(0 if leaf else int(node["feature_idx"]))
            limits.append(0.0 if leaf else float(node["num_threshold"]))
            left.append(first + number if leaf else first + int(node["left"]))
            right.append(first + number if leaf else first + int(node["right"]))
            values.append(float(node["value"]) if leaf else 0.0)
            depth = max(depth, int(node["depth"]))
    return {
        "features": features,
        "limits": limits,
        "left": left,
        "right": right,
        "values": values,
        "roots": roots,
        "start": float(np.ravel(trees._baseline_prediction)[0]),  # noqa: SLF001
        "depth": depth,
    }
