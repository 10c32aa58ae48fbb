"""Forms: what is printed in the boxes of a form, as labels with what was filled in; and check boxes with their labels.

The boxes are the cells of ruled tables. In a box, small print at the top says what goes into it; a tall box may have
several labels, each with its value below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from inkgate.fields.rules.form_words import LABEL_WORDS, words_in
from inkgate_client.types import Box, Line, PageResult, Table

MAX_ENTRIES: Final = 4000
"""Maximum entries of a document. More are left out."""
MAX_BOX_LINES: Final = 40
"""Lines of a box. A cell with more is no box of a form."""
_MIN_BOXES: Final = 3
"""A table with as many cells that have a label and a value, or a place for one, is a form."""
_MIN_SHARE: Final = 0.25
"""Minimum share of such cells among the filled cells of a table."""
_CLOSE, _CLOSE_OF_OCR = 0.5, 0.15
"""A label goes on in the next line if the gap is at most this share of its height. Lines of OCR have margins."""
_TALLER: Final = 1.15
"""Ratio of heights, for lines of OCR: an indented line that is taller than its label by this is handwriting, or larger
print."""
_INDENT: Final = 3.0
"""Maximum distance of such a line's beginning from the label's, in heights to the right."""
_LONGEST: Final = 300
"""Characters of a line of a form. Longer ones are paragraphs."""
_MARK: Final = re.compile(r"\[([x ])\]")
_NUMBERED: Final = re.compile(r"^\d{1,2}[a-z]?[.)]?\s+[^\W\d_]")
"""A box with a number: `4 Federal income tax withheld`."""
_LETTERS: Final = re.compile(r"[^\W\d_]{2}|[\u2e80-\u9fff]")
_CODE: Final = re.compile(r"^\W{0,3}(?:[A-Z]{3}|Rs\.?|RM|kr\.?)\b")
"""The code of a currency, before an amount."""
_MAX_ALONE: Final = 200
"""Marks of a page without a label in their line: for each, all lines are looked at."""
_ASIDE: Final = re.compile(r"\([^)]{0,100}\)")
_COLON: Final = re.compile(r"\s*[:：]\s*")


@dataclass(frozen=True, slots=True)
class BoxedText:
    """Text of a line: its index in the page, the text without marks, and its box."""

    line: int
    text: str
    box: Box


@dataclass(slots=True)
class FormEntry:
    """A label of a form with what was filled in.

    Attributes:
        label: lines of the label, top to bottom.
        rows: of the value, each left to right; empty: nothing is filled in.
        checked: of a check box; None for other entries.
        mark_line: the line that has the mark.
        of: words of the first label in the box; the labels below belong to the same person: RECIPIENT'S name.
        box: number of the box; entries of one box follow each other.
    """

    page: int
    box: int
    label: list[BoxedText] = field(default_factory=list)
    rows: list[list[BoxedText]] = field(default_factory=list)
    checked: bool | None = None
    mark_line: int = -1
    of: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """The label as text."""
        return " ".join(part.text for part in self.label)

    @property
    def filled(self) -> bool:
        """Whether there is a value: a letter or a digit."""
        return any(character.isalnum() for row in self.rows for part in row for character in part.text)


def form_entries(pages: Sequence[PageResult]) -> list[FormEntry]:
    """The entries of all forms and check boxes in the order of the pages."""
    found: list[FormEntry] = []
    for page in pages:
        taken: set[int] = set()
        for block in page.blocks or ():
            if block.table is not None and (entries := _of_table(page, block.table, len(found))):
                found += entries
                taken.update(block.lines)
        found += _marks_outside(page, taken, len(found))
        if len(found) >= MAX_ENTRIES:
            break
    return found[:MAX_ENTRIES]


def _of_table(page: PageResult, table: Table, first: int) -> list[FormEntry]:
    """The entries of a table that is a form; none of other tables."""
    found: list[FormEntry] = []
    boxes = cells = 0
    for number, cell in enumerate(table.cells):
        indexes = [index for index in cell.lines if index < len(page.lines)]
        if not indexes:
            continue
        cells += 1
        if len(indexes) > MAX_BOX_LINES or any(len(page.lines[index].text) > _LONGEST for index in indexes):
            continue
        entries = list(_of_box(page, indexes, first + number))
        found += entries
        boxes += bool(entries and (entries[0].rows or entries[0].checked is not None))
    return found if boxes >= max(_MIN_BOXES, _MIN_SHARE * cells) else []


def _of_box(page: PageResult, indexes: Sequence[int], number: int) -> Iterator[FormEntry]:
    """The entries of a box, top to bottom."""
    rows = _rows([(index, page.lines[index]) for index in indexes])
    size = _LabelSize(median(line.box[3] - line.box[1] for row in rows for _, line in row), page.source == "ocr")
    entry: FormEntry | None = None
    of: frozenset[str] = frozenset()
    for row in rows:
        for part, mark in _parts(row):
            if entry is None or _begins_label(entry, part):
                if entry is not None and (entry.label or entry.checked is not None):
                    yield entry
                entry = FormEntry(page.index, number, of=of)
                _fill(entry, part, mark)
                of = of or frozenset(words_in(part.text))
            elif part.text and not entry.rows and size.goes_on(entry, part):
                entry.label.append(part)
            elif part.text:
                _add(entry, part)
            if mark is not None and entry.checked is None:
                entry.checked, entry.mark_line = mark, part.line
    if entry is not None and (entry.label or entry.checked is not None):
        yield entry


@dataclass(frozen=True, slots=True)
class _LabelSize:
    """Which lines are near enough to be one label. `unit`: height of the box's lines. `ocr`: they were recognized."""

    unit: float
    ocr: bool

    def goes_on(self, entry: FormEntry, part: BoxedText) -> bool:
        """Whether the part is the next line of the entry's label, or stands behind its last one."""
        if not entry.label or _is_amount(part.text):
            return False
        last, first = entry.label[-1].box, entry.label[0].box
        indent, height = part.box[0] - first[0], last[3] - last[1]
        if _beside(last, part.box):
            return part.box[0] - last[2] < self.unit
        if self.ocr and indent > height and part.box[3] - part.box[1] > _TALLER * height:
            return False
        near = part.box[1] - last[3] <= (_CLOSE_OF_OCR if self.ocr else _CLOSE) * min(self.unit, height)
        return near and -self.unit <= indent <= _INDENT * self.unit


def _fill(entry: FormEntry, part: BoxedText, mark: bool | None) -> None:
    """Begins an entry with its first line: a label, or a label and its value."""
    label, *value = _COLON.split(part.text, maxsplit=1)
    if value and label and value[0] and mark is None and _LETTERS.search(label):
        entry.label.append(BoxedText(part.line, label, part.box))
        entry.rows.append([BoxedText(part.line, value[0], part.box)])
    elif _LETTERS.search(part.text) and not _is_amount(part.text):
        entry.label.append(part)
    elif part.text:
        entry.rows.append([part])


def _is_amount(text: str) -> bool:
    """Whether it is an amount, or the sign before an empty place for one."""
    return not any(map(str.isalpha, _CODE.sub("", text)))


def _add(entry: FormEntry, part: BoxedText) -> None:
    """Adds a part to the value, on its row."""
    last = entry.rows[-1][-1] if entry.rows else None
    if last is not None and _beside(last.box, part.box):
        entry.rows[-1].append(part)
    else:
        entry.rows.append([part])


def _begins_label(entry: FormEntry, part: BoxedText) -> bool:
    """Whether another label begins here: numbered as the first one is, with a colon, or with the words of labels."""
    if not part.text or not (entry.rows or entry.checked is not None):
        return bool(entry.label and _NUMBERED.match(part.text) and _NUMBERED.match(entry.title))
    text = part.text
    if not _LETTERS.search(text):
        return False
    if _NUMBERED.match(text):
        return bool(_NUMBERED.match(entry.title)) or entry.checked is not None
    if text.endswith((":", "：")):
        return True
    outside = _ASIDE.sub("", text)
    return not any(map(str.isdigit, outside)) and len(words_in(outside) & LABEL_WORDS) > 0


def _parts(row: Sequence[tuple[int, Line]]) -> Iterator[tuple[BoxedText, bool | None]]:
    """The texts of a row's lines, cut behind each mark; with the mark that belongs to each."""
    for index, line in row:
        left, top, right, bottom = line.box
        width, at = (right - left) / max(1, len(line.text)), 0
        for text, mark in _marked(line.text):
            at = max(at, line.text.find(text, at))
            yield BoxedText(index, text, (left + at * width, top, left + (at + len(text)) * width, bottom)), mark
            at += len(text)


def _marked(text: str) -> Iterator[tuple[str, bool | None]]:
    """Texts with their marks. A line that begins with a mark has labels behind marks, others have them before."""
    marks = list(_MARK.finditer(text))
    if not marks:
        yield text.strip(), None
        return
    ends = [match.end() for match in marks]
    starts = [match.start() for match in marks]
    leading = not text[: starts[0]].strip()
    for at, match in enumerate(marks):
        before = ends[at - 1] if at else 0
        behind = starts[at + 1] if at + 1 < len(marks) else len(text)
        label = text[ends[at] : behind] if leading else text[before : starts[at]]
        yield label.strip(), match[1] == "x"
    if not leading and (rest := text[ends[-1] :].strip()):
        yield rest, None


def _rows(lines: Sequence[tuple[int, Line]]) -> list[list[tuple[int, Line]]]:
    """The lines of a box row by row, left to right."""
    rows: list[list[tuple[int, Line]]] = []
    for index, line in sorted(lines, key=lambda each: each[1].box[1] + each[1].box[3]):
        if rows and _beside(rows[-1][0][1].box, line.box):
            rows[-1].append((index, line))
        else:
            rows.append([(index, line)])
    return [sorted(row, key=lambda each: each[1].box[0]) for row in rows]


def _beside(a: Box, b: Box) -> bool:
    return abs((a[1] + a[3]) - (b[1] + b[3])) < min(a[3] - a[1], b[3] - b[1])


def _marks_outside(page: PageResult, taken: set[int], first: int) -> Iterator[FormEntry]:
    """Check boxes in lines that are in no form."""
    alone = 0
    for index, line in enumerate(page.lines):
        if index in taken or "[" not in line.text[:_LONGEST]:
            continue
        for number, (text, mark) in enumerate(_marked(line.text[:_LONGEST])):
            if mark is not None:
                part = BoxedText(index, text.strip(" :："), line.box)
                alone += not part.text
                near = [] if part.text or alone > _MAX_ALONE else _label_near(page, index)
                label = [part] if part.text else near
                yield FormEntry(page.index, first + index + number, label, checked=mark, mark_line=index)


def _label_near(page: PageResult, index: int) -> list[BoxedText]:
    """The line right of a mark that stands alone, else left of it, else above it."""
    box = page.lines[index].box
    height = box[3] - box[1]
    best: tuple[float, int] | None = None
    for other, line in enumerate(page.lines):
        if other == index or not _LETTERS.search(line.text[:_LONGEST]) or len(line.text) > _LONGEST:
            continue
        right, left, above = line.box[0] - box[2], box[0] - line.box[2], box[1] - line.box[3]
        if _beside(line.box, box):
            far = right if right >= -height else 1.5 * left if left >= -height else float("inf")
        else:
            overlaps = line.box[0] < box[2] and box[0] < line.box[2]
            far = 2 * above + height if overlaps and -height / 2 <= above else float("inf")
        if far < 4 * height and (best is None or far < best[0]):
            best = (far, other)
    return [] if best is None else [BoxedText(best[1], page.lines[best[1]].text, page.lines[best[1]].box)]
