"""A worker's facts about a page, and their serialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from inkgate.documents.pdf.geometry import MAX_PIXELS
from inkgate.documents.pdf.notes import MAX_FILES, MAX_LINKS, MAX_SPANS, texts_of
from inkgate.page import LineStyle, LineTag, TagKind, TextLayer, TextSpan
from inkgate_client.types import Box, Line, Quad, ReviewNote, ReviewReason, Size, Word

MAX_BLOCKS = 2**31 - 1
"""The highest number of a tagged block: a worker, which may have been taken over, can say any."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """A page before rendering. `layer`: None if only its pixels tell of it; `verdict` says why."""

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
            "styles": None if layer is None else [_flat_style(style) for style in layer.styles],
            "doubtful": [] if layer is None else [_flat_line(line) for line in layer.doubtful],
            "suspects": [] if layer is None else layer.suspects,
            "unread": [] if layer is None else layer.unread,
            "pictures": [] if layer is None else layer.pictures,
            "hidden": [] if layer is None else [_flat_line(line) for line in layer.hidden],
            "notes": [] if layer is None else [[note.reason, note.detail, note.box] for note in layer.notes],
            "verdict": self.verdict,
            "attachments": [] if layer is None else list(layer.attachments),
            "links": [] if layer is None else list(layer.links),
            "spans": [] if layer is None else [[*s.box, s.bold, s.italic, s.address] for s in layer.spans],
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
        return cls(size, float(flat["dpi"]), _layer(flat), str(flat["verdict"]))


def whole(value: object) -> int:
    """`value` if it is an integer, else 0."""
    return value if isinstance(value, int) else 0


def _layer(flat: dict[str, Any]) -> TextLayer | None:
    lines = flat["lines"]
    if lines is None:
        return None
    styles = tuple(_style(*style) for style in flat["styles"])
    if len(styles) not in (0, len(lines)):
        raise ValueError("another number of styles than of lines")
    if len(flat["suspects"]) not in (0, len(flat["doubtful"])):
        raise ValueError("another number of suspects than of doubtful lines")
    return TextLayer(
        tuple(_line(line) for line in lines),
        styles,
        tuple(_line(line) for line in flat["doubtful"]),
        tuple(str(characters) for characters in flat["suspects"]),
        tuple(_box(box) for box in flat["unread"]),
        tuple(_box(box) for box in flat["pictures"]),
        tuple(_line(line) for line in flat["hidden"]),
        tuple(_note(*note) for note in flat["notes"]),
        texts_of(flat["attachments"], MAX_FILES),
        texts_of(flat["links"], MAX_LINKS),
        tuple(_span(span) for span in flat["spans"][:MAX_SPANS]),
    )


def _flat_style(style: LineStyle) -> list[Any]:
    tag = style.tag
    return [style.size, style.bold, style.italic, *([] if tag is None else [tag.block, tag.kind])]


def _style(size: float, bold: bool, italic: bool, block: int = -1, kind: str = "") -> LineStyle:
    tag = LineTag(min(max(whole(block), -1), MAX_BLOCKS), TagKind(kind)) if kind else None
    return LineStyle(float(size), bool(bold), bool(italic), tag)


def _span(flat: list[Any]) -> TextSpan:
    *corners, bold, italic, address = flat
    return TextSpan(_box(corners), bool(bold), bool(italic), str(address))


def _note(reason: str, detail: str, box: list[float] | None) -> ReviewNote:
    return ReviewNote(ReviewReason(reason), str(detail), None if box is None else _box(box))


def _box(corners: list[float]) -> Box:
    left, top, right, bottom = map(float, corners)
    return (left, top, right, bottom)


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
