"""Paragraphs: groups rows by spacing, indentation, height and list markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np

from inkgate.layout.order.frame import LayoutPiece, Row

WIDE_PITCH = 1.3
"""Rows further apart than this many times the flow's usual distance belong to two paragraphs."""
LOOSE_PITCH = 2.5
"""Rows further apart than this, in line heights, don't count for the usual distance."""
NEAR_ROWS = 3
"""Number of rows before and after a row that determine the usual distance there."""
OTHER_HEIGHT = 1.4
"""Rows whose heights differ by this factor have different font sizes."""
INDENT = (0.8, 6.0)
"""First lines are indented by this much, in line heights."""
MARGIN = 0.5
"""Rows that begin within this distance of the column's edge, in line heights, begin at it."""
FULL = 0.8
"""A row that reaches this share of the paragraph's width was broken because the line was full."""
FLOWING = 0.6
"""Share of full rows (except the last) from which the line breaks of a paragraph carry no meaning."""

EDGE_ROWS = 3
"""Number of rows that begin or end at one place and so make the edge of a column. Verses and addresses end anywhere."""
NARROW = 10.0
"""Columns narrower than this, in line heights, tell nothing: three short lines may end at one place."""
ALONE = 0.6
"""Lines of addresses and signatures end within this share of the column's width."""
SHORT = 30
"""Characters of a line with a number: a street, a town, a date, an account. Rows of columns have 35 and more."""
MAX_SHORT_LINES = 8
"""Postal addresses have up to six lines, and letter heads a line more for telephone and mail each."""
SHORT_OF_EDGE = 0.1
"""The last row of a heading ends this share of the column's width before its edge."""
HEADING_ROWS = 3
HEADING_SIZE = 1.3
"""Rows this many times as large as the others of their region may be headings. OTHER_HEIGHT is for any row."""
_ENDS = (".", "!", "?", ":", "。", "！", "？", "：")
CELL_GAP = 1.5
"""Pieces of a row further apart than this, in line heights, are cells: a label and its value, an entry and its page."""

BULLET = re.compile(r"^\s*(?:[•●▪■◦‣∙○◆▶►➢✓]\s*|[-–—*·]\s+|\[[ x]\]\s+)(?=\S)(?!\W*\d+\s*[-–—*·]\s*$)")
"""The sign that begins an item of a list, not a page number between dashes."""
_DASHES = "-–—"
NUMBER = re.compile(
    r"^\s*(?:[(（]\s*(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4}|[一二三四五六七八九十]{1,3})\s*[)）]"
    r"|(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}[.．](?=\s|[^\W\d])|\d{1,2}、|[一二三四五六七八九十]{1,3}、)\s*(?=\S)"
)
_LABELLED = re.compile(r"^[^\W\d][^:：.!?]{0,28}[:：]\s*\S.{0,40}$")
LABELLED = 0.75
"""Share of rows that are a label with its value, from which each keeps its line."""
_SPEECH = re.compile(r"^[-–—]\s?[¡¿]?[^\W\d_a-z]")
"""Begins what somebody says, as novels in Spanish and French set it."""
BULLETED = "bullet"
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*[.,;:!?»”\"')]*(?=\s|$)")
"""The first word of a sentence: lines of code and addresses of mail begin with other signs, too."""
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(slots=True)
class Paragraph:
    """Rows that are read as one.

    `zone`: the layout's region of the rows; -1 for none. `items`: rows that begin an item of a list. `broken`: every
    row ends where its text ends, whatever its width: a receipt's. `column`: left and right edge of the full lines
    around; None if there are none.
    """

    rows: list[Row]
    zone: int = -1
    items: list[int] = field(default_factory=list)
    broken: bool = False
    column: tuple[float, float] | None = None

    @property
    def pieces(self) -> list[LayoutPiece]:
        return [piece for row in self.rows for piece in row]


def row_text(row: Row) -> str:
    """The pieces of a row, separated by spaces; a drop cap is joined to its word."""
    return "".join(text if piece.joined else f"{text} " for piece in row if (text := piece.text.strip())).rstrip()


def is_flowing(rows: Sequence[Row]) -> bool:
    """Whether line breaks may be removed: the rows fill the width, so that they were broken because the line was
    full.
    """
    if len(rows) < 2:
        return True
    if sum(_LABELLED.match(row_text(row)) is not None for row in rows) >= LABELLED * len(rows):
        return False
    width = max(row[-1].right for row in rows) - min(row[0].left for row in rows)
    full = sum(row[-1].right - row[0].left >= FULL * width and not has_cells(row) for row in rows[:-1])
    return full >= FLOWING * (len(rows) - 1)


def joined_rows(paragraph: Paragraph) -> list[list[Row]]:
    """The paragraph's rows with text, in groups that are one line each: a line break stands between the groups.

    Rows are joined if the paragraph fills its lines, or, among lines that stand by themselves, where a word or a
    sentence goes on because the column was full.
    """
    rows = [row for row in paragraph.rows if row_text(row)]
    if not paragraph.broken and is_flowing(paragraph.rows) and not _stand_alone(rows, paragraph.column):
        return [rows]
    groups: list[list[Row]] = []
    for row in rows:
        if groups and not paragraph.broken and _goes_over(groups[-1][-1], row, paragraph.column):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _stand_alone(rows: Sequence[Row], column: tuple[float, float] | None) -> bool:
    """Whether the rows are lines of an address or a signature though they are equally long: each begins like a name or
    a number, and they end far from the edge that other rows of the column reach, or are short with numbers in them.
    """
    if not 1 < len(rows) <= MAX_SHORT_LINES:
        return False
    texts = [row_text(row) for row in rows]
    named = all(text[0].isupper() or text[0].isdigit() for text in texts)
    if not named or any(text.endswith(("-", *_ENDS)) for text in texts[:-1]):
        return False
    with_numbers = sum(any(map(str.isdigit, text)) for text in texts)
    if with_numbers >= max(2, len(rows) - 1) and all(len(text) <= SHORT for text in texts):
        return True
    if column is None:
        return False
    half = column[0] + ALONE * (column[1] - column[0])
    return all(row[-1].right < half and row[0].left < half for row in rows)


def _goes_over(row: Row, after: Row, column: tuple[float, float] | None) -> bool:
    """Whether the row was broken because the column was full: its last word is divided, or its sentence goes on below
    with a word that had no room.
    """
    text, below = row_text(row), row_text(after)
    if not below[0].islower():
        return False
    if text.endswith("-") and text[-2:-1].isalpha():
        return True
    word = _FIRST_WORD.match(below)
    if column is None or word is None or text.endswith(_ENDS) or has_cells(row) or has_cells(after):
        return False
    letter = (row[-1].right - row[0].left) / len(text)
    return row[-1].right + letter * (1 + len(word[0])) > column[1]


def edges_of_column(rows: Sequence[Row], unit: float) -> tuple[float, float] | None:
    """Left and right edge of a flow's full rows: as many begin, and end, at one place."""
    lines = [row for row in rows if row[0].zone < 0]
    left = _edge(sorted(row[0].left for row in lines), unit)
    right = _edge(sorted(-row[-1].right for row in lines), unit)
    return None if left is None or right is None or -right - left < NARROW * unit else (left, -right)


def _edge(ends: Sequence[float], unit: float) -> float | None:
    """The first of the ascending places that EDGE_ROWS rows share."""
    near = zip(ends, ends[EDGE_ROWS - 1 :], strict=False)
    return next((first for first, last in near if last - first <= MARGIN * unit), None)


def has_cells(row: Row) -> bool:
    """Whether the pieces of a row are so far apart that they are cells rather than parts of one line."""
    return any(b.left - a.right > CELL_GAP * min(a.height, b.height) for a, b in pairwise(row))


def paragraphs_of(rows: Sequence[Row], unit: float, zones: Sequence[int], solid: frozenset[int]) -> list[Paragraph]:
    """The rows of one flow as paragraphs, in order.

    Args:
        rows: top to bottom.
        unit: the page's line height.
        zones: of each row, -1 for none. A paragraph never crosses a zone's border.
        solid: zones that are one paragraph whatever their spacing: titles, captions, formulas, tables.
    """
    paragraphs: list[Paragraph] = []
    column = edges_of_column(rows, unit)
    for zone, group in groupby(zip(zones, rows, strict=True), key=itemgetter(0)):
        together = [row for _, row in group]
        breaks = [zone not in solid and first for first in _breaks(together, unit)]
        for i, row in enumerate(together):
            if i == 0 or breaks[i]:
                paragraphs.append(Paragraph([row], zone, column=column))
            else:
                paragraphs[-1].rows.append(row)
    return with_lists(paragraphs, solid)


def _breaks(rows: Sequence[Row], unit: float) -> list[bool]:
    """Whether a paragraph begins at each row; the rows are of one zone."""
    left = np.array([row[0].left for row in rows])
    right = np.array([row[-1].right for row in rows])
    middle = [sum(piece.middle for piece in row) / len(row) for row in rows]
    height = [max(piece.height for piece in row) for row in rows]
    pitch = [0.0, *(after - before for before, after in pairwise(middle))]
    usual = _usual_pitch(pitch, unit)
    margin, edge = float(np.quantile(left, 0.3)), float(np.quantile(right, 0.9))
    short = right < edge - (1 - FULL) * (edge - margin)
    inset = (left > margin + INDENT[0] * unit) & (left < margin + INDENT[1] * unit)
    flush = np.abs(left - margin) < MARGIN * unit
    texts = [row_text(row) for row in rows]
    usual_em = float(np.median([piece.em for row in rows for piece in row]))
    strong = [all(piece.bold or piece.em >= HEADING_SIZE * usual_em > 0 for piece in row) for row in rows]
    hangs = [mark_kind(text) != "" for text in texts]
    ends_early = (right < edge - SHORT_OF_EDGE * (edge - margin)).tolist()
    breaks = [True]
    for i in range(1, len(rows)):
        before, after = height[i - 1], height[i]
        breaks.append(
            pitch[i] > WIDE_PITCH * usual[i]
            or max(before, after) > OTHER_HEIGHT * min(before, after)
            or bool(inset[i] and flush[i - 1] and not hangs[i - 1] and (i + 1 == len(rows) or flush[i + 1]))
            or bool(short[i - 1] and flush[i] and texts[i - 1].endswith((".", "!", "?", "。", "！", "？")))
            or _changes_style(strong, texts, ends_early, breaks)
            or BULLET.match(texts[i]) is not None
            or (_SPEECH.match(texts[i]) is not None and (short[i - 1] or texts[i - 1].endswith(_ENDS)))
            or (_is_numbered(texts[i - 1], texts[i]) and bool(left[i] <= left[i - 1] + MARGIN * unit))
            or (bool(left[i] < left[i - 1] + INDENT[1] * unit) and hangs[i - 1] and _is_first(texts[i]))
        )
    return breaks


def _is_numbered(before: str, text: str) -> bool:
    """Whether a row begins with an item's number, and does not close the row before: "(n =" and "71) of all"."""
    return NUMBER.match(text) is not None and before.count("(") <= before.count(")")


def _changes_style(strong: Sequence[bool], texts: Sequence[str], short: Sequence[bool], breaks: Sequence[bool]) -> bool:
    """Whether a heading set in bold or larger ends before the row that follows `breaks`, or begins with it.

    Its last row is short, and the row below it is full: a bold word or line within a sentence is no heading, nor are
    the bold lines of an address.
    """
    i, bold = len(breaks), strong
    if bold[i] == bold[i - 1] or texts[i][:1].islower():
        return False
    if bold[i]:
        end = next((j for j in range(i, len(bold)) if not bold[j]), len(bold)) - 1
        over_text = end + 1 < len(bold) and not short[end + 1]
        return over_text and end - i < HEADING_ROWS and short[end] and (short[i - 1] or texts[i - 1].endswith(_ENDS))
    begin = next((j for j in range(i - 1, -1, -1) if not bold[j]), -1) + 1
    before = breaks[begin] or short[begin - 1] or texts[begin - 1].endswith(_ENDS)
    return (
        not short[i]
        and i - begin <= HEADING_ROWS
        and short[i - 1]
        and before
        and not texts[i - 1].endswith((",", ";", "-"))
    )


def _usual_pitch(pitch: Sequence[float], unit: float) -> list[float]:
    """Returns for each row the usual distance between the rows around it: the lower median of the close ones."""
    usual: list[float] = []
    for i in range(len(pitch)):
        around = [*pitch[max(1, i - NEAR_ROWS) : i], *pitch[i + 1 : i + 1 + NEAR_ROWS]]
        close = sorted(distance for distance in around if distance < LOOSE_PITCH * unit)
        usual.append(max(close[(len(close) - 1) * 2 // 5], 1.0) if close else LOOSE_PITCH * unit)
    return usual


def with_lists(paragraphs: Sequence[Paragraph], solid: frozenset[int]) -> list[Paragraph]:
    """Paragraphs with neighbouring list items joined to one list each; a single numbered paragraph is not a list."""
    joined: list[Paragraph] = []
    for _, group in groupby(paragraphs, key=lambda paragraph: (paragraph.zone, _is_item(paragraph, solid))):
        alike = list(group)
        if not _is_item(alike[0], solid):
            joined += alike
            continue
        numbered = [_kind_of(paragraph) != BULLETED for paragraph in alike]
        lone = numbered.index(True) if sum(numbered) == 1 else -1
        for i, paragraph in enumerate(alike):
            if i == lone:
                joined.append(paragraph)
            elif i > 0 and i - 1 != lone and _goes_on(joined[-1], paragraph):
                joined[-1].items.append(len(joined[-1].rows))
                joined[-1].rows += paragraph.rows
            else:
                joined.append(Paragraph(list(paragraph.rows), paragraph.zone, [0]))
    for paragraph in joined:
        if len(paragraph.items) == 1 and _kind_of(paragraph) != BULLETED:
            paragraph.items = []
    return joined


def _is_item(paragraph: Paragraph, solid: frozenset[int]) -> bool:
    """Whether the paragraph begins with a mark. Speech in books begins with a dash, too, but its rows do not hang."""
    text = row_text(paragraph.rows[0])
    if paragraph.zone in solid or not mark_kind(text):
        return False
    first = paragraph.rows[0][0]
    outdented = any(row[0].left < first.left - MARGIN * first.height for row in paragraph.rows[1:])
    return not (outdented and text.lstrip()[0] in _DASHES)


def _goes_on(items: Paragraph, paragraph: Paragraph) -> bool:
    """Whether the paragraph is an item of this list or of one nested in it: it has a mark of the same kind as one
    before, or is indented.
    """
    first = paragraph.rows[0][0]
    kinds = {mark_kind(row_text(items.rows[item])) for item in items.items}
    if _kind_of(paragraph) in kinds or (BULLETED not in kinds and _is_first(row_text(paragraph.rows[0]))):
        return True
    return first.left > items.rows[items.items[-1]][0].left + 2 * MARGIN * first.height


def _is_first(text: str) -> bool:
    """Whether the text begins with the first number of its kind."""
    found = NUMBER.match(text)
    return found is not None and found[0].strip(" ().（）．、") in {"1", "a", "A", "i", "I", "一"}


def _kind_of(paragraph: Paragraph) -> str:
    return mark_kind(row_text(paragraph.rows[0]))


def mark_kind(text: str) -> str:
    """The kind of the mark that the text begins with, such as `(a)`, `1.` or BULLETED; empty if there is none."""
    if BULLET.match(text):
        return BULLETED
    found = NUMBER.match(text)
    return _LETTERS.sub("a", _DIGITS.sub("1", found[0].strip())) if found else ""
