"""What a parser makes of a model's text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from inkgate.types import Line, Quad, Size

GRID = 1000
"""Models place text on a grid of 0 to 1000 along both sides of the image, whatever its size."""


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A line that the model gave a place to.

    `start`, `end`: where its text stands in the model's output, in characters; its confidence is of the tokens there.
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
    """What the model read.

    Attributes:
        text: plain text.
        markdown: the same as Markdown; None where the task gives none.
        lines: where the task gives places.
        fields: where the task was to extract fields.
    """

    text: str
    markdown: str | None = None
    lines: tuple[PlacedText, ...] = ()
    fields: Mapping[str, object] | None = None


class Parser(Protocol):
    """Makes an ParsedAnswer of a model's text. Pure; takes any text, whole or cut off."""

    def __call__(self, output: str, size: Size, /) -> ParsedAnswer:
        """What was read. `size`: of the page, or the part of it, that the model saw: places are in its pixels.

        Raises:
            EngineFailed: `engine_output_invalid`: the text is not what the task asks for, and nothing can be saved.
        """
        ...


def placed(grid: tuple[float, ...], size: Size) -> Quad:
    """The quad in pixels of eight grid values, x and y of four corners. Values past the grid come to its edge."""
    xs = [min(max(x, 0), GRID) * size.width / GRID for x in grid[0:8:2]]
    ys = [min(max(y, 0), GRID) * size.height / GRID for y in grid[1:8:2]]
    a, b, c, d = zip(xs, ys, strict=True)
    return (a, b, c, d)


def upright(box: tuple[float, ...], size: Size) -> Quad:
    """The quad in pixels of an upright box on the grid, given by any two opposite corners."""
    left, right = sorted((box[0], box[2]))
    top, bottom = sorted((box[1], box[3]))
    return placed((left, top, right, top, right, bottom, left, bottom), size)


def without_surrogates(text: str) -> str:
    """Text that can be encoded: JSON escapes can name half a character, which is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
