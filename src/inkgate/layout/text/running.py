"""Running headers, footers, page numbers and watermarks: finds them by their position and surroundings.

Of one page, only page numbers and text along its side are left out of the Markdown. The position of a row says too
little: the layout model takes the date of a letter or the title of an invoice for a running header, and while reading a
page it is not known whether a row is repeated on other pages (whole_document looks for that).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from heapq import nlargest, nsmallest
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray, Row
from inkgate.layout.text.blocks import BlockDraft, box_of
from inkgate.layout.text.markdown import RUNNING, plain
from inkgate.layout.text.paragraphs import is_flowing
from inkgate_client.types import BlockType, Box, LeftOutReason, Line, Size

EDGE_BAND = 0.15
"""Running lines are in this share of the page's height from the top or bottom."""
SIDE_BAND = 0.08
"""Stamps that run along the page's side are in this share of its width."""
CLOSE = 0.6
"""Lines nearer to the text than this, in line heights, are part of it."""
LONE = 1.2
"""A page number is a running line if it is this far from the text, in line heights."""
BODY_ROWS = 4
"""Pages are numbered if some block is running text of this many rows: on a form or a chart, a number is content."""
_ROMAN = "(?=[ivxlc])(?:x[lc]|l?x{0,3})(?:i[vx]|v?i{0,3})"
# Four digits on their own are a year, and a sign before a number makes it an amount.
_BARE = re.compile(
    rf"(?P<dash>[-–—~·•|]?)\s*(?:\d{{1,3}}|{_ROMAN}|{_ROMAN.upper()}|[A-Z]{{1,2}}[-–]\d{{1,3}})\s*(?P=dash)"
)
_OF = re.compile(
    r"(?:(?:page|seite|blad|página|p\.)\s*)?(\d{1,4})\s*(?:/|of|von|de|sur|van|di)\s*(\d{1,4})", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:page|seite|blad|página|p\.)\s*\d{1,4}|第\s*\d{1,4}\s*[页頁](?:\W*共\s*\d{1,4}\s*[页頁])?", re.IGNORECASE
)


WATERMARK_SLANT = 10.0
"""A line at this angle to the page's text, in degrees, or more, and not at a right angle to it, is slanted."""
WATERMARK_SIZE = 1.8
"""A level watermark is at least this many times as large as the page's text."""
WATERMARK_LINES = 2
"""Lines that a watermark crosses. One alone may be crossed by a signature."""
WATERMARK_LETTERS = (3, 60)
"""A letter that is larger than the rows beside it is an initial."""


WATERMARK_WIDTH = 0.35
"""Minimum width of its characters, in heights of its line. A line with an initial or a sum is high for its letters."""


def watermarks(lines: Sequence[Line]) -> list[int]:
    """Indexes of lines that stand across the page, such as DRAFT in large letters: slanted ones, and level or upright
    ones over its text.
    """
    if len(lines) < 2:
        return []
    quads = np.array([line.quad for line in lines], np.float64).reshape(-1, 4, 2)
    sides = np.hypot(*(quads[:, (1, 3)] - quads[:, :1]).transpose(2, 0, 1))
    height = sides.min(axis=1)
    along = np.take_along_axis(quads[:, (1, 3)] - quads[:, :1], sides.argmax(axis=1)[:, None, None], 1)[:, 0]
    angle = np.degrees(np.arctan2(along[:, 1], along[:, 0])) % 90
    letters = np.array([sum(map(str.isalpha, line.text)) for line in lines])
    slant = np.abs((angle - _weighted_median(angle, letters) + 45) % 90 - 45)
    slanted, large = slant >= WATERMARK_SLANT, height >= WATERMARK_SIZE * _weighted_median(height, letters)
    least, most = WATERMARK_LETTERS
    able = (slanted | large) & (least <= letters) & (letters <= most)
    able &= sides.max(axis=1) >= WATERMARK_WIDTH * height * np.array([len(line.text) for line in lines])
    crossed: dict[tuple[str, bool], int] = {}
    marks = [int(i) for i in np.flatnonzero(able)]
    low, high = quads.min(axis=1), quads.max(axis=1)
    for i in marks:
        near = ~able & (low < high[i]).all(axis=1) & (high > low[i]).all(axis=1)
        count = sum(_crosses(quads[i], lines[n].box) for n in map(int, np.flatnonzero(near)))
        key = (lines[i].text, bool(slanted[i]))
        if slanted[i]:
            crossed[key] = crossed.get(key, 0) + (WATERMARK_LINES if large[i] else count)
        else:
            crossed[key] = max(crossed.get(key, 0), count)
    return [i for i in marks if crossed[lines[i].text, bool(slanted[i])] >= WATERMARK_LINES]


def _weighted_median(values: FloatArray, weights: NDArray[np.int64]) -> float:
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(total, total[-1] / 2)), len(values) - 1)]])


def _crosses(quad: FloatArray, box: Box) -> bool:
    """Whether the middle of a row of text in `box` runs through `quad` for at least the row's height."""
    left, top, right, bottom = box
    middle = (top + bottom) / 2
    at = []
    for (x0, y0), (x1, y1) in pairwise([*quad.tolist(), quad[0].tolist()]):
        if min(y0, y1) <= middle < max(y0, y1):
            at.append(x0 + (middle - y0) * (x1 - x0) / (y1 - y0))
    return len(at) > 1 and min(right, max(at)) - max(left, min(at)) >= bottom - top


def is_page_number(text: str) -> bool:
    """Whether the whole text is a page number: `12`, `- 12 -`, `xiv`, `ES-6`, `Page 3 of 10`, `3/10`."""
    text = text.strip()
    of = _OF.fullmatch(text)
    if of is not None:
        return int(of[1]) <= int(of[2])
    return bool(_BARE.fullmatch(text) or _NAMED.fullmatch(text))


def omission(draft: BlockDraft, *, vertical: bool = False) -> LeftOutReason | None:
    """Why the Markdown of the page does not contain this block's text; None if it does. `vertical`: the page's text
    runs in columns, so that what is turned against it is level: a title above the columns.
    """
    if draft.type is BlockType.FIGURE:
        return None if draft.shown else LeftOutReason.FIGURE_TEXT
    if draft.type not in RUNNING:
        return None
    if is_page_number(plain(draft.paragraph)):
        return LeftOutReason.PAGE_NUMBER
    turned = not vertical and all(piece.turned for piece in draft.paragraph.pieces)
    return LeftOutReason.SIDE_STAMP if turned else None


def mark_running_lines(
    drafts: Sequence[BlockDraft], lines: Sequence[Line], size: Size, unit: float
) -> list[BlockDraft]:
    """The drafts; headers and footers get their types: those from the layout, and isolated page numbers."""
    boxes = [box_of(draft, lines) for draft in drafts]
    text = [i for i, draft in enumerate(drafts) if draft.type not in RUNNING]
    # Of two at each end one is another block, so that no block has to be compared with all others.
    outermost = {*nsmallest(2, text, key=lambda i: boxes[i][1]), *nlargest(2, text, key=lambda i: boxes[i][3])}
    is_numbered = any(_is_running_text(drafts[i].paragraph.rows) for i in text)
    judged: list[BlockDraft] = []
    for i, draft in enumerate(drafts):
        if is_page_number(plain(draft.paragraph)) and not is_numbered:
            kind = BlockType.TEXT if draft.type in RUNNING else draft.type
        else:
            kind = _type_of(draft, boxes[i], [boxes[j] for j in outermost if j != i], size, unit)
        judged.append(replace(draft, type=kind))
    return judged


def _type_of(draft: BlockDraft, box: Box, others: Sequence[Box], size: Size, unit: float) -> BlockType:
    if _is_sideways(draft, box, size):
        return BlockType.FOOTER
    above, below = box[3] <= EDGE_BAND * size.height, box[1] >= (1 - EDGE_BAND) * size.height
    room = _room(box, others, upper=above)
    number = is_page_number(plain(draft.paragraph))
    if draft.type in RUNNING:
        return draft.type if room >= (0 if number else CLOSE * unit) else BlockType.TEXT
    if draft.type not in (BlockType.TEXT, BlockType.LIST) or not number or room < LONE * unit:
        return draft.type
    return BlockType.HEADER if above else BlockType.FOOTER if below else draft.type


def _is_running_text(rows: Sequence[Row]) -> bool:
    return len(rows) >= BODY_ROWS and is_flowing(rows)


def _is_sideways(draft: BlockDraft, box: Box, size: Size) -> bool:
    """Whether the block runs along the left or right edge of the page: a download notice, an archive's stamp."""
    at_edge = box[2] <= SIDE_BAND * size.width or box[0] >= (1 - SIDE_BAND) * size.width
    return at_edge and draft.type is BlockType.TEXT and all(piece.turned for piece in draft.paragraph.pieces)


def _room(box: Box, others: Sequence[Box], *, upper: bool) -> float:
    """Distance from the box to the text on the page's inner side; below 0 if text is beside or beyond it."""
    if upper:
        return min((other[1] - box[3] for other in others), default=float("inf"))
    return min((box[1] - other[3] for other in others), default=float("inf"))
