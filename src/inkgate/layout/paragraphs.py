"""Paragraphs: groups rows by spacing, indentation, height and list markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np

from inkgate.layout.frame import LayoutPiece, Row

WIDE_PITCH = 1.3
"""Rows further apart than this many times the flow's usual distance belong to two paragraphs."""
LOOSE_PITCH = 2.5
"""Rows further apart than this, in line heights, don't count for the usual distance."""
NEAR_ROWS = 3
"""Number of rows before and after a row that determine the usual distance there."""
OTHER_HEIGHT = 1.4
"""Rows whose heights differ by this factor have different font sizes."""
INDENT = (0.8, 6.0)
"""First lines are indented by this much, in line heights."""
MARGIN = 0.5
"""Rows that begin within this distance of the column's edge, in line heights, begin at it."""
FULL = 0.8
"""A row that reaches this share of the paragraph's width was broken because the line was full."""
FLOWING = 0.6
"""From this share of full rows on (except the last) the line breaks of a paragraph carry no meaning."""

CELL_GAP = 1.5
"""Pieces of a row further apart than this, in line heights, are cells: a label and its value, an entry and its page."""

BULLET = re.compile(r"^\s*(?:[•●▪■◦‣∙○◆▶►➢✓]\s*|[-–—*·]\s+)(?=\S)")
NUMBER = re.compile(
    r"^\s*(?:[(（]\s*(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4}|[一二三四五六七八九十]{1,3})\s*[)）]"
    r"|(?:\d{1,2}|[a-z]|[ivx]{1,4})\)|\d{1,2}[.．](?=\s|[^\W\d])|\d{1,2}、|[一二三四五六七八九十]{1,3}、)\s*(?=\S)"
)


@dataclass(slots=True)
class Paragraph:
    """Rows that are read as one.

    `zone`: the layout's region of the rows; -1 for none. `items`: rows that begin an item of a list.
    """

    rows: list[Row]
    zone: int = -1
    items: list[int] = field(default_factory=list)

    @property
    def pieces(self) -> list[LayoutPiece]:
        return [piece for row in self.rows for piece in row]


def row_text(row: Row) -> str:
    """The pieces of a row, separated by spaces."""
    return " ".join(text for piece in row if (text := piece.text.strip()))


def is_flowing(rows: Sequence[Row]) -> bool:
    """Whether line breaks may be removed: the rows fill the width, so that they were broken because the line was
    full.
    """
    if len(rows) < 2:
        return True
    width = max(row[-1].right for row in rows) - min(row[0].left for row in rows)
    full = sum(row[-1].right - row[0].left >= FULL * width and not _has_cells(row) for row in rows[:-1])
    return full >= FLOWING * (len(rows) - 1)


def _has_cells(row: Row) -> bool:
    """Whether the pieces of a row are so far apart that they are cells rather than parts of one line."""
    return any(b.left - a.right > CELL_GAP * min(a.height, b.height) for a, b in pairwise(row))


def paragraphs_of(rows: Sequence[Row], unit: float, zones: Sequence[int], solid: frozenset[int]) -> list[Paragraph]:
    """The rows of one flow as paragraphs, in order.

    Args:
        rows: top to bottom.
        unit: the page's line height.
        zones: of each row, -1 for none. A paragraph never crosses a zone's border.
        solid: zones that are one paragraph whatever their spacing: titles, captions, formulas, tables.
    """
    paragraphs: list[Paragraph] = []
    for zone, group in groupby(zip(zones, rows, strict=True), key=itemgetter(0)):
        together = [row for _, row in group]
        breaks = [zone not in solid and first for first in _breaks(together, unit)]
        for i, row in enumerate(together):
            if i == 0 or breaks[i]:
                paragraphs.append(Paragraph([row], zone))
            else:
                paragraphs[-1].rows.append(row)
    return _with_lists(paragraphs, solid)


def _breaks(rows: Sequence[Row], unit: float) -> list[bool]:
    """Whether a paragraph begins at each row; the rows are of one zone."""
    left = np.array([row[0].left for row in rows])
    right = np.array([row[-1].right for row in rows])
    middle = [sum(piece.middle for piece in row) / len(row) for row in rows]
    height = [max(piece.height for piece in row) for row in rows]
    pitch = [0.0, *(after - before for before, after in pairwise(middle))]
    usual = _usual_pitch(pitch, unit)
    margin, edge = float(np.quantile(left, 0.3)), float(np.quantile(right, 0.9))
    short = right < edge - (1 - FULL) * (edge - margin)
    inset = (left > margin + INDENT[0] * unit) & (left < margin + INDENT[1] * unit)
    flush = np.abs(left - margin) < MARGIN * unit
    texts = [row_text(row) for row in rows]
    hangs = [_mark(text) != "" for text in texts]
    breaks = [True]
    for i in range(1, len(rows)):
        before, after = height[i - 1], height[i]
        breaks.append(
            pitch[i] > WIDE_PITCH * usual[i]
            or max(before, after) > OTHER_HEIGHT * min(before, after)
            or bool(inset[i] and flush[i - 1] and not hangs[i - 1] and (i + 1 == len(rows) or flush[i + 1]))
            or bool(short[i - 1] and flush[i] and texts[i - 1].endswith((".", "!", "?", "。", "！", "？")))
            or BULLET.match(texts[i]) is not None
            or (NUMBER.match(texts[i]) is not None and bool(left[i] <= left[i - 1] + MARGIN * unit))
        )
    return breaks


def _usual_pitch(pitch: Sequence[float], unit: float) -> list[float]:
    """For each row the usual distance between the rows around it: the lower median of the close ones."""
    usual: list[float] = []
    for i in range(len(pitch)):
        around = [*pitch[max(1, i - NEAR_ROWS) : i], *pitch[i + 1 : i + 1 + NEAR_ROWS]]
        close = sorted(distance for distance in around if distance < LOOSE_PITCH * unit)
        usual.append(max(close[(len(close) - 1) * 2 // 5], 1.0) if close else LOOSE_PITCH * unit)
    return usual


def _with_lists(paragraphs: Sequence[Paragraph], solid: frozenset[int]) -> list[Paragraph]:
    """Paragraphs with neighbouring list items joined to one list each; a single numbered paragraph is not a list."""
    joined: list[Paragraph] = []
    marks: list[str] = []
    for paragraph in paragraphs:
        mark = "" if paragraph.zone in solid else _mark(row_text(paragraph.rows[0]))
        if mark and joined and marks[-1] == mark and joined[-1].zone == paragraph.zone:
            joined[-1].items.append(len(joined[-1].rows))
            joined[-1].rows += paragraph.rows
        else:
            joined.append(Paragraph(list(paragraph.rows), paragraph.zone, [0] if mark else []))
            marks.append(mark)
    for paragraph, mark in zip(joined, marks, strict=True):
        if mark == "number" and len(paragraph.items) < 2:
            paragraph.items = []
    return joined


def _mark(text: str) -> str:
    if BULLET.match(text):
        return "bullet"
    return "number" if NUMBER.match(text) else ""
