"""Which blocks of a page are headings: by the size and weight of their text, and by what stands below them.

The layout model finds most headings. What it misses are those set in the size of the text, in bold; what it takes for
headings are short lines of receipts and forms, and sentences that stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.text.blocks import BlockDraft
from inkgate.layout.text.markdown import plain
from inkgate.layout.text.paragraphs import FULL, has_cells, is_flowing
from inkgate_client.types import BlockType

LARGER = 1.2
"""Text this many times as large as the page's is set as a heading. Sizes from pixels are right within a tenth."""
LARGEST = 1.5
"""Text this much larger is a heading whatever stands below it: a title over its authors' names."""
ROWS = 3
LETTERS = (3, 120)
"""Number of letters of a heading. The longest titles of papers have 150, in two or three rows of large type."""
SENTENCE = 200
"""A title of the layout model with more characters than this is a paragraph."""
WORDS = 12
"""A title that ends in a full stop and has as many words as this is a sentence."""
PROSE_ROWS = 6
"""Minimum rows of running text on pages with headings that the layout model did not find: on receipts, forms and title
pages, bold and large lines are labels, sums and names."""
PROSE_LETTERS = 30
"""A row of running text has at least as many letters; in columns of newspapers, too."""
MAX_BOLD_SHARE = 0.5
"""Maximum share of a page's text that is bold; with more, weight tells nothing."""
_BELOW = frozenset({BlockType.TEXT, BlockType.LIST, BlockType.TITLE, BlockType.FORMULA, BlockType.TABLE})
_PROSE_OR_TITLE = frozenset({BlockType.TEXT, BlockType.TITLE})
_STOPS = (".", "。", "．")
_OPEN = (".", ",", ";", ":", "-", "。", "，", "；", "：", "、")
_DASHES = ("-", "–", "—", "―")
"""Dashes of speech, and of signatures."""
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|[IVX]{1,5}\.|§\s*\d+|第.{1,4}[章节節条])\s+\S")
_NUMBER = re.compile(r"^\s*(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|[IVX]{1,5}\.)\s*$")
_VALUE = re.compile(
    r"[:：]\s*\S*\d|[$€£¥]\s*\d|\d[.,]\d\d\b|[.·…]{3}|\d{1,2},?\s\d{4}$|@|[A-Za-z]\.[a-z]{2,}(?:\.|/|\b)"
)
"""A label with its value, a sum, an entry of a table of contents, a date, an address of mail or web."""
_NAME = re.compile(
    r"\s*(?:[B-HJ-Z]\.?|[A-Z]\.)(?:[\s-]?[A-Z]\.?){0,2}\s?[^\W\d_a-z][^\W\d_]+(?:-[^\W\d_]+)?\W{0,3}\d{0,2}\s*"
)
"""A name with initials."""
_BETWEEN_NAMES = re.compile(r",|;|&|\band\b|\bund\b|\bet\b|\by\b")
FIRST = 4
"""A title that has no text below stands among this many first blocks of its page; large print at its end is a logo."""
WORDY = 0.5
"""Formulas have fewer letters than this share of their characters."""


@dataclass(frozen=True, slots=True)
class _Body:
    """The page's running text: the size of its font, whether weight tells headings from it, and how much there is."""

    em: float
    weighs: bool
    rows: int


def with_titles(drafts: Sequence[BlockDraft]) -> list[BlockDraft]:
    """The drafts, with headings as titles and titles that are no headings as text."""
    body = _body(drafts)
    judged: list[BlockDraft] = []
    for i, draft in enumerate(drafts):
        if draft.type is BlockType.TITLE and not (may_be_title(draft) and not _is_first_row(i, drafts)):
            judged.append(replace(draft, type=BlockType.TEXT))
        elif draft.type is BlockType.TEXT and body.rows >= PROSE_ROWS and _is_heading(i, drafts, body):
            judged.append(replace(draft, type=BlockType.TITLE))
        else:
            judged.append(draft)
    return [
        replace(draft, type=BlockType.TEXT) if i and _names_authors(judged[i - 1], draft) else draft
        for i, draft in enumerate(judged)
    ]


def without_false_titles(drafts: Sequence[BlockDraft]) -> list[BlockDraft]:
    """The drafts of a receipt, without titles that are none by their text, such as the number of an order."""
    return [
        replace(draft, type=BlockType.TEXT) if draft.type is BlockType.TITLE and not may_be_title(draft) else draft
        for draft in drafts
    ]


def _is_first_row(i: int, drafts: Sequence[BlockDraft]) -> bool:
    """Whether the sentence of a title goes on below it in the same type: the layout model took the first row of a
    paragraph for a title.
    """
    draft, below = drafts[i], drafts[i + 1] if i + 1 < len(drafts) else None
    if below is None or below.type not in _PROSE_OR_TITLE or not plain(below.paragraph)[:1].islower():
        return False
    left, right = _sides(draft)
    other_left, other_right = _sides(below)
    pieces, others = draft.paragraph.pieces, below.paragraph.pieces
    alike = _median(pieces) < LARGER * _median(others) and all(piece.bold for piece in pieces) == all(
        piece.bold for piece in others
    )
    return alike and right - left >= FULL * (other_right - other_left) and not plain(draft.paragraph).endswith(_STOPS)


def _names_authors(title: BlockDraft, draft: BlockDraft) -> bool:
    """Whether the title `draft`, set smaller below another title, is names with initials: `N Hirschhorn, J. Doe`."""
    if title.type is not BlockType.TITLE or draft.type is not BlockType.TITLE:
        return False
    smaller = _median(title.paragraph.pieces) >= LARGER * _median(draft.paragraph.pieces)
    return smaller and all(map(_NAME.fullmatch, _BETWEEN_NAMES.split(plain(draft.paragraph).replace("\n", " "))))


def _body(drafts: Sequence[BlockDraft]) -> _Body:
    prose = [
        draft.paragraph
        for draft in drafts
        if draft.type in {BlockType.TEXT, BlockType.LIST} and len(draft.paragraph.rows) > 1
    ]
    pieces = [piece for paragraph in prose for piece in paragraph.pieces if piece.index >= 0]
    letters = sum(len(piece.text) for piece in pieces)
    if not letters:
        return _Body(0.0, weighs=False, rows=0)
    rows = [row for paragraph in prose if is_flowing(paragraph.rows) for row in paragraph.rows]
    full = sum(sum(len(piece.text) for piece in row) >= PROSE_LETTERS for row in rows)
    bold = sum(len(piece.text) for piece in pieces if piece.bold)
    return _Body(_median(pieces), weighs=bold <= MAX_BOLD_SHARE * letters, rows=full)


def _median(pieces: Sequence[LayoutPiece]) -> float:
    """The size of most letters."""
    ordered = sorted((piece.em, len(piece.text)) for piece in pieces)
    half = sum(length for _, length in ordered) / 2
    for em, length in ordered:
        half -= length
        if half <= 0:
            return em
    return ordered[-1][0]


def may_be_title(draft: BlockDraft) -> bool:
    """Whether a title of the layout model can be one, by its text."""
    text = plain(draft.paragraph)
    letters = sum(map(str.isalpha, text))
    if len(text) > SENTENCE or letters < (LETTERS[0] if text.isascii() else 1) or _is_address(text):
        return False
    sentence = text.endswith(_STOPS) and (len(text.split()) >= WORDS or (len(text) > WORDS and not text.isascii()))
    return not (sentence or _VALUE.search(text) or _has_cells(draft))


def _is_address(text: str) -> bool:
    """Whether all rows but one, and at least two, have a number: a name over its street and town."""
    rows = text.split("\n")
    return len(rows) >= ROWS and sum(any(map(str.isdigit, row)) for row in rows) >= len(rows) - 1


def _reads_like_heading(draft: BlockDraft) -> bool:
    """Whether the draft can be a heading by its text and the number of its rows."""
    rows = draft.paragraph.rows
    text = plain(draft.paragraph).replace("\n", " ")
    letters = sum(map(str.isalpha, text))
    if len(rows) > ROWS or not LETTERS[0] <= letters <= LETTERS[1] or letters < WORDY * len(text.replace(" ", "")):
        return False
    first = next(char for char in text if char.isalnum())
    begun = not text.startswith(_DASHES) and not first.islower() and not draft.paragraph.items
    return begun and not text.endswith(_OPEN) and not _VALUE.search(text) and not _has_cells(draft)


def _is_heading(i: int, drafts: Sequence[BlockDraft], body: _Body) -> bool:
    draft, after = drafts[i], drafts[i + 1 :]
    pieces = draft.paragraph.pieces
    if any(piece.turn for piece in pieces) or not _reads_like_heading(draft):
        return False
    text = plain(draft.paragraph)
    em = _median(pieces)
    below = _stands_over(draft, after)
    if em >= LARGEST * body.em and i < FIRST and after and not any(_is_prose(other) for other in drafts[:i]):
        return True
    bold = body.weighs and all(piece.bold for piece in pieces if any(map(str.isalpha, piece.text)))
    large = em >= LARGER * body.em
    return below and (large or (bold and em > body.em / LARGER) or (bold and bool(_NUMBERED.match(text))))


def _is_prose(draft: BlockDraft) -> bool:
    """Whether the draft is running text, or at least the length of a sentence: an address is not."""
    rows = draft.paragraph.rows
    text = plain(draft.paragraph)
    return (len(rows) > 1 and is_flowing(rows)) or len(text) >= PROSE_LETTERS * len(rows)


def _has_cells(draft: BlockDraft) -> bool:
    """Whether the draft's rows are cells, except a heading's number and its text."""
    rows = draft.paragraph.rows
    return any(has_cells(row) and not (len(row) == 2 and _NUMBER.match(row[0].text)) for row in rows)


def _stands_over(draft: BlockDraft, after: Sequence[BlockDraft]) -> bool:
    """Whether what is read next begins below the draft, in its column, and with a sentence of its own."""
    below = next((other for other in after if other.type is not BlockType.FIGURE), None)
    if below is None or below.type not in _BELOW or not below.paragraph.rows:
        return False
    if plain(below.paragraph)[:1].islower() or (below.type is BlockType.TEXT and not _is_prose(below)):
        return False
    left, right = _sides(draft)
    other_left, other_right = _sides(below)
    bottom = max(piece.bottom for piece in draft.paragraph.rows[-1])
    top = min(piece.top for piece in below.paragraph.rows[0])
    height = max(piece.height for piece in draft.paragraph.rows[-1])
    return top > bottom - height / 2 and min(right, other_right) > max(left, other_left)


def _sides(draft: BlockDraft) -> tuple[float, float]:
    pieces = draft.paragraph.pieces
    return min(piece.left for piece in pieces), max(piece.right for piece in pieces)
