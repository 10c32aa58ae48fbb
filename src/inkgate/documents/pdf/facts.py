"""A worker's facts about a page, and their serialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from inkgate.documents.pdf.geometry import MAX_PIXELS
from inkgate.page import LineStyle, TextLayer
from inkgate.types import Line, Quad, Size, Word


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page before rendering. `layer`: None if OCR must read the page; `verdict` says why."""

    size: Size
    dpi: float
    layer: TextLayer | None
    verdict: str

    def flat(self) -> dict[str, Any]:
        """The facts as numbers, strings and lists, for the wire."""
        layer = self.layer
        return {
            "width": self.size.width,
            "height": self.size.height,
            "dpi": self.dpi,
            "lines": None if layer is None else [_flat_line(line) for line in layer.lines],
            "styles": None if layer is None else [[style.size, style.bold, style.italic] for style in layer.styles],
            "verdict": self.verdict,
        }

    @classmethod
    def of(cls, flat: dict[str, Any]) -> Self:
        """The facts from `flat`.

        Raises:
            KeyError, ValueError, TypeError: `flat` is invalid.
        """
        size = Size(whole(flat["width"]), whole(flat["height"]))
        if min(size.width, size.height) < 1 or size.pixels > 2 * MAX_PIXELS:
            raise ValueError(f"a page of {size}")
        return cls(size, float(flat["dpi"]), _layer(flat["lines"], flat["styles"]), str(flat["verdict"]))


def whole(value: object) -> int:
    """`value` if it is an integer, else 0."""
    return value if isinstance(value, int) else 0


def _layer(lines: list[Any] | None, styles: list[Any]) -> TextLayer | None:
    if lines is None:
        return None
    made = tuple(LineStyle(float(size), bool(bold), bool(italic)) for size, bold, italic in styles)
    if len(made) not in (0, len(lines)):
        raise ValueError("another number of styles than of lines")
    return TextLayer(tuple(_line(line) for line in lines), made)


def _flat_line(line: Line) -> list[Any]:
    return [line.text, _corners(line.quad), [[word.text, _corners(word.quad)] for word in line.words]]


def _corners(quad: Quad) -> list[float]:
    return [number for point in quad for number in point]


def _line(flat: list[Any]) -> Line:
    text, corners, words = flat
    return Line(str(text), _quad(corners), 1.0, tuple(Word(str(word), _quad(at), 1.0) for word, at in words))


def _quad(corners: list[float]) -> Quad:
    x0, y0, x1, y1, x2, y2, x3, y3 = map(float, corners)
    return ((x0, y0), (x1, y1), (x2, y2), (x3, y3))
