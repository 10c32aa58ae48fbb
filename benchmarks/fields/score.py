"""How right fields are on documents whose fields are known: F1 by field and country, confidence, and status.

    python -m benchmarks.fields.score FOLDER=RESULTS ... [--json FILE] [--worst N]

FOLDER has documents beside NAME.fields.json, RESULTS what `python -m training.fields.observe FOLDER RESULTS` read. The
fields are found in these readings by the code that runs. `--worst` names documents with wrong values: never use it on
documents that judge.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Final

from training.fields.observe import observed

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate_bench.accuracy.fields import SURE, JudgedField, curve, judge_fields, scores
from inkgate_client.fields.values import Extraction, ExtractionStatus
from inkgate_client.types import PageResult

BOUNDS: Final = (0.0, 0.5, 0.7, 0.8, 0.9, SURE)
TYPES: Final = DocumentTypes.load()


@dataclass(slots=True)
class Set:
    """The judged documents of a kind.

    Attributes:
        complete: those that need no review; `complete_wrong`: of these, with a value that is wrong or missing.
    """

    fields: list[JudgedField] = field(default_factory=list)
    documents: int = 0
    complete: int = 0
    complete_wrong: int = 0
    seconds: float = 0.0

    def add(
        self, pages: Sequence[PageResult], truth: Mapping[str, Any], *, calibrate: bool = True
    ) -> tuple[Extraction, list[JudgedField]]:
        """Finds the fields of a document and compares them."""
        schema = TYPES.named(truth["type"])
        begun = process_time()
        found = answer(pages, schema, proposed(pages, schema), calibrate=calibrate)
        self.seconds += process_time() - begun
        # A sum of taxes that is not printed can't be found: every value stands on the page. Generated truths have times
        # without seconds.
        left_out = ("time", *(() if truth.get("tax_printed", True) else ("tax",)))
        true = {name: value for name, value in truth["fields"].items() if name not in left_out}
        judged = list(judge_fields(found.fields, true, schema))
        wrong = any(not each.right for each in judged if each.wanted)
        complete = found.status is ExtractionStatus.COMPLETE
        self.documents += 1
        self.complete += complete
        self.complete_wrong += complete and wrong
        self.fields.extend(judged)
        return found, judged

    def figures(self) -> dict[str, Any]:
        """The figures for JSON."""
        return {
            "documents": self.documents,
            "complete": self.complete,
            "complete_wrong": self.complete_wrong,
            "ms": 1000 * self.seconds / max(1, self.documents),
            "fields": {
                each.name: [each.wanted, each.found, each.right, round(each.f1, 1)] for each in scores(self.fields)
            },
            "confidence": {str(low): counts for low, counts in curve(self.fields, BOUNDS).items()},
        }


def show(name: str, judged: Set) -> None:
    """Prints a set."""
    share = 100 * judged.complete_wrong / max(1, judged.complete)
    print(
        f"\n{name}: {judged.documents} documents, {judged.complete} complete, of these {judged.complete_wrong} "
        f"with a wrong value ({share:.1f} %); {1000 * judged.seconds / max(1, judged.documents):.1f} ms each"
    )
    for score in scores(judged.fields):
        print(
            f"  {score.name:18} F1 {score.f1:5.1f}  wanted {score.wanted:4} found {score.found:4} right {score.right:4}"
        )
    for low, (count, right) in curve(judged.fields, BOUNDS).items():
        if count:
            print(f"  confidence from {low:.2f}: {right} of {count}, {100 * right / count:.1f} %")


def by_country(judged: Mapping[str, Set], names: Iterable[str]) -> None:
    """Prints F1 by country."""
    print(f"\n{'country':8} {'n':>4} " + " ".join(f"{name[:14]:>14}" for name in names))
    for country, found in sorted(judged.items()):
        by_name = {score.name: score for score in scores(found.fields)}
        print(
            f"{country:8} {found.documents:4} "
            + " ".join(f"{by_name[name].f1:14.1f}" if name in by_name else f"{'-':>14}" for name in names)
        )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worst", type=int, default=0)
    options = parser.parse_args()
    kinds: dict[str, Set] = {}
    countries: dict[str, dict[str, Set]] = {}
    for pair in options.pairs:
        folder, results = map(Path, pair.split("="))
        for name, truth, pages in observed(folder, results):
            kind = f"{folder.parent.name}/{folder.name} {truth['type']}{' scan' if name.endswith('-scan') else ''}"
            _, judged = kinds.setdefault(kind, Set()).add(pages, truth)
            if truth["type"] == "invoice":
                one = countries.setdefault(kind, {}).setdefault(truth.get("country", ""), Set())
                one.fields.extend(judged)
                one.documents += 1
            wrong = [each.name for each in judged if each.wanted and not each.right]
            if wrong and options.worst > 0:
                options.worst -= 1
                print(name, wrong)
    for kind, found in kinds.items():
        show(kind, found)
        if kind in countries:
            by_country(countries[kind], ("merchant_name", "invoice_number", "date", "subtotal", "tax", "total"))
    if options.json is not None:
        options.json.write_text(json.dumps({kind: found.figures() for kind, found in kinds.items()}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
