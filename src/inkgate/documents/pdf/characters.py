"""The characters of a page, from pdfium. Blocking, in worker processes only.

Takes about 8 ms per thousand characters, mostly for the calls: five per character, the others once per text object.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from inkgate.documents.pdf.geometry import POINTS_PER_INCH, Transform
from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.ink import PageInk, Sheet, SlowPage, page_ink
from inkgate.documents.pdf.objects import SCAN_SHARE, PageObjects, bounds, image_share
from inkgate.documents.pdf.pdfium import Handle, NoticedMemory, PdfiumPage, address, get_font, quick
from inkgate.documents.pdf.visibility import DrawnText, visible
from inkgate_client.types import Size

MAX_CHARACTERS = 100_000
"""A full newspaper page has 30,000. Pages with more than this are read by OCR."""
_INVISIBLE_MODES = {pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP}
_HYPHENS = {0x02, 0xFFFE}
"""pdfium's replacement for the hyphen of a word that continues in the next line."""
_NEW_LINES = {0x0A, 0x0D}
_SPACES = {0x09, 0x20, 0xA0, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
           0x202F, 0x205F, 0x3000}  # fmt: skip
_SPACE = 0x20
_BLANKS = _NEW_LINES | _SPACES
_STROKED_MODES = {pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE, pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE_CLIP}
"""Outlines drawn over filled letters: how word processors make a font bold that has no bold cut."""
_NAME_BYTES = 256
_LIGATURE = 3
"""Characters of the longest ligature."""
_BOLD_WEIGHT = 600
"""Semi-bold, in the scale of OpenType's usWeightClass and of CSS."""
_ITALIC, _FORCE_BOLD = 1 << 6, 1 << 18
"""Flags of a font descriptor (PDF 1.7, table 123)."""
_BOLD_NAME = re.compile(r"bold|black|heavy|demi(?!c)|[-,]bd|CMBX|CMB\d|SFBX|LMRoman\d+-Bold|\bMedi$", re.IGNORECASE)
"""TeX's bold fonts are named BX, and have no weight in their descriptor."""
_ITALIC_NAME = re.compile(r"ital|obli|CMTI|CMBXTI|CMSL|SFTI", re.IGNORECASE)
_HIDING_SHARE = 0.1
"""Share of the page's area from which an image drawn over text hides it, where the page's ink was not looked at."""
_TWICE = 0.3
"""Text in the place of other text within this distance, in heights, is that text again."""
MIN_SIZE = 1.2
"""Least size of readable text, in points. Fine print has 2.5 and more, hidden text 1 and less. At 300 dpi, small
letters of this size are 2.5 pixels high.
"""
MAX_IMAGE_PIXELS = 60_000_000
"""Maximum pixels of a page's images for comparing its text with ink: decoding them takes up to a second each time."""
_SQUEEZED = 0.2
"""Share of its height to which the narrowest text is condensed."""
ODD_PAGE, USUAL_PAGE = 150.0, 842.0
"""Longest side in points of pages whose units are no points, as no text would fit; they are taken as an A4 page."""


_get_unicode = quick(pdfium.FPDFText_GetUnicode, ctypes.c_uint, ctypes.c_int)
_get_object = quick(pdfium.FPDFText_GetTextObject, ctypes.c_void_p, ctypes.c_int)
_get_box = quick(pdfium.FPDFText_GetCharBox, ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 4)
_get_origin = quick(pdfium.FPDFText_GetCharOrigin, ctypes.c_int, ctypes.c_int, *[ctypes.c_void_p] * 2)
_is_unmapped = quick(pdfium.FPDFText_HasUnicodeMapError, ctypes.c_int, ctypes.c_int)
_get_matrix = quick(pdfium.FPDFText_GetMatrix, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_get_size = quick(pdfium.FPDFText_GetFontSize, ctypes.c_double, ctypes.c_int)
_get_mode = quick(pdfium.FPDFTextObj_GetTextRenderMode, ctypes.c_int)
_count_marks = quick(pdfium.FPDFPageObj_CountMarks, ctypes.c_int)
_get_mark = quick(pdfium.FPDFPageObj_GetMark, ctypes.c_void_p, ctypes.c_ulong)
_get_mark_text = quick(
    pdfium.FPDFPageObjMark_GetParamStringValue,
    ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p,
)  # fmt: skip
_MATRIX = pdfium.FS_MATRIX()
_MATRIX_AT = ctypes.addressof(_MATRIX)
"""The address at which pdfium writes one matrix after the other."""


class _Style(NamedTuple):
    """Properties that the characters of a text object share. `em`: the lesser of its font's height and width.

    A named tuple, as glyph.Glyph.
    """

    ux: float
    uy: float
    size: float
    em: float
    drawn: bool
    bold: bool = False
    italic: bool = False
    font: int = 0
    actual_text: int = 0


@dataclass(slots=True)
class _Characters:
    """The characters of a page: N codes, the numbers of their styles, whether fonts map them, and where they are.

    Attributes:
        styles: of text objects; a blank has the style of the character before it.
        handles: pdfium's text objects of the styles; None for characters that pdfium adds.
        numbers: of the styles, by the addresses of their text objects.
        places: (N, 6) in page pixels: left, top, right, bottom, and the origin.
    """

    codes: list[int]
    owners: NDArray[np.int64]
    mapped: list[bool]
    places: NDArray[np.float64]
    styles: list[_Style]
    handles: list[Handle | None]
    numbers: dict[int, int]

    def glyphs(self, shown: NDArray[np.bool_]) -> list[Glyph]:
        chars = {code: _char(code) for code in set(self.codes)}
        chars.update(dict.fromkeys(_SPACES, " ") | dict.fromkeys(_NEW_LINES, "\n"))
        blank = np.array([code in _BLANKS for code in self.codes])
        kinds = self.owners.copy()  # of those that are drawn, and, after these, of blanks
        kinds[blank] += len(self.styles)
        both = [(s.ux, s.uy, s.size, s.bold, s.italic, s.font, s.actual_text) for s in self.styles]
        both += [(s.ux, s.uy, s.size, False, False, 0, 0) for s in self.styles]
        ux, uy, size, bold, italic, font, actual_text = ([row[at] for row in both] for at in range(7))
        own = kinds.tolist()
        return list(
            map(
                partial(tuple.__new__, Glyph),  # Glyph(...) of 16 arguments takes three times as long
                zip(
                    [chars[code] for code in self.codes],
                    *np.where(blank, 0.0, self.places.T).tolist(),
                    [ux[kind] for kind in own],
                    [uy[kind] for kind in own],
                    [size[kind] for kind in own],
                    (shown | blank).tolist(),
                    self.mapped,
                    [bold[kind] for kind in own],
                    [italic[kind] for kind in own],
                    [font[kind] for kind in own],
                    [actual_text[kind] for kind in own],
                    strict=True,
                ),
            )
        )


@dataclass(frozen=True, slots=True)
class PageCharacters:
    """The characters of a page.

    Attributes:
        glyphs: in file order; empty if there are more than `MAX_CHARACTERS`.
        ink: the page in grey with these characters and without them. None if no character is drawn, if an image
            covers the page, or if the page has too many objects or too large images.
        sheet: the page, where `ink` is not None.
        compared: whether the visible characters were compared with the page's ink, or none is drawn.
        undrawn: numbers of the fonts of visible characters that no font draws, neither the file's nor this machine's.
    """

    glyphs: list[Glyph]
    ink: PageInk | None = None
    sheet: Sheet | None = None
    compared: bool = True
    undrawn: frozenset[int] = frozenset()


def page_characters(page: PdfiumPage, objects: PageObjects, to_pixels: Transform, size: Size) -> PageCharacters:
    """The page's characters, and whether its ink shows them.

    Raises:
        MemoryError: there is not enough.
    """
    with _text_page(page) as text:
        count = pdfium.FPDFText_CountChars(text)
        if not 0 < count <= MAX_CHARACTERS:
            return PageCharacters([])
        found = _read(text, count, to_pixels)
        dpi = POINTS_PER_INCH * math.hypot(*to_pixels.direction(1, 0))
        shown = _may_show(found, size, dpi)
        if not shown.any():
            return PageCharacters(found.glyphs(shown))
        if objects.complete and image_share(objects, size) < SCAN_SHARE and _pixels(objects, dpi) <= MAX_IMAGE_PIXELS:
            try:
                return _compared(Sheet(page, size, dpi), found, shown, objects)
            except (MemoryError, SlowPage):  # the text itself needs little
                pass
        _hide_under_images(shown, found, objects, size)
        return PageCharacters(found.glyphs(shown), compared=False)


def _pixels(objects: PageObjects, dpi: float) -> float:
    """The number of pixels of the page's images."""
    return sum(
        (right - left) * (bottom - top) * (image.dpi / dpi) ** 2
        for image in objects.images
        for left, top, right, bottom in (image.box,)
    )


def _compared(sheet: Sheet, found: _Characters, shown: NDArray[np.bool_], objects: PageObjects) -> PageCharacters:
    """The page's characters, those `shown` compared with its ink."""
    shown = shown.copy()
    drawn, others, numbers = _drawn(found, shown, objects)
    ink = page_ink(sheet, chain.from_iterable(drawn.handles), text_alone=not others)
    shown[numbers], inked = visible(sheet, drawn, ink, others)
    empty = numbers[~shown[numbers] & ~inked]
    missing = _without_glyph(found, empty)
    shown[missing] = True
    for number in _blank(found, numbers, np.setdiff1d(empty, missing)).tolist():
        found.codes[number] = _SPACE
    fonts = frozenset(found.styles[owner].font for owner in found.owners[missing].tolist())
    return PageCharacters(found.glyphs(shown), ink, sheet, undrawn=fonts)


def drawn_characters(page: PdfiumPage, to_pixels: Transform, size: Size) -> list[Glyph]:
    """The page's characters, without a look at its ink: those that are drawn and large enough count as visible.

    Raises:
        MemoryError: there is not enough.
    """
    with _text_page(page) as text:
        count = pdfium.FPDFText_CountChars(text)
        if not 0 < count <= MAX_CHARACTERS:
            return []
        found = _read(text, count, to_pixels)
        return found.glyphs(_may_show(found, size, POINTS_PER_INCH * math.hypot(*to_pixels.direction(1, 0))))


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


def _read(text: Handle, count: int, to_pixels: Transform) -> _Characters:
    page = address(text)
    codes = [_get_unicode(page, i) for i in range(count)]
    for i, code in enumerate(codes):
        if code in _BLANKS and _is_unmapped(page, i) == 1:  # the number of a glyph that happens to be that of a space
            codes[i] = 0
    inked = [i for i, code in enumerate(codes) if code not in _BLANKS]
    numbers = np.zeros((count, 6), np.float64)
    place = numbers.ctypes.data
    for i in inked:
        at = place + 48 * i
        _get_box(page, i, at, at + 8, at + 16, at + 24)
        _get_origin(page, i, at + 32, at + 40)
    styles: list[_Style] = [_Style(1.0, 0.0, 1.0, 1.0, drawn=False)]
    handles: list[Handle | None] = [None]
    known: dict[int, int] = {}
    fonts: dict[int, tuple[bool, bool]] = {}
    objects = [_get_object(page, i) or 0 for i in inked]
    for where, i in zip(objects, inked, strict=True):
        if where not in known:
            known[where] = len(styles)
            styles.append(_style(text, i, where, to_pixels, fonts))
            handles.append(pdfium.FPDFText_GetTextObject(text, i) if where else None)
    owners = [known[where] for where in objects]
    mapped = [True] * count
    maps: dict[tuple[int, int], bool] = {}
    for i, owner in zip(inked, owners, strict=True):
        kind = owner, codes[i]
        if kind not in maps:  # one font, as everything in a text object
            maps[kind] = codes[i] in _HYPHENS or (codes[i] != 0 and _is_unmapped(page, i) != 1)
        mapped[i] = maps[kind]
    before = np.zeros(count, np.int64)  # of each character, how many are inked up to it
    before[inked] = 1
    return _Characters(
        codes,
        np.array([0, *owners])[np.cumsum(before)],
        mapped,
        _placed(numbers, to_pixels),
        styles,
        handles,
        known,
    )


def _placed(numbers: NDArray[np.float64], to_pixels: Transform) -> NDArray[np.float64]:
    """Converts left, right, bottom, top, and origin in points to left, top, right, bottom, and origin in pixels."""
    x0, x1, y0, y1, x, y = numbers.T
    left, top = to_pixels.points(x0, y0)
    right, bottom = to_pixels.points(x1, y1)
    start, base = to_pixels.points(x, y)
    return np.stack(
        [
            np.minimum(left, right),
            np.minimum(top, bottom),
            np.maximum(left, right),
            np.maximum(top, bottom),
            start,
            base,
        ],
        axis=1,
    )


def _may_show(found: _Characters, size: Size, dpi: float) -> NDArray[np.bool_]:
    """Whether characters are drawn, on the page, and large enough to read."""
    left, top, right, bottom = found.places[:, :4].T
    x, y = (left + right) / 2, (top + bottom) / 2
    inside = (x >= 0) & (x <= size.width) & (y >= 0) & (y <= size.height)
    longest = max(size.width, size.height) / dpi * POINTS_PER_INCH
    least = MIN_SIZE * dpi / POINTS_PER_INCH * (1.0 if longest >= ODD_PAGE else longest / USUAL_PAGE)
    wide, high = np.zeros(len(found.styles)), np.zeros(len(found.styles))  # of the largest character
    np.maximum.at(wide, found.owners, np.minimum(right - left, bottom - top))
    np.maximum.at(high, found.owners, np.maximum(right - left, bottom - top))
    drawn = np.array([style.drawn for style in found.styles])
    small = np.array([style.size < least for style in found.styles]) & (high < least)
    squeezed = np.array([style.em < min(least, _SQUEEZED * style.size) for style in found.styles]) & (wide < least)
    shown: NDArray[np.bool_] = inside & (drawn & ~small & ~squeezed)[found.owners]
    return shown


def _hide_under_images(shown: NDArray[np.bool_], found: _Characters, objects: PageObjects, size: Size) -> None:
    """Hides characters under images drawn after them, where the page's ink was not looked at."""
    x, y = (found.places[:, 0] + found.places[:, 2]) / 2, (found.places[:, 1] + found.places[:, 3]) / 2
    last = len(objects.text_order)
    order = np.full(len(found.handles), last)
    for where, number in found.numbers.items():
        order[number] = objects.text_order.get(where, last)
    order = order[found.owners]
    for image in objects.images:
        left, top, right, bottom = image.box
        if (right - left) * (bottom - top) >= _HIDING_SHARE * size.pixels:
            shown &= ~((order < image.order) & (left <= x) & (x <= right) & (top <= y) & (y <= bottom))


def _drawn(
    found: _Characters, shown: NDArray[np.bool_], objects: PageObjects
) -> tuple[DrawnText, list[Handle], NDArray[np.int64]]:
    """The text to compare with ink, the page's other objects, and the numbers of the text's characters."""
    has_object = np.array([handle is not None for handle in found.handles])
    blank = np.array([code in _BLANKS for code in found.codes])
    numbers = np.flatnonzero(shown & has_object[found.owners] & ~blank)
    handles = [[] if handle is None else [handle] for handle in found.handles]
    others = list(objects.shapes)
    boxes = _boxes_of_owners(found)
    for where, (handle, transform) in objects.texts.items():
        if where in found.numbers:
            continue
        # pdfium has no characters of text that is drawn again, as for bold or shadow, and none of some blanks.
        left, top, right, bottom = box = bounds(handle, transform)
        if left == right and top == bottom:
            others.append(handle)
            continue
        near = np.flatnonzero(np.abs(boxes - box).max(axis=1) <= 1 + _TWICE * (bottom - top))
        (handles[near[0]] if near.size else others).append(handle)
    codes = [found.codes[i] for i in numbers.tolist()]
    return DrawnText(found.places[numbers, :4], found.owners[numbers], codes, handles), others, numbers


def _without_glyph(found: _Characters, empty: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns those of `empty`, which have no ink, that have a character but whose font is not in the file and not on
    this machine, such as Chinese: other viewers show them.
    """
    missing: dict[tuple[int, int], bool] = {}
    chosen = []
    for number in empty.tolist():
        owner, code = int(found.owners[number]), found.codes[number]
        kind = (found.styles[owner].font, code)
        if kind not in missing:
            font = pdfium.FPDFTextObj_GetFont(found.handles[owner])
            path = pdfium.FPDFFont_GetGlyphPath(font, code, 12.0) if font else None
            outlined = path and pdfium.FPDFGlyphPath_CountGlyphSegments(path) > 0
            missing[kind] = bool(font) and pdfium.FPDFFont_GetIsEmbedded(font) == 0 and not outlined
        if missing[kind] and found.mapped[number] and code > _SPACE:
            chosen.append(number)
    return np.array(chosen, np.int64)


def _blank(found: _Characters, numbers: NDArray[np.int64], empty: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns those of `numbers` that are no hidden text but blank glyphs, as fonts code spaces as any character: most
    glyphs of a font and code are in `empty`, which have no ink. (Of clipped text, the same characters are drawn
    elsewhere.)
    """
    if not empty.size:
        return empty
    letters = {int(found.owners[number]) for number in empty.tolist() if chr(found.codes[number]).isalnum()}
    kinds = [(found.styles[owner].font, found.codes[number])
             for number, owner in zip(numbers.tolist(), found.owners[numbers].tolist(), strict=True)]  # fmt: skip
    owners = found.owners[numbers].tolist()
    is_empty = np.isin(numbers, empty).tolist()
    times = Counter(kinds)
    without = Counter(
        kind for kind, owner, no_ink in zip(kinds, owners, is_empty, strict=True) if no_ink and owner not in letters
    )
    return numbers[[2 * without[kind] > times[kind] for kind in kinds]]


def _boxes_of_owners(found: _Characters) -> NDArray[np.float64]:
    """The box of each text object in pixels."""
    inked = np.flatnonzero(found.places[:, 2] > found.places[:, 0])
    boxes = np.tile(np.array([np.inf, np.inf, -np.inf, -np.inf]), (len(found.handles), 1))
    np.minimum.at(boxes[:, :2], found.owners[inked], found.places[inked, :2])
    np.maximum.at(boxes[:, 2:], found.owners[inked], found.places[inked, 2:4])
    return boxes


def _char(code: int) -> str:
    if code in _HYPHENS:
        return "-"
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else "\ufffd"


def _style(text: Handle, index: int, owner: int, to_pixels: Transform, fonts: dict[int, tuple[bool, bool]]) -> _Style:
    """The style of a character's text object, which has the address `owner`, or 0. `fonts`: whether those seen before
    are bold and italic.
    """
    page = address(text)
    a, b, c, d = (1.0, 0.0, 0.0, 1.0)
    if _get_matrix(page, index, _MATRIX_AT):
        a, b, c, d = _MATRIX.a, _MATRIX.b, _MATRIX.c, _MATRIX.d
    ux, uy = to_pixels.direction(a, b)
    length = math.hypot(ux, uy)
    points = _get_size(page, index)
    height = math.hypot(*to_pixels.direction(c, d)) * points
    if not (math.isfinite(length) and math.isfinite(height) and length > 0):
        return _Style(1.0, 0.0, 1.0, 1.0, drawn=False)
    mode, font = _get_mode(owner), get_font(owner) or 0
    if font not in fonts:
        fonts[font] = _weight_and_slant(text, index)
    bold, italic = fonts[font]
    bold = bold or mode in _STROKED_MODES
    em = min(height, length * points)
    return _Style(
        ux / length, uy / length, height, em, mode not in _INVISIBLE_MODES, bold, italic, font, _actual_text(owner)
    )


def _actual_text(owner: int) -> int:
    """The text object's address, if the file says its text and that is longer than a ligature's; else 0."""
    for at in range(_count_marks(owner) if owner else 0):
        length = ctypes.c_ulong()
        if _get_mark_text(_get_mark(owner, at), b"ActualText", None, 0, ctypes.addressof(length)):
            return owner if length.value >= 2 * (_LIGATURE + 2) else 0
    return 0


def _weight_and_slant(text: Handle, index: int) -> tuple[bool, bool]:
    """Whether the character's font is bold, and whether it is italic: by its name, weight and flags."""
    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    length = pdfium.FPDFText_GetFontInfo(text, index, name, _NAME_BYTES, flags)
    family = name.value.decode("utf-8", "replace") if 0 < length <= _NAME_BYTES else ""
    bold = pdfium.FPDFText_GetFontWeight(text, index) >= _BOLD_WEIGHT or bool(flags.value & _FORCE_BOLD)
    italic = bool(flags.value & _ITALIC)
    return bold or bool(_BOLD_NAME.search(family)), italic or bool(_ITALIC_NAME.search(family))
