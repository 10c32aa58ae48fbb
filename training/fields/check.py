"""What trees find in documents of sources that they have not seen, and the curves of their confidence.

    python -m training.fields.check FOLDER=RESULTS ... --folds FILE [--trees trees.npz]

fit.py splits the documents by source in four parts; trees fitted to three of them read the fourth, through the whole of
field extraction.
"""

import argparse
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from training.fields import fit
from training.fields.observe import observed

from benchmarks.fields.score import Set, show
from inkgate.fields.trade import reader
from inkgate_bench.accuracy.fields import SAME_NAMES, JudgedField

MIN_VALUES, STEP = 60, 40
"""Values of a field that its curve needs, and those of a step of it."""


def fitted(judged: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """The isotonic curve of confidence: mean confidence and share right of each step, of STEP values at least. Each
    step has one right and one wrong value added, so that a few right ones don't make certainty.
    """
    ranked = sorted(judged)
    starts = range(0, max(1, len(ranked) - STEP + 1), STEP)
    steps: list[list[float]] = []
    for start in starts:
        part = ranked[start:] if start == starts[-1] else ranked[start : start + STEP]
        steps.append([len(part), sum(p for p, _ in part), sum(right for _, right in part)])
        while len(steps) > 1 and steps[-2][2] / steps[-2][0] >= steps[-1][2] / steps[-1][0]:
            last = steps.pop()
            steps[-1] = [one + other for one, other in zip(steps[-1], last, strict=True)]
    curve: list[tuple[float, float]] = []
    for count, total, right in steps:
        share = max((right + 1) / (count + 2), curve[-1][1] if curve else 0.0)
        curve.append((round(total / count, 4), round(share, 4)))
    return curve


def curves_of(judged: Sequence[JudgedField]) -> dict[str, list[tuple[float, float]]]:
    """The curves by field, for fields with enough values."""
    by_name: dict[str, list[tuple[float, bool]]] = {}
    for each in judged:
        if each.confidence is not None and each.wanted:
            by_name.setdefault(SAME_NAMES.get(each.name, each.name), []).append((each.confidence, each.right))
    # Other fields have few scores, between which a curve says nothing.
    kept = {name: values for name, values in by_name.items() if name in reader.MEASURED and len(values) >= MIN_VALUES}
    return {name: fitted(values) for name, values in kept.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--folds", type=Path, required=True, help="of fit.py")
    parser.add_argument("--trees", type=Path, help="trees.npz of fit.py, to add the curves to")
    parser.add_argument("--wrong", default="", help="a field of which wrong values are printed")
    options = parser.parse_args()
    found: list[reader.Forests] = pickle.loads(options.folds.read_bytes())  # noqa: S301 - of fit.py
    sets: dict[str, Set] = {}
    for pair in options.pairs:
        folder, results = map(Path, pair.split("="))
        for name, truth, pages in observed(folder, results):
            forests = found[fit.fold_of(fit.source_of(name, truth))]
            reader.forests = lambda forests=forests: forests  # type: ignore[assignment]
            kind = f"{folder.parent.name}/{folder.name} {truth['type']}{' scan' if name.endswith('-scan') else ''}"
            extraction, judged = sets.setdefault(kind, Set()).add(pages, truth, calibrate=False)
            for each in judged:
                if options.wrong == each.name and not each.right and each.wanted:
                    path = f"/{SAME_NAMES.get(each.name, each.name)}"
                    value = extraction.fields[path]
                    print(name, "| true:", truth["fields"][each.name], "| found:", value.text, value.confidence)
    for kind, judged_set in sets.items():
        show(kind, judged_set)
    if options.trees is not None:
        curves = curves_of([each for judged_set in sets.values() for each in judged_set.fields])
        kept = dict(np.load(options.trees))
        np.savez_compressed(
            options.trees, **kept | {f"curve:{name}": np.array(curve) for name, curve in curves.items()}
        )
        print({name: curve[-3:] for name, curve in curves.items()})


if __name__ == "__main__":
    main()
