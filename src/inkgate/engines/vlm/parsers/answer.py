"""What parsers return for a model's text, and the parser of extracted fields."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from inkgate.errors import EngineFailed
from inkgate_client.diagram import Diagram
from inkgate_client.types import BlockType, Box, Line, Point, Quad, Size

GRID = 1000
"""Models give coordinates on a grid of 0 to 1000 along both sides of the image, whatever its size."""
MAX_STARTS = 32
"""Maximum number of braces at which to look for an object."""
FARTHEST = 1e9
"""Larger coordinates, infinity and NaN are no places."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A line with coordinates.

    `start`, `end`: position of its text in the model's output, in characters; its confidence is that of the tokens
    there.
    """

    text: str
    quad: Quad
    start: int
    end: int

    def as_line(self, confidence: float) -> Line:
        """The same as a Line."""
        return Line(self.text, self.quad, confidence)


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block with coordinates.

    Attributes:
        text, markdown: empty for a figure, and in an answer that gives only the layout.
        level: of a title, 1 to 6.
        label: the model's own name for the type.
        rotation: degrees clockwise (0, 90, 180, 270) by which the block must be rotated to be upright.
        diagram: of a chart that is one.
    """

    type: BlockType
    box: Box
    text: str = ""
    markdown: str = ""
    level: int | None = None
    label: str = ""
    rotation: int = 0
    diagram: Diagram | None = None


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The parsed answer of a model.

    Attributes:
        text: plain text.
        markdown: the same as Markdown; None if the task gives none.
        lines: if the task gives the coordinates of lines.
        fields: if the task is to extract fields.
        blocks: if the task gives the coordinates of blocks; in reading order.
    """

    text: str
    markdown: str | None = None
    lines: tuple[PlacedText, ...] = ()
    fields: Mapping[str, object] | None = None
    blocks: tuple[PlacedBlock, ...] = ()

    @property
    def diagram(self) -> Diagram | None:
        """The first diagram; None if there is none."""
        return next((block.diagram for block in self.blocks if block.diagram is not None), None)

    def scaled(self, seen: Size, size: Size) -> ParsedAnswer:
        """The same answer with coordinates in pixels of `size` instead of `seen`, the size of the same image."""
        wide, high = size.width / seen.width, size.height / seen.height

        def point(at: Point) -> Point:
            return (at[0] * wide, at[1] * high)

        def quad(of: Quad) -> Quad:
            return (point(of[0]), point(of[1]), point(of[2]), point(of[3]))

        return replace(
            self,
            lines=tuple(replace(line, quad=quad(line.quad)) for line in self.lines),
            blocks=tuple(replace(b, box=(*point(b.box[:2]), *point(b.box[2:]))) for b in self.blocks),
        )


class Parser(Protocol):
    """Makes a ParsedAnswer of a model's text. Pure; accepts any text, complete or cut off."""

    def __call__(self, output: str, size: Size, /) -> ParsedAnswer:
        """The parsed answer. `size`: of the page, or the part of it, that the model saw; coordinates are in its pixels.

        Raises:
            EngineFailed: `engine_output_invalid`: the text is not in the task's format and nothing in it can be used.
        """
        ...


def rectangle(numbers: object, size: Size, grid: float | None = GRID) -> Box | None:
    """The box in pixels of four numbers: any two opposite corners on the grid, or in pixels if `grid` is None. Clipped
    to the page. None if there are not four numbers, or the box is empty.
    """
    if not isinstance(numbers, list | tuple) or len(numbers) != 4:
        return None
    values = [float(n) for n in numbers if isinstance(n, int | float) and abs(n) <= FARTHEST]
    if len(values) != 4:
        return None
    wide, high = (1.0, 1.0) if grid is None else (size.width / grid, size.height / grid)
    left, right = sorted(min(max(x * wide, 0.0), float(size.width)) for x in values[0::2])
    top, bottom = sorted(min(max(y * high, 0.0), float(size.height)) for y in values[1::2])
    return (left, top, right, bottom) if left < right and top < bottom else None


def quad_on_page(grid: tuple[float, ...], size: Size) -> Quad:
    """The quad in pixels of eight grid values, x and y of four corners. Values outside the grid are clipped to its
    edge.
    """
    xs = [min(max(x, 0), GRID) * size.width / GRID for x in grid[0:8:2]]
    ys = [min(max(y, 0), GRID) * size.height / GRID for y in grid[1:8:2]]
    a, b, c, d = zip(xs, ys, strict=True)
    return (a, b, c, d)


def box_on_page(box: tuple[float, ...], size: Size) -> Quad:
    """The quad in pixels of an upright box on the grid, given by any two opposite corners."""
    left, right = sorted((box[0], box[2]))
    top, bottom = sorted((box[1], box[3]))
    return quad_on_page((left, top, right, top, right, bottom, left, bottom), size)


def without_surrogates(text: str) -> str:
    """Text that can be encoded as UTF-8: JSON escapes can contain lone surrogates, which are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def json_fields(output: str, size: Size) -> ParsedAnswer:  # noqa: ARG001  # a Parser; fields have no places
    """The first JSON object in the output, whatever surrounds it (a code fence, an explanation).

    The answer's text is that object, serialized again. Numbers that JSON clients can't represent become text.

    Raises:
        EngineFailed: `engine_output_invalid`: there is no complete object.
    """
    start = output.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            found, _ = _DECODER.raw_decode(output, start)
        except (ValueError, RecursionError):
            start = output.find("{", start + 1)
            continue
        text = without_surrogates(json.dumps(found, ensure_ascii=False))
        return ParsedAnswer(text=text, fields=json.loads(text))
    raise EngineFailed("engine_output_invalid", "the model's answer is not a JSON object")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 19 else digits


def _number(digits: str) -> float | str:
    return value if math.isfinite(value := float(digits)) else digits


def _constant(name: str) -> str:
    return name


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_constant)
