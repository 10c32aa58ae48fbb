"""Fields of any schema out of the boxes of forms, and booleans out of check boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.form_boxes import BoxedText, FormEntry, form_entries
from inkgate.fields.rules.form_words import ADDRESS, ADDRESS_PARTS, NAME, fit, label_words, words_in
from inkgate.fields.schema import Leaf
from inkgate_client.types import PageResult

MARKS: Final = {True: "[x]", False: "[ ]"}
"""How a ticked box and an empty one are written in a line."""
_MIN_FIT: Final = 0.5
_MAX_LABELS: Final = 10
"""Maximum labels of a field that are compared with each entry."""
_MAX_COMPARED: Final = 500_000
"""Pairs of words: half a second. Without them, the rest of the fields is looked for in no form."""
_OF_FIT: Final = 0.95
"""How sure a value in a box is whose label fits wholly."""


@dataclass(slots=True)
class FormReader:
    """Finds fields in the forms of a document. `left`: pairs of words that may still be compared."""

    entries: Sequence[FormEntry]
    words: Sequence[frozenset[str]]
    left: int = _MAX_COMPARED

    @classmethod
    def of(cls, pages: Sequence[PageResult]) -> FormReader:
        """A reader of these pages."""
        entries = form_entries(pages)
        return cls(entries, [words_in(entry.title) for entry in entries])

    def find(self, leaf: Leaf) -> FieldCandidate | None:
        """The value in the box whose label fits best; one without text if the box is empty; None without a box."""
        best = self._best(leaf, marks=False)
        if best is None:
            return None
        score, at = best
        entry = self.entries[at]
        parts = [part for row in self._rows(leaf, at) for part in row]
        candidate = _candidate(entry, parts, _OF_FIT * score)
        return _of_kind(candidate, leaf.kind)

    def mark(self, leaf: Leaf) -> FieldCandidate | None:
        """The check box with the leaf's label, as one of `MARKS`; None without one."""
        best = self._best(leaf, marks=True)
        if best is None:
            return None
        score, at = best
        entry = self.entries[at]
        text = MARKS[bool(entry.checked)]
        return FieldCandidate(text, entry.page, 0, (entry.mark_line,), entry.title, None, _OF_FIT * score)

    def _best(self, leaf: Leaf, *, marks: bool) -> tuple[float, int] | None:
        best: tuple[float, int] | None = None
        labels = leaf.labels[-_MAX_LABELS:]
        count = sum(len(label_words(label)) for label in labels)
        for at, entry in enumerate(self.entries):
            if (entry.checked is not None) != marks or not self.words[at]:
                continue
            self.left -= count * len(self.words[at])
            if self.left < 0:
                return None
            score = max((fit(label, self.words[at], entry.of) for label in labels), default=0.0)
            if score >= _MIN_FIT and (best is None or score > best[0]):
                best = (score, at)
        return best

    def _rows(self, leaf: Leaf, at: int) -> Sequence[Sequence[BoxedText]]:
        """The rows of the value. A box for name and address has the name first; an address may go on below."""
        entry, requested = self.entries[at], words_in(" ".join(leaf.labels[-_MAX_LABELS:]))
        label, rows = self.words[at], entry.rows
        if not requested & ADDRESS:
            both = label & NAME and label & (ADDRESS | ADDRESS_PARTS)
            return rows[:1] if both and requested & NAME else rows
        if label & NAME and not requested & NAME:
            return rows[1:]
        found = list(rows)
        for behind in range(at + 1, len(self.entries)):
            words = self.words[behind]
            if self.entries[behind].box != entry.box or not words & ADDRESS_PARTS or words & NAME:
                break
            found += self.entries[behind].rows
        return found


def _candidate(entry: FormEntry, parts: Sequence[BoxedText], score: float) -> FieldCandidate:
    filled = [part for part in parts if any(map(str.isalnum, part.text))]
    text = " ".join(part.text for part in filled)
    lines = tuple(dict.fromkeys(part.line for part in filled))
    return FieldCandidate(text, entry.page, 0, lines, entry.title, None, score)


def _of_kind(found: FieldCandidate, kind_name: str) -> FieldCandidate:
    """The first value of the kind in the text; without one, an empty text."""
    kind = KINDS.get(kind_name)
    if kind is None or not found.text:
        return found
    values = kind.find(found.text)
    text = found.text[values[0].start : values[0].end] if values else ""
    return FieldCandidate(text, found.page, found.row, found.lines, found.label, None, found.score)
