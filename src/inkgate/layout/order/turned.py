"""Parts of a page whose text is turned: each is read as a page of its own would be, after the upright text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from inkgate.layout.order.direction import FloatArray, set_upright
from inkgate.layout.order.frame import LayoutPiece

APART = 3.0
"""Turned lines further apart than this from top to bottom, in line heights, belong to two parts: labels, stamps."""
APART_ACROSS = 12.0
"""The same from left to right, where the columns of a table are apart, too."""
MIN_INVERTED = 2
"""Lines of an upside-down part. One alone is more often an upright line that was read the wrong way up."""


def upright(pieces: Sequence[LayoutPiece]) -> list[LayoutPiece]:
    """The pieces in a frame in which most of their text is upright; the same pieces unless most of it is turned."""
    lengths: dict[int, int] = {}
    for piece in pieces:
        lengths[piece.turn] = lengths.get(piece.turn, 0) + len(piece.text)
    most = max(lengths, key=lambda turn: (lengths[turn], -turn), default=0)
    return _turned_back(pieces, most) if most else list(pieces)


def turned_parts(pieces: Sequence[LayoutPiece], unit: float) -> list[list[LayoutPiece]]:
    """The parts of the page with turned text, from left to right, each in its own frame.

    Upside-down lines that stand alone are in none.
    """
    found: list[tuple[tuple[float, float, str], list[LayoutPiece]]] = []
    for turn in (90, 180, 270):
        ours = [piece for piece in pieces if piece.turn == turn]
        for part in _parts(_turned_back(ours, turn), unit):
            if turn != 180 or len(part) >= MIN_INVERTED:
                indexes = {piece.index for piece in part}
                left, top, text = min((p.left, p.top, p.text) for p in ours if p.index in indexes)
                found.append(((left, top, text), part))
    return [part for _, part in sorted(found, key=lambda item: item[0])]


def _turned_back(pieces: Sequence[LayoutPiece], turn: int) -> list[LayoutPiece]:
    if not pieces:
        return []
    corners: FloatArray = np.array([[(p.left, p.top), (p.right, p.bottom)] for p in pieces], dtype=np.float64)
    placed = set_upright(corners.reshape(-1, 2), turn).reshape(-1, 2, 2)
    low, high = placed.min(axis=1).tolist(), placed.max(axis=1).tolist()
    return [
        replace(piece, left=a[0], top=a[1], right=b[0], bottom=b[1])
        for piece, a, b in zip(pieces, low, high, strict=True)
    ]


def _parts(pieces: Sequence[LayoutPiece], unit: float) -> list[list[LayoutPiece]]:
    """Pieces divided where they are far apart from top to bottom, then from left to right, then again."""
    parts = [list(pieces)] if pieces else []
    for _ in range(2):
        parts = [part for whole in parts for part in _divided(whole, lambda p: (p.top, p.bottom), APART * unit)]
        parts = [part for whole in parts for part in _divided(whole, lambda p: (p.left, p.right), APART_ACROSS * unit)]
    return parts


def _divided(
    pieces: Sequence[LayoutPiece], span: Callable[[LayoutPiece], tuple[float, float]], gap: float
) -> list[list[LayoutPiece]]:
    parts: list[list[LayoutPiece]] = []
    end = float("-inf")
    for piece in sorted(pieces, key=lambda p: (span(p), p.index)):
        low, high = span(piece)
        if low > end + gap:
            parts.append([])
        parts[-1].append(piece)
        end = max(end, high)
    return parts
