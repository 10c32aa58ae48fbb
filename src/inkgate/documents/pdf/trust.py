"""Decides whether a page's text layer can replace OCR. Pure.

The text layer is used only if nothing speaks against it: OCR is slower but always possible, while users would trust
wrong or missing text. So:

- Invisible text, or text under an image, never counts. Scanners add it by their own OCR, which is mostly worse than
  inkgate's (in the scans examined, one had a tenth of its characters wrong, one had no spaces between words).
- Fonts must map the characters, and the characters must look like a language (letters.py).
- Images without text on them, and letters drawn as outlines, may contain text that the layer lacks.
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
"""Minimum visible characters, without spaces. Pages with fewer have a number, a stamp, or nothing: OCR is quick."""
MAX_UNREADABLE = 0.04
"""Maximum share of characters that fonts don't map, or map to nothing. Mathematics has up to 0.01."""
MIN_ALPHANUMERIC = 0.4
"""Minimum share of letters and digits, without leaders. Mathematics has 0.7."""
MAX_UNEXPLAINED = 0.2
"""Maximum share of the page under images without text on them. Logos and small figures stay below."""
SCAN_SHARE = 0.85
"""Share of the page under images from which it counts as a scan, or a picture with captions."""
MAX_OUTLINES = 0.1
"""Maximum letters drawn as outlines (outlines.py) per character of text: a logo stays below, not a cover's title."""
MIN_OUTLINES = 12
_LEADERS = ".·•_-–—…"
"""Fill characters of tables of contents and forms."""
_GRID = 100


class TextTrust(StrEnum):
    """`trusted`, or the reason why not."""

    TRUSTED = "trusted"
    EMPTY = "too few characters"
    UNMAPPED = "characters that fonts don't map"
    GARBLED = "letters that make no sense"
    SCAN = "an image covers the page"
    IMAGES = "images without text on them"
    OUTLINES = "letters drawn as outlines"


def judge(visible: Sequence[Glyph], lines: Sequence[Line], objects: PageObjects, size: Size) -> TextTrust:
    """Judges whether `lines`, made of the `visible` characters, are the page's text."""
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
        reach = 0.7 * min(bottom - top, right - left)  # space between lines counts as text
        around.append((left - reach, top - reach, right + reach, bottom + reach))
    unexplained = images & ~_painted(around, size)
    return TextTrust.IMAGES if unexplained.mean() > MAX_UNEXPLAINED else TextTrust.TRUSTED


def _painted(boxes: Sequence[Box], size: Size) -> NDArray[np.bool_]:
    """A coarse map of the page, (100, 100) bool: True within `boxes`."""
    grid = np.zeros((_GRID, _GRID), np.bool_)
    across, along = _GRID / size.width, _GRID / size.height
    for left, top, right, bottom in boxes:
        columns = slice(max(0, round(left * across)), max(0, round(right * across)))
        rows = slice(max(0, round(top * along)), max(0, round(bottom * along)))
        grid[rows, columns] = True
    return grid


def image_resolution(objects: PageObjects, size: Size) -> float | None:
    """The resolution in dots per inch of a page with only scanned images; None for other pages."""
    if objects.text_order or objects.others:
        return None
    large = [image for image in objects.images if _share(image.box, size) >= 0.1]
    if not large or _painted([image.box for image in large], size).mean() < SCAN_SHARE:
        return None
    return max(image.dpi for image in large)


def _share(box: Box, size: Size) -> float:
    return (box[2] - box[0]) * (box[3] - box[1]) / size.pixels
