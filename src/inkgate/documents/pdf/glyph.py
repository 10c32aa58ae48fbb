"""A character on a page: the interface between pdfium's characters and the code that builds lines."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple


class Glyph(NamedTuple):
    """One character and its position, in pixels of the rendered page.

    A named tuple, because pages have thousands, and creating a frozen dataclass takes four times as long.

    Attributes:
        text: one character as the font maps it; a space for any white space, drawn or inferred; a line feed where the
            file continues at another position.
        left, top, right, bottom: around its ink.
        x, y: its origin, on the baseline.
        ux, uy: unit vector along the baseline, in reading direction.
        size: of its font.
        visible: drawn inside the page, where people see it.
        mapped: the font maps it to a character.
        bold, italic: its font is.
        font: a number of its font, the same for all characters of a font on the page.
        actual_text: a number of its text object if the file says its text apart from its font's map (`ActualText`),
        else 0.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    x: float
    y: float
    ux: float
    uy: float
    size: float
    visible: bool = True
    mapped: bool = True
    bold: bool = False
    italic: bool = False
    font: int = 0
    actual_text: int = 0


FIRST_CJK, FIRST_RIGHT_TO_LEFT = "\u2e80", "\u0590"
"""The least characters of those scripts. Comparing with these is faster than a call."""


@lru_cache(maxsize=8192)
def is_cjk(char: str) -> bool:
    """Han, kana and their punctuation: scripts written without spaces, in squares. (Hangul has spaces.)"""
    code = ord(char)
    return (
        0x2E80 <= code <= 0x31FF
        or 0x3400 <= code <= 0x4DBF
        or 0x4E00 <= code <= 0x9FFF
        or 0xF900 <= code <= 0xFAFF
        or 0xFF00 <= code <= 0xFF60
        or 0x20000 <= code <= 0x3FFFF
    )


def is_right_to_left(char: str) -> bool:
    """Letters of Hebrew, Arabic and their like."""
    return char >= FIRST_RIGHT_TO_LEFT and unicodedata.bidirectional(char) in {"R", "AL"}
