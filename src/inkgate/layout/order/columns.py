"""Columns: finds where a page is read in columns, one after the other, and where it is read across.

A recursive cut similar to Nagy and Seth's XY-cut, with one decision at each gutter: is the text beside it *columns*, to
be read one after the other, or *rows* of a table, receipt or form, to be read across?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray, LayoutPiece
from inkgate.layout.order.turned import turned_parts

BoolArray = NDArray[np.bool_]

GUTTER = 0.3
"""Minimum width of a gutter, in line heights: less than an em, because detectors draw boxes generously."""
RAGGED = 0.35
"""Left edges of one column differ by less than this, in line heights."""
MAX_GUTTERS = 40
"""Candidates tried at each cut: the left edges that most lines share."""
MIN_INSET = 2
"""Lines of an inset that columns run around: one alone is a cell between others."""
INSET_NEAR = 0.8
"""Lines of both columns stand within this distance of each line of an inset, in line heights."""
INSET_MARGIN = 5.0
"""Lines of the columns stand within this distance above and below an inset, in line heights from middle to middle."""
MAX_INSET = 0.25
"""Maximum share of the lines beside a gutter that cross it."""
MIN_SIDE = 2
"""Minimum number of lines on each side of a gutter."""
PROSE_LINES = 3
"""Minimum number of long lines, or lines of words, in a column."""
INDENT = 6.0
"""Lines of one column begin within this distance of its edge, in line heights."""
WORDY_SHARE = 0.7
"""Minimum share of words among the lines of a side; with fewer, it holds values that belong to the other side."""
WORDY_ASPECT = 3.0
"""Minimum median width of lines of words, in line heights."""
PROSE_ASPECT = 8.0
"""Minimum width of a long line, in line heights."""
FAR, FAR_FACTOR = 4.0, 2.0
"""Lines on common baselines, and further apart than this, must be this many times as long: they may be a table's."""
NARROW_ASPECT = 5.0
"""The same where the lines run on in the middle of sentences: narrow columns of a newspaper or magazine."""
RUNNING_LINES = 6
"""Minimum number of lines to tell by that."""
RUNNING_WORDS = 4
RUNNING_SHARE = 0.4
"""Share of them that begin with a small letter and have as many words. German prose, with its capitals, has about half
that begin so; of cells few do.
"""
PROSE_SHARE = 0.5
"""A column is prose if at least this share of it is long lines."""
PROSE_FILL = 0.6
"""A line that covers at least this share of the width fills its column."""
STRIP = 3.0
"""Columns end and new ones begin where the page is empty from side to side for this many line heights."""
HEADLINE_STRIP = 0.65
"""They also do where this much is empty above a headline over several of them: stories of a newspaper. Detectors draw
the boxes of both too high."""
NEW_STRIP = 1.5
"""They also do where this much is empty between columns of other gutters: paragraphs are nearer to each other."""
LARGE, CLOSE_STRIP, VERY_LARGE = 1.25, 0.8, 1.4
"""A headline's letters are this many line heights high; nearer to the columns above than the second, as many as the
third: lines with formulas are high, too."""
MAX_COLUMNS = 12
"""Pieces looked at above and below such a strip: the last and first rows of as many columns."""
LONE_ROWS = 2
"""Maximum number of rows removed from each end of two columns because they belong to neither."""
LONE_WIDTH = 0.5
"""Such a row's text fills less than this share of the width."""
CLEAR = 2.0
"""Minimum distance to the next row, in line heights from middle to middle."""
ALIGNED = 0.25
"""Lines of two columns whose middles differ by less, in line heights, are on one baseline."""
ALIGNED_SHARE = 0.55
"""Share of aligned lines from which short lines side by side are rows."""
APART, APART_SHARE = 10.0, 0.75
"""The share if they are further apart than this, in line heights: labels stand on the lines of their values, but blocks
of lines of one pitch, such as the two addresses at the head of a letter, meet by chance on half of theirs.
"""

Flow = list[LayoutPiece]
"""Pieces that are read together, across and down: one column, or one band over the whole width."""


MAX_DEPTH = 12
"""Cuts within cuts."""


def flows_of(pieces: Sequence[LayoutPiece], unit: float, *, max_depth: int = MAX_DEPTH) -> list[Flow]:
    """The flows in reading order, those of turned text last, each in its own frame; within a flow the pieces are
    unordered.

    `max_depth`: of cuts within cuts; 0: the page is read across.
    """
    parts = turned_parts([piece for piece in pieces if piece.turn], unit)
    turned = {piece.index for part in parts for piece in part}
    standing = [piece for piece in pieces if piece.zone >= 0 or piece.index not in turned]
    return [flow for part in (standing, *parts) if part for flow in _cut(part, unit, max_depth)]


def _cut(pieces: list[LayoutPiece], unit: float, depth: int) -> list[Flow]:
    split = _best_split(pieces, unit) if depth > 0 and len(pieces) >= 2 * MIN_SIDE else None
    if split is None:
        return [pieces]
    return [flow for part in split if part for flow in _cut(part, unit, depth - 1)]


def _side_by_side(pieces: Sequence[LayoutPiece]) -> bool:
    return max(piece.left for piece in pieces) > min(piece.right for piece in pieces)


@dataclass(frozen=True, slots=True)
class _PieceTable:
    """The pieces as arrays, sorted by their middles.

    `strips`: whether an empty strip lies above a piece; `running`: whether its text begins within a sentence.
    """

    pieces: list[LayoutPiece]
    left: FloatArray
    right: FloatArray
    middle: FloatArray
    height: FloatArray
    strips: BoolArray
    running: BoolArray


def _tabled(pieces: Sequence[LayoutPiece], unit: float) -> _PieceTable:
    ordered = sorted(pieces, key=lambda p: (p.middle, p.left, p.right, p.text))
    left, right, middle, top, bottom = np.array([(p.left, p.right, p.middle, p.top, p.bottom) for p in ordered]).T
    gap = np.concatenate([[0.0], np.minimum.accumulate(top[::-1])[::-1][1:] - np.maximum.accumulate(bottom)[:-1]])
    strips = gap >= STRIP * unit
    for i in np.flatnonzero((gap >= HEADLINE_STRIP * unit) & ~strips).tolist():
        strips[i] = _is_headed(ordered, i, unit, large=gap[i] < CLOSE_STRIP * unit) or (
            gap[i] >= NEW_STRIP * unit and _has_new_columns(ordered, i, unit)
        )
    running = np.array([_is_running(piece.text) for piece in ordered], dtype=np.bool_)
    return _PieceTable(ordered, left, right, middle, bottom - top, strips, running)


def _is_headed(ordered: Sequence[LayoutPiece], start: int, unit: float, *, large: bool) -> bool:
    """Whether a headline over several of the columns above begins at this piece; `large`: in large letters."""
    above = ordered[max(0, start - MAX_COLUMNS) : start]
    for head in ordered[start : start + MAX_COLUMNS]:
        if (
            head.height < (VERY_LARGE if large else LARGE) * unit
            or head.middle > ordered[start].middle + 2 * unit
            or head.zone >= 0
        ):
            continue
        under = [p for p in above if head.left - unit <= p.left and p.right <= head.right + unit]
        if under and all(p.height < head.height for p in under) and _side_by_side(under):
            return True
    return False


def _has_new_columns(ordered: Sequence[LayoutPiece], start: int, unit: float) -> bool:
    """Whether columns of prose end above this piece and others begin: no gutter goes on."""
    above, below = ordered[max(0, start - 2 * MAX_COLUMNS) : start], ordered[start : start + 2 * MAX_COLUMNS]
    if any(sum(p.width >= PROSE_ASPECT * p.height for p in part) < PROSE_SHARE * len(part) for part in (above, below)):
        return False
    return _has_gutter(above, unit) and _has_gutter(below, unit) and not _has_gutter([*above, *below], unit)


def _has_gutter(pieces: Sequence[LayoutPiece], unit: float) -> bool:
    """Whether the pieces leave a stretch of x free between them."""
    spans = sorted((piece.left, piece.right) for piece in pieces)
    ends = accumulate((right for _, right in spans), max)
    return any(left - end >= GUTTER * unit for end, (left, _) in zip(ends, spans[1:], strict=False))


def _best_split(pieces: Sequence[LayoutPiece], unit: float) -> list[list[LayoutPiece]] | None:
    """Above, left, right and below of the best gutter; None if there is none."""
    table = _tabled(pieces, unit)
    best: tuple[float, float] | None = None
    found: list[list[LayoutPiece]] | None = None
    for edge in _edges(table.left, unit):
        left = table.right <= edge - GUTTER * unit
        right = table.left >= edge - RAGGED * unit
        if min(np.count_nonzero(left), np.count_nonzero(right)) < MIN_SIDE:
            continue
        crossing = ~(left | right)
        runs = _runs(crossing & ~_insets(table, left, right, unit), table.strips)
        for stretch, most in _tall(table, runs, left, right, unit):
            if best is not None and most < best[0]:
                continue
            run = _trimmed(table, stretch, left, right, unit)
            rank = _rank(table, run, left[run], right[run], unit)
            if rank is not None and (best is None or rank > best):
                best, found = rank, _parts(table, run, left, right)
    return found


def _parts(table: _PieceTable, run: slice, left: BoolArray, right: BoolArray) -> list[list[LayoutPiece]]:
    """The pieces above a stretch, to the left and right of its gutter, insets over the gutter, and below."""
    beside = list(zip(table.pieces[run], left[run].tolist(), right[run].tolist(), strict=True))
    return [
        table.pieces[: run.start],
        [piece for piece, is_left, _ in beside if is_left],
        [piece for piece, _, is_right in beside if is_right],
        [piece for piece, is_left, is_right in beside if not (is_left or is_right)],
        table.pieces[run.stop :],
    ]


def _insets(table: _PieceTable, left: BoolArray, right: BoolArray, unit: float) -> BoolArray:
    """The pieces that cross a gutter but stand between lines of both its columns, which run around them.

    They are masked, as in XY-Cut++ (Liu et al., 2025), so that a quotation or a picture's caption set into two columns
    does not end them.
    """
    found = np.zeros(len(table.pieces), dtype=np.bool_)
    crossing = np.flatnonzero(~(left | right))
    sides = np.flatnonzero(left), np.flatnonzero(right)
    if len(crossing) < MIN_INSET or min(len(side) for side in sides) < 2 * PROSE_LINES:
        return found
    wrapped = np.ones(len(crossing), dtype=np.bool_)
    for side, sign, near, far in ((sides[0], 1, table.right, table.left), (sides[1], -1, table.left, table.right)):
        middle = table.middle[side]
        place = np.clip(np.searchsorted(middle, table.middle[crossing]), 1, len(side) - 1)
        before = np.abs(table.middle[crossing] - middle[place - 1]) < np.abs(table.middle[crossing] - middle[place])
        closest = side[np.where(before, place - 1, place)]
        wrapped &= np.abs(table.middle[crossing] - table.middle[closest]) < INSET_NEAR * unit
        wrapped &= sign * (far[crossing] - near[closest]) > 0
    inset = crossing[wrapped]
    if len(inset) >= MIN_INSET and all(_runs_around(table, side, inset, unit) for side in sides):
        found[inset] = True
    return found


def _runs_around(table: _PieceTable, side: NDArray[np.int64], inset: NDArray[np.int64], unit: float) -> bool:
    """Whether a column has lines above and below an inset that reach over it from outside. Else the inset is a column
    of its own, between columns that are narrower than those above or below.
    """
    left, right = float(table.left[inset].min()), float(table.right[inset].max())
    over = side[(table.right[side] > left) & (table.left[side] < right)]
    over = over[(table.left[over] < left - unit) | (table.right[over] > right + unit)]
    above, below = table.middle[inset].min() - table.middle[over], table.middle[over] - table.middle[inset].max()
    return all(bool(((gap > 0) & (gap <= INSET_MARGIN * unit)).any()) for gap in (above, below))


def _edges(lefts: FloatArray, unit: float) -> list[float]:
    """Left edges that lines share: the leftmost of each cluster, those with the most lines first."""
    ordered = np.sort(lefts)
    breaks = np.flatnonzero(np.diff(ordered) > RAGGED * unit) + 1
    clusters = np.split(ordered, breaks)
    clusters.sort(key=lambda cluster: (-len(cluster), cluster[0]))
    return [float(cluster[0]) for cluster in clusters[:MAX_GUTTERS]]


def _runs(crossing: BoolArray, strips: BoolArray) -> list[slice]:
    """Stretches of lines that no line crossing the gutter and no empty strip interrupts."""
    starts = np.flatnonzero(~crossing & (strips | np.concatenate([[True], crossing[:-1]])))
    ends = np.flatnonzero(~crossing & np.concatenate([strips[1:] | crossing[1:], [True]])) + 1
    return [slice(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True) if b - a >= 2 * MIN_SIDE]


def _tall(
    table: _PieceTable, runs: Sequence[slice], left: BoolArray, right: BoolArray, unit: float
) -> list[tuple[slice, float]]:
    """The stretches that `_rank` may accept, with the most that it may find as their height: without these two limits
    a page of thousands of scattered lines takes twice as long.
    """
    if not runs:
        return []
    starts, stops = np.array([(run.start, run.stop) for run in runs]).T
    low, high, few = np.full(len(runs), -np.inf), np.full(len(runs), np.inf), np.zeros(len(runs), dtype=np.bool_)
    for side in (np.flatnonzero(left), np.flatnonzero(right)):
        first, last = np.searchsorted(side, starts), np.searchsorted(side, stops)
        few |= last - first < MIN_SIDE
        if not len(side):
            return []
        middle = table.middle[side]
        low = np.maximum(low, middle[np.minimum(first, len(side) - 1)])
        high = np.minimum(high, middle[np.maximum(last - 1, 0)])
    heights = high - low
    return [(runs[i], float(heights[i])) for i in np.flatnonzero(~few & ~(heights < unit)).tolist()]


def _trimmed(table: _PieceTable, run: slice, left: BoolArray, right: BoolArray, unit: float) -> slice:
    """A stretch without isolated rows at its ends: running headers and footers, headings."""
    order = np.arange(run.start, run.stop)
    above, below = _lone(table, order, unit), _lone(table, order[::-1], unit)
    if above and _heads_columns(table, order[:above], order[left[run]], order[right[run]], unit):
        above = 0
    return slice(run.start + above, run.stop - below) if above + below < len(order) else run


def _heads_columns(
    table: _PieceTable, row: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64], unit: float
) -> bool:
    """Whether rows at the top are headings of both columns: they begin at the columns' edges, as page numbers don't."""
    return all(
        side.size > len(row)
        and bool((np.abs(table.left[np.intersect1d(row, side)] - table.left[side].min()) < RAGGED * unit).any())
        for side in (left, right)
    )


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
    gap = float(table.left[run][right].min() - table.right[run][left].max())
    aligned = _aligned(few, many, unit, APART_SHARE if gap > APART * unit else ALIGNED_SHARE)
    inset = int((~(left | right)).sum())
    if inset > MAX_INSET * len(left):
        return None
    running = _runs_on(table, run, a) and _runs_on(table, run, b)
    aspect = NARROW_ASPECT if running else PROSE_ASPECT * (FAR_FACTOR if aligned and gap > FAR * unit else 1.0)
    if not (_prose(table, run, a, unit, aspect) and _prose(table, run, b, unit, aspect)) and (
        aligned or inset or not (_wordy(table, run, a) and _wordy(table, run, b))
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


def _runs_on(table: _PieceTable, run: slice, side: BoolArray) -> bool:
    """Whether many lines of a side begin within a sentence, as lines of prose do and cells of a table don't."""
    ours = table.running[run][side]
    return len(ours) >= RUNNING_LINES and int(ours.sum()) >= RUNNING_SHARE * len(ours)


def _is_running(text: str) -> bool:
    text = text.lstrip()
    return text[:1].islower() and text.count(" ") >= RUNNING_WORDS - 1


def _is_words(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    return letters > sum(char.isdigit() for char in text)


def _aligned(few: FloatArray, many: FloatArray, unit: float, share: float) -> bool:
    """Whether that share of the lines of both sides have common baselines, up to one shift for all of them."""
    place = np.clip(np.searchsorted(many, few), 1, len(many) - 1)
    before, after = few - many[place - 1], few - many[place]
    shift = np.sort(np.where(np.abs(before) < np.abs(after), before, after))
    together = np.searchsorted(shift, shift + 2 * ALIGNED * unit, side="right") - np.arange(len(shift))
    return float(together.max()) >= share * len(few)


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
