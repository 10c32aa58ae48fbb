"""Detects a file's type from its bytes: names and Content-Types are often wrong, and never trusted."""

from __future__ import annotations

import re
from enum import StrEnum

from inkgate.errors import InputRejected


class FileType(StrEnum):
    """Supported file types; the value is the media type."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    WEBP = "image/webp"
    TIFF = "image/tiff"
    BMP = "image/bmp"
    GIF = "image/gif"
    AVIF = "image/avif"
    HEIC = "image/heic"
    PDF = "application/pdf"

    @property
    def label(self) -> str:
        """The name for messages."""
        return {FileType.WEBP: "WebP"}.get(self, self.name)


_MAGIC: tuple[tuple[bytes, FileType], ...] = (
    (b"\xff\xd8\xff", FileType.JPEG),
    (b"\x89PNG\r\n\x1a\n", FileType.PNG),
    (b"II*\x00", FileType.TIFF),
    (b"MM\x00*", FileType.TIFF),
    (b"II+\x00", FileType.TIFF),
    (b"MM\x00+", FileType.TIFF),
    (b"GIF87a", FileType.GIF),
    (b"GIF89a", FileType.GIF),
)
# Sizes of the header that follows a BMP's first 14 bytes: Many texts begin with "BM".
_BMP_HEADERS = frozenset({12, 16, 40, 52, 56, 64, 108, 124})
# Brands of ISO base media files (https://mp4ra.org/registered-types/brands).
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1"})
_PDF_HEADER_WITHIN = 1024  # as PDF readers do (ISO 32000-1, annex H, implementation note 13)
_LATE_PDF_HEADER = re.compile(rb"%PDF-[12]\.\d\s")
_LATE_PDF_HEADER_WITHIN = 2**20
_PDF_OBJECT = re.compile(rb"(?:[\s\0]|%[^\r\n]{0,200}[\r\n]){0,200}\d{1,9}\s{1,9}\d{1,5}\s{1,9}obj\b")
_PDF_END_WITHIN = 4096

# Unsupported files that are sent in practice. Special cases come before general patterns.
_LOOKALIKES: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (rb"PK\x03\x04.{0,2000}(?:word/|xl/|ppt/|\[Content_Types\])", "an Office document (save it as PDF)"),
        (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", "an OpenDocument file (save it as PDF)"),
        (rb"PK\x03\x04.{26}mimetypeapplication/epub", "an EPUB book"),
        (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", "a ZIP archive (an Office document?)"),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (save it as PDF)"),
        (rb"\x1f\x8b", "a gzip archive"),
        (rb"BZh[1-9]", "a bzip2 archive"),
        (rb"\xfd7zXZ\x00", "an xz archive"),
        (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (rb"Rar!\x1a\x07", "a RAR archive"),
        (rb"\x00\x00\x00\x0cjP  |\xff\x4f\xff\x51", "a JPEG 2000 image"),
        (rb"\xff\x0a|\x00\x00\x00\x0cJXL ", "a JPEG XL image"),
        (rb"8BPS", "a Photoshop file"),
        (rb"AT&TFORM", "a DjVu document"),
        (rb"P[1-7]\s+[#0-9]", "a Netpbm image"),
        (rb"\x00\x00\x01\x00", "an icon"),
        (rb"%!PS|\xc5\xd0\xd3\xc6", "PostScript (save it as PDF)"),
        (rb"\{\\rtf", "an RTF document (save it as PDF)"),
        (rb".{4}ftyp|\x1aE\xdf\xa3|RIFF.{4}AVI ", "a video or sound file"),
        (rb"ID3[\x02-\x04]|OggS|fLaC|RIFF.{4}WAVE", "a sound file"),
        (rb"\x7fELF|MZ.\x00", "a program"),
    )
)
_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"data:[a-z]+/[a-z0-9.+-]+;base64,"), "a data URL (send the bytes that it encodes)"),
    (re.compile(r"/9j/|iVBORw0KGgo|JVBERi0|R0lGOD|UklGR|SUkqA|TU0AK"), "base64 text (decode it before it is sent)"),
    (re.compile(r"(?:<\?xml.{0,500})?<svg", re.DOTALL | re.IGNORECASE), "an SVG drawing"),
    (re.compile(r"<!doctype html|<html", re.IGNORECASE), "an HTML page"),
    (re.compile(r"<\?xml"), "XML"),
    (re.compile(r"[\[{]\s*[\[{\"\]}]"), "JSON"),
)
_TEXT_CONTROLS = frozenset("\t\n\r\f\b\x1b")


def sniff(data: bytes) -> FileType:
    """The type of a file. Reads the first few kilobytes, or of a damaged PDF the first mebibyte and the end.

    Raises:
        InputRejected: `document_empty`; `type_unsupported`, with a detail that says what the file looks like.
    """
    if not data:
        raise InputRejected("document_empty", "The file has no bytes.")
    for magic, file_type in _MAGIC:
        if data.startswith(magic):
            return file_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return FileType.WEBP
    if data[:2] == b"BM" and int.from_bytes(data[14:18], "little") in _BMP_HEADERS:
        return FileType.BMP
    if data[4:8] == b"ftyp" and (found := _from_brands(data)) is not None:
        return found
    if b"%PDF-" in data[: _PDF_HEADER_WITHIN + 5] or _is_damaged_pdf(data):
        return FileType.PDF
    raise InputRejected("type_unsupported", f"The file looks like {looks_like(data)}.")


def _is_damaged_pdf(data: bytes) -> bool:
    """Whether the file ends as a PDF does, with a header behind much junk, or with objects at its start instead."""
    if any(pattern.match(data) for pattern, _ in _LOOKALIKES):
        return False  # an archive, say, with a PDF inside
    if b"%%EOF" not in data[-_PDF_END_WITHIN:] and b"startxref" not in data[-_PDF_END_WITHIN:]:
        return False
    return bool(_PDF_OBJECT.match(data)) or bool(_LATE_PDF_HEADER.search(data, 0, _LATE_PDF_HEADER_WITHIN))


def _from_brands(data: bytes) -> FileType | None:
    """AVIF or HEIC by the brands of an ISO base media file: the major brand, then the compatible ones."""
    end = min(int.from_bytes(data[:4], "big"), 1024)
    brands = [data[8:12], *(data[at : at + 4] for at in range(16, end, 4))]
    if brands[0] in _AVIF_BRANDS:
        return FileType.AVIF
    if brands[0] in _HEIF_BRANDS or not _HEIF_BRANDS.isdisjoint(brands):
        # mif1 and msf1 only mean "image"; the other brands give the coding
        return FileType.HEIC if _AVIF_BRANDS.isdisjoint(brands) else FileType.AVIF
    return FileType.AVIF if not _AVIF_BRANDS.isdisjoint(brands) else None


def looks_like(data: bytes) -> str:
    """Describes an unsupported file, such as "a ZIP archive (an Office document?)"."""
    head = data[:4096]
    for pattern, words in _LOOKALIKES:
        if pattern.match(head):
            return words
    if not any(head):
        return "a run of zero bytes"
    text = _as_text(head)
    if text is None:
        return "no file type that inkgate knows"
    stripped = text.lstrip("\ufeff \t\r\n")
    for text_pattern, words in _TEXTS:
        if text_pattern.match(stripped):
            return words
    return "text"


def _as_text(head: bytes) -> str | None:
    """`head` decoded if it is UTF-8 or UTF-16 text, else None. A character cut off at the end is dropped."""
    encoding = "utf-16" if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8"
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError as error:
        if len(head) - error.start >= 4:
            return None
        text = head[: error.start].decode(encoding)
    strange = sum(not character.isprintable() and character not in _TEXT_CONTROLS for character in text)
    return text if strange * 20 <= len(text) else None
