"""Visual rows: pieces on one baseline, read from left to right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkgate.layout.frame import LayoutPiece

SAME_ROW = 0.5
"""Pieces whose middles differ by less than this share of the smaller height are on one row."""
OVERLAP = 0.5
"""Pieces that overlap horizontally by more than this share of the smaller width are above each other, not side by
side."""

Row = list[LayoutPiece]


def rows_of(pieces: Sequence[LayoutPiece]) -> list[Row]:
    """Pieces as rows, top to bottom, each from left to right; a zone is a row of its own.

    From left to right each piece joins the row whose last piece, extended along its own slope, meets it: the rows of a
    photographed, curled receipt rise and fall.
    """
    rows: list[Row] = []
    count = len(pieces)
    right, width, height, middle, slope = np.zeros((5, count))  # of each row's last piece; `middle` at its right end
    for piece in sorted(pieces, key=_from_left):
        n, lean = len(rows), piece.slope * piece.width / 2
        gap = np.maximum(piece.left - right[:n], 0)
        miss = np.abs(middle[:n] + slope[:n] * gap - (piece.middle - lean))
        fits = miss < SAME_ROW * np.minimum(height[:n], piece.height)
        fits &= right[:n] - piece.left <= OVERLAP * np.minimum(width[:n], piece.width)
        if piece.zone < 0 and fits.any():
            row = int(np.argmin(np.where(fits, miss, np.inf)))
            rows[row].append(piece)
        else:
            row = n
            rows.append([piece])
        right[row], width[row], slope[row], middle[row] = piece.right, piece.width, piece.slope, piece.middle + lean
        height[row] = piece.height if piece.zone < 0 else 0.0
    return sorted(rows, key=_from_top)


def _from_left(piece: LayoutPiece) -> tuple[float, float, float, str]:
    return (piece.left, piece.middle, piece.right, piece.text)


def _from_top(row: Row) -> tuple[float, float, float, str]:
    weights = [max(piece.width, 1e-9) for piece in row]
    middle = sum(piece.middle * weight for piece, weight in zip(row, weights, strict=True)) / sum(weights)
    return (middle, row[0].left, row[0].right, row[0].text)
