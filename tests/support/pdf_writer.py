"""Writes small PDF files byte by byte: the minimum that a test needs."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, field

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

FORM_RESOURCES = b" /Resources << /Font << /F1 3 0 R >> >>"

LOREM = (
    "The harbour lay quiet in the early light",
    "and nothing moved but the gulls above it.",
    "Three boats had come in during the night,",
    "their nets still wet, their lamps put out.",
)


@dataclass
class PdfWriter:
    """Collects objects and pages; `build` writes the file. `catalog`: entries of its catalog."""

    pages: list[int] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=lambda: [b"", b"", HELVETICA])
    fields: list[int] = field(default_factory=list)
    layers: list[tuple[int, bool]] = field(default_factory=list)
    catalog: bytes = b""

    def add(self, body: bytes) -> int:
        """Adds an object; returns its number."""
        self.objects.append(body)
        return len(self.objects)

    def add_stream(self, data: bytes, entries: bytes = b"") -> int:
        packed = zlib.compress(data)
        head = b"<< /Length %d /Filter /FlateDecode %s >>" % (len(packed), entries)
        return self.add(head + b"\nstream\n" + packed + b"\nendstream")

    def add_image(self, width: int, height: int, gray: bytes) -> int:
        entries = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8"
        return self.add_stream(gray, entries % (width, height))

    def add_page(
        self,
        content: bytes,
        size: tuple[float, float] = (300, 400),
        *,
        rotate: int = 0,
        images: tuple[int, ...] = (),
        fonts: tuple[int, ...] = (),
        resources: bytes = b"",
        entries: bytes = b"",
    ) -> int:
        """A page with `content`, Helvetica as /F1, `fonts` as /F2, /F3 and so on, and `images` or forms as /I0, /I1
        and so on; returns its object's number. `resources` and `entries` are added to its dictionaries.
        """
        names = b" ".join(b"/I%d %d 0 R" % (i, number) for i, number in enumerate(images))
        number = self.add(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Rotate %d /Contents %d 0 R"
            b" /Resources << /Font << %s >> /XObject << %s >> %s >> %s >>"
            % (*size, rotate, self.add_stream(content), font_names(fonts), names, resources, entries)
        )
        self.pages.append(number)
        return number

    def add_text_field(self, value: str, box: tuple[float, float, float, float]) -> int:
        """A filled text field; put it in a page's /Annots. Returns its number."""
        width, height = box[2] - box[0], box[3] - box[1]
        looks = self.add_stream(
            b"/Tx BMC " + text_at(4, 5, value, 12) + b" EMC",
            b"/Type /XObject /Subtype /Form /BBox [0 0 %g %g] /Resources << /Font << /F1 3 0 R >> >>" % (width, height),
        )
        number = self.add(
            b"<< /Type /Annot /Subtype /Widget /FT /Tx /F 4 /T (field%d) /V (%s) /DA (/F1 12 Tf 0 g)"
            b" /Rect [%g %g %g %g] /AP << /N %d 0 R >> >>" % (len(self.fields), value.encode(), *box, looks)
        )
        self.fields.append(number)
        return number

    def add_form(self, content: bytes, box: tuple[float, float, float, float], entries: bytes = b"") -> int:
        """A form that pages show like an image; `entries` are added to its dictionary."""
        head = b"/Type /XObject /Subtype /Form /BBox [%g %g %g %g] %s" % (*box, entries)
        return self.add_stream(content, head if b"/Resources" in entries else head + FORM_RESOURCES)

    def add_font(self, name: str) -> int:
        """One of the 14 standard fonts."""
        return self.add(HELVETICA.replace(b"Helvetica", name.encode()))

    def add_layer(self, *, on: bool) -> int:
        """An optional content group."""
        number = self.add(b"<< /Type /OCG /Name (layer) >>")
        self.layers.append((number, on))
        return number

    def build(self, *, trailer: bytes = b"") -> bytes:
        """The file, with an exact cross-reference table. `trailer` adds entries to the trailer."""
        fields = b" ".join(b"%d 0 R" % number for number in self.fields)
        form = b"/AcroForm << /Fields [%s] /DR << /Font << /F1 3 0 R >> >> >>" % fields if self.fields else b""
        if self.layers:
            every, off = (
                b" ".join(b"%d 0 R" % number for number, on in self.layers if not (only_off and on))
                for only_off in (False, True)
            )
            form += b"/OCProperties << /OCGs [%s] /D << /OFF [%s] /Order [%s] >> >>" % (every, off, every)
        self.objects[0] = b"<< /Type /Catalog /Pages 2 0 R %s %s >>" % (form, self.catalog)
        kids = b" ".join(b"%d 0 R" % number for number in self.pages)
        self.objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(self.pages))
        data, offsets = b"%PDF-1.7\n", []
        for number, body in enumerate(self.objects, start=1):
            offsets.append(len(data))
            data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        count = len(self.objects) + 1
        head = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n" % (count, table)
        end = b"<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (count, trailer, len(data))
        return data + head + end


def font_names(fonts: tuple[int, ...]) -> bytes:
    """Helvetica as /F1, and `fonts`, for a dictionary of resources."""
    return b" ".join(b"/F%d %d 0 R" % (i, number) for i, number in enumerate((3, *fonts), start=1))


def text_at(x: float, y: float, text: str, size: float = 12, *, mode: int = 0, font: int = 1) -> bytes:
    """Operators that write one line of `text` with its baseline from (x, y), in points from the bottom left."""
    escaped = text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")
    return b"BT /F%d %g Tf %d Tr %g %g Td (%s) Tj ET\n" % (font, size, mode, x, y, escaped)


def paragraph(lines: tuple[str, ...] = LOREM, top: float = 350, size: float = 12, *, mode: int = 0) -> bytes:
    """`lines` from `top` downwards."""
    rows = (text_at(30, top - 1.4 * size * row, line, size, mode=mode) for row, line in enumerate(lines))
    return b"".join(rows)


def image_at(name: int, x: float, y: float, width: float, height: float) -> bytes:
    """Operators that show image /I<name> in a rectangle."""
    return b"q %g 0 0 %g %g %g cm /I%d Do Q\n" % (width, height, x, y, name)


def text_pdf(*pages: bytes) -> bytes:
    """A PDF with a page for each content stream."""
    writer = PdfWriter()
    for content in pages:
        writer.add_page(content)
    return writer.build()


def encrypted_pdf() -> bytes:
    """A PDF that needs an unknown password (its keys are made up)."""
    writer = PdfWriter()
    writer.add_page(paragraph())
    lock = b"/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <%s> /U <%s> >> /ID [<%s> <%s>]"
    return writer.build(trailer=lock % (b"1f" * 32, b"2e" * 32, b"3d" * 16, b"3d" * 16))


def locked_pdf(password: str, *contents: bytes) -> bytes:
    """A PDF of pages with `contents` that `password` opens: the standard handler's revision 2, 40 bits of RC4.

    Source: ISO 32000-1, 7.6.3.
    """
    writer = PdfWriter()
    for content in contents:
        writer.add_page(content)
    padded = (password.encode("latin-1") + _PADDING)[:32]
    owner = _rc4(_md5(padded)[:5], padded)
    permissions, identity = struct.pack("<i", -4), b"\x3d" * 16
    key = _md5(padded + owner + permissions + identity)[:5]
    for index, body in enumerate(writer.objects):
        head, is_stream, rest = body.partition(b"\nstream\n")
        if is_stream:
            own = _md5(key + struct.pack("<I", index + 1)[:3] + bytes(2))[:10]
            locked = _rc4(own, rest.removesuffix(b"\nendstream"))
            writer.objects[index] = head + is_stream + locked + b"\nendstream"
    lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<%s> <%s>]"
    user = _rc4(key, _PADDING)
    return writer.build(trailer=lock % tuple(part.hex().encode() for part in (owner, user, identity, identity)))


_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def pdf_with_missing_page() -> bytes:
    """Three pages, the second of which is listed but not in the file."""
    writer = PdfWriter()
    writer.add_page(paragraph())
    writer.pages.append(9999)
    writer.add_page(paragraph())
    return writer.build()
