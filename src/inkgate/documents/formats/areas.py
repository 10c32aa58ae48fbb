"""The page as nested boxes, as in hOCR and ALTO: areas, rows of text, words.

Boxes are whole pixels, rounded outwards, inside the page, and each is inside its parent. Texts have no control
characters or line breaks; the words of a row, with their spaces, form its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from inkgate.coordinates import Coordinates, before_rotation
from inkgate.documents.formats.groups import stand_together, untangle
from inkgate.documents.formats.text import one_line
from inkgate.types import Block, BlockType, Line, PageResult, Point, Quad

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
    """A line of text; `quad`: from the engine."""

    text: str
    box: PixelBox
    quad: Quad
    words: tuple[WordArea, ...]

    @property
    def angle(self) -> float:
        """The text's rotation in degrees counter-clockwise, in [0, 360); 0 runs from left to right."""
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = self.quad
        return math.degrees(math.atan2((y0 - y1) + (y3 - y2), (x1 - x0) + (x2 - x3))) % 360


@dataclass(frozen=True, slots=True)
class Area:
    """A block of the page, or a group of rows. Without rows it is a figure or an empty region."""

    type: BlockType
    level: int | None
    box: PixelBox
    rows: tuple[LineArea, ...]


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
        left, top, right, bottom = box
        (x0, y0), _, (x1, y1), _ = self._quad(((left, top), (right, top), (right, bottom), (left, bottom)))
        return (int(min(x0, x1)), int(min(y0, y1)), int(max(x0, x1)), int(max(y0, y1)))

    def _quad(self, quad: Quad) -> Quad:
        return before_rotation(quad, self.rotation, self.width, self.height)


def page_box(page: PageResult) -> PixelBox:
    """The whole page. If its size is unknown: from the origin to the end of its lines and blocks."""
    if page.width and page.height:
        return (0, 0, page.width, page.height)
    boxes = [line.box for line in page.lines] + [block.box for block in page.blocks or ()]
    right = max((box[2] for box in boxes), default=0)
    bottom = max((box[3] for box in boxes), default=0)
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
            areas.append((group.start, Area(BlockType.TEXT, None, _around(row.box for row in rows), rows)))
    if not areas:
        rows = _unplaced_rows(page.text, within)
        return [Area(BlockType.TEXT, None, within, rows)] if rows else []
    return [area for _, area in sorted(areas, key=lambda pair: pair[0])]


def _block_area(block: Block, lines: Sequence[Line], within: PixelBox) -> Area:
    left, top, right, bottom = block.box
    box = _pixel_box(((left, top), (right, bottom)), within)
    rows = _rows(lines, within) if block.lines else _unplaced_rows(block.text, box)
    return Area(block.type, block.level, _around([box, *(row.box for row in rows)]), rows)


def _rows(lines: Iterable[Line], within: PixelBox) -> tuple[LineArea, ...]:
    rows = []
    for line in lines:
        text = one_line(line.text)
        if text:
            words = _words(text, line, within)
            box = _around([_pixel_box(line.quad, within), *(word.box for word in words)])
            rows.append(LineArea(text, box, line.quad, words))
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


def _unplaced_rows(text: str, box: PixelBox) -> tuple[LineArea, ...]:
    """Rows of text without lines."""
    left, top, right, bottom = box
    quad = ((left, top), (right, top), (right, bottom), (left, bottom))
    contents = [one_line(content) for content in text.splitlines()]
    return tuple(
        LineArea(content, box, quad, (WordArea(content, box, quad, None, spaced=False),))
        for content in contents
        if content
    )


def _pixel_box(points: Iterable[Point], within: PixelBox) -> PixelBox:
    """The smallest box of whole pixels around the points, clipped to `within`; of no area if outside."""
    xs, ys = zip(*points, strict=True)
    left, top, right, bottom = within
    return (
        min(max(math.floor(min(xs)), left), right),
        min(max(math.floor(min(ys)), top), bottom),
        min(max(math.ceil(max(xs)), left), right),
        min(max(math.ceil(max(ys)), top), bottom),
    )


def _around(boxes: Iterable[PixelBox]) -> PixelBox:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))
