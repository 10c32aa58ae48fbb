"""The page's frame of reference: lines made upright, measured, and put into rows.

Reading order is computed on *pieces*: the lines of the page after its skew is undone, and after pages whose text is
turned, or runs in vertical columns (Chinese, Japanese), are rotated so that it runs from left to right. All later steps
read left to right and top to bottom, and measure in line heights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.order.direction import (
    directions_of,
    is_columnar,
    page_direction,
    set_upright,
    turned_lines,
)
from inkgate.layout.regions.styles import size_of
from inkgate.page import LineStyle, LineTag
from inkgate_client.types import Box, Line

FloatArray = NDArray[np.float64]
LONG_ASPECT = 3.0
"""A line at least this many times wider than high has a reliable angle."""
MAX_SKEW = math.radians(30)
"""Beyond this angle a line is rotated, not skewed, and does not count for the page's skew."""
SAME_ROW = 0.5
"""Pieces whose middles differ by less than this share of the smaller height are on one row."""
OVERLAP = 0.5
"""Pieces that overlap horizontally by more than this share of the smaller width are above each other, not side by
side."""


@dataclass(frozen=True, slots=True)
class LayoutPiece:
    """One line of text in the page's frame, or a zone that is read as a whole.

    Attributes:
        index: of the line in the caller's sequence; -1 for a zone.
        left, top, right, bottom: the upright box that the line would have if the page were not skewed.
        slope: dy/dx of the line in the frame; 0 if the line is too short to tell.
        turn: degrees clockwise by which the line is turned against the page's reading direction: 0, 90, 180 or 270.
        zone: the table or figure that this represents; -1 for a line.
        em: size of the line's font; 0 for a zone.
        bold: the line is, as far as known.
        tag: the tagged block of its PDF that it belongs to, as far as known.
        joined: its text begins the word that the next piece of its row continues (a drop cap).
    """

    index: int
    text: str
    left: float
    top: float
    right: float
    bottom: float
    slope: float = 0.0
    turn: int = 0
    zone: int = -1
    em: float = 0.0
    bold: bool = False
    tag: LineTag | None = None
    joined: bool = False

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def turned(self) -> bool:
        """Whether it runs at a right angle to the page's reading direction: a stamp in the margin."""
        return self.turn in (90, 270)

    @property
    def middle(self) -> float:
        """The vertical position among the rows beside it; for a zone, its top."""
        return (self.top + self.bottom) / 2 if self.zone < 0 else self.top


@dataclass(frozen=True, slots=True)
class Frame:
    """The pieces of a page.

    Attributes:
        pieces: in the order of the lines.
        unit: median height of the pieces, at least 1.0: the unit of all distances.
        turn: degrees clockwise by which most of the page's text is turned; the pieces are already turned back.
        vertical: text runs downwards in columns from right to left, which is the same as text turned by 90 degrees.
        angle: radians by which the page was skewed, clockwise.
    """

    pieces: tuple[LayoutPiece, ...]
    unit: float
    turn: int
    vertical: bool
    angle: float

    def place(self, box: Box) -> Box:
        """An upright box of the page in the frame: the bounds of its rotated corners."""
        left, top, right, bottom = box
        if not self.turn and not self.angle:
            return (float(left), float(top), float(right), float(bottom))
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], dtype=np.float64)
        placed = _turn(set_upright(corners, self.turn), self.angle)
        low, high = placed.min(axis=0).tolist(), placed.max(axis=0).tolist()
        return (low[0], low[1], high[0], high[1])


def directed(rules: Sequence[Box]) -> tuple[FloatArray, FloatArray]:
    """The level and the upright ones of drawn lines, each (R, 3): both ends, and where it is."""
    boxes = np.array(rules, dtype=np.float64).reshape(-1, 4)
    left, top, right, bottom = boxes.T
    is_level = right - left >= bottom - top
    level = np.stack([left, right, (top + bottom) / 2], axis=1)[is_level]
    return level, np.stack([top, bottom, (left + right) / 2], axis=1)[~is_level]


def measure(lines: Sequence[Line], styles: Sequence[LineStyle | None] = ()) -> Frame:
    """The frame of the lines, which may run in any direction. `styles`: of the lines; empty if unknown."""
    if not lines:
        return Frame((), 1.0, turn=0, vertical=False, angle=0.0)
    quads = np.array([line.quad for line in lines], dtype=np.float64).reshape(-1, 4, 2)
    across = ((quads[:, 1] - quads[:, 0]) + (quads[:, 2] - quads[:, 3])) / 2
    down = ((quads[:, 3] - quads[:, 0]) + (quads[:, 2] - quads[:, 1])) / 2
    centre = quads.mean(axis=1)
    texts = [line.text for line in lines]
    directions = directions_of(across, down, texts)
    turn = page_direction(directions, across, down, texts)
    centre, across, down = (set_upright(vectors, turn) for vectors in (centre, across, down))
    # A quad may begin at the page's top left corner although its text runs downwards: `across` is the longer direction.
    swap = (np.abs(across[:, 0]) < np.abs(down[:, 0]))[:, None]
    across, down = np.where(swap, down, across), np.where(swap, across, down)
    angle = _skew(across, down)
    centre, across, down = (_turn(vectors, angle) for vectors in (centre, across, down))
    half = np.stack([np.hypot(*across.T), np.hypot(*down.T)], axis=1) / 2
    turns = turned_lines((directions - turn) % 360, half, texts)
    long = half[:, 0] > LONG_ASPECT * half[:, 1]
    slope = np.where(long, across[:, 1] / np.where(across[:, 0] == 0, 1.0, across[:, 0]), 0.0).tolist()
    boxes = np.concatenate([centre - half, centre + half], axis=1).tolist()
    known = styles or [None] * len(lines)
    pieces = tuple(
        _styled(LayoutPiece(i, line.text, left, top, right, bottom, slope[i], int(turns[i])), style)
        for i, (line, style, (left, top, right, bottom)) in enumerate(zip(lines, known, boxes, strict=True))
    )
    sideways = turns % 180 == 90
    heights = 2 * half[:, 1] if sideways.all() else 2 * half[~sideways, 1]
    vertical = turn == 90 and is_columnar("".join(texts))
    return Frame(pieces, max(1.0, float(np.median(heights))), turn, vertical, angle)


def _styled(piece: LayoutPiece, style: LineStyle | None) -> LayoutPiece:
    if style is None:
        return replace(piece, em=size_of(piece.height, None))
    return replace(piece, em=size_of(piece.height, style), bold=style.bold, tag=style.tag)


def _turn(vectors: FloatArray, angle: float) -> FloatArray:
    """Vectors rotated by `angle` anticlockwise as seen on the page, which undoes a skew of `angle`."""
    x, y = vectors[:, 0], vectors[:, 1]
    cos, sin = math.cos(angle), math.sin(angle)
    return np.stack([cos * x + sin * y, cos * y - sin * x], axis=1)


def _skew(across: FloatArray, down: FloatArray) -> float:
    """Median angle of the lines, weighted by their length."""
    length = np.hypot(*across.T)
    angles = np.arctan2(across[:, 1], across[:, 0])
    level = (length > LONG_ASPECT * np.hypot(*down.T)) & (np.abs(angles) < MAX_SKEW)
    if not level.any():
        return 0.0
    angles, weights = angles[level], length[level]
    order = np.lexsort((weights, angles))
    half = int(np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2))
    return float(angles[order][min(half, len(order) - 1)])


def mirrored(pieces: Iterable[LayoutPiece]) -> list[LayoutPiece]:
    """Level pieces as in a mirror, in which text from right to left is read like text from left to right."""
    return [
        piece if piece.turned else replace(piece, left=-piece.right, right=-piece.left, slope=-piece.slope)
        for piece in pieces
    ]


Row = list[LayoutPiece]


def rows_of(pieces: Sequence[LayoutPiece]) -> list[Row]:
    """Pieces as rows, top to bottom, each from left to right; a zone is a row of its own.

    From left to right each piece joins the row whose last piece, extended along its own slope, meets it: the rows of a
    photographed, curled receipt rise and fall.
    """
    if len(pieces) < 2:
        return [[piece] for piece in pieces]
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
