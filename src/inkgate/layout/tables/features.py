"""What tells whether rows of a page are a table with certain cells: measures of a grid, for the scorer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import PageEvidence, Region, TableGuess
from inkgate.layout.order.frame import FloatArray, Frame, Row, directed
from inkgate.layout.tables.grid import Grid
from inkgate.layout.tables.headers import is_number
from inkgate.layout.tables.places import CELL_GAP, TablePlace, cells_in, held_in, shares_in
from inkgate_client.types import BlockType

INSIDE = 0.5
"""A line is in a region or a drawn cell that contains this share of it."""
EXAMINED = 0.9
"""The table model looked at a place if this share of its lines is in the part of the page that it was shown."""
MIN_SHOWN = 0.6
"""Its cells are tried for places with at least this share of the lines in that part."""
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
MAX_HEAD = 40
_HEAD_WORDS = re.compile(
    r"\b(?:pos(?:ition)?|items?|no|nr|qty|quantity|description|descr|particulars|product|article|code|sku|unit|u/?m|price|rate"
    r"|amount|amt|total|subtotal|tax|vat|gst|disc(?:ount)?|balance|debit|credit|hours"
    r"|\w*(?:menge|preis|betrag|anzahl|artikel|bezeichnung|beschreibung|einheit|rabatt|mwst|summe)\w*"
    r"|désignation|libellé|quantité|qté|prix|montant|tva|remise|unité|référence"
    r"|descripción|concepto|cantidad|cant|precio|importe|iva|unidad|referencia"
    r"|descrizione|quantità|prezzo|importo|sconto|codice|descrição|quantidade|qtd|preço|valor|código"
    r"|omschrijving|aantal|prijs|bedrag|btw|eenheid|korting|nazwa|ilość|cena|wartość|lp|jm"
    r"|наименование|кол-?во|количество|цена|сумма|ндс|ед)\b"
    r"|品\s*名|商\s*品|名\s*称|项\s*目|規\s*格|规\s*格|数\s*量|单\s*[价位]|単\s*[価位]|金\s*[额額]|税\s*[额額率]|序\s*号|番\s*号",
    re.IGNORECASE,
)
"""What heads columns of goods and amounts."""
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
class PageView:
    """What is known of each line of a page, by its index: made once, for all places.

    Attributes:
        frame, guesses: the page's.
        drawn: the number of the drawn cell of each line; -1 for none.
        inside: whether each line is in each region of `regions`.
        numbers, bold, lower, broken: whether the line's text is a number, is bold, begins with a small letter, and ends
            as a line within a sentence does.
        heads: whether it has a word that heads columns of goods or amounts.
        lengths: its characters.
        middles: of the lines.
        bounds: of all lines.
        captions: the lines in captions.
        level, upright: the drawn lines of each direction, (R, 3): both ends, and where it is.
    """

    frame: Frame
    guesses: Sequence[TableGuess]
    regions: Sequence[Region]
    drawn: NDArray[np.int64]
    inside: NDArray[np.bool_]
    numbers: NDArray[np.bool_]
    bold: NDArray[np.bool_]
    lower: NDArray[np.bool_]
    broken: NDArray[np.bool_]
    heads: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    middles: FloatArray
    bounds: FloatArray
    captions: frozenset[int]
    level: FloatArray
    upright: FloatArray


def view_of(frame: Frame, evidence: PageEvidence) -> PageView:
    regions, cells = evidence.regions or (), evidence.cells
    count = len(frame.pieces)
    boxes = np.array([(p.left, p.top, p.right, p.bottom) for p in frame.pieces], dtype=np.float64).reshape(-1, 4)
    drawn = np.full(count, -1, dtype=np.int64)
    if len(cells) and count:
        shares = shares_in(boxes, np.array([frame.place(cell) for cell in cells]))
        drawn = np.where(shares.max(axis=1) > INSIDE, shares.argmax(axis=1), -1)
    inside = np.zeros((count, len(regions)), dtype=np.bool_)
    if len(regions) and count:
        inside = shares_in(boxes, np.array([frame.place(region.box) for region in regions])) > INSIDE
    texts = [piece.text.strip() for piece in frame.pieces]
    captions = [i for i, region in enumerate(regions) if region.type is BlockType.CAPTION]
    level, upright = directed([frame.place(rule) for rule in evidence.rules])
    return PageView(
        frame,
        evidence.tables,
        regions,
        drawn,
        inside,
        numbers=np.array([is_number(text) for text in texts], dtype=np.bool_),
        bold=np.array([piece.bold for piece in frame.pieces], dtype=np.bool_),
        lower=np.array([text[:1].islower() for text in texts], dtype=np.bool_),
        broken=np.array([text.endswith(("-", ",", ";")) for text in texts], dtype=np.bool_),
        heads=np.array([bool(_HEAD_WORDS.search(text[:MAX_HEAD])) for text in texts], dtype=np.bool_),
        lengths=np.array([len(text) for text in texts], dtype=np.int64),
        middles=np.array([piece.middle for piece in frame.pieces]),
        bounds=np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)]) if count else np.zeros(4),
        captions=frozenset(np.flatnonzero(inside[:, captions].any(axis=1)).tolist()),
        level=level,
        upright=upright,
    )


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a grid, row of text by row of text, with their cells."""

    index: NDArray[np.int64]
    line: NDArray[np.int64]
    box: FloatArray
    cell: NDArray[np.int64]
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    row_end: NDArray[np.int64]
    column_end: NDArray[np.int64]


def measures_of(page: PageView, place: TablePlace, grid: Grid, source: str) -> list[float]:
    """The measures of one grid of a place, as NAMES. `source`: "ruled", "model", "words" or "joined"."""
    pieces = _pieces(place.rows[place.start : place.stop], grid)
    return [
        *(float(source == name) for name in ("ruled", "model", "joined")),
        *_shape(page, pieces, grid),
        *_heading(page, pieces, grid),
        *_drawn(page, pieces),
        *_prose(page, pieces, grid),
        *_extent(page, pieces),
        *_regions(page, pieces),
        *_guess(page, pieces, grid),
        *_around(page, place),
        *_spacing(page, pieces),
        *_evenness(page, place, pieces, grid),
        *_blocks(page, pieces),
        _split(page, pieces),
        *_rules(page, pieces, grid),
        *_head_words(page, pieces, grid),
    ]


def _pieces(rows: Sequence[Row], grid: Grid) -> _Pieces:
    cells = {piece.index: number for number, cell in enumerate(grid.cells) for piece in cell.pieces}
    held = [(number, piece) for number, row in enumerate(rows) for piece in row if piece.index in cells]
    at = np.array([cells[piece.index] for _, piece in held], dtype=np.int64)
    table = np.array([(c.row, c.column, c.row + c.row_span, c.column + c.column_span) for c in grid.cells])[at]
    return _Pieces(
        np.array([piece.index for _, piece in held], dtype=np.int64),
        np.array([number for number, _ in held], dtype=np.int64),
        np.array([(p.left, p.top, p.right, p.bottom) for _, p in held], dtype=np.float64),
        at,
        *table.T,
    )


def contradictions(pieces: _Pieces, numbers: NDArray[np.bool_]) -> int:
    """Number of pieces that contradict the grid.

    These are pieces beside each other on one line of text that are in one cell although far apart, in different rows,
    or in columns of another order; and numbers below each other in one cell.
    """
    beside = pieces.line[1:] == pieces.line[:-1]
    same = pieces.cell[1:] == pieces.cell[:-1]
    heights = pieces.box[:, 3] - pieces.box[:, 1]
    far = pieces.box[1:, 0] - pieces.box[:-1, 2] > CELL_GAP * np.minimum(heights[1:], heights[:-1])
    low, high = np.maximum(pieces.row[1:], pieces.row[:-1]), np.minimum(pieces.row_end[1:], pieces.row_end[:-1])
    ordered = (high > low) & (pieces.column_end[:-1] <= pieces.column[1:])
    wrong = int((beside & np.where(same, far, ~ordered)).sum())
    count = max(len(pieces.index), 1)
    stacked = np.unique((pieces.cell * count + pieces.line)[numbers[pieces.index]]) // count
    return wrong + len(stacked) - len(np.unique(stacked))


def _shape(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    count, unit = len(pieces.index), page.frame.unit
    filled = np.unique(pieces.cell)
    firsts = np.array([cell.row for cell in grid.cells])[filled]
    rows = np.bincount(firsts, minlength=grid.rows)
    numbers = page.numbers[pieces.index]
    in_column = np.bincount(pieces.column, minlength=grid.columns)
    of_numbers = np.bincount(pieces.column, numbers, grid.columns) >= NUMBERS * np.maximum(in_column, 1)
    left, right = pieces.box[:, 0], pieces.box[:, 2]
    single = pieces.column_end - pieces.column == 1
    edges = [_spread(pieces.column[single], edge[single], grid.columns) for edge in (left, right, (left + right) / 2)]
    spread = np.minimum(np.min(edges, axis=0) / unit, FAR)
    amounts = _spread(pieces.column[single & numbers], right[single & numbers], grid.columns)[of_numbers] / unit
    return [
        *(float(np.log(max(value, 1))) for value in (grid.rows, grid.columns, count)),
        contradictions(pieces, page.numbers) / max(count, 1),
        len(filled) / len(grid.cells),
        float((rows > 1).mean()),
        float((rows > 2).mean()),
        float(numbers.mean()),
        float(of_numbers.mean()),
        float(spread.mean()),
        float((amounts < ALIGNED).mean()) if len(amounts) else -1.0,
    ]


def _spread(groups: NDArray[np.int64], values: FloatArray, count: int) -> FloatArray:
    """Standard deviation of the values of each group; 0 for those without."""
    sizes = np.maximum(np.bincount(groups, minlength=count), 1)
    mean = np.bincount(groups, values, count) / sizes
    spread: FloatArray = np.sqrt(np.bincount(groups, (values - mean[groups]) ** 2, count) / sizes)
    return spread


def _heading(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    first = pieces.row == 0
    if not first.any() or first.all():
        return [0.0, 0.0, 0.0]
    bold = page.bold[pieces.index]
    return [
        len(np.unique(pieces.column[first])) / grid.columns,
        float(page.numbers[pieces.index][first].mean()),
        float(bold[first].mean() - bold[~first].mean()),
    ]


def _head_words(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    """The share of the columns with such a word in the first row, and of the lines below that have one."""
    first, heads = pieces.row == 0, page.heads[pieces.index]
    below = heads[~first]
    named = len(np.unique(pieces.column[first & heads]))
    return [named / grid.columns, float(below.mean()) if len(below) else 0.0]


def _drawn(page: PageView, pieces: _Pieces) -> list[float]:
    drawn = page.drawn[pieces.index]
    known = drawn >= 0
    if not known.any():
        return [0.0, -1.0]
    size = int(drawn.max()) + 1
    pairs = np.unique(pieces.cell[known] * size + drawn[known])
    cells, spaces = len(np.unique(pairs // size)), len(np.unique(pairs % size))
    return [float(known.mean()), (cells + spaces) / (2 * len(pairs))]


def _prose(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    wide, high = pieces.box[:, 2] - pieces.box[:, 0], pieces.box[:, 3] - pieces.box[:, 1]
    counts = np.bincount(pieces.column, minlength=grid.columns)
    left, right = np.full(grid.columns, np.inf), np.full(grid.columns, -np.inf)
    np.minimum.at(left, pieces.column, pieces.box[:, 0])
    np.maximum.at(right, pieces.column, pieces.box[:, 2])
    lines = wide >= np.maximum(
        PROSE_ASPECT * np.maximum(high, page.frame.unit / 2), PROSE_FILL * (right - left)[pieces.column]
    )
    of_prose = np.bincount(pieces.column, lines, grid.columns) >= np.maximum(3, NUMBERS * counts)
    begins = np.append(np.bincount(pieces.column, pieces.box[:, 0], grid.columns) / np.maximum(counts, 1), np.inf)
    begins[:-1][counts == 0] = np.inf
    ends = begins[np.minimum(pieces.column_end, grid.columns)]
    rows_in_cell = np.unique(pieces.cell * len(wide) + pieces.line) // len(wide)
    return [
        float(of_prose.sum()),
        float(lines.mean()),
        float(np.log1p(np.median(page.lengths[pieces.index]))),
        float(np.bincount(pieces.cell).max() / len(pieces.cell)),
        float(np.log(np.bincount(rows_in_cell).max())),
        float((pieces.box[:, 2] > ends + page.frame.unit / 2).mean()),
    ]


def _extent(page: PageView, pieces: _Pieces) -> list[float]:
    wide, high = np.maximum(page.bounds[2:] - page.bounds[:2], 1.0)
    low, top = pieces.box[:, :2].min(axis=0)
    right, bottom = pieces.box[:, 2:].max(axis=0)
    return [(right - low) / wide, (bottom - top) / high, len(pieces.index) / len(page.frame.pieces)]


def _regions(page: PageView, pieces: _Pieces) -> list[float]:
    here = page.inside[pieces.index]
    tables = [i for i, region in enumerate(page.regions) if region.type is BlockType.TABLE]
    same, confidence, within, of = 0.0, 0.0, 0.0, 0.0
    for i in tables:
        shared, whole = int(here[:, i].sum()), int(page.inside[:, i].sum())
        likeness = shared / max(len(here) + whole - shared, 1)
        if likeness > same:
            same, confidence, of = likeness, page.regions[i].confidence, shared / max(whole, 1)
            within = shared / len(here)
    shares = []
    for kind in _KINDS:
        those = [i for i, region in enumerate(page.regions) if region.type is kind]
        shares.append(float(here[:, those].any(axis=1).mean()) if those else 0.0)
    return [same, confidence, within, of, *shares]


def guess_for(page: PageView, place: TablePlace) -> TableGuess | None:
    """The table model's cells, if it looked at nearly all of the place, and not at much more."""
    pieces = place.pieces
    for guess in page.guesses:
        box = page.frame.place(guess.box)
        if not guess.cells or len(held_in(box, pieces)) < EXAMINED * len(pieces):
            continue
        if len(pieces) >= MIN_SHOWN * len(held_in(box, page.frame.pieces)):
            return guess
    return None


def _guess(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    x, y = (pieces.box[:, 0] + pieces.box[:, 2]) / 2, (pieces.box[:, 1] + pieces.box[:, 3]) / 2
    for guess in page.guesses:
        left, top, right, bottom = page.frame.place(guess.box)
        inside = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
        if guess.cells and inside.mean() >= EXAMINED:
            rows = max(cell.row + cell.row_span for cell in guess.cells)
            columns = max(cell.column + cell.column_span for cell in guess.cells)
            return [
                guess.confidence,
                min(rows, grid.rows) / max(rows, grid.rows),
                min(columns, grid.columns) / max(columns, grid.columns),
            ]
    return [-1.0, -1.0, -1.0]


def _around(page: PageView, place: TablePlace) -> list[float]:
    found = []
    for number, edge in ((place.start - 1, place.start), (place.stop, place.stop - 1)):
        if not 0 <= number < len(place.rows):
            found += [FAR, 0.0]
            continue
        upper, lower = sorted((number, edge))
        bottom = max(piece.bottom for piece in place.rows[upper])
        gap = (min(piece.top for piece in place.rows[lower]) - bottom) / page.frame.unit
        found += [min(gap, FAR), float(len(cells_in(place.rows[number])))]
    return found


def _spacing(page: PageView, pieces: _Pieces) -> list[float]:
    middles = (pieces.box[:, 1] + pieces.box[:, 3]) / 2
    first = np.concatenate([[0], np.flatnonzero(np.diff(pieces.line)) + 1])
    steps = np.abs(np.diff(np.add.reduceat(middles, first) / np.diff(np.concatenate([first, [len(middles)]]))))
    beside = (pieces.line[1:] == pieces.line[:-1]) & (pieces.cell[1:] != pieces.cell[:-1])
    gaps = (pieces.box[1:, 0] - pieces.box[:-1, 2])[beside] / page.frame.unit
    return [
        float(np.std(steps)) / max(float(np.mean(steps)), 1e-9) if len(steps) else 0.0,
        min(float(steps.max()) / page.frame.unit, FAR) if len(steps) else 0.0,
        min(float(np.median(gaps)), FAR) if len(gaps) else -1.0,
        min(float(np.quantile(gaps, 0.1)), FAR) if len(gaps) else -1.0,
    ]


def _evenness(page: PageView, place: TablePlace, pieces: _Pieces, grid: Grid) -> list[float]:
    places = np.unique(pieces.row * grid.columns + pieces.column)
    rows, columns = places // grid.columns, places % grid.columns
    counts = np.bincount(rows, minlength=grid.rows)
    stubs = int((counts[rows[columns == 0]] == 1).sum())
    top, bottom = pieces.box[:, 1].min(), pieces.box[:, 3].max()
    level = int(((top <= page.middles) & (page.middles <= bottom)).sum())
    first, last = place.rows[place.start], place.rows[place.stop - 1]
    count = len(pieces.index)
    return [
        stubs / grid.rows,
        float(counts[-1] / grid.columns),
        1 - count / max(level, count),
        float(np.bincount(columns, minlength=grid.columns).min() / grid.rows),
        float(np.std(counts) / grid.columns),
        float(page.lower[pieces.index].mean()),
        float(page.broken[pieces.index].mean()),
        float(len(first) == 1) * first[0].width / page.frame.unit,
        float(len(last) == 1) * last[0].width / page.frame.unit,
        float((page.lengths[pieces.index] < 2).mean()),
    ]


def _blocks(page: PageView, pieces: _Pieces) -> list[float]:
    """Share of pieces in captions, and of lines with several pieces that reach over blocks that are read apart."""
    here = page.inside[pieces.index]
    caption = len(page.captions.intersection(pieces.index.tolist())) / max(len(pieces.index), 1)
    beside = pieces.line[1:] == pieces.line[:-1]
    read = [i for i, region in enumerate(page.regions) if region.type in _READ_APART and region.rank is not None]
    if not read or not beside.any():
        return [caption, 0.0]
    owners = np.where(here[:, read].any(axis=1), here[:, read].argmax(axis=1), -1)
    over = beside & (owners[1:] != owners[:-1])
    several = np.unique(pieces.line[1:][beside])
    return [caption, len(np.unique(pieces.line[1:][over])) / len(several)]


def _split(page: PageView, pieces: _Pieces) -> float:
    """Share of the drawn cells with text that hold more than one cell of the grid."""
    drawn = page.drawn[pieces.index]
    known = drawn >= 0
    if not known.any():
        return 0.0
    size = int(drawn.max()) + 1
    spaces = np.unique(pieces.cell[known] * size + drawn[known]) % size
    counts = np.bincount(spaces)
    return float((counts[counts > 0] > 1).mean())


def _rules(page: PageView, pieces: _Pieces, grid: Grid) -> list[float]:
    """Whether drawn lines run above and below the table and under its first row, and between which share of its rows
    and columns.
    """
    touch, near = (share * page.frame.unit for share in NEAR_RULE)
    low, top = pieces.box[:, :2].min(axis=0)
    right, bottom = pieces.box[:, 2:].max(axis=0)
    level = _along(page.level, low, right)
    rows = _ruled(level, _gaps(pieces.row, pieces.row_end, pieces.box[:, 1], pieces.box[:, 3], grid.rows), touch)
    upright = _along(page.upright, top, bottom)
    gaps = _gaps(pieces.column, pieces.column_end, pieces.box[:, 0], pieces.box[:, 2], grid.columns)
    columns = _ruled(upright, gaps, touch)
    return [
        float(((level >= top - near) & (level <= top + touch)).any()),
        float(((level >= bottom - touch) & (level <= bottom + near)).any()),
        float(rows[0]) if len(rows) else 0.0,
        float(rows.mean()) if len(rows) else 0.0,
        float(columns.mean()) if len(columns) else 0.0,
    ]


def _along(rules: FloatArray, low: float, high: float) -> FloatArray:
    """Where the drawn lines are that run along most of a side."""
    shared = np.minimum(rules[:, 1], high) - np.maximum(rules[:, 0], low)
    along: FloatArray = rules[shared >= RULED * (high - low), 2]
    return along


def _gaps(
    first: NDArray[np.int64], end: NDArray[np.int64], start: FloatArray, stop: FloatArray, count: int
) -> FloatArray:
    """From the end of each filled row (or column) to the start of the next filled one, (G, 2)."""
    starts, stops = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(starts, first, start)
    np.maximum.at(stops, end - 1, stop)
    filled = np.flatnonzero(np.isfinite(starts) & np.isfinite(stops))
    return np.stack([stops[filled[:-1]], starts[filled[1:]]], axis=1)


def _ruled(rules: FloatArray, gaps: FloatArray, touch: float) -> NDArray[np.bool_]:
    """Whether one of the lines is in each gap."""
    low, high = gaps.min(axis=1, keepdims=True) - touch, gaps.max(axis=1, keepdims=True) + touch
    ruled: NDArray[np.bool_] = ((low <= rules) & (rules <= high)).any(axis=1)
    return ruled
