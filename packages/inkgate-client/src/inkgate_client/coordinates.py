"""Coordinate systems: of the page as it was read, or as it was sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from inkgate_client.types import Block, Box, Line, PageResult, Quad, Table

_Number = TypeVar("_Number", int, float)


class Coordinates(StrEnum):
    """`upright`: of the page after `PageResult.rotation`. `sent`: before it, as a viewer shows the file."""

    UPRIGHT = "upright"
    SENT = "sent"


def rounded(values: Iterable[float]) -> list[float]:
    """Coordinates as JSON has them, to 0.1 pixels."""
    # float(): engines may return NumPy scalars, which orjson refuses; + 0.0 turns -0.0 into 0.0.
    return [round(float(value), 1) + 0.0 for value in values]


def quad_of(box: Box) -> Quad:
    """The corners of a box."""
    left, top, right, bottom = box
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def around(boxes: Iterable[tuple[_Number, _Number, _Number, _Number]]) -> tuple[_Number, _Number, _Number, _Number]:
    """The smallest box with all `boxes` in it. Raises ValueError if there are none."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def holds_middle(box: Box, other: Box) -> bool:
    """Whether the middle of the other box is in the box."""
    return box[0] <= (other[0] + other[2]) / 2 <= box[2] and box[1] <= (other[1] + other[3]) / 2 <= box[3]


def before_rotation(quad: Quad, rotation: int, width: int, height: int) -> Quad:
    """`quad` of the upright page (`width` x `height`) in pixels of the page before rotation.

    `rotation`: degrees clockwise. The quad's first corner stays the text's first.
    """
    match rotation % 360:
        case 90:
            moved = [(y, width - x) for x, y in quad]
        case 180:
            moved = [(width - x, height - y) for x, y in quad]
        case 270:
            moved = [(height - y, x) for x, y in quad]
        case _:
            return quad
    first, second, third, fourth = moved
    return (first, second, third, fourth)


def as_sent(page: PageResult) -> PageResult:
    """The page with all sizes and coordinates as before rotation. `rotation` stays."""

    def turned(quad: Quad) -> Quad:
        return before_rotation(quad, page.rotation, page.width, page.height)

    def line(found: Line) -> Line:
        words = tuple(replace(word, quad=turned(word.quad)) for word in found.words)
        return replace(found, quad=turned(found.quad), words=words)

    def turned_box(box: Box) -> Box:
        xs, ys = zip(*turned(quad_of(box)), strict=True)
        return (min(xs), min(ys), max(xs), max(ys))

    def table(found: Table) -> Table:
        cells = tuple(cell if cell.box is None else replace(cell, box=turned_box(cell.box)) for cell in found.cells)
        return replace(found, cells=cells)

    def block(found: Block) -> Block:
        inside = None if found.table is None else table(found.table)
        code = None if found.barcode is None else replace(found.barcode, quad=turned(found.barcode.quad))
        return replace(found, box=turned_box(found.box), table=inside, barcode=code)

    if not page.rotation:
        return page
    sideways = page.rotation in {90, 270}
    return replace(
        page,
        width=page.height if sideways else page.width,
        height=page.width if sideways else page.height,
        lines=tuple(line(found) for found in page.lines),
        blocks=None if page.blocks is None else tuple(block(found) for found in page.blocks),
        left_out=tuple(part if part.box is None else replace(part, box=turned_box(part.box)) for part in page.left_out),
        review_notes=tuple(
            note if note.box is None else replace(note, box=turned_box(note.box)) for note in page.review_notes
        ),
    )


def as_upright(page: PageResult) -> PageResult:
    """The page of which `page` is `as_sent`: with all sizes and coordinates as after rotation. `rotation` stays."""
    return replace(as_sent(replace(page, rotation=-page.rotation % 360)), rotation=page.rotation)
