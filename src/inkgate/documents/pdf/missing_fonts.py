"""Finds fonts that a PDF does not contain and that pdfium can't replace: it draws nothing, or a box for every letter.
Blocking, in worker processes only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

import pypdfium2.raw as pdfium

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.notes import readable_name
from inkgate.documents.pdf.pdfium import Handle, address, get_font
from inkgate_client.types import ReviewNote, ReviewReason

_MAX_FONTS = 100
_MAX_LETTERS = 12
"""Letters of a font that are looked at."""
_MIN_ALIKE = 3
"""Letters that all look the same are a font's box for what it lacks."""
_MIN_UNKNOWN = 3
"""Letters without Unicode of a font that is taken for one that another font's glyphs are drawn for; fewer are signs."""
_MISSING = 0.5
"""Share of a font's letters that can't be drawn, from which the font is missing."""
_SEGMENTS = 12
_NAME_BYTES = 512
_UNKNOWN = "\ufffd"
"""The character before letters that the font does not map."""


def missing_fonts(glyphs: Iterable[Glyph]) -> dict[int, str]:
    """The fonts of `glyphs`, which are of an open page, that can't be drawn: their numbers and names."""
    letters: dict[int, dict[str, None]] = {}
    for glyph in glyphs:
        if glyph.font and not glyph.text.isspace() and len(letters) < _MAX_FONTS:
            known = letters.setdefault(glyph.font, {})
            if len(known) < _MAX_LETTERS:
                known[glyph.text if glyph.mapped else _UNKNOWN + glyph.text] = None
    return {font: _name(handle) for font, found in letters.items() if _is_missing(handle := _font(font), found)}


def font_names(fonts: Iterable[int]) -> dict[int, str]:
    """The names of fonts, by their numbers, which are of an open page."""
    return {font: _name(_font(font)) for font in sorted(fonts)}


def has_unembedded(texts: Iterable[Handle]) -> bool:
    """Whether one of these text objects has a font that the PDF does not contain."""
    fonts = {get_font(address(each)) for each in texts} - {None, 0}
    return any(pdfium.FPDFFont_GetIsEmbedded(_font(font)) == 0 for font in fonts)


def font_notes(missing: Mapping[int, str]) -> tuple[ReviewNote, ...]:
    """A note for each name."""
    return tuple(ReviewNote(ReviewReason.FONT_MISSING, name) for name in dict.fromkeys(missing.values()))


def _font(address: int) -> Handle:
    return ctypes.cast(address, pdfium.FPDF_FONT)


def _is_missing(font: Handle, letters: Iterable[str]) -> bool:
    if pdfium.FPDFFont_GetIsEmbedded(font) != 0:  # -1: it is none
        return False
    unknown = [letter for letter in letters if letter[0] == _UNKNOWN]
    outlines = [_outline(font, letter) for letter in letters if letter[0] != _UNKNOWN]
    if len(unknown) >= _MIN_UNKNOWN:
        outlines += [()] * len(unknown)
    if not outlines:
        return False
    if len(outlines) >= _MIN_ALIKE and len(set(outlines)) == 1:
        return True
    return sum(not outline for outline in outlines) >= _MISSING * len(outlines)


def _outline(font: Handle, letter: str) -> tuple[float, ...]:
    """The beginning of a letter's outline; empty if it has none."""
    path = pdfium.FPDFFont_GetGlyphPath(font, ord(letter[0]), 100.0)
    count = min(pdfium.FPDFGlyphPath_CountGlyphSegments(path), _SEGMENTS) if path else 0
    numbers: list[float] = [count]
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = pdfium.FPDFGlyphPath_GetGlyphPathSegment(path, index)
        if segment and pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            numbers += [x.value, y.value]
    return tuple(numbers) if count else ()


def _name(font: Handle) -> str:
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    size = pdfium.FPDFFont_GetBaseFontName(font, buffer, _NAME_BYTES)
    return readable_name(buffer.value.decode("utf-8", "replace")) if 0 < size <= _NAME_BYTES else ""
