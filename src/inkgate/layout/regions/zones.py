"""Zones: the layout model's regions without overlaps, the lines in each, and the labels of figures, which are not text
that should be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import FloatArray, LayoutPiece, Row
from inkgate_client.types import BlockType, Box, Line, Size

LONG_LINE = 0.5
"""Lines over this share of a figure's width, and as long as LONG_ASPECT line heights, are not labels."""
LONG_ASPECT = 10.0
NEXT_ROW = 0.7
"""A row within this distance below a long one, in line heights, continues it."""
MAX_TEXT = 0.5
"""A figure with this share of the page's text is the page."""
INSIDE = 0.8
"""A region with this share inside a better one, or in a table or figure, is dropped."""
BELONGS = 0.5
"""A line belongs to a zone that contains this share of it."""
SMALLEST = 1.0
"""Regions narrower or lower than this, in pixels, are ignored."""
MARGIN_BAND = 0.15
"""Running headers are in this share of the page's height from the top, footers from the bottom."""
DENSE_TEXT = 0.3
"""Share of a figure that lines cover, from which it is text that was taken for a figure."""
BoolArray = NDArray[np.bool_]
WHOLE = frozenset({BlockType.TABLE, BlockType.FIGURE})
"""Types that are read as a whole, separate from the text around."""


def text_in(rows: Sequence[Row], width: float) -> list[LayoutPiece]:
    """The pieces of a figure, `width` wide, that are running text in its box by accident.

    These are long rows, each with the row that follows closely: the last row of a paragraph is short.
    """
    text: list[LayoutPiece] = []
    last: Row | None = None
    for row in rows:
        is_long = any(piece.width >= max(LONG_LINE * width, LONG_ASPECT * piece.height) for piece in row)
        if is_long or (last is not None and _is_next(last, row)):
            text += row
        last = row if is_long else None
    return text


def _is_next(row: Row, other: Row) -> bool:
    gap = min(piece.top for piece in other) - max(piece.bottom for piece in row)
    return gap < NEXT_ROW * max(piece.height for piece in other)


def zones_of(regions: Sequence[Region], lines: Sequence[Line], size: Size) -> tuple[list[Region], list[int]]:
    """Regions worth keeping, best first, and for each line the index of its zone, -1 for none.

    Boxes of regions are in pixels of the page, as the lines' are.
    """
    boxes = np.array([line.box for line in lines], dtype=np.float64).reshape(-1, 4)
    ranked = sorted(regions, key=lambda region: (-region.confidence, region.box, region.type.value))
    selected: list[Region] = []
    for region in sorted(ranked, key=lambda region: region.type not in WHOLE):
        text = region.type in (BlockType.FIGURE, BlockType.FORMULA) and _is_text(region, boxes)
        if _is_large(region.box) and not text and not any(_inside(region, other) for other in selected):
            selected.append(_in_place(region, size))
    return selected, [int(i) for i in _members(selected, boxes)]


def _is_large(box: Box) -> bool:
    return min(box[2] - box[0], box[3] - box[1]) >= SMALLEST


def _inside(region: Region, other: Region) -> bool:
    shared = _shared(region.box, other.box)
    return shared > INSIDE * min(_area(region.box), _area(other.box)) or shared > INSIDE * _area(region.box)


def _in_place(region: Region, size: Size) -> Region:
    """The region; headers and footers that are not at the page's edges become text."""
    middle = (region.box[1] + region.box[3]) / 2
    high, low = middle <= MARGIN_BAND * size.height, middle >= (1 - MARGIN_BAND) * size.height
    astray = (region.type is BlockType.HEADER and not high) or (region.type is BlockType.FOOTER and not low)
    return replace(region, type=BlockType.TEXT) if astray else region


def _is_text(region: Region, lines: FloatArray) -> bool:
    """Whether lines fill a figure, or most of the page's text is in it: its text should be read."""
    inside, areas = _shares(lines, region.box)
    dense = region.type is BlockType.FIGURE and float(inside.sum()) > DENSE_TEXT * _area(region.box)
    return dense or (len(lines) > 2 and float(inside.sum()) > MAX_TEXT * float(areas.sum()))


def _members(zones: Sequence[Region], lines: FloatArray) -> NDArray[np.int64]:
    """Returns for each line the zone that contains most of it; of equals the smaller."""
    best = np.full(len(lines), -1, dtype=np.int64)
    most = np.full(len(lines), BELONGS)
    for i in sorted(range(len(zones)), key=lambda i: _area(zones[i].box)):
        shared, area = _shares(lines, zones[i].box)
        share = shared / np.maximum(area, 1e-9)
        better = share > most + 1e-6
        best[better], most[better] = i, share[better]
    return best


def _shares(lines: FloatArray, box: Box) -> tuple[FloatArray, NDArray[np.float64]]:
    """Area of each line inside `box`, and area of each line."""
    low, high = np.maximum(lines[:, :2], box[:2]), np.minimum(lines[:, 2:], box[2:])
    return np.clip(high - low, 0, None).prod(axis=1), (lines[:, 2:] - lines[:, :2]).prod(axis=1)


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _shared(a: Box, b: Box) -> float:
    return _area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
