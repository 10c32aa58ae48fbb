"""The direction in which a text is written, for every format that says it: HTML, hOCR, ALTO, Word."""

from __future__ import annotations

import unicodedata

_FIRST = "\u0590"
"""The first character of the scripts that are written from right to left."""


def has_right_to_left(text: str) -> bool:
    """False if the text has no letters of such scripts; True if it may. Quick."""
    return bool(text) and max(text) >= _FIRST


def runs_from_right(text: str) -> bool:
    """Whether most of the text's letters are of scripts written from right to left: Arabic, Hebrew, Persian."""
    if not has_right_to_left(text):
        return False
    letters = [char for char in text if char.isalpha()]
    right = sum(char >= _FIRST and unicodedata.bidirectional(char) in {"R", "AL"} for char in letters)
    return 2 * right > len(letters)
