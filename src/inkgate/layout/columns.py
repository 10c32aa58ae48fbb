"""Columns: where a page is read down one side before the other, and where it is read across.

A recursive cut in the manner of Nagy and Seth's XY-cut, with one question asked at each gutter: is the text beside
it *columns*, to be read one after the other, or *rows* of a table, receipt or form, to be read across?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.frame import FloatArray, Piece

BoolArray = NDArray[np.bool_]

GUTTER = 0.3
"""Least width of a gutter, in line heights: less than an em, because detectors draw boxes generously."""
RAGGED = 0.35
"""Left edges of one column differ by less than this, in line heights."""
MOST_GUTTERS = 40
"""Candidates tried at each cut: the left edges that most lines share."""
MIN_SIDE = 2
"""Lines that each side of a gutter must have, to be a column."""
PROSE_LINES = 3
WORDY_SHARE = 0.7
WORDY_ASPECT = 3.0
PROSE_ASPECT = 7.0
"""Median width of a column's lines, in line heights, from which it is prose."""
PROSE_FILL = 0.6
"""A line fills its column from this share of the width on."""
ALIGNED = 0.25
"""Lines of two columns whose middles differ by less, in line heights, lie on one baseline."""
ALIGNED_SHARE = 0.55
"""From this share of aligned lines on, short lines side by side are rows."""

Flow = list[Piece]
"""Pieces that are read together, across and down: one column, or one band over the whole width."""


def flows_of(pieces: Sequence[Piece], unit: float) -> list[Flow]:
    """The flows in reading order, turned lines last; within a flow the pieces are unordered."""
    standing = [piece for piece in pieces if not piece.turned]
    turned = [piece for piece in pieces if piece.turned]
    flows = _cut(standing, unit, depth=0) if standing else []
    return flows + [[piece] for piece in sorted(turned, key=lambda piece: (piece.left, piece.top, piece.text))]


MAX_DEPTH = 12


def _cut(pieces: list[Piece], unit: float, depth: int) -> list[Flow]:
    split = _best_split(pieces, unit) if depth < MAX_DEPTH and len(pieces) >= 2 * MIN_SIDE else None
    if split is None:
        return [pieces]
    return [flow for part in split if part for flow in _cut(part, unit, depth + 1)]


@dataclass(frozen=True, slots=True)
class _Table:
    """The pieces as arrays, sorted by their middles."""

    pieces: list[Piece]
    left: FloatArray
    right: FloatArray
    middle: FloatArray
    height: FloatArray


def _tabled(pieces: Sequence[Piece]) -> _Table:
    ordered = sorted(pieces, key=lambda p: (p.middle, p.left, p.right, p.text))
    cells = np.array([(p.left, p.right, p.middle, p.height) for p in ordered])
    return _Table(ordered, *cells.T)


def _best_split(pieces: Sequence[Piece], unit: float) -> list[list[Piece]] | None:
    """Above, left, right and below of the best gutter; None when there is none."""
    table = _tabled(pieces)
    best: tuple[float, float] | None = None
    found: list[list[Piece]] | None = None
    for edge in _edges(table.left, unit):
        left = table.right <= edge - GUTTER * unit
        right = table.left >= edge - RAGGED * unit
        for start, stop in _runs(~(left | right)):
            run = slice(start, stop)
            rank = _rank(table, run, left[run], right[run], unit)
            if rank is not None and (best is None or rank > best):
                best = rank
                found = [
                    table.pieces[:start],
                    [p for p, is_left in zip(table.pieces[run], left[run], strict=True) if is_left],
                    [p for p, is_left in zip(table.pieces[run], left[run], strict=True) if not is_left],
                    table.pieces[stop:],
                ]
    return found


def _edges(lefts: FloatArray, unit: float) -> list[float]:
    """Left edges that lines share: the leftmost of each cluster, those of most lines first."""
    ordered = np.sort(lefts)
    breaks = np.flatnonzero(np.diff(ordered) > RAGGED * unit) + 1
    clusters = np.split(ordered, breaks)
    clusters.sort(key=lambda cluster: (-len(cluster), cluster[0]))
    return [float(cluster[0]) for cluster in clusters[:MOST_GUTTERS]]


def _runs(crossing: BoolArray) -> list[tuple[int, int]]:
    """Stretches of lines of which none crosses the gutter."""
    marks = np.flatnonzero(np.concatenate([[True], crossing, [True]]))
    return [(a, b - 1) for a, b in pairwise(marks.tolist()) if b - a > 2 * MIN_SIDE]


def _rank(table: _Table, run: slice, left: BoolArray, right: BoolArray, unit: float) -> tuple[float, float] | None:
    """How good a gutter is: the height it runs beside text, its width. None when it parts no columns."""
    if left.sum() < MIN_SIDE or right.sum() < MIN_SIDE:
        return None
    middle = table.middle[run]
    low, high = max(middle[left][0], middle[right][0]), min(middle[left][-1], middle[right][-1])
    if high - low < unit:
        return None
    beside = (middle >= low - unit / 2) & (middle <= high + unit / 2)
    a, b = left & beside, right & beside
    if a.sum() < MIN_SIDE or b.sum() < MIN_SIDE or not _columns(table, run, a, b, unit):
        return None
    gap = float(table.left[run][right].min() - table.right[run][left].max())
    return float(high - low), gap


def _columns(table: _Table, run: slice, left: BoolArray, right: BoolArray, unit: float) -> bool:
    """Whether the lines on both sides are read as columns."""
    if _prose(table, run, left) and _prose(table, run, right):
        return True
    return _wordy(table, run, left) and _wordy(table, run, right) and not _aligned(table, run, left, right, unit)


def _wordy(table: _Table, run: slice, side: BoolArray) -> bool:
    """Whether a side has lines of words: not the prices, amounts or marks that belong to the lines beside them."""
    if side.sum() < PROSE_LINES:
        return False
    words = sum(_is_words(piece.text) for piece, ours in zip(table.pieces[run], side, strict=True) if ours)
    aspect = (table.right[run][side] - table.left[run][side]) / np.maximum(table.height[run][side], 1.0)
    return bool(words >= WORDY_SHARE * side.sum() and np.median(aspect) >= WORDY_ASPECT)


def _is_words(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    return letters > sum(char.isdigit() for char in text)


def _aligned(table: _Table, run: slice, left: BoolArray, right: BoolArray, unit: float) -> bool:
    """Whether the lines of both sides share their baselines, give or take one shift for all of them."""
    a, b = table.middle[run][left], table.middle[run][right]
    few, many = (a, b) if len(a) <= len(b) else (b, a)
    place = np.clip(np.searchsorted(many, few), 1, len(many) - 1)
    before, after = few - many[place - 1], few - many[place]
    shift = np.sort(np.where(np.abs(before) < np.abs(after), before, after))
    together = np.searchsorted(shift, shift + 2 * ALIGNED * unit, side="right") - np.arange(len(shift))
    return float(together.max()) >= ALIGNED_SHARE * len(few)


def _prose(table: _Table, run: slice, side: BoolArray) -> bool:
    """Whether the lines of a side are long and fill their column."""
    if side.sum() < PROSE_LINES:
        return False
    left, right = table.left[run][side], table.right[run][side]
    width = right - left
    column = float(np.quantile(right, 0.9) - np.quantile(left, 0.1))
    aspect = width / np.maximum(table.height[run][side], 1.0)
    return float(np.median(aspect)) >= PROSE_ASPECT and float((width >= PROSE_FILL * column).mean()) >= 0.5
