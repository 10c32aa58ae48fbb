"""Figures: separates labels inside a figure's region from text that should be read."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.layout.frame import LayoutPiece
from inkgate.layout.rows import Row

LONG_LINE = 0.5
"""Lines over this share of a figure's width, and as long as LONG_ASPECT line heights, are not labels."""
LONG_ASPECT = 10.0
NEXT_ROW = 0.7
"""A row within this distance below a long one, in line heights, continues it."""


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
