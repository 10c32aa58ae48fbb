"""Finds QR codes and bar codes in a page's pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import cv2
import numpy as np
import zxingcpp

from inkgate.codes.contents import content_of
from inkgate.page import RgbArray
from inkgate_client.types import Barcode, Quad

FORMATS: Final = zxingcpp.barcode_formats_from_str(
    "QRCode,MicroQRCode,RMQRCode,DataMatrix,Aztec,PDF417,Code128,Code39,Code93,EANUPC,ITF"
)
"""Formats that are looked for: not Codabar and Telepen, whose few bars are found in tables and drawings."""
MAX_CODES: Final = 50
"""Codes of a page."""
SHORTEST: Final = {"ITF": 14, "Code39": 6, "Code93": 6, "Code128": 4}
"""Characters: strokes of tables and letters are read as shorter codes of these formats, which have weak check digits
or none.
"""
_LONGEST: Final = 8000
"""Characters of a content: the largest QR code has 7,089."""


def find_codes(pixels: RgbArray) -> list[Barcode]:
    """Codes of an image in any direction, top to bottom and left to right, in its pixels. Blocking; safe from many
    threads. Takes some 40 ms for a page of 1,700 x 2,200 pixels.
    """
    if min(pixels.shape[:2]) < 10:
        return []
    grey = np.ascontiguousarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY))
    # Inverted codes take 20 % more time, and are rare on paper.
    found = zxingcpp.read_barcodes(grey, formats=FORMATS, text_mode=zxingcpp.TextMode.Plain, try_invert=False)
    codes = [code for each in found[:MAX_CODES] if (code := _code(each)) is not None]
    return sorted(codes, key=lambda code: (code.quad[0][1], code.quad[0][0]))


def _code(found: zxingcpp.Barcode) -> Barcode | None:
    text, name = found.text, str(found.format).replace(" ", "").replace("-", "")
    if not text.strip() or len(text) > _LONGEST or len(text) < SHORTEST.get(name, 1):
        return None
    content, parsed = content_of(text)
    first, second, third, fourth = _corners(found)
    quad: Quad = (first, second, third, fourth)
    return Barcode(name, text, quad, content, parsed)


def _corners(found: zxingcpp.Barcode) -> Iterator[tuple[float, float]]:
    place = found.position
    for corner in (place.top_left, place.top_right, place.bottom_right, place.bottom_left):
        yield (float(corner.x), float(corner.y))
