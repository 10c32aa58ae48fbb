"""Fields of any schema: the value behind or below what the schema calls it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest
from typing import Final, TypeVar

from rapidfuzz.fuzz import ratio

from inkgate.fields.folded import fold, glue
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import ValueKind
from inkgate.fields.rules.candidates import LONGEST_LABEL, FieldCandidate, candidates_of
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell
from inkgate.fields.schema import Leaf
from inkgate_client.concurrency import pause

ItemT = TypeVar("ItemT")
MIN_SIMILARITY: Final = 85.0
"""Likeness of a label on the page and one of the schema, in percent: OCR misreads single letters."""
SAME_LABEL, WITHIN_LABEL = 1.0, 0.7
"""How sure a value is by its label: this is the label, or the label contains it."""
_IN_NEXT, _IN_BELOW = 0.9, 0.85
"""How sure a text is that stands in another cell than its label."""
_NUMBERED = re.compile(r"^\d{1,2}[a-z]?\.?\s+[A-Z][a-z]\D*$")
"""A field of a form that numbers them: `4 Federal income tax withheld`."""
_SEPARATOR = re.compile(r"\s*[:：=]\s*|\s{2,}|\.{3,}|_{3,}")
_ABOVE = 2.0
"""A value stands at most this many line heights below its label."""
_ROWS_BELOW: Final = 2
MAX_CANDIDATES: Final = 50
"""Maximum candidates of a field."""
_LONGEST_CELL: Final = 5000
"""Maximum length in characters: more of a line is not looked through for a label."""

_MAX_UNSPACED_LABELS: Final = 200
"""Labels without spaces that are looked for within cells; the shortest."""
_MAX_LABELS: Final = 10_000
"""Different labels on the pages: each is compared with those of each field."""


def _keep(by_label: dict[str, list[ItemT]], folded: str, item: ItemT) -> None:
    """Adds the item to those with its label, as far as they count."""
    if folded in by_label or len(by_label) < _MAX_LABELS:
        of_label = by_label.setdefault(folded, [])
        if len(of_label) < MAX_CANDIDATES:
            of_label.append(item)


@dataclass(frozen=True, slots=True)
class _LabelledCell:
    """A cell with what may be a label in it: the label, the text behind it, and whether a colon or space parts them."""

    label: str
    behind: str
    parted: bool
    row: PrintedRow
    at: int


@dataclass(frozen=True, slots=True)
class LabelFinder:
    """Finds the values of fields by their labels. What fields share is made once for all of them.

    Attributes:
        pages: the rows.
        cells: those that may be labels, by the length of their folded label, and by it.
        labels: folded ones of the whole schema: a cell with one is no value.
        values: by kind, and by their folded labels.
    """

    pages: PrintedPages
    cells: Mapping[int, Mapping[str, Sequence[_LabelledCell]]]
    labels: frozenset[str] = frozenset()
    values: dict[str, dict[str, list[FieldCandidate]]] = field(default_factory=dict)

    @classmethod
    def of(cls, pages: PrintedPages, leaves: Sequence[Leaf] = ()) -> LabelFinder:
        """A finder for these pages, and for `leaves`."""
        cells: dict[int, dict[str, list[_LabelledCell]]] = {}
        glued = _glued_labels(leaves)
        for row in pages.rows:
            pause()
            for at, cell in enumerate(row.cells):
                for label, behind, parted in _labels_in(cell.text[:_LONGEST_CELL], glued):
                    if len(label) <= LONGEST_LABEL and (folded := fold(label)):
                        _keep(cells.setdefault(len(folded), {}), folded, _LabelledCell(label, behind, parted, row, at))
        labels = frozenset(fold(label) for leaf in leaves for label in leaf.labels)
        return cls(pages, cells, labels)

    def find(self, leaf: Leaf) -> list[FieldCandidate]:
        """Candidates for the leaf, the best first; none without a label on the page."""
        labels = [folded for label in leaf.labels if (folded := fold(label))]
        kind = KINDS.get(leaf.kind)
        if kind is not None:
            return self._values(kind, labels)
        texts = self._texts(labels)
        return texts if leaf.lines == 1 else [self._continued(each, leaf.lines - 1) for each in texts]

    def _continued(self, found: FieldCandidate, more: int) -> FieldCandidate:
        """The text with up to `more` lines below it that begin where it does, and name no other field."""
        row = self.pages.rows[found.row]
        cell = next((cell for cell in row.cells if cell.line in found.lines), None)
        for _ in range(more):
            below = None if cell is None else _below(self.pages, row, cell)
            if cell is None or below is None or self._is_label(below[1], cell) or self._begins_with_label(below[1]):
                break
            row, cell = below
            found = replace(
                found,
                text=found.text + glue(found.text, cell.text) + cell.text.strip(),
                lines=(*found.lines, cell.line),
            )
        return found

    def _begins_with_label(self, cell: RowCell) -> bool:
        folded = fold(cell.text[:LONGEST_LABEL])
        return any(folded.startswith(label) for label in self.labels if not label.isascii())

    def _values(self, kind: ValueKind, labels: Sequence[str]) -> list[FieldCandidate]:
        if kind.name not in self.values:
            values: dict[str, list[FieldCandidate]] = {}
            for each in candidates_of(self.pages, kind):
                if kind.name == "money" and each.value is not None and each.value.unit == "%":
                    continue  # a rate is no amount
                _keep(values, fold(each.label), each)
            self.values[kind.name] = values
        scored = ((likeness(label, labels), found) for label, found in self.values[kind.name].items())
        alike = ((score, each) for score, found in scored if score > 0 for each in found)
        best = nlargest(MAX_CANDIDATES, alike, key=lambda pair: pair[0])
        return [replace(each, score=score) for score, each in best]

    def _texts(self, labels: Sequence[str]) -> list[FieldCandidate]:
        """What stands behind a label in its cell, in the next cell, or in the cell below. Of those alike, labels that
        are parted from the text come first: 甲方：王建国 before 甲方应按月支付.
        """
        alike = []
        for requested in labels:
            # Texts are 85 % alike only if the shorter has 74 % of the longer one's length.
            for length in range(int(0.74 * len(requested)), int(len(requested) / 0.74) + 2):
                pause()
                for folded, cells in self.cells.get(length, {}).items():
                    if score := ratio(folded, requested, score_cutoff=MIN_SIMILARITY):
                        alike += [(score / 100, not each.parted, each.row.number, each.at, each) for each in cells]
        alike.sort(key=lambda found: (-found[0], found[1:4]))
        found: dict[tuple[int, int], FieldCandidate] = {}
        for score, _, row, at, each in alike:
            if (row, at) not in found and (candidate := self._beside(each, SAME_LABEL * score)) is not None:
                found[row, at] = candidate
            if len(found) >= MAX_CANDIDATES:
                break
        return sorted(found.values(), key=lambda each: -each.score)

    def _beside(self, labelled: _LabelledCell, sureness: float) -> FieldCandidate | None:
        row, at = labelled.row, labelled.at
        if labelled.behind:
            return _candidate(row, row.cells[at], labelled.behind, labelled.label, sureness)
        cell = row.cells[at]
        if at + 1 < len(row.cells) and not self._is_label(row.cells[at + 1], cell):
            following = row.cells[at + 1]
            return _candidate(row, following, following.text.lstrip(" :："), cell.text, _IN_NEXT * sureness)
        below = _below(self.pages, row, cell)
        if below is None or self._is_label(below[1], cell):
            return None
        return _candidate(below[0], below[1], below[1].text, cell.text, _IN_BELOW * sureness)

    def _is_label(self, cell: RowCell, beside: RowCell) -> bool:
        """Whether the cell names another field than the label beside it: `Date:`, or a numbered one as that is."""
        text = cell.text[:LONGEST_LABEL].strip()
        if text.endswith((":", "：")) or fold(text) in self.labels:
            return True
        parts = text.split("/")  # 国籍/Nationality
        if len(parts) == 2 and any(fold(part) in self.labels for part in parts):
            return True
        return bool(_NUMBERED.match(text) and _NUMBERED.match(beside.text[:LONGEST_LABEL]))


def _glued_labels(leaves: Sequence[Leaf]) -> re.Pattern[str] | None:
    """Labels of scripts without spaces, which stand against their values: 姓名张三. Spaces may stand in them: 姓 名."""
    labels = {"".join(label.split()) for leaf in leaves for label in leaf.labels if not label.isascii()}
    if not labels:
        return None
    longest = sorted(labels, key=lambda label: (-len(label), label))[-_MAX_UNSPACED_LABELS:]
    return re.compile("|".join(" {0,4}".join(map(re.escape, label)) for label in longest))


def _labels_in(text: str, glued: re.Pattern[str] | None) -> Iterator[tuple[str, str, bool]]:
    """Labels in a cell, what stands behind each, and whether it is parted: one and a separator, or all glued ones if it
    begins with one.
    """
    matches = list(glued.finditer(text[:LONGEST_LABEL])) if glued is not None else []
    if not matches or text[: matches[0].start()].strip():
        label, *behind = _SEPARATOR.split(text, maxsplit=1)
        yield label, "".join(behind), True
        return
    for at, match in enumerate(matches):
        end = matches[at + 1].start() if at + 1 < len(matches) else len(text)
        following = text[match.end() : end]
        rest = following.strip(" :：")
        # `姓 / Surname` is a label in two languages.
        yield match[0], "" if rest.startswith(("/", "|")) else rest, following[:1] in {" ", ":", "："} or not rest


def likeness(folded: str, requested: Sequence[str]) -> float:
    """How well a folded label on the page fits the folded labels of a schema, from 0 to 1."""
    pause()
    if not folded:
        return 0.0
    best = max((ratio(folded, each, score_cutoff=MIN_SIMILARITY) for each in requested), default=0.0)
    if best >= MIN_SIMILARITY:
        return SAME_LABEL * best / 100
    share = max((len(each) / len(folded) for each in requested if each in folded), default=0.0)
    return WITHIN_LABEL * math.sqrt(share)


def _below(pages: PrintedPages, row: PrintedRow, cell: RowCell) -> tuple[PrintedRow, RowCell] | None:
    """The nearest cell below; rows of photographs may be cut into two."""
    for following in pages.rows[row.number + 1 : row.number + 1 + _ROWS_BELOW]:
        for other in following.cells:
            near = 0 <= other.box[1] - cell.box[3] + pages.unit <= (_ABOVE + 1) * pages.unit
            if following.page == row.page and near and other.box[0] < cell.box[2] and cell.box[0] < other.box[2]:
                return following, other
    return None


def _candidate(row: PrintedRow, cell: RowCell, text: str, label: str, score: float) -> FieldCandidate:
    return FieldCandidate(text.strip(), row.page, row.number, (cell.line,), label, None, score)
