"""Running headers, footers and page numbers: told from the page's text by where they stand and what is around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.blocks import Draft, box_of
from inkgate.layout.markdown import plain
from inkgate.types import BlockType, Box, Line, Size

RUNNING = frozenset({BlockType.HEADER, BlockType.FOOTER})
EDGE_BAND = 0.15
"""Running lines stand in this share of the page's height from the top or bottom."""
SIDE_BAND = 0.08
"""Stamps that run along the page's side stand in this share of its width."""
CLOSE = 0.6
"""What stands nearer to the text than this, in line heights, is part of it."""
LONE = 1.2
"""A line with a page number is a running line when it stands this far from the text, in line heights."""
LONGEST = 60
"""Characters of a running line that is known by its page number alone."""
_NUMBER = r"(?:\d{1,4}|[ivxl]{1,6}|[A-Z]{1,3}[-–.]\d{1,3})"
LONE_NUMBER = re.compile(rf"^\W*{_NUMBER}\W*$", re.IGNORECASE)
PAGE_NUMBER = re.compile(
    rf"^\W*{_NUMBER}\W*$|^{_NUMBER}\s|\s{_NUMBER}$"
    rf"|\b(?:page|seite|p\.|blad|página)\s*{_NUMBER}|\b{_NUMBER}\s*(?:/|of|von|de|sur|van)\s*{_NUMBER}\b"
    r"|第\s*\d{1,4}\s*[页頁]",
    re.IGNORECASE,
)


def told_apart(drafts: Sequence[Draft], lines: Sequence[Line], size: Size, unit: float) -> list[Draft]:
    """The drafts, each a header or footer if it is one: as the layout found it, or a lone row with a page number."""
    boxes = [box_of(draft, lines) for draft in drafts]
    text = [i for i, draft in enumerate(drafts) if draft.type not in RUNNING]
    return [_judged(draft, boxes[i], [boxes[j] for j in text if j != i], size, unit) for i, draft in enumerate(drafts)]


def _judged(draft: Draft, box: Box, others: Sequence[Box], size: Size, unit: float) -> Draft:
    if _is_sideways(draft, box, size):
        return replace(draft, type=BlockType.FOOTER)
    above, below = box[3] <= EDGE_BAND * size.height, box[1] >= (1 - EDGE_BAND) * size.height
    room = _room(box, others, upper=above)
    if draft.type in RUNNING:
        apart = room >= CLOSE * unit or LONE_NUMBER.match(plain(draft.paragraph))
        return draft if apart else replace(draft, type=BlockType.TEXT)
    if draft.type not in (BlockType.TEXT, BlockType.LIST) or not (above or below):
        return draft
    if room < LONE * unit or not _is_numbered(draft):
        return draft
    return replace(draft, type=BlockType.HEADER if above else BlockType.FOOTER)


def _is_numbered(draft: Draft) -> bool:
    text = plain(draft.paragraph)
    return len(draft.paragraph.rows) == 1 and len(text) <= LONGEST and PAGE_NUMBER.search(text) is not None


def _is_sideways(draft: Draft, box: Box, size: Size) -> bool:
    """Whether the block runs along the left or right edge of the page: a download notice, an archive's stamp."""
    at_edge = box[2] <= SIDE_BAND * size.width or box[0] >= (1 - SIDE_BAND) * size.width
    return at_edge and draft.type is BlockType.TEXT and all(piece.turned for piece in draft.paragraph.pieces)


def _room(box: Box, others: Sequence[Box], *, upper: bool) -> float:
    """Distance from the box to the text on the page's inner side; below 0 where text stands beside or beyond it."""
    if upper:
        return min((other[1] - box[3] for other in others), default=float("inf"))
    return min((box[1] - other[3] for other in others), default=float("inf"))
