"""A font without shapes, whose characters a PDF reader finds but does not draw. Pure.

Text of any script has two-byte codes: a character of the Basic Multilingual Plane its own code point, any other one of
the 2,048 codes of surrogates, which no text has as characters. All codes show glyph 1, which is half an em wide and an
em high. PDF/A-2 (ISO 19005-2, 6.2.11) asks for an embedded font and no reference to glyph 0, even of invisible text.
"""

from __future__ import annotations

import struct

NAME = "InkgateGlyphless"
WIDTH = 500
"""The width of a glyph, in thousandths of an em."""
_EM = 1000
_FIRST_SPARE, _SPARE_CODES = 0xD800, 0x800
_UNKNOWN = 0xFFFD
_CODES = 0x10000
_RANGES_IN_BLOCK = 100
"""Maximum entries of a block of a CMap (Adobe Technical Note 5014)."""


class CharacterCodes:
    """The two-byte codes of one document's characters."""

    def __init__(self) -> None:
        self._spare: dict[str, int] = {}

    def encode(self, text: str) -> bytes:
        """The codes of `text`, two bytes a character."""
        if text.isascii():
            return text.encode("utf-16-be")
        return b"".join(self._code(char).to_bytes(2, "big") for char in text)

    def _code(self, char: str) -> int:
        point = ord(char)
        if point < _CODES:
            return _UNKNOWN if _FIRST_SPARE <= point < _FIRST_SPARE + _SPARE_CODES else point
        if char not in self._spare and len(self._spare) == _SPARE_CODES:
            return _UNKNOWN
        return self._spare.setdefault(char, _FIRST_SPARE + len(self._spare))

    def to_unicode(self) -> bytes:
        """The CMap from codes to text (ISO 32000-1, 9.10.3)."""
        # A range must not change the first byte of a code.
        spare = range(_FIRST_SPARE >> 8, (_FIRST_SPARE + _SPARE_CODES) >> 8)
        ranges = [f"<{high:02X}00> <{high:02X}FF> <{high:02X}00>" for high in range(256) if high not in spare]
        singles = [f"<{code:04X}> <{char.encode('utf-16-be').hex().upper()}>" for char, code in self._spare.items()]
        return "\n".join([_CMAP_HEAD, *_blocks("bfrange", ranges), *_blocks("bfchar", singles), _CMAP_END]).encode()


def glyph_of_code() -> bytes:
    """The CIDToGIDMap: glyph 1 for every code."""
    return b"\x00\x01" * _CODES


def font_file() -> bytes:
    """The font as TrueType with the tables that a PDF needs (ISO 32000-1, 9.9). Glyph 1 is a stroke without area: a
    selection in a viewer needs the box around it.
    """
    # One contour of two points, (0, 0) and (WIDTH, _EM).
    stroke = struct.pack(">hhhhhHHBBhh", 1, 0, 0, WIDTH, _EM, 1, 0, 0x31, 0x01, WIDTH, _EM)
    head = struct.pack(
        ">IIIIHHqqhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, _EM, 0, 0, 0, 0, WIDTH, _EM, 0, 8, 2, 0, 0
    )
    hhea = struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, _EM, 0, 0, WIDTH, 0, 0, WIDTH, 1, 0, 0, 0, 0, 0, 0, 0, 2)
    maxp = struct.pack(">IHHHHHHHHHHHHHH", 0x10000, 2, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    hmtx = struct.pack(">HhHh", WIDTH, 0, WIDTH, 0)
    loca = struct.pack(">HHH", 0, 0, len(stroke) // 2)
    tables = {b"glyf": stroke, b"head": head, b"hhea": hhea, b"hmtx": hmtx, b"loca": loca, b"maxp": maxp}
    font = _with_directory(tables)
    adjustment = (0xB1B0AFBA - _checksum(font)) % 2**32
    at = font.index(head)
    return font[: at + 8] + struct.pack(">I", adjustment) + font[at + 12 :]


def _with_directory(tables: dict[bytes, bytes]) -> bytes:
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    directory = struct.pack(">IHHHH", 0x10000, count, power * 16, power.bit_length() - 1, (count - power) * 16)
    body, offset = b"", len(directory) + 16 * count
    for tag, data in tables.items():
        padded = data + b"\0" * (-len(data) % 4)
        directory += struct.pack(">4sIII", tag, _checksum(padded), offset + len(body), len(data))
        body += padded
    return directory + body


def _checksum(data: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f">{len(data) // 4}I", data)
    return sum(words) % 2**32


def _blocks(kind: str, entries: list[str]) -> list[str]:
    parts: list[str] = []
    for start in range(0, len(entries), _RANGES_IN_BLOCK):
        some = entries[start : start + _RANGES_IN_BLOCK]
        parts += [f"{len(some)} begin{kind}", *some, f"end{kind}"]
    return parts


_CMAP_HEAD = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /InkgateUnicode def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange"""
_CMAP_END = """endcmap
CMapName currentdict /CMap defineresource pop
end
end"""
