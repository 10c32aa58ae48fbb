"""What parsers return for a model's text, and the parser of extracted fields."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from inkgate.errors import EngineFailed
from inkgate.types import Line, Quad, Size

GRID = 1000
"""Models give coordinates on a grid of 0 to 1000 along both sides of the image, whatever its size."""
MOST_STARTS = 32
"""Maximum number of braces at which to look for an object."""


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
class ParsedAnswer:
    """The parsed answer of a model.

    Attributes:
        text: plain text.
        markdown: the same as Markdown; None if the task gives none.
        lines: if the task gives coordinates.
        fields: if the task is to extract fields.
    """

    text: str
    markdown: str | None = None
    lines: tuple[PlacedText, ...] = ()
    fields: Mapping[str, object] | None = None


class Parser(Protocol):
    """Makes a ParsedAnswer of a model's text. Pure; accepts any text, complete or cut off."""

    def __call__(self, output: str, size: Size, /) -> ParsedAnswer:
        """The parsed answer. `size`: of the page, or the part of it, that the model saw; coordinates are in its pixels.

        Raises:
            EngineFailed: `engine_output_invalid`: the text is not in the task's format and nothing in it can be used.
        """
        ...


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
    for _ in range(MOST_STARTS):
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
