"""How well fields are found: SROIE, WildReceipt, invoices and forms of a manifest, and receipts as lines.

    python -m benchmarks.fields --manifest MANIFEST --read FOLDER [--receipts receipts.jsonl] [--json FILE]

MANIFEST: as for `inkgate eval`; documents whose ground truth has `fields` are used. FOLDER: of the documents as they
were read, as JSON; those it lacks are read with the default settings. RECEIPTS: a receipt a line, with `lines` (`text`,
`quad`) and `fields`. Prints F1 by field, how right fields are by confidence, what /verify accepts, and the CPU time of
a page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import orjson

from inkgate.codec import document_to_dict, parse_document
from inkgate.extraction.wanted import GIVEN
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.folded import fold
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate.fields.values import Proposal
from inkgate.library import Ocr
from inkgate.types import Line, PageResult
from inkgate_bench.accuracy.fields import SAME_NAMES, SURE, JudgedField, curve, judge_fields, scores

TYPES = DocumentTypes.load()
SETS = {"sroie": "receipt", "wildreceipt": "receipt", "inv2data": "invoice"}
"""Document types by the beginning of the file's name; others are asked for by the names of their truth."""
BOXES = ("selected", "unselected")
"""How the truth says whether a box is ticked."""
BOUNDS = (0.0, 0.5, 0.7, 0.8, 0.9, SURE)


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of documents, with the judged fields and the CPU time of a page in seconds."""

    name: str
    fields: list[JudgedField] = field(default_factory=list)
    pages_s: list[float] = field(default_factory=list)

    def add(self, pages: Sequence[PageResult], truth: Mapping[str, Any], schema: FieldSchema) -> None:
        """Finds the fields of a document and compares those that the truth has."""
        begun = process_time()
        found = answer(pages, schema, proposed(pages, schema))
        self.pages_s.append((process_time() - begun) / max(1, len(pages)))
        self.fields.extend(judge_fields(found.fields, truth, schema))

    def show(self) -> dict[str, Any]:
        """Prints the set; returns it for JSON."""
        print(
            f"\n{self.name}: {len(self.pages_s)} documents, CPU of a page: "
            f"mean {1000 * sum(self.pages_s) / max(1, len(self.pages_s)):.1f} ms, "
            f"most {1000 * max(self.pages_s, default=0):.1f} ms"
        )
        shown = scores(self.fields)
        for score in shown:
            print(
                f"  {score.name:24} F1 {score.f1:5.1f}  exact {score.exact_f1:5.1f}  "
                f"wanted {score.wanted:4} found {score.found:4} right {score.right:4}"
            )
        by_confidence = curve(self.fields, BOUNDS)
        for low, (count, right) in by_confidence.items():
            if count:
                print(f"  confidence from {low:.2f}: {right} of {count} right, {100 * right / count:.1f} %")
        return {
            "set": self.name,
            "documents": len(self.pages_s),
            "fields": [{**asdict(score), "f1": score.f1, "exact_f1": score.exact_f1} for score in shown],
            "by_confidence": {str(low): counts for low, counts in by_confidence.items()},
            "page_ms": [1000 * each for each in self.pages_s],
        }


def wanted_of(truth: Mapping[str, Any]) -> FieldSchema:
    """A schema of the truth's names: texts, and booleans for check boxes."""
    types = {name: "boolean" if value in BOXES else "string" for name, value in list(truth.items())[:100]}
    return FieldSchema.of({"properties": {name: {"type": [type_, "null"]} for name, type_ in types.items()}})


def documents(manifest: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Files and their true fields."""
    for entry in json.loads(manifest.read_text()):
        truth = entry.get("ground_truth")
        if isinstance(truth, dict) and truth.get("fields"):
            yield manifest.parent / entry["path"], json.loads((manifest.parent / truth["fields"]).read_text())


def read_all(files: Sequence[Path], folder: Path) -> None:
    """Reads the files that the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [file for file in files if not kept(file, folder).exists()]
    if missing:
        with Ocr() as ocr:
            for file in missing:
                result = ocr.read(file)
                kept(file, folder).write_bytes(orjson.dumps(document_to_dict(result)))


def kept(file: Path, folder: Path) -> Path:
    """Where the folder has the file as it was read."""
    return folder / f"{file.parent.name}__{file.name}.json"


def receipts(path: Path) -> Iterator[tuple[PageResult, dict[str, str]]]:
    """Receipts as lines, and their fields."""
    for row in path.read_text("utf-8").splitlines():
        receipt = json.loads(row)
        lines = []
        for line in receipt["lines"]:
            q = line["quad"]
            lines.append(Line(line["text"], ((q[0], q[1]), (q[2], q[3]), (q[4], q[5]), (q[6], q[7])), 0.95))
        yield PageResult(0, lines=tuple(lines)), receipt["fields"]


def verified(read: Sequence[tuple[PageResult, dict[str, str]]], seed: int = 7) -> dict[str, tuple[int, int]]:
    """What is accepted of true values, of values with one digit changed, and of another receipt's texts."""
    random, schema = Random(seed), TYPES.named("receipt")
    counts: dict[str, tuple[int, int]] = {}

    def count(kind: str, page: PageResult, path: str, text: str) -> None:
        found = answer([page], schema, {path: [Proposal(text, GIVEN, 1.0)]}, find_items=False).fields[path]
        kept_, of = counts.get(kind, (0, 0))
        counts[kind] = (kept_ + (found.value is not None), of + 1)

    for at, (page, truth) in enumerate(read):
        other = read[(at + random.randrange(1, len(read))) % len(read)][1]
        for name, text in truth.items():
            path = f"/{SAME_NAMES.get(name, name)}"
            if not text:
                continue
            count("true values kept", page, path, text)
            if name in {"total", "date"}:
                digits = [index for index, letter in enumerate(text) if letter.isdigit()]
                if digits:
                    index = random.choice(digits)
                    changed = random.choice([digit for digit in "0123456789" if digit != text[index]])
                    count("one digit changed", page, path, text[:index] + changed + text[index + 1 :])
            elif other.get(name) and fold(other[name]) != fold(text):
                count("texts of another receipt", page, path, other[name])
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--receipts", type=Path)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    sets: dict[str, Judged] = {}
    report: dict[str, Any] = {}
    if asked.manifest is not None:
        if asked.read is None:
            parser.error("--manifest needs --read")
        listed = list(documents(asked.manifest))
        read_all([file for file, _ in listed], asked.read)
        for file, truth in listed:
            name = file.name.split("_")[0]
            pages = parse_document(kept(file, asked.read).read_bytes()).pages
            schema = TYPES.named(SETS[name]) if name in SETS else wanted_of(truth)
            sets.setdefault(name, Judged(name)).add(pages, truth, schema)
    if asked.receipts is not None:
        read = list(receipts(asked.receipts))
        judged = sets.setdefault("receipts as lines", Judged("receipts as lines"))
        for page, fields in read:
            judged.add([page], fields, TYPES.named("receipt"))
        report["verify"] = verified(read)
    report["sets"] = [judged.show() for judged in sets.values()]
    everything = [
        each for judged in sets.values() for each in judged.fields if judged.name in {*SETS, "receipts as lines"}
    ]
    for low, (count, right) in curve(everything, BOUNDS).items():
        print(f"all sets with a type, confidence from {low:.2f}: {right} of {count} right")
    for kind, (accepted, of) in report.get("verify", {}).items():
        print(f"/verify: {kind}: {accepted} of {of}, {100 * accepted / of:.2f} %")
    if asked.json is not None:
        asked.json.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
