"""Normalizes a font's characters to text characters. Pure."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

SOFT_HYPHEN = "\xad"
_BULLETS = {"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf076": "❖", "\uf0e0": "→", "\uf06f": "o"}
"""List bullets of Symbol and Wingdings, which PDFs map to private use characters."""
_MARKS = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "˘": "\u0306", "ˇ": "\u030c",
    "¸": "\u0327", "˚": "\u030a", "˙": "\u0307", "˝": "\u030b", "˛": "\u0328", "¯": "\u0304",
}  # fmt: skip
ACCENTS = frozenset(_MARKS)
"""Spacing accents."""
_VERTICAL = "<vertical> "
_COLON = "\ufe30"
"""Named a leader of two dots, but fonts of traditional Chinese use it as a colon."""
_DOTLESS = {"ı": "i", "ȷ": "j"}
_DROPPED = {"Cc", "Cf", "Cs", "Cn", "Co"}
_JOINERS = {"\u200c", "\u200d"}
"""Joiners, which Persian and Indic spelling needs."""


@lru_cache(maxsize=4096)
def readable(char: str) -> str:
    """`char` with ligatures, Arabic presentation forms and forms for vertical text as usual characters; empty if it is
    not text.
    """
    if char in _BULLETS:
        return _BULLETS[char]
    code = ord(char)
    if 0xFB00 <= code <= 0xFDFF or 0xFE70 <= code <= 0xFEFC or 0x2E80 <= code <= 0x2FDF:
        return unicodedata.normalize("NFKC", char).strip()
    if 0xFE10 <= code <= 0xFE4F and char != _COLON and unicodedata.decomposition(char).startswith(_VERTICAL):
        return chr(int(unicodedata.decomposition(char).removeprefix(_VERTICAL).split()[0], 16))
    if char == SOFT_HYPHEN:
        return "-"
    if char in _JOINERS:
        return char
    return "" if unicodedata.category(char) in _DROPPED or char == "\ufffd" else char


def accent_of(text: str) -> str:
    """The combining mark for a spacing accent, or an empty string."""
    return _MARKS.get(text, "")


def composed(letter: str, mark: str) -> str | None:
    """The letter with the mark as one character; None if there is none."""
    text = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + mark)
    return text if len(text) == 1 else None
