"""Recognised text as invisible content of a PDF page. Pure.

The content is in pixels of the page as sent, with y downwards; who places it on a page adds the matrix to points. Each
row of text runs along its own baseline, in the row's direction, word by word at the word's place, so that searching,
selecting and copying work on tilted and turned text as on upright text.
"""

from __future__ import annotations

import math
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inkgate.documents.files.glyphless import WIDTH, CharacterCodes
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats.areas import LineArea, WordArea, page_in
from inkgate_client.types import PageResult, Point, Quad

FONT = "InkgateText"
"""Name of the font among the page's resources."""
_INSIDE = 0.05
"""Pixels from the edges of the page at which text begins at least."""
_MIN_SIZE = 0.5
"""Minimum size of text and minimum width of a word in pixels."""
_SPACE = 0.2
"""Minimum width of a space in ems: readers of PDFs ignore narrower ones."""
_DRIFT = 1.0
"""Pixels by which a word's baseline may leave the page's axis until poppler would cut the word into pieces."""
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True)
class PageContent:
    """Invisible content of one page. `index`: from 0. `width`, `height`: of the page as sent, in pixels. `content`:
    operators, compressed with zlib.
    """

    index: int
    width: int
    height: int
    content: bytes


def page_content(page: PageResult, codes: CharacterCodes) -> PageContent | None:
    """The page's text as content; None if there is none, or if all of it is that of the page's own text layer."""
    if page.source == "text_layer":
        return None
    placed = page_in(page, Coordinates.SENT)
    _, _, width, height = placed.box
    if not (width and height):
        return None
    rows = [row for area in placed.areas for row in _sliced(area.rows)]
    parts = [part for row in rows if (part := _row(row, codes, (width, height)))]
    if not parts:
        return None
    content = "\n".join(["BT", "3 Tr", *parts, "ET"]).encode()
    return PageContent(page.index, width, height, zlib.compress(content))


def _sliced(rows: Sequence[LineArea]) -> Iterator[LineArea]:
    """The rows; those that have one place in common, as text without positions has, share its height."""
    for quad, group in groupby(rows, key=lambda row: row.quad):
        together = list(group)
        for number, row in enumerate(together):
            if len(together) == 1:
                yield row
                continue
            part = _slice(quad, number / len(together), (number + 1) / len(together))
            yield replace(row, quad=part, words=tuple(replace(word, quad=part) for word in row.words))


def _slice(quad: Quad, start: float, end: float) -> Quad:
    """The part of `quad` from the share `start` of its height to `end`."""
    a, b, c, d = quad

    def between(top: Point, bottom: Point, share: float) -> Point:
        return (top[0] + share * (bottom[0] - top[0]), top[1] + share * (bottom[1] - top[1]))

    return (between(a, d, start), between(b, c, start), between(b, c, end), between(a, d, end))


@dataclass(frozen=True, slots=True)
class _Baseline:
    """A row's line: `origin`, the unit vector `along` the text, the one `up`, and the text's `size` in pixels."""

    origin: Point
    along: Point
    up: Point
    size: float

    @classmethod
    def of(cls, quad: Quad, *, right_to_left: bool) -> _Baseline:
        a, b, c, d = quad
        dx, dy = (c[0] - d[0]) + (b[0] - a[0]), (c[1] - d[1]) + (b[1] - a[1])
        length = math.hypot(dx, dy)
        along = (dx / length, dy / length) if length else (1.0, 0.0)
        up = (along[1], -along[0])  # y grows downwards
        heights = [(top[0] - bottom[0]) * up[0] + (top[1] - bottom[1]) * up[1] for top, bottom in ((a, d), (b, c))]
        size = max(sum(heights) / 2, _MIN_SIZE)
        # Glyphs of text from right to left follow each other to the left, as in Tesseract's PDFs.
        return cls(c, (-along[0], -along[1]), up, size) if right_to_left else cls(d, along, up, size)

    def extent(self, quad: Quad) -> tuple[float, float]:
        """Start and end of `quad` along the line."""
        (x, y), (u, v) = self.origin, self.along
        places = [(px - x) * u + (py - y) * v for px, py in quad]
        return min(places), max(places)


def _row(row: LineArea, codes: CharacterCodes, page: tuple[float, float]) -> str:
    """The row's operators, between BT and ET; empty without words. `page`: width and height."""
    words = [word for word in row.words if word.text]
    if not words:
        return ""
    quad = _running_down(row.quad) if _is_vertical(words) else row.quad
    line = _Baseline.of(quad, right_to_left=_is_right_to_left(row.text))
    (ux, uy), (vx, vy) = line.along, line.up
    # pdf.js leaves out text that begins outside of the page, as the edge itself does by rounding.
    x, y = (min(max(at, _INSIDE), most - _INSIDE) for at, most in zip(line.origin, page, strict=True))
    parts = [f"/{FONT} {line.size:.2f} Tf", f"{ux:.5f} {uy:.5f} {vx:.5f} {vy:.5f} {x:.2f} {y:.2f} Tm"]
    extents = _in_order([line.extent(word.quad) for word in words])
    moved = 0.0
    for number, (word, (start, end)) in enumerate(zip(words, extents, strict=True)):
        following = extents[number + 1][0] if number + 1 < len(words) else None
        parts.append(f"{start - moved:.2f} 0 Td")
        moved = round(start, 2)
        shown = _shown(word, (start, end), following, (line.size, codes))
        tilted = (end - start) * min(abs(ux), abs(uy)) > _DRIFT
        parts += _as_one(word.text, shown) if tilted else shown
    return "\n".join(parts)


def _as_one(text: str, operators: Iterator[str]) -> Iterator[str]:
    """The word's operators, marked as one piece of text (ISO 32000-1, 14.9.4); a space follows it unmarked."""
    yield f"/Span <</ActualText <feff{text.encode('utf-16-be').hex()}>>> BDC"
    yield next(operators)
    yield next(operators)
    yield "EMC"
    yield from operators


def _shown(
    word: WordArea, extent: tuple[float, float], following: float | None, font: tuple[float, CharacterCodes]
) -> Iterator[str]:
    """A word, and the space after it or none, up to the start of the `following` one."""
    size, codes = font
    start, end = extent
    if following is None:
        yield from _spread(word.text, end - start, size, codes)
        return
    if not word.spaced:  # no gap, or readers would put a space there
        yield from _spread(word.text, following - start, size, codes)
        return
    gap = max(following - end, min(_SPACE * size, (following - start) / (len(word.text) + 1)))
    yield from _spread(word.text, following - gap - start, size, codes)
    yield from _spread(" ", gap, size, codes)


def _spread(text: str, width: float, size: float, codes: CharacterCodes) -> Iterator[str]:
    """`text`, as wide as `width` pixels."""
    natural = len(text) * size * WIDTH / 1000
    yield f"{100 * max(width, _MIN_SIZE) / natural:.2f} Tz"
    yield f"<{codes.encode(text).hex()}> Tj"


def _in_order(extents: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The extents with each start behind the one before, and each end behind its start."""
    ordered: list[tuple[float, float]] = []
    least = -math.inf
    for start, end in extents:
        begin = max(start, least)
        ordered.append((begin, max(end, begin + _MIN_SIZE)))
        least = begin + _MIN_SIZE
    return ordered


def _is_vertical(words: Sequence[WordArea]) -> bool:
    """Whether the words stand below each other, as in vertical Chinese text."""
    if len(words) < 2:
        return False
    first, last = _centre(words[0].quad), _centre(words[-1].quad)
    a, b, c, d = words[0].quad
    dx, dy = (c[0] - d[0]) + (b[0] - a[0]), (c[1] - d[1]) + (b[1] - a[1])
    length = math.hypot(dx, dy) or 1.0
    mx, my = last[0] - first[0], last[1] - first[1]
    along, across = (mx * dx + my * dy) / length, (my * dx - mx * dy) / length
    return across > abs(along)


def _running_down(quad: Quad) -> Quad:
    """The quad of text that runs down its `quad`: turned by 90 degrees clockwise."""
    a, b, c, d = quad
    return (b, c, d, a)


def _centre(quad: Quad) -> Point:
    return (sum(x for x, _ in quad) / 4, sum(y for _, y in quad) / 4)


def _is_right_to_left(text: str) -> bool:
    """Whether most letters of `text` belong to scripts that run from right to left."""
    if text.isascii():
        return False
    kinds = [unicodedata.bidirectional(char) for char in text]
    return sum(kind in _RIGHT_TO_LEFT for kind in kinds) > kinds.count("L")
