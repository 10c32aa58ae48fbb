"""Text inside figures: whether it is labels of a chart or an illustration, or text that a person would type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from inkgate.layout.evidence import Region
from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.frame import LayoutPiece, rows_of
from inkgate.layout.tables.grid import Grid, GridCell, grid_with

MIN_TICKS = 3
"""Numbers of an axis: as many values in even steps at even distances are no chance."""
UNEVEN = 0.15
"""Share by which the distance of ticks may differ: their boxes are as wide as their digits."""
ALIGNED = 0.6
"""Ticks of an axis are aligned to this share of their height."""
SENTENCE_WORDS, MIN_SENTENCES = 6, 2
"""So many lines of so many words are sentences, not labels of a drawing."""
_TICK = re.compile(r"[-−–+]?\d+(?:[.,]\d+)?\s?%?")


def text_grid(pieces: Sequence[LayoutPiece], unit: float) -> Grid:
    """The lines of a figure in reading order, as one column."""
    rows = [row for flow in flows_of(pieces, unit) for row in rows_of(flow)]
    return grid_with(GridCell(i, 0, tuple(row)) for i, row in enumerate(rows))


def is_label_text(pieces: Sequence[LayoutPiece], region: Region | None, *, has_caption: bool) -> bool:
    """Whether a figure's text is labels, which are left out.

    The layout model takes it for a chart, numbers in it are an axis, or a caption says what it shows and its text is
    no sentences. A photographed sign, a logo, or the boxes of a brochure are text.
    """
    if (region is not None and region.label == "chart") or _has_axis(pieces):
        return True
    return has_caption and sum(len(piece.text.split()) >= SENTENCE_WORDS for piece in pieces) < MIN_SENTENCES


def _has_axis(pieces: Sequence[LayoutPiece]) -> bool:
    ticks = [piece for piece in pieces if _TICK.fullmatch(piece.text.strip())]
    rows = _aligned([(piece.middle, piece) for piece in ticks])
    columns = _aligned([((piece.left + piece.right) / 2, piece) for piece in ticks])
    columns += _aligned([(piece.right, piece) for piece in ticks])
    return any(_are_even([((piece.left + piece.right) / 2, _value(piece)) for piece in row]) for row in rows) or any(
        _are_even([(piece.middle, _value(piece)) for piece in column]) for column in columns
    )


def _aligned(placed: Sequence[tuple[float, LayoutPiece]]) -> list[list[LayoutPiece]]:
    """The pieces in groups whose places follow each other closely."""
    groups: list[list[LayoutPiece]] = []
    last = float("-inf")
    for place, piece in sorted(placed, key=lambda pair: pair[0]):
        if place - last > ALIGNED * piece.height:
            groups.append([])
        groups[-1].append(piece)
        last = place
    return groups


def _value(piece: LayoutPiece) -> float:
    text = piece.text.strip().rstrip("% ").replace(",", ".").replace("−", "-").replace("–", "-")
    return float(text)


def _are_even(ticks: Sequence[tuple[float, float]]) -> bool:
    """Whether MIN_TICKS neighbours, each with its place and value, have even steps and distances. 1, 2, 3 may number
    the steps of a process, which are text.
    """
    ordered = sorted(ticks)
    steps = [(b[0] - a[0], round(b[1] - a[1], 6), a[1]) for a, b in pairwise(ordered)]
    return any(
        length + 1 >= MIN_TICKS and not (step == 1 and start == 1) for step, start, length in _even_stretches(steps)
    )


def _even_stretches(steps: Sequence[tuple[float, float, float]]) -> Iterator[tuple[float, float, int]]:
    """Step, first value and number of steps of each stretch of equal ones."""
    begin = 0
    for i in range(1, len(steps) + 1):
        if i < len(steps) and steps[i][1] == steps[begin][1] and _are_close(steps[i][0], steps[begin][0]):
            continue
        if steps[begin][1] and steps[begin][0] > 0:
            yield steps[begin][1], steps[begin][2], i - begin
        begin = i


def _are_close(a: float, b: float) -> bool:
    return abs(a - b) <= UNEVEN * max(a, b)
