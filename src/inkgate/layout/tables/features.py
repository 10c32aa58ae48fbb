"""What tells whether rows of a page are a table with certain cells: measures of a grid, for the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.frame import FloatArray
from inkgate.layout.tables.grid import Grid
from inkgate.layout.tables.places import CELL_GAP, TablePlace, cells_in
from inkgate.layout.tables.view import EXAMINED, IntArray, PageView
from inkgate_client.types import BlockType

FAR = 10.0
"""Larger distances, in line heights, tell no more."""
PROSE_ASPECT, PROSE_FILL = 8.0, 0.7
"""Lines of prose are at least this wide, in line heights, and as wide as this share of their column."""
RULED, NEAR_RULE = 0.6, (0.3, 2.0)
"""A drawn line belongs to a table if it runs along this share of its side, reaches into its rows or columns less than
the second, in line heights, and is above or below it by at most the third."""
NUMBERS, ALIGNED = 0.6, 0.5
"""A column is of numbers, or of prose, if this share of its lines is; they end at one place if they differ by less than
this, in line heights."""
_KINDS = (BlockType.FIGURE, BlockType.TITLE, BlockType.TEXT, BlockType.LIST, BlockType.HEADER, BlockType.FOOTER)
_READ_APART = (BlockType.TEXT, BlockType.TITLE, BlockType.LIST, BlockType.CAPTION)
"""What the layout model reads one after the other, even where they stand side by side."""
NAMES = (
    *("ruled", "model", "joined", "rows", "columns", "pieces", "contradictions", "filled", "paired", "wide"),
    *("numbers", "number_columns", "aligned", "numbers_right", "first_filled", "first_numbers", "first_bold"),
    *("in_drawn", "drawn_agree", "prose_columns", "prose_lines", "length", "largest_cell", "cell_rows", "crossing"),
    *("width", "height", "share", "region_same", "region_confidence", "in_region", "of_region"),
    *(f"in_{kind.value}" for kind in _KINDS),
    *("guess", "guess_rows", "guess_columns", "gap_above", "cells_above", "gap_below", "cells_below"),
    *("uneven_steps", "largest_step", "column_gap", "least_column_gap", "stubs", "last_filled", "beside"),
    *("emptiest_column", "uneven_rows", "lower", "broken", "first_lone", "last_lone", "one_letter"),
    *("in_caption", "apart", "split"),
    *("rule_above", "rule_below", "rule_under_head", "ruled_rows", "ruled_columns"),
    *("head_words", "head_words_below"),
)
"""The measures in their order; the scorer's file names them, too."""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of several grids, grid by grid and line of text by line of text: for each the number of its grid, its
    index, line and box, and its cell with the places of that. Numbers of lines, cells, rows and columns go on from grid
    to grid. Of each grid: its size, and its first piece, row and column; of each cell its first row and its grid.

    `beside`: whether each piece but the first is on the line of the piece before.
    """

    beside: NDArray[np.bool_]
    box: FloatArray
    grid: IntArray
    index: IntArray
    line: IntArray
    cell: IntArray
    row: IntArray
    column: IntArray
    row_end: IntArray
    column_end: IntArray
    counts: IntArray
    cells: IntArray
    rows: IntArray
    columns: IntArray
    first: IntArray
    first_row: IntArray
    first_column: IntArray
    cell_row: IntArray
    cell_grid: IntArray

    def extents(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Left, top, right and bottom of each grid's pieces."""
        left, top = np.minimum.reduceat(self.box[:, :2], self.first).T
        right, bottom = np.maximum.reduceat(self.box[:, 2:], self.first).T
        return left, top, right, bottom

    def sums(self, values: NDArray[np.bool_]) -> IntArray:
        """How many pieces of each grid have the value."""
        return np.bincount(self.grid[values], minlength=len(self.counts))

    def shares(self, values: NDArray[np.bool_]) -> FloatArray:
        """The share of the pieces of each grid that have the value."""
        found: FloatArray = self.sums(values) / self.counts
        return found

    def of_columns(self, values: NDArray[np.bool_]) -> IntArray:
        """How many columns of each grid have the value."""
        return np.add.reduceat(values, self.first_column, dtype=np.int64)

    def in_columns(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum of the values of the pieces of each column."""
        return np.bincount(self.column, values, int(self.columns.sum()))

    def of_lines(self, values: NDArray[np.bool_]) -> IntArray:
        """How many lines of text of each grid have a pair of pieces with the value."""
        _, at = np.unique(self.line[1:][values], return_index=True)
        return self.times(self.grid[1:][values][at])

    def times(self, grids: IntArray) -> IntArray:
        """How often each grid is in `grids`."""
        return np.bincount(grids, minlength=len(self.counts))


def measures_of(page: PageView, tables: Sequence[tuple[TablePlace, Grid, str]]) -> FloatArray:
    """The measures (N, len(NAMES)) of grids of places. Each has a source: "ruled", "model", "words" or "joined"."""
    pieces = _pieces(tables)
    edges = np.array([_around(page, place) for place, *_ in tables]).T
    drawn = _drawn(page, pieces)
    found = [
        *(np.array([source == name for *_, source in tables]) for name in ("ruled", "model", "joined")),
        *_shape(page, pieces),
        *_heading(page, pieces),
        *drawn[:2],
        *_prose(page, pieces),
        *_extent(page, pieces),
        *_regions(page, pieces),
        *_guess(page, pieces),
        *edges[:4],
        *_spacing(page, pieces),
        *_evenness(page, pieces),
        *edges[4:],
        pieces.shares(page.lengths[pieces.index] < 2),
        *_blocks(page, pieces),
        drawn[2],
        *_rules(page, pieces),
        *_head_words(page, pieces),
    ]
    return np.stack(found, axis=1, dtype=np.float64)


def _pieces(tables: Sequence[tuple[TablePlace, Grid, str]]) -> _Pieces:
    sizes = np.array([(len(grid.cells), grid.rows, grid.columns) for _, grid, _ in tables])
    first_cell, first_row, first_column = (np.cumsum(sizes, axis=0) - sizes).T
    held: list[tuple[float, ...]] = []
    lines = 0
    for number, (place, grid, _) in enumerate(tables):
        cells = {p.index: at for at, cell in enumerate(grid.cells, int(first_cell[number])) for p in cell.pieces}
        for line, row in enumerate(place.rows[place.start : place.stop], lines):
            pairs = [(cells[p.index], p) for p in row if p.index in cells]
            held += [(number, p.index, line, cell, p.left, p.top, p.right, p.bottom) for cell, p in pairs]
        lines += place.stop - place.start
    table = np.array(held)
    numbers = table[:, :4].T.astype(np.int64)
    counts = np.bincount(numbers[0], minlength=len(tables))
    places = np.array([(c.row, c.column, c.row_span, c.column_span) for _, grid, _ in tables for c in grid.cells])
    places[:, :2] += np.repeat(np.stack([first_row, first_column], axis=1), sizes[:, 0], axis=0)
    places[:, 2:] += places[:, :2]
    grids = np.repeat(np.arange(len(tables)), sizes[:, 0])
    firsts = (np.cumsum(counts) - counts, first_row, first_column)
    found = (*numbers, *places[numbers[3]].T, counts, *sizes.T, *firsts, places[:, 0], grids)
    return _Pieces(numbers[2, 1:] == numbers[2, :-1], table[:, 4:], *found)


def _contradictions(pieces: _Pieces, numbers: NDArray[np.bool_]) -> IntArray:
    """Number of pieces of each grid that contradict it.

    These are pieces beside each other on one line of text that are in one cell although far apart, in different rows,
    or in columns of another order; and numbers below each other in one cell.
    """
    same = pieces.cell[1:] == pieces.cell[:-1]
    heights = pieces.box[:, 3] - pieces.box[:, 1]
    far = pieces.box[1:, 0] - pieces.box[:-1, 2] > CELL_GAP * np.minimum(heights[1:], heights[:-1])
    low, high = np.maximum(pieces.row[1:], pieces.row[:-1]), np.minimum(pieces.row_end[1:], pieces.row_end[:-1])
    ordered = (high > low) & (pieces.column_end[:-1] <= pieces.column[1:])
    wrong = pieces.beside & np.where(same, far, ~ordered)
    stacked, _ = _pairs(pieces.cell[numbers], pieces.line[numbers])
    again = stacked[1:][stacked[1:] == stacked[:-1]]
    return pieces.times(pieces.grid[1:][wrong]) + pieces.times(pieces.cell_grid[again])


def _pairs(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct pairs of two numbers, in order."""
    size = int(second.max(initial=0)) + 1
    found = np.unique(first * size + second)
    return found // size, found % size


def _shape(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    unit = page.frame.unit
    filled = np.unique(pieces.cell)
    of_row = np.bincount(pieces.cell_row[filled], minlength=int(pieces.rows.sum()))
    numbers = page.numbers[pieces.index]
    of_numbers = pieces.in_columns(numbers) >= NUMBERS * np.maximum(pieces.in_columns(numbers | True), 1)
    left, right = pieces.box[:, 0], pieces.box[:, 2]
    single = pieces.column_end - pieces.column == 1
    count = len(of_numbers)
    edges = [_spread(pieces.column[single], edge[single], count) for edge in (left, right, (left + right) / 2)]
    spread = np.minimum(np.min(edges, axis=0) / unit, FAR)
    amounts = _spread(pieces.column[single & numbers], right[single & numbers], count) / unit
    listed = pieces.of_columns(of_numbers)
    even = pieces.of_columns(of_numbers & (amounts < ALIGNED)) / np.maximum(listed, 1)
    return [
        *(np.log(np.maximum(value, 1)) for value in (pieces.rows, pieces.columns, pieces.counts)),
        _contradictions(pieces, numbers) / pieces.counts,
        pieces.times(pieces.cell_grid[filled]) / pieces.cells,
        *(np.add.reduceat(of_row > few, pieces.first_row, dtype=np.int64) / pieces.rows for few in (1, 2)),
        pieces.shares(numbers),
        listed / pieces.columns,
        np.array([part.mean() for part in np.split(spread, pieces.first_column[1:])]),
        np.where(listed > 0, even, -1.0),
    ]


def _spread(groups: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Standard deviation of the values of each group; 0 for those without."""
    sizes = np.maximum(np.bincount(groups, minlength=count), 1)
    mean = np.bincount(groups, values, count) / sizes
    spread: FloatArray = np.sqrt(np.bincount(groups, (values - mean[groups]) ** 2, count) / sizes)
    return spread


def _heading(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    first = pieces.row == pieces.first_row[pieces.grid]
    here, below = pieces.sums(first), pieces.sums(~first)
    filled = np.bincount(pieces.column[first], minlength=int(pieces.columns.sum())) > 0
    numbers, bold = page.numbers[pieces.index], page.bold[pieces.index]
    bolder = pieces.sums(first & bold) / np.maximum(here, 1) - pieces.sums(~first & bold) / np.maximum(below, 1)
    found = (pieces.of_columns(filled) / pieces.columns, pieces.sums(first & numbers) / np.maximum(here, 1), bolder)
    return [np.where((here > 0) & (below > 0), measure, 0.0) for measure in found]


def _head_words(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    """The share of the columns with such a word in the first row, and of the lines below that have one."""
    first, heads = pieces.row == pieces.first_row[pieces.grid], page.heads[pieces.index]
    named = np.bincount(pieces.column[first & heads], minlength=int(pieces.columns.sum())) > 0
    below = pieces.sums(~first & heads) / np.maximum(pieces.sums(~first), 1)
    return [pieces.of_columns(named) / pieces.columns, below]


def _drawn(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    """The share of pieces in drawn cells, how far these are those of the grid, and the share of those with text that
    hold more than one cell of the grid.
    """
    drawn = page.drawn[pieces.index]
    known = drawn >= 0
    space = pieces.grid * (int(page.drawn.max(initial=0)) + 1) + drawn
    cells, spaces = _pairs(pieces.cell[known], space[known])
    pairs = pieces.times(pieces.cell_grid[cells])
    numbers, held = np.unique(spaces, return_counts=True)
    of_space = numbers // (int(page.drawn.max(initial=0)) + 1)
    same = pieces.times(pieces.cell_grid[np.unique(cells)]) + pieces.times(of_space)
    return [
        pieces.shares(known),
        np.where(pairs > 0, same / np.maximum(2 * pairs, 1), -1.0),
        pieces.times(of_space[held > 1]) / np.maximum(pieces.times(of_space), 1),
    ]


def _prose(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    half = page.frame.unit / 2
    wide, high = pieces.box[:, 2] - pieces.box[:, 0], pieces.box[:, 3] - pieces.box[:, 1]
    counts = pieces.in_columns(wide > -np.inf)
    left, right = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(left, pieces.column, pieces.box[:, 0])
    np.maximum.at(right, pieces.column, pieces.box[:, 2])
    lines = wide >= np.maximum(PROSE_ASPECT * np.maximum(high, half), PROSE_FILL * (right - left)[pieces.column])
    of_prose = pieces.in_columns(lines) >= np.maximum(3, NUMBERS * counts)
    begins = np.where(counts > 0, pieces.in_columns(pieces.box[:, 0]) / np.maximum(counts, 1), np.inf)
    is_last = pieces.column_end >= (pieces.first_column + pieces.columns)[pieces.grid]
    ends = np.where(is_last, np.inf, begins[np.minimum(pieces.column_end, len(begins) - 1)])
    in_cell, of_cell = (
        np.maximum.reduceat(np.bincount(cells)[pieces.cell], pieces.first)
        for cells in (pieces.cell, _pairs(pieces.cell, pieces.line)[0])
    )
    return [
        pieces.of_columns(of_prose),
        pieces.shares(lines),
        np.log1p(_medians(page.lengths[pieces.index], pieces.grid, pieces.counts)),
        in_cell / pieces.counts,
        np.log(of_cell),
        pieces.shares(pieces.box[:, 2] > ends + half),
    ]


def _medians(values: NDArray[Any], groups: IntArray, counts: IntArray) -> FloatArray:
    """The median of the values of each group; -1 for those without. `counts`: of the groups' values."""
    ordered = np.append(values[np.lexsort((values, groups))], 0.0)
    first = np.cumsum(counts) - counts
    low, high = ordered[first + np.maximum(counts - 1, 0) // 2], ordered[first + counts // 2]
    found: FloatArray = np.where(counts > 0, (low + high) / 2, -1.0)
    return found


def _extent(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    wide, high = np.maximum(page.bounds[2:] - page.bounds[:2], 1.0)
    left, top, right, bottom = pieces.extents()
    return [(right - left) / wide, (bottom - top) / high, pieces.counts / len(page.frame.pieces)]


def _regions(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    here = page.inside[pieces.index]
    tables = [i for i, region in enumerate(page.regions) if region.type is BlockType.TABLE]
    found = [np.zeros(len(pieces.counts)) for _ in range(4)]
    for i in tables:
        shared, whole = pieces.sums(here[:, i]), int(page.inside[:, i].sum())
        likeness = shared / np.maximum(pieces.counts + whole - shared, 1)
        better = likeness > found[0]
        new = (likeness, page.regions[i].confidence, shared / pieces.counts, shared / max(whole, 1))
        found = [np.where(better, each, before) for each, before in zip(new, found, strict=True)]
    kinds = ([i for i, region in enumerate(page.regions) if region.type is kind] for kind in _KINDS)
    return [*found, *(pieces.shares(np.asarray(here[:, those].any(axis=1))) for those in kinds)]


def _guess(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    x, y = (pieces.box[:, 0] + pieces.box[:, 2]) / 2, (pieces.box[:, 1] + pieces.box[:, 3]) / 2
    found = [np.full(len(pieces.counts), -1.0) for _ in range(3)]
    for guess in reversed([guess for guess in page.guesses if guess.cells]):
        left, top, right, bottom = page.frame.place(guess.box)
        shown = pieces.shares((left <= x) & (x <= right) & (top <= y) & (y <= bottom)) >= EXAMINED
        rows = max(cell.row + cell.row_span for cell in guess.cells)
        columns = max(cell.column + cell.column_span for cell in guess.cells)
        sizes = ((pieces.rows, rows), (pieces.columns, columns))
        alike = [np.minimum(own, seen) / np.maximum(own, seen) for own, seen in sizes]
        new = [np.full(len(shown), guess.confidence), *alike]
        found = [np.where(shown, each, other) for each, other in zip(new, found, strict=True)]
    return found


def _around(page: PageView, place: TablePlace) -> list[float]:
    """The gaps above and below the place, the cells of the rows there, and how wide its first and last row are if each
    is one piece.
    """
    found = []
    for number, edge in ((place.start - 1, place.start), (place.stop, place.stop - 1)):
        if not 0 <= number < len(place.rows):
            found += [FAR, 0.0]
            continue
        upper, lower = sorted((number, edge))
        bottom = max(piece.bottom for piece in place.rows[upper])
        gap = (min(piece.top for piece in place.rows[lower]) - bottom) / page.frame.unit
        found += [min(gap, FAR), float(len(cells_in(place.rows[number])))]
    ends = (place.rows[place.start], place.rows[place.stop - 1])
    return [*found, *(float(len(row) == 1) * row[0].width / page.frame.unit for row in ends)]


def _spacing(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    unit = page.frame.unit
    middles = (pieces.box[:, 1] + pieces.box[:, 3]) / 2
    first = np.flatnonzero(np.append(True, ~pieces.beside))
    means = np.add.reduceat(middles, first) / np.diff(np.append(first, len(middles)))
    ends = np.cumsum(pieces.times(pieces.grid[first]))
    steps = [np.abs(np.diff(part)) for part in np.split(means, ends[:-1])]
    apart = pieces.beside & (pieces.cell[1:] != pieces.cell[:-1])
    gaps, grids = (pieces.box[1:, 0] - pieces.box[:-1, 2])[apart] / unit, pieces.grid[1:][apart]
    counts = pieces.times(grids)
    parts = np.split(gaps, np.cumsum(counts)[:-1])
    return [
        np.array([float(np.std(part)) / max(float(np.mean(part)), 1e-9) if len(part) else 0.0 for part in steps]),
        np.array([min(float(part.max()) / unit, FAR) if len(part) else 0.0 for part in steps]),
        np.minimum(_medians(gaps, grids, counts), FAR),
        np.array([min(float(np.quantile(part, 0.1)), FAR) if len(part) else -1.0 for part in parts]),
    ]


def _evenness(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    rows, columns = _pairs(pieces.row, pieces.column)
    in_row = np.bincount(rows, minlength=int(pieces.rows.sum()))
    in_column = np.bincount(columns, minlength=int(pieces.columns.sum()))
    row_grid = np.repeat(np.arange(len(pieces.rows)), pieces.rows)
    begins = columns == pieces.first_column[row_grid[rows]]
    _, top, _, bottom = pieces.extents()
    middles = np.sort(page.middles)
    level = np.searchsorted(middles, bottom, side="right") - np.searchsorted(middles, top, side="left")
    spread = np.array([np.std(part) for part in np.split(in_row, pieces.first_row[1:])])
    return [
        pieces.times(row_grid[rows[begins & (in_row[rows] == 1)]]) / pieces.rows,
        in_row[pieces.first_row + pieces.rows - 1] / pieces.columns,
        1 - pieces.counts / np.maximum(level, pieces.counts),
        np.minimum.reduceat(in_column, pieces.first_column) / pieces.rows,
        spread / pieces.columns,
        pieces.shares(page.lower[pieces.index]),
        pieces.shares(page.broken[pieces.index]),
    ]


def _blocks(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    """Share of pieces in captions, and of lines with several pieces that reach over blocks that are read apart."""
    here = page.inside[pieces.index]
    read = [i for i, region in enumerate(page.regions) if region.type in _READ_APART and region.rank is not None]
    owners = np.full(len(here), -1)
    if read:
        owners = np.where(here[:, read].any(axis=1), here[:, read].argmax(axis=1), -1)
    over = pieces.of_lines(pieces.beside & (owners[1:] != owners[:-1]))
    several = np.maximum(pieces.of_lines(pieces.beside), 1)
    return [pieces.shares(np.isin(pieces.index, list(page.captions))), over / several]


def _rules(page: PageView, pieces: _Pieces) -> list[FloatArray]:
    """Whether drawn lines run above and below each table and under its first row, and between which share of its rows
    and columns.
    """
    touch, near = (share * page.frame.unit for share in NEAR_RULE)
    left, top, right, bottom = pieces.extents()
    level, upright = _along(page.level, left, right), _along(page.upright, top, bottom)
    y = page.level[:, 2]
    above = level & (y >= top[:, None] - near) & (y <= top[:, None] + touch)
    below = level & (y >= bottom[:, None] - touch) & (y <= bottom[:, None] + near)
    owners, rows = _ruled(pieces, (pieces.row, pieces.row_end), pieces.box[:, 1::2], level, page.level[:, 2], touch)
    heads = np.zeros(len(top))
    numbers, first = np.unique(owners, return_index=True)
    heads[numbers] = rows[first]
    across = (pieces.column, pieces.column_end)
    sides, columns = _ruled(pieces, across, pieces.box[:, ::2], upright, page.upright[:, 2], touch)
    shares = (
        pieces.times(own[ruled]) / np.maximum(pieces.times(own), 1) for own, ruled in ((owners, rows), (sides, columns))
    )
    outer = (np.asarray(side.any(axis=1), np.float64) for side in (above, below))
    return [*outer, heads, *shares]


def _along(rules: FloatArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Whether each drawn line runs along most of each table's side, (tables, R)."""
    shared = np.minimum(rules[:, 1], high[:, None]) - np.maximum(rules[:, 0], low[:, None])
    along: NDArray[np.bool_] = shared >= RULED * (high - low)[:, None]
    return along


def _ruled(
    pieces: _Pieces,
    places: tuple[IntArray, IntArray],
    edges: FloatArray,
    along: NDArray[np.bool_],
    rules: FloatArray,
    touch: float,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """For each gap between two filled rows (or columns) of a table the table's number, and whether a line is in it.

    `places`: the first row of each piece and the one behind its last; `edges`: where it begins and ends, (N, 2).
    """
    count = int(max(places[1].max(), places[0].max() + 1))
    starts, stops, owners = np.full(count, np.inf), np.full(count, -np.inf), np.full(count, -1)
    np.minimum.at(starts, places[0], edges[:, 0])
    np.maximum.at(stops, places[1] - 1, edges[:, 1])
    owners[places[0]] = pieces.grid
    filled = np.flatnonzero(np.isfinite(starts) & np.isfinite(stops))
    before, after = filled[:-1], filled[1:]
    same = owners[before] == owners[after]
    gaps = np.stack([stops[before[same]], starts[after[same]]], axis=1)
    low, high = gaps.min(axis=1, keepdims=True) - touch, gaps.max(axis=1, keepdims=True) + touch
    own = owners[before[same]]
    return own, (along[own] & (low <= rules) & (rules <= high)).any(axis=1)
