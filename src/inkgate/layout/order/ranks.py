"""The reading order of a page's regions without knowing their text: for engines that read part by part.

If the layout model gives no order, each region of text is split into the rows that it may contain, and these are
ordered like lines of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from inkgate.layout.evidence import Region
from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.frame import LayoutPiece, rows_of
from inkgate.layout.regions.zones import WHOLE, zones_of
from inkgate_client.types import BlockType, Size

Item = TypeVar("Item")
_BEGINNING = -1
ROW_SHARES = (1 / 90, 1 / 40)
"""The height of a row is between these shares of the page's height."""
SMALLEST = 0.2
"""Regions at this quantile of height are one row high."""
PITCH = 1.4
"""Distance from row to row, in row heights."""
_WORDS = "words of text"


def by_rank(items: Iterable[Item], rank_of: Callable[[Item], int | None]) -> list[Item]:
    """The items in the order of their ranks. Input: in geometric order.

    Items without a rank follow the ranked one before them; items of equal rank keep their order.
    """
    return [item for group in ranked_groups([items], rank_of) for item in group]


def ranked_groups(flows: Iterable[Iterable[Item]], rank_of: Callable[[Item], int | None]) -> list[list[Item]]:
    """Groups flows as `by_rank` groups items: all items of one rank form a group, and so do those of a flow that follow
    it.
    """
    keyed: list[tuple[tuple[int, bool, int], Item]] = []
    last = _BEGINNING
    for number, flow in enumerate(flows):
        for item in flow:
            rank = rank_of(item)
            if rank is None:
                keyed.append(((last, True, number), item))
            else:
                last = rank
                keyed.append(((last, False, 0), item))
    keyed.sort(key=lambda pair: pair[0])
    return [[item for _, item in group] for _, group in groupby(keyed, key=lambda pair: pair[0])]


def in_reading_order(regions: Sequence[Region], size: Size) -> list[Region]:
    """The regions worth reading, each once, in reading order; `size` of the page, in pixels of the regions.

    Of overlapping regions the better one is kept; headers and footers count as such only at the page's edges. If the
    layout model ranks regions, that is their order, and geometry only inserts the others.
    """
    kept, _ = zones_of(regions, (), size)
    unit = row_height(kept, size)
    pieces = [piece for i, region in enumerate(kept) for piece in _rows_in(i, region, unit)]
    order: list[int] = []
    for flow in flows_of(pieces, unit):
        for row in rows_of(flow):
            order += [number for piece in row if (number := max(piece.index, piece.zone)) not in order]
    found = by_rank([kept[number] for number in order], lambda region: region.rank)
    headers = [region for region in found if region.type is BlockType.HEADER]
    footers = [region for region in found if region.type is BlockType.FOOTER]
    return [*headers, *(region for region in found if region not in headers and region not in footers), *footers]


def row_height(regions: Sequence[Region], size: Size) -> float:
    """Approximate height of a row of text on the page, in pixels."""
    low, high = (share * size.height for share in ROW_SHARES)
    heights = sorted(region.box[3] - region.box[1] for region in regions if region.type not in WHOLE)
    typical = heights[int(SMALLEST * len(heights))] if heights else low
    return max(1.0, min(max(typical, low), high))


def _rows_in(number: int, region: Region, unit: float) -> list[LayoutPiece]:
    """A piece for each row that the region may contain; one for a table or a figure."""
    left, top, right, bottom = region.box
    whole = LayoutPiece(number, _WORDS, left, top, right, bottom)
    if region.type in WHOLE:
        return [replace(whole, index=-1, zone=number)]
    count = max(1, round((bottom - top) / (PITCH * unit)))
    pitch = (bottom - top) / count
    height = min(unit, pitch)
    starts = [top + i * pitch + (pitch - height) / 2 for i in range(count)]
    return [replace(whole, top=start, bottom=start + height) for start in starts]
