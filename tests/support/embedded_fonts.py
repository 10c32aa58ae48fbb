"""Embeds TrueType and OpenType fonts in PDFs, with any map from glyphs to characters, right or wrong."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from support.pdf_writer import PdfWriter

_MAP_HEAD = (
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n"
    "1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
)
_USUAL = string.printable + "äöüßéﬀﬁﬂ•■▪●◦§\u2002\u2003\u2004\u2005\u2006\u2007"
"""In every subset, because making one takes a tenth of a second: most PDFs then share a font's."""
_MAP_BLOCK = 100
"""Most entries of a bfchar block (Adobe Technical Note 5411)."""


@dataclass(frozen=True)
class EmbeddedFont:
    """A font in a PDF.

    Attributes:
        number: its object's number, for a page's fonts.
        name: in content streams, such as b"F2".
        glyphs: of each character that it can draw.
        widths: of each character, in ems.
    """

    number: int
    name: bytes
    glyphs: Mapping[str, int]
    widths: Mapping[str, float]

    def text_at(self, x: float, y: float, text: str, size: float = 12) -> bytes:
        """Operators that draw `text` with its baseline from (x, y), in points from the bottom left."""
        codes = "".join(f"{self.glyphs[char]:04X}" for char in text)
        return b"BT /%s %g Tf %g %g Td <%s> Tj ET\n" % (self.name, size, x, y, codes.encode())

    def width(self, text: str, size: float = 12) -> float:
        return size * sum(self.widths[char] for char in text)


def embed(
    writer: PdfWriter, font: Path, drawn: str, mapped: Mapping[str, str | None] | None = None, name: bytes = b"F2"
) -> EmbeddedFont:
    """Embeds those glyphs of `font` that draw the characters `drawn`.

    The text layer has for each of them what `mapped` says (nothing where that is None), or else the character itself.
    """
    data, file = _subset(font, "".join(sorted({*drawn, *_USUAL})))
    cmap, order, metrics = file.getBestCmap(), file.getReverseGlyphMap(), file["hmtx"]
    ems = file["head"].unitsPerEm
    names = {char: cmap[ord(char)] for char in {*drawn, " "} if ord(char) in cmap}
    glyphs = {char: order[glyph] for char, glyph in names.items()}
    widths = {char: metrics[glyph][0] / ems for char, glyph in names.items()}
    descendant = _descendant(writer, file, data, {glyphs[char]: widths[char] for char in glyphs})
    texts = {glyphs[char]: (mapped or {}).get(char, char) for char in glyphs}
    number = writer.add(
        b"<< /Type /Font /Subtype /Type0 /BaseFont /AAAAAA+Subset /Encoding /Identity-H /DescendantFonts [%d 0 R]"
        b" /ToUnicode %d 0 R >>" % (descendant, writer.add_stream(_unicode_map(texts)))
    )
    return EmbeddedFont(number, name, glyphs, widths)


@lru_cache(maxsize=64)
def _subset(font: Path, drawn: str) -> tuple[bytes, TTFont]:
    """The file of a subset, and the subset."""
    file = TTFont(BytesIO(font.read_bytes()))
    options = Options(
        layout_features=[],
        notdef_outline=True,
        hinting=False,
        name_IDs=[],
        drop_tables=["DSIG", "FFTM", "GSUB", "GPOS", "PCLT"],
    )
    subsetter = Subsetter(options)
    subsetter.populate(text=drawn)
    subsetter.subset(file)
    written = BytesIO()
    file.save(written)
    return written.getvalue(), TTFont(BytesIO(written.getvalue()))


def _descendant(writer: PdfWriter, file: TTFont, data: bytes, widths: Mapping[int, float]) -> int:
    """The font's descendant, whose character codes are glyph numbers (ISO 32000-1, 9.7.4)."""
    is_truetype = "glyf" in file
    entries = b"/Length1 %d" % len(data) if is_truetype else b"/Subtype /OpenType"
    key, kind = (
        (b"FontFile2", b"CIDFontType2 /CIDToGIDMap /Identity") if is_truetype else (b"FontFile3", b"CIDFontType0")
    )
    head = file["head"]
    box = b" ".join(b"%d" % (value * 1000 // head.unitsPerEm) for value in (head.xMin, head.yMin, head.xMax, head.yMax))
    descriptor = writer.add(
        b"<< /Type /FontDescriptor /FontName /AAAAAA+Subset /Flags 4 /FontBBox [%s] /ItalicAngle 0 /Ascent 800"
        b" /Descent -200 /CapHeight 700 /StemV 80 /%s %d 0 R >>" % (box, key, writer.add_stream(data, entries))
    )
    advances = b" ".join(b"%d [%d]" % (glyph, round(1000 * width)) for glyph, width in sorted(widths.items()))
    return writer.add(
        b"<< /Type /Font /Subtype /%s /BaseFont /AAAAAA+Subset /FontDescriptor %d 0 R /W [%s]"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>" % (kind, descriptor, advances)
    )


def _unicode_map(texts: Mapping[int, str | None]) -> bytes:
    """A ToUnicode map (ISO 32000-1, 9.10.3)."""
    rows = [
        f"<{glyph:04X}> <{text.encode('utf-16-be').hex().upper()}>" for glyph, text in sorted(texts.items()) if text
    ]
    blocks = (rows[start : start + _MAP_BLOCK] for start in range(0, len(rows), _MAP_BLOCK))
    written = "".join("{} beginbfchar\n{}\nendbfchar\n".format(len(block), "\n".join(block)) for block in blocks)
    return f"{_MAP_HEAD}{written}endcmap end end\n".encode()
