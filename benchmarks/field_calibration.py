"""Fits the confidence of fields to how often they are right, and says how well that would do on other documents.

    python -m benchmarks.field_calibration --manifest MANIFEST --read FOLDER --receipts receipts.jsonl [--plot FILE]

The arguments are those of `benchmarks.fields`. Prints the curves for src/inkgate/fields/calibrated.py, and the expected
calibration error of the rules' own confidence and of curves that were fitted on other documents (ten folds by
document). The plot has both. Receipts as lines count a quarter each, as users have images. Each step of a
curve has one right and one wrong field added, so that a few right ones don't make certainty. Addresses of WildReceipt
are left out: the truth has their lines in another order.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.fields import SETS, TYPES, documents, kept, read_all, receipts, wanted_of
from inkgate.codec import parse_document
from inkgate.fields.calibrated import ORIGIN, Knots, is_placed, on_curve
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate.types import PageResult
from inkgate_bench.accuracy.calibration import CalibrationCurve, JudgedPart, calibration_curve
from inkgate_bench.accuracy.fields import SAME_NAMES, SURE, judge

FOLDS = 10
AS_LINES = "receipts as lines"
WEIGHT = {AS_LINES: 0.25}
LEFT_OUT = ("wildreceipt", "/merchant_address")
STEP = 0.005
"""Confidences are rounded to this before the fit."""
mpl.rcParams["svg.hashsalt"] = "inkgate"
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams.update(
    dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), "#808080")
)


@dataclass(frozen=True, slots=True)
class RatedField:
    """A found field with a truth: of which set and document, the rules' confidence, and whether it is right."""

    group: str
    document: str
    placed: bool
    confidence: float
    right: bool


def rated(manifest: Path, folder: Path, lines: Path) -> Iterator[RatedField]:
    """The fields of all documents, with the rules' own confidence."""
    listed = list(documents(manifest))
    read_all([file for file, _ in listed], folder)
    for file, truth in listed:
        name = file.name.split("_")[0]
        pages = parse_document(kept(file, folder).read_bytes()).pages
        schema = TYPES.named(SETS[name]) if name in SETS else wanted_of(truth)
        yield from _of(name, file.name, pages, truth, schema)
    for number, (page, fields) in enumerate(receipts(lines)):
        yield from _of(AS_LINES, f"line {number}", [page], fields, TYPES.named("receipt"))


def _of(
    group: str, document: str, pages: Sequence[PageResult], truth: Mapping[str, Any], schema: FieldSchema
) -> Iterator[RatedField]:
    found = answer(pages, schema, proposed(pages, schema), calibrate=False).fields
    for name, wanted in truth.items():
        own, meant = f"/{name}", f"/{SAME_NAMES.get(name, name)}"
        path = own if own in found else meant
        field = found.get(path)
        if field is None or field.confidence is None or field.origin != ORIGIN or field.kind == "boolean":
            continue
        judged = judge(name, field, wanted)
        if judged.wanted and (group, path) != LEFT_OUT:
            placed = is_placed(field.kind, field.sources[0].label)
            yield RatedField(group, document, placed, field.confidence, judged.right)


def fitted(fields: Sequence[RatedField]) -> list[tuple[float, float]]:
    """The isotonic curve: mean confidence and share right of each step."""
    steps: list[list[float]] = []  # weight, weighted confidence, weighted right
    by_confidence: dict[float, list[float]] = {}
    for each in fields:
        weight = WEIGHT.get(each.group, 1.0)
        sums = by_confidence.setdefault(round(each.confidence / STEP), [0.0, 0.0, 0.0])
        for at, value in enumerate((1.0, each.confidence, float(each.right))):
            sums[at] += weight * value
    for key in sorted(by_confidence):
        steps.append(by_confidence[key])
        while len(steps) > 1 and _share(steps[-2]) >= _share(steps[-1]):
            last = steps.pop()
            steps[-1] = [one + other for one, other in zip(steps[-1], last, strict=True)]
    return [(round(step[1] / step[0], 3), round(_share(step), 3)) for step in steps]


def _share(step: Sequence[float]) -> float:
    return (step[2] + 1) / (step[0] + 2)


def curves(fields: Sequence[RatedField]) -> dict[bool, Knots]:
    """The curves of texts found by their place (True) and of other values."""
    return {placed: fitted([each for each in fields if each.placed is placed]) for placed in (True, False)}


def of_other_documents(fields: Sequence[RatedField]) -> list[tuple[RatedField, float]]:
    """The fields, and their confidence by curves that were fitted without their document's fold."""
    names = sorted({each.document for each in fields})
    random.Random(7).shuffle(names)
    fold = {name: at % FOLDS for at, name in enumerate(names)}
    found = []
    for number in range(FOLDS):
        own = curves([each for each in fields if fold[each.document] != number])
        held = [each for each in fields if fold[each.document] == number]
        found += [(each, on_curve(own[each.placed], each.confidence)) for each in held]
    return found


def curve_of(rows: Sequence[tuple[RatedField, float]]) -> CalibrationCurve:
    """The reliability curve of confidences."""
    return calibration_curve([JudgedPart(confidence, each.right, each.right) for each, confidence in rows])


def show(name: str, rows: Sequence[tuple[RatedField, float]]) -> None:
    """Prints the calibration error, and how right confidences of SURE are, for all and by set."""
    for group in ("all", *dict.fromkeys(each.group for each, _ in rows)):
        own = [row for row in rows if group in ("all", row[0].group)]
        sure = [each.right for each, confidence in own if confidence >= SURE]
        print(
            f"{name:28} {group:18} {len(own):5} fields, error {100 * (curve_of(own).error or 0):4.1f} %, "
            f"from {SURE}: {sum(sure)} of {len(sure)}, {100 * sum(sure) / max(1, len(sure)):.1f} %"
        )


def draw(file: Path, before: CalibrationCurve, after: CalibrationCurve) -> None:
    """Share right by mean confidence; the area of a point grows with its fields."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0.3, 1], [0.3, 1], color="#808080", linestyle=":", label="right as often as it says")
    for label, shown, colour in (("the rules' own", before, "#d08030"), ("calibrated", after, "#3080d0")):
        points = [(each.confidence, each.right, each.count) for each in shown.bins]
        x, y, count = zip(*points, strict=True)
        axes.plot(x, y, color=colour, linewidth=1)
        axes.scatter(x, y, s=[8 + 2 * each**0.5 * 3 for each in count], color=colour, label=label)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share right")
    axes.set_xlim(0.3, 1.02)
    axes.set_ylim(0.3, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(framealpha=0, loc="lower right")
    figure.savefig(file, metadata={"Date": None}, transparent=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--manifest", "--read", "--receipts"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    fields = list(rated(asked.manifest, asked.read, asked.receipts))
    for placed, knots in curves(fields).items():
        print("PLACED" if placed else "LABELLED", "=", tuple(knots))
        assert all(low[1] <= high[1] for low, high in pairwise(knots))
    before = [(each, each.confidence) for each in fields]
    after = of_other_documents(fields)
    show("the rules' own", before)
    show("fitted on other documents", after)
    if asked.plot is not None:
        draw(asked.plot, curve_of(before), curve_of(after))


if __name__ == "__main__":
    main()
