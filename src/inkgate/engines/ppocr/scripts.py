"""Finds characters that are written without spaces between words."""

from __future__ import annotations

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x31FF),  # CJK radicals and punctuation, Kana, Bopomofo
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),  # full-width forms
    (0x20000, 0x3FFFF),
)
"""Unicode blocks of scripts that are written without spaces between words."""


def unspaced(character: str) -> bool:
    """Whether the character's script is written without spaces between words."""
    code = ord(character)
    return any(first <= code <= last for first, last in _UNSPACED)
