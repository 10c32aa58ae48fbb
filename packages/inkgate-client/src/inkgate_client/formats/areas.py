"""The page as nested boxes, as in hOCR and ALTO: areas, rows of text, words.

Boxes are whole pixels, rounded outwards, inside the page, and each is inside its parent. Texts have no control
characters or line breaks; the words of a row, with their spaces, form its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inkgate_client.block_parts import text_is_unplaced
from inkgate_client.coordinates import Coordinates, around, before_rotation, quad_of, rounded
from inkgate_client.formats.text import one_line
from inkgate_client.types import Block, BlockType, Box, Line, PageResult, Point, Quad

_CLOSE = 0.75
"""Largest gap between two lines of a group, as a share of the lower line's height."""
_APART = 0.2
"""Largest share of the smaller box that two groups may have in common."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of lines: the index of the first one on the page, and the box around all of them."""

    start: int
    lines: tuple[Line, ...]
    box: Box


def stand_together(lines: Mapping[int, Line]) -> list[Group]:
    """Groups of line indexes; a new group begins where a line does not continue the group before it."""
    runs: list[list[Line]] = []
    starts: list[int] = []
    before = -2
    box = last = (0.0, 0.0, 0.0, 0.0)
    for index, line in lines.items():
        here = line.box
        if index == before + 1 and _continues(box, last, here):
            runs[-1].append(line)
            box = around([box, here])
        else:
            runs.append([line])
            starts.append(index)
            box = here
        before, last = index, here
    return [_group(start, run) for start, run in zip(starts, runs, strict=True)]


def untangle(groups: Sequence[Group]) -> list[Group]:
    """The groups in order, with overlapping ones merged together with all groups between them."""
    apart: list[Group] = []
    boxes = np.empty((len(groups), 4))
    for group in groups:
        merged = group
        while (overlapped := _overlapping(boxes[: len(apart)], merged.box)).size:
            first = int(overlapped[0])
            merged = _merge([*apart[first:], merged])
            del apart[first:]
        boxes[len(apart)] = merged.box
        apart.append(merged)
    return apart


def _continues(group: Box, last: Box, line: Box) -> bool:
    """Whether the line is next to the group's last line, or close below it and under the group."""
    left, top, right, bottom = line
    _, last_top, _, last_bottom = last
    if last_top < (top + bottom) / 2 < last_bottom:
        return True
    under = left < group[2] and group[0] < right
    close = top - last_bottom < _CLOSE * min(bottom - top, last_bottom - last_top)
    return under and close and bottom > last_bottom


def _overlapping(boxes: NDArray[np.float64], box: Box) -> NDArray[np.intp]:
    """Which of `boxes`, (N, 4), overlap `box` by more than the limit."""
    left, top, right, bottom = box
    across = np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)
    down = np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    smaller = np.minimum(areas, (right - left) * (bottom - top))
    return np.flatnonzero(across.clip(0) * down.clip(0) > _APART * smaller)


def _merge(groups: Sequence[Group]) -> Group:
    lines = tuple(line for group in groups for line in group.lines)
    return Group(groups[0].start, lines, around(group.box for group in groups))


def _group(start: int, lines: Sequence[Line]) -> Group:
    return Group(start, tuple(lines), around(line.box for line in lines))


PixelBox = tuple[int, int, int, int]
"""Left, top, right, bottom in whole pixels."""


@dataclass(frozen=True, slots=True)
class WordArea:
    """A word of a row, or the whole row if its words are unknown.

    `confidence`: None for text without lines; `spaced`: white space follows in the row.
    """

    text: str
    box: PixelBox
    quad: Quad
    confidence: float | None
    spaced: bool


@dataclass(frozen=True, slots=True)
class LineArea:
    """A line of text; `quad`: from the engine. `line`: the engine's line; None for text without lines."""

    text: str
    box: PixelBox
    quad: Quad
    words: tuple[WordArea, ...]
    line: Line | None = None

    @property
    def angle(self) -> float:
        """The text's rotation in degrees counter-clockwise, in [0, 360); 0 runs from left to right."""
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = self.quad
        return math.degrees(math.atan2((y0 - y1) + (y3 - y2), (x1 - x0) + (x2 - x3))) % 360


@dataclass(frozen=True, slots=True)
class Area:
    """A block of the page, or a group of rows. Without rows it is a figure or an empty region. `block`: None for rows
    outside of blocks.
    """

    type: BlockType
    level: int | None
    box: PixelBox
    rows: tuple[LineArea, ...]
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class AreaPage:
    """All areas of a page in reading order, and the page's box."""

    box: PixelBox
    areas: tuple[Area, ...]


def page_in(page: PageResult, coordinates: Coordinates) -> AreaPage:
    """The page's areas. Lines are always grouped on the upright page."""
    upright = AreaPage(page_box(page), tuple(page_areas(page)))
    if coordinates is Coordinates.UPRIGHT or not page.rotation:
        return upright
    _, _, width, height = upright.box
    turn = _BeforeRotation(page.rotation, width, height)
    return AreaPage(turn.box(upright.box), tuple(turn.area(area) for area in upright.areas))


@dataclass(frozen=True, slots=True)
class _BeforeRotation:
    """Maps areas of an upright page (`width` x `height`) to the page before its rotation by `rotation` degrees."""

    rotation: int
    width: int
    height: int

    def area(self, area: Area) -> Area:
        return replace(area, box=self.box(area.box), rows=tuple(self._row(row) for row in area.rows))

    def _row(self, row: LineArea) -> LineArea:
        words = tuple(replace(word, box=self.box(word.box), quad=self._quad(word.quad)) for word in row.words)
        return replace(row, box=self.box(row.box), quad=self._quad(row.quad), words=words)

    def box(self, box: PixelBox) -> PixelBox:
        (x0, y0), _, (x1, y1), _ = self._quad(quad_of(box))
        return (int(min(x0, x1)), int(min(y0, y1)), int(max(x0, x1)), int(max(y0, y1)))

    def _quad(self, quad: Quad) -> Quad:
        return before_rotation(quad, self.rotation, self.width, self.height)


def page_box(page: PageResult) -> PixelBox:
    """The whole page. If its size is unknown: from the origin to the end of its lines and blocks."""
    if page.width and page.height:
        return (0, 0, page.width, page.height)
    boxes = [line.box for line in page.lines] + [block.box for block in page.blocks or ()]
    right, bottom = rounded(max((box[side] for box in boxes), default=0) for side in (2, 3))
    return (0, 0, max(math.ceil(right), 0), max(math.ceil(bottom), 0))


def page_areas(page: PageResult) -> list[Area]:
    """The page's areas in reading order.

    These are its blocks, if any. Lines outside of blocks are grouped by the gaps between them. Text without lines
    becomes rows with the box of their block or page.
    """
    within = page_box(page)
    lines = dict(enumerate(page.lines))
    areas: list[tuple[int, Area]] = []
    position = -1
    for block in page.blocks or ():
        found = [lines.pop(index) for index in block.lines if index in lines]
        position = min(block.lines, default=position)
        areas.append((position, _block_area(block, found, within)))
    groups = stand_together(lines)
    for group in groups if page.blocks else untangle(groups):
        rows = _rows(group.lines, within)
        if rows:
            areas.append((group.start, Area(BlockType.TEXT, None, around(row.box for row in rows), rows)))
    if text_is_unplaced(page) and not any(area.rows for _, area in areas):
        rows = unplaced_rows(page.text, within)
        areas[:0] = [(-1, Area(BlockType.TEXT, None, within, rows))] if rows else []
    return [area for _, area in sorted(areas, key=lambda pair: pair[0])]


def _block_area(block: Block, lines: Sequence[Line], within: PixelBox) -> Area:
    left, top, right, bottom = block.box
    box = _pixel_box(((left, top), (right, bottom)), within)
    rows = _rows(lines, within) if block.lines else unplaced_rows(block.text, box)
    return Area(block.type, block.level, around([box, *(row.box for row in rows)]), rows, block)


def _rows(lines: Iterable[Line], within: PixelBox) -> tuple[LineArea, ...]:
    rows = []
    for line in lines:
        text = one_line(line.text)
        if text:
            words = _words(text, line, within)
            box = around([_pixel_box(line.quad, within), *(word.box for word in words)])
            rows.append(LineArea(text, box, line.quad, words, line))
    return tuple(rows)


def _words(text: str, line: Line, within: PixelBox) -> tuple[WordArea, ...]:
    """The line's words; characters between two words belong to the first. One word if the words are not in the text."""
    known = [(one_line(word.text), word) for word in line.words]
    known = [(content, word) for content, word in known if content]
    starts = _starts(text, [content for content, _ in known])
    if not starts:
        return (WordArea(text, _pixel_box(line.quad, within), line.quad, line.confidence, spaced=False),)
    words = []
    for (_, word), start, end in zip(known, [0, *starts[1:]], [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        box = _pixel_box(word.quad, within)
        words.append(WordArea(part.strip(), box, word.quad, word.confidence, spaced=part != part.rstrip()))
    return tuple(words)


def _starts(text: str, contents: Sequence[str]) -> list[int]:
    """Start of each of `contents` in `text`, in order; empty if one is missing."""
    starts: list[int] = []
    position = 0
    for content in contents:
        start = text.find(content, position)
        if start < 0:
            return []
        starts.append(start)
        position = start + len(content)
    return starts


def unplaced_rows(text: str, box: PixelBox) -> tuple[LineArea, ...]:
    """Rows of text without lines."""
    quad = quad_of(box)
    contents = [one_line(content) for content in text.splitlines()]
    return tuple(
        LineArea(content, box, quad, (WordArea(content, box, quad, None, spaced=False),))
        for content in contents
        if content
    )


def _pixel_box(points: Iterable[Point], within: PixelBox) -> PixelBox:
    """The smallest box of whole pixels around the points, clipped to `within`; of no area if outside. The points are
    rounded as in JSON: the box is the same out of a service's result.
    """
    xs, ys = zip(*points, strict=True)
    x0, y0, x1, y1 = rounded((min(xs), min(ys), max(xs), max(ys)))
    left, top, right, bottom = within
    return (
        min(max(math.floor(x0), left), right),
        min(max(math.floor(y0), top), bottom),
        min(max(math.ceil(x1), left), right),
        min(max(math.ceil(y1), top), bottom),
    )
