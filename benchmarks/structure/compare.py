"""What a change did to the texts of a manifest's documents: two folders of reading.py, before and after.

    python -m benchmarks.structure.compare BEFORE AFTER [--manifest MANIFEST] [--lines 6]

Prints the character error rate and the words' F1 by group, and every document whose text or review changed: those that
lost most first, with the lines that only one of both has. Documents without truth come last, those that changed most
first. Exits with 1 if a group became worse.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from rapidfuzz.distance import Levenshtein

from benchmarks.structure.reading import manifest_of, overlay_of, place
from inkgate_bench.accuracy.manifest import Entry, load_manifest, load_text
from inkgate_bench.accuracy.metrics import CharacterErrors, character_errors, f1
from inkgate_bench.accuracy.summary import GROUPINGS

MIN_SHOWN = 0.0005
"""Smaller changes of a group's figures, in [0, 1], are none."""
GROUPED_BY = ("file", "folder", "language", "kind")


@dataclass(frozen=True, slots=True)
class Reading:
    """One document as it was read. `errors`, `f1`: None without truth; `errors` also if it is order-free."""

    text: str
    review: tuple[str, ...]
    errors: CharacterErrors | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One document before and after."""

    entry: Entry
    before: Reading
    after: Reading

    @property
    def text_changed(self) -> bool:
        return self.before.text != self.after.text

    @property
    def changed(self) -> bool:
        return self.text_changed or self.before.review != self.after.review

    @property
    def loss(self) -> float:
        """How much worse it became: the greater of both figures' changes, in [-1, 1]; 0 without truth."""
        rates = [reading.errors.rate if reading.errors else 0.0 for reading in (self.before, self.after)]
        words = [0.0 if reading.f1 is None else reading.f1 for reading in (self.after, self.before)]
        changes = (rates[1] - rates[0], words[1] - words[0])
        return max(changes, key=abs)

    @property
    def edits(self) -> int:
        return Levenshtein.distance(self.before.text, self.after.text)


def reading_of(entry: Entry, kept: Mapping[str, Any]) -> Reading:
    """The figures of a document, of the published form of its result or of `{"refused": code}`."""
    pages = kept.get("pages", [])
    text = f"refused: {kept['refused']}" if "refused" in kept else "\n\n".join(page["text"] for page in pages)
    review = {reason for page in pages for reason in page["review"]}
    if entry.text is None:
        return Reading(text, tuple(sorted(review)), None, None)
    truth = load_text(entry.text)
    errors = None if entry.order_free else character_errors(truth, text)
    return Reading(text, tuple(sorted(review)), errors, f1(truth, text))


def differences(entries: Sequence[Entry], before: Path, after: Path) -> list[Difference]:
    """Of the documents that both folders have."""
    found = []
    for entry in entries:
        kept = [place(folder, entry) for folder in (before, after)]
        if all(file.exists() for file in kept):
            first, second = (reading_of(entry, orjson.loads(file.read_bytes())) for file in kept)
            found.append(Difference(entry, first, second))
    return found


@dataclass(frozen=True, slots=True)
class GroupChange:
    """Error rate and F1 of a group, before and after, in [0, 1]; None where no document has it."""

    name: str
    documents: int
    rates: tuple[float, float] | None
    f1s: tuple[float, float] | None

    @property
    def worse(self) -> bool:
        rates, words = self.rates or (0.0, 0.0), self.f1s or (0.0, 0.0)
        return rates[1] - rates[0] > MIN_SHOWN or words[0] - words[1] > MIN_SHOWN


def by_group(found: Sequence[Difference]) -> list[GroupChange]:
    """Of all documents with truth, and of each group of them. A group's error rate is that of its texts as one."""
    scored = [one for one in found if one.entry.text]
    members: dict[str, list[Difference]] = {"all": scored}
    for grouping in GROUPED_BY:
        for one in scored:
            members.setdefault(f"{grouping}: {GROUPINGS[grouping](one.entry)}", []).append(one)
    return [_group(name, each) for name, each in members.items()]


def _group(name: str, members: Sequence[Difference]) -> GroupChange:
    sides = [[one.before for one in members], [one.after for one in members]]
    rates, words = [], []
    for side in sides:
        errors = [reading.errors for reading in side if reading.errors is not None]
        f1s = [reading.f1 for reading in side if reading.f1 is not None]
        if errors:
            rates.append(sum(each.edits for each in errors) / max(1, sum(each.characters for each in errors)))
        if f1s:
            words.append(sum(f1s) / len(f1s))
    return GroupChange(
        name,
        len(members),
        (rates[0], rates[1]) if len(rates) == len(sides) else None,
        (words[0], words[1]) if len(words) == len(sides) else None,
    )


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that only one of both texts has, in its order, each as often as it is there more than in the other."""
    first, second = before.splitlines(), after.splitlines()
    return _only(first, second), _only(second, first)


def _only(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    left = Counter(lines) - Counter(others)
    found = []
    for line in lines:
        if left[line] > 0 and line.strip():
            left[line] -= 1
            found.append(line)
    return found


def _percent(pair: tuple[float, float] | None) -> str:
    if pair is None:
        return f"{'':>22}"
    change = pair[1] - pair[0]
    shown = f"{100 * change:+7.2f}" if abs(change) > MIN_SHOWN else f"{'':>7}"
    return f"{100 * pair[0]:6.2f} {100 * pair[1]:6.2f} {shown} "


def _figure(before: float | None, after: float | None) -> str:
    return "-" if before is None or after is None else f"{100 * before:.2f} -> {100 * after:.2f}"


def _print_document(one: Difference, most_lines: int) -> None:
    rates = [reading.errors.rate if reading.errors else None for reading in (one.before, one.after)]
    print(f"\n{one.entry.path}  CER {_figure(*rates)}  F1 {_figure(one.before.f1, one.after.f1)}")
    if one.before.review != one.after.review:
        print(f"  review: {', '.join(one.before.review) or 'none'} -> {', '.join(one.after.review) or 'none'}")
    if not one.text_changed:
        return
    for sign, lines in zip("-+", changed_lines(one.before.text, one.after.text), strict=True):
        for line in lines[:most_lines]:
            print(f"  {sign} {line}")
        if len(lines) > most_lines:
            print(f"  {sign} ... {len(lines) - most_lines} lines more")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--manifest", type=Path, help="by default, that of AFTER")
    parser.add_argument("--lines", type=int, default=6, help="that are printed of a document, of each side")
    args = parser.parse_args()
    manifest = args.manifest or manifest_of(args.after)
    entries = load_manifest(manifest, overlay_of(manifest))
    found = differences(entries, args.before, args.after)
    groups = by_group(found)
    print(f"{len(found)} documents. CER and F1 in percent: before, after, change.")
    for group in groups:
        mark = "  worse" if group.worse else ""
        print(f"{group.name[:48]:<48} {group.documents:4} {_percent(group.rates)} {_percent(group.f1s)}{mark}")
    changed = [one for one in found if one.changed]
    texts = sum(one.text_changed for one in changed)
    print(f"\n{texts} documents have another text, {len(changed) - texts} only another review.")
    known = sorted((one for one in changed if one.entry.text), key=lambda one: -one.loss)
    unknown = sorted((one for one in changed if not one.entry.text), key=lambda one: -one.edits)
    for one in (*known, *unknown):
        _print_document(one, args.lines)
    sys.exit(1 if any(group.worse for group in groups) else 0)


if __name__ == "__main__":
    main()
