"""Draws specimens of the document types, reads them with the embedded engine, and compares all their fields.

    python -m benchmarks.specimens --read FOLDER [--seeds N] [--first N] [--only KIND] [--wrong]

For each seed and template: the clean picture and a photographed one, with the type given and without. A value is right
if it is exactly the true one; a field that the paper lacks must be null. `--wrong` changes one digit of each number
with a check digit: a check must fail. `--read` keeps what was read, so that rules can be tried on it again; `--first`
begins at another seed, whose papers nobody has looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import orjson
from PIL import Image

from benchmarks.specimens import cards, identity, papers, tickets
from benchmarks.specimens.canvas import Specimen
from benchmarks.specimens.damage import photographed
from inkgate.codec import document_to_dict, parse_document
from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.values import Extraction
from inkgate.library import Ocr
from inkgate.types import PageResult

KINDS: dict[str, Callable[[Random], Specimen]] = {
    "cn_id_front": identity.cn_id_front,
    "cn_id_back": identity.cn_id_back,
    "passport": identity.passport,
    "td1_card": identity.td1_card,
    "td2_card": identity.td2_card,
    "bank_card": cards.bank_card,
    "business_card_zh": cards.business_card_zh,
    "business_card_en": cards.business_card_en,
    "train_ticket_paper": tickets.paper_ticket,
    "train_ticket_electronic": tickets.electronic_ticket,
    "contract_zh": papers.contract_zh,
    "contract_en": papers.contract_en,
    "bill_of_lading": papers.bill_of_lading,
    "obituary_en": papers.obituary_en,
    "obituary_zh": papers.obituary_zh,
}
CONDITIONS = ("clean", "photographed")


@dataclass(slots=True)
class Reader:
    """Reads pictures, and keeps what was read in a folder."""

    folder: Path
    ocr: Ocr | None = None

    def read(self, name: str, make: Callable[[], Image.Image]) -> Sequence[PageResult]:
        kept = self.folder / f"{name}.json"
        if not kept.exists():
            self.ocr = self.ocr or Ocr().__enter__()
            picture = self.folder / f"{name}.png"
            make().save(picture)
            kept.write_bytes(orjson.dumps(document_to_dict(self.ocr.read(picture))))
        return parse_document(kept.read_bytes()).pages

    def close(self) -> None:
        if self.ocr is not None:
            self.ocr.__exit__(None, None, None)


@dataclass(slots=True)
class Tally:
    """Right fields of all, and the wrong ones, by condition and template."""

    counts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    types: list[bool] = field(default_factory=list)

    def add(self, condition: str, specimen: Specimen, found: Extraction, place: str) -> None:
        """Compares all fields of the type."""
        count = self.counts.setdefault((condition, specimen.kind), [0, 0])
        for name, value in found.data.items():
            wanted = specimen.truth.get(name, [] if isinstance(value, list) else None)
            count[1] += wanted not in (None, []) or value not in (None, [])
            if value == wanted:
                count[0] += wanted not in (None, [])
            else:
                self.misses.append(f"{place} {name}: wanted {wanted!r}, found {value!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    asked.read.mkdir(parents=True, exist_ok=True)
    reader, types = Reader(asked.read), DocumentTypes.load()
    seeds = range(asked.first, asked.first + asked.seeds)
    kinds = [kind for kind in KINDS if asked.only in kind]
    try:
        report = wrong_digits(reader, types, kinds, seeds) if asked.wrong else fields(reader, types, kinds, seeds)
    finally:
        reader.close()
    if asked.json is not None:
        asked.json.write_text(json.dumps(report, indent=2, ensure_ascii=False))


def specimens(kinds: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Specimen]]:
    for seed in seeds:
        for kind in kinds:
            yield seed, KINDS[kind](Random(f"{kind} {seed}"))


def fields(reader: Reader, types: DocumentTypes, kinds: Sequence[str], seeds: Sequence[int]) -> dict[str, object]:
    told, untold = Tally(), Tally()
    for seed, specimen in specimens(kinds, seeds):
        for condition in CONDITIONS:
            name = f"{specimen.kind}-{seed}-{condition}"
            pages = reader.read(name, lambda: _seen(specimen, condition, seed))  # noqa: B023 - called at once
            told.add(condition, specimen, extraction(pages, types, specimen.type), name)
            by_words = classify(pages, types).name
            untold.types.append(by_words == specimen.type)
            if by_words != specimen.type:
                untold.misses.append(f"{name}: is a {specimen.type}, taken for {by_words or 'nothing known'}")
    report: dict[str, object] = {"misses": told.misses + untold.misses}
    for condition in CONDITIONS:
        counts = {kind: count for (of, kind), count in told.counts.items() if of == condition}
        right, total = (sum(count[at] for count in counts.values()) for at in (0, 1))
        print(f"{condition}: {right} of {total} fields exact, {100 * right / max(1, total):.1f} %")
        for kind, count in counts.items():
            print(f"  {kind:26} {count[0]:4} of {count[1]:4}")
        report[condition] = {"right": right, "of": total, "kinds": counts}
    print(f"type found without being told: {sum(untold.types)} of {len(untold.types)}")
    report["types"] = [sum(untold.types), len(untold.types)]
    print(*told.misses, *untold.misses, sep="\n")
    return report


def wrong_digits(reader: Reader, types: DocumentTypes, kinds: Sequence[str], seeds: Sequence[int]) -> dict[str, object]:
    flagged, missed = 0, []
    for seed, specimen in specimens(kinds, seeds):
        for checked in specimen.checked:
            changed = specimen.with_wrong_digit(checked, Random(f"{specimen.kind} {checked} {seed}"))
            name = f"{specimen.kind}-{seed}-wrong-{checked}"
            found = extraction(reader.read(name, changed.image), types, specimen.type)
            if any(not check.passed for check in found.checks):
                flagged += 1
            else:
                missed.append(f"{name}: {changed.values[checked]}, found {dict(found.data)}")
    print(f"{flagged} of {flagged + len(missed)} changed digits flagged", *missed, sep="\n")
    return {"flagged": flagged, "missed": missed}


def extraction(pages: Sequence[PageResult], types: DocumentTypes, name: str) -> Extraction:
    schema = types.named(name)
    return answer(pages, schema, proposed(pages, schema))


def _seen(specimen: Specimen, condition: str, seed: int) -> Image.Image:
    image = specimen.image()
    return image if condition == "clean" else photographed(image, Random(f"{specimen.kind} camera {seed}"))


if __name__ == "__main__":
    main()
