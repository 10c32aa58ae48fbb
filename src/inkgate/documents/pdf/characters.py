"""The characters of a page, from pdfium. Blocking, in worker processes only.

Takes about 8 ms per thousand characters, mostly for the calls: five per character, the others once per text object.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from inkgate.documents.pdf.geometry import Transform
from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.objects import Image, PageObjects, address
from inkgate.documents.pdf.pdfium import Handle, NoticedMemory, PdfiumPage
from inkgate.types import Box, Size

MAX_CHARACTERS = 100_000
"""A full newspaper page has 30,000. Pages with more than this are read by OCR."""
_INVISIBLE_MODES = {pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP}
_HYPHENS = {0x02, 0xFFFE}
"""pdfium's replacement for the hyphen of a word that continues in the next line."""
_NEW_LINES = {0x0A, 0x0D}
_SPACES = {0x09, 0x20, 0xA0, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
           0x202F, 0x205F, 0x3000}  # fmt: skip
_BLANKS = _NEW_LINES | _SPACES
_STROKED_MODES = {pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE, pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP}
"""Outlines drawn over filled letters: how word processors make a font bold that has no bold cut."""
_NAME_BYTES = 256
_BOLD_WEIGHT = 600
"""Semi-bold, in the scale of OpenType's usWeightClass and of CSS."""
_ITALIC, _FORCE_BOLD = 1 << 6, 1 << 18
"""Flags of a font descriptor (PDF 1.7, table 123)."""
_BOLD_NAME = re.compile(r"bold|black|heavy|demi(?!c)|[-,]bd|CMBX|CMB\d|SFBX|LMRoman\d+-Bold|\bMedi$", re.IGNORECASE)
"""TeX's bold fonts are named BX, and have no weight in their descriptor."""
_ITALIC_NAME = re.compile(r"ital|obli|CMTI|CMBXTI|CMSL|SFTI", re.IGNORECASE)
_HIDING_SHARE = 0.1
"""Share of the page's area from which an image drawn over text hides it; smaller ones are icons and stamps."""


def _quick(function: Any, result: type[Any], addresses: int = 0) -> Callable[..., Any]:  # noqa: ANN401 - of ctypes
    """A pdfium function of a text page and a number that takes plain addresses. A call takes a third of the time of the
    checked binding, which matters for pages of thousands of characters.
    """
    location = ctypes.cast(function, ctypes.c_void_p).value or 0
    return ctypes.PYFUNCTYPE(result, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * addresses)(location)


_get_unicode = _quick(pdfium.FPDFText_GetUnicode, ctypes.c_uint)
_get_object = _quick(pdfium.FPDFText_GetTextObject, ctypes.c_void_p)
_get_box = _quick(pdfium.FPDFText_GetCharBox, ctypes.c_int, 4)
_get_origin = _quick(pdfium.FPDFText_GetCharOrigin, ctypes.c_int, 2)


@dataclass(frozen=True, slots=True)
class _Style:
    """Properties that the characters of a text object share."""

    ux: float
    uy: float
    size: float
    drawn: bool
    order: int
    bold: bool = False
    italic: bool = False
    font: int = 0


def glyphs(page: PdfiumPage, objects: PageObjects, to_pixels: Transform, size: Size) -> list[Glyph]:
    """The page's characters in file order; empty if there are more than `MAX_CHARACTERS`.

    Raises:
        MemoryError: there is not enough.
    """
    with _text_page(page) as text:
        count = pdfium.FPDFText_CountChars(text)
        if not 0 < count <= MAX_CHARACTERS:
            return []
        covers = [image for image in objects.images if _area(image.box) >= _HIDING_SHARE * size.pixels]
        return list(_characters(text, count, objects.text_order, covers, to_pixels, size))


@contextmanager
def _text_page(page: PdfiumPage) -> Iterator[Handle]:
    with NoticedMemory() as memory:
        text = pdfium.FPDFText_LoadPage(page.handle)
    if not text:
        raise MemoryError
    try:
        memory.check()
        yield text
    finally:
        pdfium.FPDFText_ClosePage(text)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _characters(
    text: Handle, count: int, order: dict[int, int], covers: list[Image], to_pixels: Transform, size: Size
) -> Iterator[Glyph]:
    page = address(text)
    numbers = (ctypes.c_double * 6)()
    left, right, bottom, top, x, y = (ctypes.addressof(numbers) + 8 * i for i in range(6))
    styles: dict[int, _Style] = {}
    mapped: dict[tuple[int, int], bool] = {}
    style = _Style(1.0, 0.0, 1.0, drawn=False, order=0)
    for i in range(count):
        code = _get_unicode(page, i)
        if code in _BLANKS:
            blank = "\n" if code in _NEW_LINES else " "
            yield Glyph(blank, 0, 0, 0, 0, 0, 0, style.ux, style.uy, style.size, visible=True, mapped=True)
            continue
        owner = _get_object(page, i) or 0
        if owner not in styles:
            styles[owner] = _style(text, i, order.get(owner, len(order)), to_pixels)
        style = styles[owner]
        if (owner, code) not in mapped:  # one font, as everything in a text object
            mapped[owner, code] = code in _HYPHENS or (code != 0 and pdfium.FPDFText_HasUnicodeMapError(text, i) != 1)
        _get_box(page, i, left, right, bottom, top)
        _get_origin(page, i, x, y)
        x0, x1, y0, y1, start, base = numbers[:]
        box = to_pixels.box(x0, y0, x1, y1)
        visible = style.drawn and _is_shown(box, size, style.order, covers)
        origin = to_pixels.point(start, base)
        yield Glyph(_char(code), *box, *origin, style.ux, style.uy, style.size, visible, mapped[owner, code],
                    style.bold, style.italic, style.font)  # fmt: skip


def _char(code: int) -> str:
    if code in _HYPHENS:
        return "-"
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else "\ufffd"


def _style(text: Handle, index: int, order: int, to_pixels: Transform) -> _Style:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFText_GetMatrix(text, index, matrix):
        matrix.a = matrix.d = 1.0
    ux, uy = to_pixels.direction(matrix.a, matrix.b)
    length = math.hypot(ux, uy)
    height = math.hypot(*to_pixels.direction(matrix.c, matrix.d)) * pdfium.FPDFText_GetFontSize(text, index)
    if not (math.isfinite(length) and math.isfinite(height) and length > 0):
        return _Style(1.0, 0.0, 1.0, drawn=False, order=order)
    owner = pdfium.FPDFText_GetTextObject(text, index)
    mode, font = pdfium.FPDFTextObj_GetTextRenderMode(owner), address(pdfium.FPDFTextObj_GetFont(owner))
    bold, italic = _weight_and_slant(text, index)
    bold = bold or mode in _STROKED_MODES
    return _Style(ux / length, uy / length, height, mode not in _INVISIBLE_MODES, order, bold, italic, font)


def _weight_and_slant(text: Handle, index: int) -> tuple[bool, bool]:
    """Whether the character's font is bold, and whether it is italic: by its name, weight and flags."""
    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    length = pdfium.FPDFText_GetFontInfo(text, index, name, _NAME_BYTES, flags)
    family = name.value.decode("utf-8", "replace") if 0 < length <= _NAME_BYTES else ""
    bold = pdfium.FPDFText_GetFontWeight(text, index) >= _BOLD_WEIGHT or bool(flags.value & _FORCE_BOLD)
    italic = bool(flags.value & _ITALIC)
    return bold or bool(_BOLD_NAME.search(family)), italic or bool(_ITALIC_NAME.search(family))


def _is_shown(box: Box, size: Size, order: int, covers: list[Image]) -> bool:
    """Whether the character's center is on the page, and no image of `covers` is drawn over it later."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    if not (0 <= x <= size.width and 0 <= y <= size.height):
        return False
    return not any(
        cover.order > order and cover.box[0] <= x <= cover.box[2] and cover.box[1] <= y <= cover.box[3]
        for cover in covers
    )
