"""The grid of the table model with our own lines of text in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import CellGuess, TableGuess
from inkgate.layout.order.frame import FloatArray, Frame, LayoutPiece, rows_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with
from inkgate.layout.tables.places import shares_in

TOUCHED = 0.1
"""A piece is in a cell whose box covers at least this share of it. The model's boxes are around the text of a cell, and
up to half a line off."""
MIN_VOTES = 3
"""A line of text with fewer pieces doesn't tell its row of cells."""
CROSSED = 0.9
"""A piece goes to the leftmost of the cells that cover it by this share of the best coverage or more. Lower values
would move text into empty cells beside it, whose boxes drift."""


def model_grid(frame: Frame, guess: TableGuess, pieces: Sequence[LayoutPiece]) -> Grid:
    """The model's cells with the pieces in them, each piece whole in one cell. `guess`: in pixels of the page."""
    held: list[list[LayoutPiece]] = [[] for _ in guess.cells]
    if guess.cells:
        for piece, cell in zip(pieces, _cells_of(frame, guess, pieces), strict=True):
            held[cell].append(piece)
    return grid_with(
        GridCell(
            cell.row,
            cell.column,
            tuple(piece for row in rows_of(inside) for piece in row),
            cell.row_span,
            cell.column_span,
            cell.header,
            cell.box,
        )
        for cell, inside in zip(guess.cells, held, strict=True)
    )


def _cells_of(frame: Frame, guess: TableGuess, pieces: Sequence[LayoutPiece]) -> list[int]:
    """Returns for each piece the index of its cell: that which covers most of it, else the nearest."""
    boxes = np.array([frame.place(cell.box) for cell in guess.cells])
    texts = np.array([(piece.left, piece.top, piece.right, piece.bottom) for piece in pieces]).reshape(-1, 4)
    covered = shares_in(texts, boxes)
    most = covered.max(axis=1, keepdims=True)
    crossed = (covered >= TOUCHED) & (covered >= CROSSED * most) & _same_row(boxes, covered.argmax(axis=1))
    leftmost = np.where(crossed, boxes[None, :, 0], np.inf).argmin(axis=1)
    nearest = _distances(texts, boxes).argmin(axis=1)
    chosen = [int(i) for i in np.where(crossed.any(axis=1), leftmost, nearest)]
    return _in_rows(pieces, chosen, guess.cells, boxes)


def _in_rows(
    pieces: Sequence[LayoutPiece], chosen: list[int], cells: Sequence[CellGuess], boxes: FloatArray
) -> list[int]:
    """The chosen cells, but pieces on one line of text are in one row of cells where most of them are.

    Boxes of narrow cells drift up and down by up to a row; their row as a whole does not.
    """
    bands = _bands(cells, boxes)
    found = dict(zip(pieces, chosen, strict=True))
    for line in rows_of(pieces):
        votes = Counter(cells[found[piece]].row for piece in line if cells[found[piece]].row_span == 1)
        if not votes or len(line) < MIN_VOTES:
            continue
        row, count = votes.most_common(1)[0]
        if count * 2 <= len(line) or row not in bands:
            continue
        low, high = bands[row]
        for piece in line:
            cell = cells[found[piece]]
            if low <= piece.middle <= high and not cell.row <= row < cell.row + cell.row_span:
                found[piece] = next((i for i, other in enumerate(cells) if _at(other, row, cell.column)), found[piece])
    return [found[piece] for piece in pieces]


def _bands(cells: Sequence[CellGuess], boxes: FloatArray) -> dict[int, tuple[float, float]]:
    """Median top and bottom of the cells of each row."""
    held: dict[int, list[int]] = {}
    for i, cell in enumerate(cells):
        if cell.row_span == 1:
            held.setdefault(cell.row, []).append(i)
    return {row: (float(np.median(boxes[at, 1])), float(np.median(boxes[at, 3]))) for row, at in held.items()}


def _at(cell: CellGuess, row: int, column: int) -> bool:
    """Whether the cell covers a place."""
    return cell.row <= row < cell.row + cell.row_span and cell.column <= column < cell.column + cell.column_span


def _same_row(boxes: FloatArray, best: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns, for each of the boxes `best`, which boxes are beside it: they share half of the lower one's height."""
    low, high = np.maximum(boxes[best, None, 1], boxes[None, :, 1]), np.minimum(boxes[best, None, 3], boxes[None, :, 3])
    heights = boxes[:, 3] - boxes[:, 1]
    beside: NDArray[np.bool_] = high - low >= np.minimum(heights[best, None], heights[None, :]) / 2
    return beside


def _distances(texts: FloatArray, boxes: FloatArray) -> FloatArray:
    """Sum of the horizontal and the vertical gap between each text and each box."""
    gaps = np.maximum(texts[:, None, :2], boxes[None, :, :2]) - np.minimum(texts[:, None, 2:], boxes[None, :, 2:])
    distances: FloatArray = np.clip(gaps, 0, None).sum(axis=2)
    return distances
