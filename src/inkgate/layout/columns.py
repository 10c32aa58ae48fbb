"""Columns: finds where a page is read in columns, one after the other, and where it is read across.

A recursive cut similar to Nagy and Seth's XY-cut, with one decision at each gutter: is the text beside it *columns*, to
be read one after the other, or *rows* of a table, receipt or form, to be read across?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.frame import FloatArray, LayoutPiece

BoolArray = NDArray[np.bool_]

GUTTER = 0.3
"""Minimum width of a gutter, in line heights: less than an em, because detectors draw boxes generously."""
RAGGED = 0.35
"""Left edges of one column differ by less than this, in line heights."""
MOST_GUTTERS = 40
"""Candidates tried at each cut: the left edges that most lines share."""
MIN_SIDE = 2
"""Minimum number of lines on each side of a gutter."""
PROSE_LINES = 3
"""Minimum number of long lines, or lines of words, in a column."""
INDENT = 6.0
"""Lines of one column begin within this distance of its edge, in line heights."""
WORDY_SHARE = 0.7
"""If fewer lines of a side are words, it holds values that belong to the other side."""
WORDY_ASPECT = 3.0
"""Minimum median width of lines of words, in line heights."""
PROSE_ASPECT = 8.0
"""Minimum width of a long line, in line heights."""
FAR, FAR_FACTOR = 4.0, 2.0
"""Lines on common baselines, and further apart than this, must be this many times as long: they may be a table's."""
PROSE_SHARE = 0.5
"""A column is prose if at least this share of it is long lines."""
PROSE_FILL = 0.6
"""A line that covers at least this share of the width fills its column."""
STRIP = 3.0
"""Columns end and new ones begin where the page is empty from side to side for this many line heights."""
LONE_ROWS = 2
"""Maximum number of rows removed from each end of two columns because they belong to neither."""
LONE_WIDTH = 0.5
"""Such a row's text fills less than this share of the width."""
CLEAR = 2.0
"""Minimum distance to the next row, in line heights from middle to middle."""
ALIGNED = 0.25
"""Lines of two columns whose middles differ by less, in line heights, are on one baseline."""
ALIGNED_SHARE = 0.55
"""From this share of aligned lines on, short lines side by side are rows."""

Flow = list[LayoutPiece]
"""Pieces that are read together, across and down: one column, or one band over the whole width."""


def flows_of(pieces: Sequence[LayoutPiece], unit: float) -> list[Flow]:
    """The flows in reading order, turned lines last; within a flow the pieces are unordered."""
    standing = [piece for piece in pieces if not piece.turned]
    turned = [piece for piece in pieces if piece.turned]
    flows = _cut(standing, unit, depth=0) if standing else []
    return flows + [[piece] for piece in sorted(turned, key=lambda piece: (piece.left, piece.top, piece.text))]


MAX_DEPTH = 12


def _cut(pieces: list[LayoutPiece], unit: float, depth: int) -> list[Flow]:
    split = _best_split(pieces, unit) if depth < MAX_DEPTH and len(pieces) >= 2 * MIN_SIDE else None
    if split is None:
        return [pieces]
    return [flow for part in split if part for flow in _cut(part, unit, depth + 1)]


@dataclass(frozen=True, slots=True)
class _PieceTable:
    """The pieces as arrays, sorted by their middles. `strips`: whether an empty strip lies above a piece."""

    pieces: list[LayoutPiece]
    left: FloatArray
    right: FloatArray
    middle: FloatArray
    height: FloatArray
    strips: BoolArray


def _tabled(pieces: Sequence[LayoutPiece], unit: float) -> _PieceTable:
    ordered = sorted(pieces, key=lambda p: (p.middle, p.left, p.right, p.text))
    left, right, middle, top, bottom = np.array([(p.left, p.right, p.middle, p.top, p.bottom) for p in ordered]).T
    gap = np.minimum.accumulate(top[::-1])[::-1][1:] - np.maximum.accumulate(bottom)[:-1]
    return _PieceTable(ordered, left, right, middle, bottom - top, np.concatenate([[False], gap >= STRIP * unit]))


def _best_split(pieces: Sequence[LayoutPiece], unit: float) -> list[list[LayoutPiece]] | None:
    """Above, left, right and below of the best gutter; None if there is none."""
    table = _tabled(pieces, unit)
    best: tuple[float, float] | None = None
    found: list[list[LayoutPiece]] | None = None
    for edge in _edges(table.left, unit):
        left = table.right <= edge - GUTTER * unit
        right = table.left >= edge - RAGGED * unit
        for stretch in _runs(~(left | right), table.strips):
            run = _trimmed(table, stretch, unit)
            rank = _rank(table, run, left[run], right[run], unit)
            if rank is not None and (best is None or rank > best):
                best, found = rank, _parts(table, run, left)
    return found


def _parts(table: _PieceTable, run: slice, left: BoolArray) -> list[list[LayoutPiece]]:
    """The pieces above a stretch, to the left and right of its gutter, and below."""
    beside = list(zip(table.pieces[run], left[run].tolist(), strict=True))
    return [
        table.pieces[: run.start],
        [piece for piece, is_left in beside if is_left],
        [piece for piece, is_left in beside if not is_left],
        table.pieces[run.stop :],
    ]


def _edges(lefts: FloatArray, unit: float) -> list[float]:
    """Left edges that lines share: the leftmost of each cluster, those with the most lines first."""
    ordered = np.sort(lefts)
    breaks = np.flatnonzero(np.diff(ordered) > RAGGED * unit) + 1
    clusters = np.split(ordered, breaks)
    clusters.sort(key=lambda cluster: (-len(cluster), cluster[0]))
    return [float(cluster[0]) for cluster in clusters[:MOST_GUTTERS]]


def _runs(crossing: BoolArray, strips: BoolArray) -> list[slice]:
    """Stretches of lines that no line crossing the gutter and no empty strip interrupts."""
    starts = np.flatnonzero(~crossing & (strips | np.concatenate([[True], crossing[:-1]])))
    ends = np.flatnonzero(~crossing & np.concatenate([strips[1:] | crossing[1:], [True]])) + 1
    return [slice(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True) if b - a >= 2 * MIN_SIDE]


def _trimmed(table: _PieceTable, run: slice, unit: float) -> slice:
    """A stretch without isolated rows at its ends: running headers and footers, headings."""
    order = np.arange(run.start, run.stop)
    above, below = _lone(table, order, unit), _lone(table, order[::-1], unit)
    return slice(run.start + above, run.stop - below) if above + below < len(order) else run


def _lone(table: _PieceTable, order: NDArray[np.int64], unit: float) -> int:
    """Number of pieces at the beginning of `order` that are short rows followed by an empty strip."""
    sizes = (table.right - table.left)[order]
    width = float(table.right[order].max() - table.left[order].min())
    away = np.abs(table.middle[order] - table.middle[order[0]])
    count = 0
    for _ in range(LONE_ROWS):
        rest = away[count:] - away[count]
        row = int(np.searchsorted(rest, unit / 2, side="right"))
        full = float(sizes[count : count + row].sum()) >= LONE_WIDTH * width
        if row == len(rest) or rest[row] < CLEAR * unit or full:
            break
        count += row
    return count


def _rank(table: _PieceTable, run: slice, left: BoolArray, right: BoolArray, unit: float) -> tuple[float, float] | None:
    """Score of a gutter: its height beside text, then its width. None if it does not separate columns."""
    if left.sum() < MIN_SIDE or right.sum() < MIN_SIDE:
        return None
    middle = table.middle[run]
    low, high = max(middle[left][0], middle[right][0]), min(middle[left][-1], middle[right][-1])
    if high - low < unit:
        return None
    beside = (middle >= low - unit / 2) & (middle <= high + unit / 2)
    a, b = left & beside, right & beside
    if not a.any() or not b.any():
        return None
    few, many = (middle[a], middle[right]) if a.sum() <= b.sum() else (middle[b], middle[left])
    aligned = _aligned(few, many, unit)
    gap = float(table.left[run][right].min() - table.right[run][left].max())
    aspect = PROSE_ASPECT * (FAR_FACTOR if aligned and gap > FAR * unit else 1.0)
    if not (_prose(table, run, a, unit, aspect) and _prose(table, run, b, unit, aspect)) and (
        aligned or not (_wordy(table, run, a) and _wordy(table, run, b))
    ):
        return None
    return float(high - low), gap


def _wordy(table: _PieceTable, run: slice, side: BoolArray) -> bool:
    """Whether a side has lines of words, not prices, amounts or marks that belong to the lines beside them."""
    if side.sum() < PROSE_LINES:
        return False
    words = sum(_is_words(piece.text) for piece, ours in zip(table.pieces[run], side, strict=True) if ours)
    aspect = (table.right[run][side] - table.left[run][side]) / np.maximum(table.height[run][side], 1.0)
    return bool(words >= WORDY_SHARE * side.sum() and np.median(aspect) >= WORDY_ASPECT)


def _is_words(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    return letters > sum(char.isdigit() for char in text)


def _aligned(few: FloatArray, many: FloatArray, unit: float) -> bool:
    """Whether the lines of both sides share their baselines, up to one shift for all of them."""
    place = np.clip(np.searchsorted(many, few), 1, len(many) - 1)
    before, after = few - many[place - 1], few - many[place]
    shift = np.sort(np.where(np.abs(before) < np.abs(after), before, after))
    together = np.searchsorted(shift, shift + 2 * ALIGNED * unit, side="right") - np.arange(len(shift))
    return float(together.max()) >= ALIGNED_SHARE * len(few)


def _prose(table: _PieceTable, run: slice, side: BoolArray, unit: float, aspect: float) -> bool:
    """Whether the text of a side is long lines that fill their column; fragments count by their width.

    If the side has several columns, the first one decides, and the others must have long lines, too.
    """
    if side.sum() < PROSE_LINES:
        return False
    left, right = table.left[run][side], table.right[run][side]
    width = right - left
    long = width >= aspect * np.maximum(table.height[run][side], 1.0)
    first = left <= left.min() + INDENT * unit
    column = float(np.quantile(right[first], 0.9)) - float(left.min())
    filling = first & long & (width >= PROSE_FILL * column)
    whole = float(width[long].sum()) >= PROSE_SHARE * float(width.sum())
    return whole and bool(filling.sum() >= PROSE_LINES and width[filling].sum() >= PROSE_SHARE * width[first].sum())
