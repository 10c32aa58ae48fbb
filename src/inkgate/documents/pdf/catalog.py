"""What a PDF's catalog has that pdfium has no function for, by qpdf. Blocking, in worker processes only."""

from __future__ import annotations

import io
import re
import zlib
from contextlib import suppress
from typing import Any, Final

import pypdfium2.raw as pdfium

from inkgate.codes.invoice_xml import MAX_BYTES
from inkgate.documents.pdf.encryption import password_forms
from inkgate.documents.pdf.notes import MAX_FILES
from inkgate.documents.pdf.pdfium import PdfiumDocument

_MAX_BYTES: Final = 128 * 2**20
"""Larger documents are not looked into."""
_MAYBE_PORTFOLIO = re.compile(rb"/Collection\b|/ObjStm\b")
"""A pattern that every portfolio has: its entry of the catalog in the open, or in one of the object streams."""
_MAYBE_FILES = re.compile(rb"/EmbeddedFile\b|/(?:text|application)#2[Ff]xml\b")
"""A pattern that documents with XML files have: the type of a file's stream, which stands in the open. All alternatives
begin with the same letter: the search is ten times faster.
"""


def is_portfolio(document: PdfiumDocument, password: str) -> bool:
    """Whether viewers show the document's files and not its pages, which say so (ISO 32000-2, 12.3.5)."""
    attached = pdfium.FPDFDoc_GetAttachmentCount(document.handle) > 0
    opened = _opened(document, password, _MAYBE_PORTFOLIO) if attached else None
    if opened is None:
        return False
    import pikepdf

    with suppress(*_faults()):
        collection = opened.Root.get("/Collection")
        return isinstance(collection, pikepdf.Dictionary) and str(collection.get("/View", "/D")) != "/H"
    return False


def associated_files(document: PdfiumDocument, password: str, suffix: str) -> list[tuple[str, bytes]]:
    """Names and contents of the files that the catalog names by /AF (ISO 32000-2, 14.13), up to `MAX_FILES`.

    Args:
        document: the document.
        password: of the document; ignored if it needs none.
        suffix: of the names, in lower case; other files are left out.
    """
    opened = _opened(document, password, _MAYBE_FILES)
    if opened is None:
        return []
    import pikepdf

    found = []
    with suppress(*_faults()):
        listed = opened.Root.get("/AF")
        for file in list(listed)[:MAX_FILES] if isinstance(listed, pikepdf.Array) else [listed]:
            name, stream = _file_of(file)
            if name.lower().endswith(suffix):
                found.append((name, _content(stream)))
    return found


def _file_of(specification: Any) -> tuple[str, Any]:  # noqa: ANN401 - pikepdf is imported late
    """The name of a file and its stream; an empty name if it has no stream."""
    import pikepdf

    if isinstance(specification, pikepdf.Dictionary):
        streams = specification.get("/EF")
        stream = streams.get("/UF", streams.get("/F")) if isinstance(streams, pikepdf.Dictionary) else None
        if isinstance(stream, pikepdf.Stream):
            return str(specification.get("/UF", specification.get("/F", ""))), stream
    return "", None


def _content(stream: Any) -> bytes:  # noqa: ANN401 - pikepdf is imported late
    """The bytes of a file, at most one more than an invoice has; empty if it has another filter than deflate."""
    import pikepdf

    packed = stream.get("/Filter")
    if isinstance(packed, pikepdf.Array) and len(packed) == 1:
        packed = packed[0]
    data: bytes = stream.read_raw_bytes() if packed is None or packed == "/FlateDecode" else b""
    return data if packed is None else zlib.decompressobj().decompress(data, MAX_BYTES + 1)


def _opened(document: PdfiumDocument, password: str, pattern: re.Pattern[bytes]) -> Any | None:  # noqa: ANN401
    """The document, for as long as its entries are used; None if it is too large or damaged, or lacks the pattern."""
    if document.data.size > _MAX_BYTES or pattern.search(document.data.data) is None:
        return None
    import pikepdf

    for form in password_forms(password):
        with suppress(*_faults(), MemoryError):
            return pikepdf.open(io.BytesIO(document.data.tobytes()), password=form)
    return None


def _faults() -> tuple[type[Exception], ...]:
    """What qpdf and zlib raise of damaged files."""
    import pikepdf

    return (pikepdf.PdfError, zlib.error, RuntimeError, ValueError, TypeError, KeyError, AttributeError)
