"""Whether a page's own text may stand for the page. Pure.

A page is read from its text layer only when nothing speaks against it: reading pixels is slower but always possible,
while wrong or missing text is believed. So:

- Text that is not seen (invisible, or under an image) never counts. That is what scanners leave behind: somebody's
  earlier OCR, mostly worse than ours (of the scans looked at, one had a tenth of its characters wrong, one ran its
  words together).
- Characters must be mapped by their fonts and look like writing (letters.py).
- Images that the text doesn't explain, and letters drawn as outlines, may hold text that the layer lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.letters import looks_written
from inkgate.documents.pdf.normalize import readable
from inkgate.documents.pdf.objects import PageObjects
from inkgate.documents.pdf.outlines import outlined_letters
from inkgate.types import Box, Line, Size

MIN_CHARACTERS = 16
"""Visible ones, spaces apart. A page with fewer has a number, a stamp, or nothing: OCR is quick there."""
MAX_UNREADABLE = 0.04
"""Share of characters that fonts don't map, or map to nothing. Mathematics has up to 0.01."""
MIN_ALPHANUMERIC = 0.4
"""Share of letters and digits, leaders left out. Mathematics has 0.7."""
MAX_UNEXPLAINED = 0.2
"""Share of the page under images without text on them. Logos and small figures stay below."""
SCAN_SHARE = 0.85
"""Share of the page under images from which it is a scan, or a picture with captions."""
MAX_OUTLINES = 0.1
"""Letters drawn as outlines (outlines.py), for each character of text: a logo is nothing, a title on a cover is."""
MIN_OUTLINES = 12
_LEADERS = ".·•_-–—…"
"""What tables of contents and forms fill their lines with."""
_GRID = 100


class TextTrust(StrEnum):
    """`trusted`, or why not."""

    TRUSTED = "trusted"
    EMPTY = "too few characters"
    UNMAPPED = "characters that fonts don't map"
    GARBLED = "letters that make no sense"
    SCAN = "an image covers the page"
    IMAGES = "images without text on them"
    OUTLINES = "letters drawn as outlines"


def judge(visible: Sequence[Glyph], lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    """What speaks against taking `lines`, made of the `visible` characters, for the page's text."""
    inked = [glyph for glyph in visible if not glyph.text.isspace()]
    if len(inked) < MIN_CHARACTERS:
        return TextTrust.EMPTY
    if sum(not _is_readable(glyph) for glyph in inked) > MAX_UNREADABLE * len(inked):
        return TextTrust.UNMAPPED
    telling = [glyph.text for glyph in inked if glyph.text not in _LEADERS]
    if sum(char.isalnum() for char in telling) < MIN_ALPHANUMERIC * len(telling):
        return TextTrust.GARBLED
    if not looks_written(glyph.text for glyph in visible):
        return TextTrust.GARBLED
    if outlined_letters(objects.outlines, size) > max(MIN_OUTLINES, MAX_OUTLINES * len(inked)):
        return TextTrust.OUTLINES
    return _images(lines, objects, size)


def _is_readable(glyph: Glyph) -> bool:
    return glyph.mapped and readable(glyph.text) != ""


def _images(lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    images = _painted([image.box for image in objects.images], size)
    if images.mean() >= SCAN_SHARE:
        return TextTrust.SCAN
    around: list[Box] = []
    for line in lines:
        left, top, right, bottom = line.box
        reach = 0.7 * min(bottom - top, right - left)  # the space between lines belongs to the text
        around.append((left - reach, top - reach, right + reach, bottom + reach))
    unexplained = images & ~_painted(around, size)
    return TextTrust.IMAGES if unexplained.mean() > MAX_UNEXPLAINED else TextTrust.TRUSTED


def _painted(boxes: Sequence[Box], size: Size) -> NDArray[np.bool_]:
    """A coarse map of the page, (100, 100) bool: True where one of `boxes` is."""
    grid = np.zeros((_GRID, _GRID), np.bool_)
    across, along = _GRID / size.width, _GRID / size.height
    for left, top, right, bottom in boxes:
        columns = slice(max(0, round(left * across)), max(0, round(right * across)))
        rows = slice(max(0, round(top * along)), max(0, round(bottom * along)))
        grid[rows, columns] = True
    return grid


def image_resolution(objects: PageObjects, size: Size) -> float | None:
    """The resolution of a page that is nothing but scanned images, in dots per inch; None for every other page."""
    if objects.text_order or objects.others:
        return None
    large = [image for image in objects.images if _share(image.box, size) >= 0.1]
    if not large or _painted([image.box for image in large], size).mean() < SCAN_SHARE:
        return None
    return max(image.dpi for image in large)


def _share(box: Box, size: Size) -> float:
    return (box[2] - box[0]) * (box[3] - box[1]) / size.pixels
