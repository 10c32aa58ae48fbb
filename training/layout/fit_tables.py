"""Fits the table scorer (src/inkgate/layout/tables/scorer.json) to what table_candidates.py measured.

    python -m training.layout.fit_tables src/inkgate/layout/tables/scorer.json CANDIDATES.npz ...

Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from training.trees import exported


def fit(candidates: Sequence[Path], target: Path) -> None:
    """Fits the trees; every tenth page by its name is kept for a check, and then used, too."""
    parts = [np.load(file) for file in candidates]
    x, y, names = (np.concatenate([part[key] for part in parts]) for key in ("measures", "likeness", "pages"))
    numbers = {name: i for i, name in enumerate(sorted(set(names.tolist())))}
    page = np.array([numbers[name] for name in names.tolist()])
    per_page = np.bincount(page)
    weight = 1 / np.sqrt(per_page[page])
    check = page % 10 == 0

    def model(rows: np.ndarray[Any, np.dtype[np.bool_]]) -> HistGradientBoostingClassifier:
        trees = HistGradientBoostingClassifier(
            max_iter=120,
            max_leaf_nodes=16,
            max_depth=6,
            learning_rate=0.1,
            min_samples_leaf=40,
            l2_regularization=5.0,
            early_stopping=False,
            random_state=1,
        )
        trees.fit(
            np.concatenate([x[rows], x[rows]]),
            np.repeat([1, 0], rows.sum()),
            sample_weight=np.concatenate([y[rows] * weight[rows], (1 - y[rows]) * weight[rows]]),
        )
        return trees

    trees = model(~check)
    found = trees.predict_proba(x[check])[:, 1]
    error = {
        "mean_error": round(float(np.abs(found - y[check]).mean()), 4),
        "of_mean": round(float(np.abs(y[check].mean() - y[check]).mean()), 4),
    }
    print(error)
    trees = model(np.ones(len(y), dtype=bool))
    rounded = _rounded(trees)
    card = {
        "what": "How right a table candidate is (likeness in training/layout/table_candidates.py): gradient-boosted trees.",
        "data": "Pages printed by training/layout/generate.py, tagged PDFs without tables, and 51 annotated pages (thrice).",
        "pages": len(numbers),
        "candidates": len(y),
        "checked_on_every_tenth_page": error,
        "licence": "as inkgate",
    }
    target.write_text(
        json.dumps({"card": card, "measures": parts[0]["names"].tolist(), **rounded}, separators=(",", ":")) + "\n",
        "utf-8",
    )


def _rounded(trees: HistGradientBoostingClassifier) -> dict[str, Any]:
    """The trees with the digits that the file keeps."""
    kept = exported(trees)
    rounded: dict[str, Any] = kept | {
        "limits": [float(f"{limit:.5g}") for limit in kept["limits"]],
        "values": [round(value, 4) for value in kept["values"]],
        "start": round(kept["start"], 4),
    }
    return rounded


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("candidates", type=Path, nargs="+")
    args = parser.parse_args()
    fit(args.candidates, args.scorer)


if __name__ == "__main__":
    main()
