"""Draws characters of a font in a PDF, and returns them as `Shape`s of the rendered page."""

from __future__ import annotations

import ctypes
import math
import random
import string
from collections.abc import Iterator
from pathlib import Path

import pypdfium2 as pdfium
from pypdfium2 import raw

from inkgate.documents.pdf.shapes import Shape
from support.embedded_fonts import embed
from support.pdf_writer import PdfWriter

LETTERS_AND_DIGITS = string.digits + string.ascii_letters
_WIDTH = 580.0
"""Of the page, in points."""
_MARGINS = (0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.5)
_SLIPS = (0.0, 0.0, 0.0, 0.0, -0.5, 0.5)
"""Pixels around a character's box, and by which each edge is wrong."""


def drawn_shapes(
    font: Path, text: str, size: float, dpi: float, rng: random.Random, *, drawn: str = LETTERS_AND_DIGITS
) -> list[Shape]:
    """The characters of `text`, some of `drawn`, as they look in `font` at `size` points and `dpi`.

    `rng` moves lines by parts of a point, and the edges of the crops by up to two pixels.
    """
    writer = PdfWriter()
    embedded = embed(writer, font, drawn)
    lines, x = [""], 10.0
    for char in text:
        width = embedded.width(char, size)
        if x + width > _WIDTH - 10:
            lines.append("")
            x = 10.0
        lines[-1] += char
        x += width
    height = math.ceil((len(lines) + 1) * 1.4 * size)
    rows = [
        embedded.text_at(10 + rng.random(), height - (row + 1) * 1.4 * size + rng.random(), line, size)
        for row, line in enumerate(lines)
    ]
    writer.add_page(b"".join(rows), (_WIDTH, height), fonts=(embedded.number,))
    return page_shapes(writer.build(), size, dpi, rng)


def page_shapes(data: bytes, size: float, dpi: float, rng: random.Random) -> list[Shape]:
    """The characters of the first page of a PDF whose text is upright and has `size` points."""
    document = pdfium.PdfDocument(data)
    page = document[0]
    text = page.get_textpage()
    try:
        return list(_shapes(page, text, size, dpi / 72, rng))
    finally:
        text.close()
        page.close()
        document.close()


def _shapes(
    page: pdfium.PdfPage, text: pdfium.PdfTextPage, size: float, scale: float, rng: random.Random
) -> Iterator[Shape]:
    grey = page.render(scale=scale, grayscale=True).to_numpy()
    grey = grey.reshape(grey.shape[0], -1)
    top = page.get_height()
    left, right, bottom, upper, x, y = (ctypes.c_double() for _ in range(6))
    for index in range(raw.FPDFText_CountChars(text.raw)):
        char = chr(raw.FPDFText_GetUnicode(text.raw, index))
        raw.FPDFText_GetCharBox(text.raw, index, left, right, bottom, upper)
        raw.FPDFText_GetCharOrigin(text.raw, index, x, y)
        margin = rng.choice(_MARGINS)
        box = [left.value * scale - margin, (top - upper.value) * scale - margin,
               right.value * scale + margin, (top - bottom.value) * scale + margin]  # fmt: skip
        x0, y0, x1, y1 = (edge + rng.choice(_SLIPS) for edge in box)
        ink = grey[max(0, math.floor(y0)) : math.ceil(y1), max(0, math.floor(x0)) : math.ceil(x1)]
        if ink.size and not char.isspace() and right.value > left.value:
            yield Shape(char, ink, (upper.value - y.value) / size, (bottom.value - y.value) / size)
