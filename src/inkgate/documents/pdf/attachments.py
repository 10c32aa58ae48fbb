"""Files inside PDFs. Blocking, in worker processes only."""

from __future__ import annotations

import ctypes

import pypdfium2.raw as pdfium

from inkgate.codes.invoice_xml import MOST_BYTES, NAMES, read_invoice_xml
from inkgate.documents.pdf.pdfium import Handle, PdfiumDocument

_MOST_FILES = 50


def embedded_invoice(document: PdfiumDocument) -> dict[str, str]:
    """The values of the first invoice as XML that the PDF contains; empty without one."""
    count = min(int(pdfium.FPDFDoc_GetAttachmentCount(document.handle)), _MOST_FILES)
    for index in range(count):
        file = pdfium.FPDFDoc_GetAttachment(document.handle, index)
        if file and _name(file) in NAMES and (values := read_invoice_xml(_data(file))):
            return dict(values)
    return {}


def _name(file: Handle) -> str:
    """In lower case; empty if it is too long to be of interest."""
    size = int(pdfium.FPDFAttachment_GetName(file, None, 0))
    if not 2 < size <= 200:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFAttachment_GetName(file, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0").lower()


def _data(file: Handle) -> bytes:
    """Empty if there is none, or more than an invoice has."""
    size = ctypes.c_ulong()
    if not pdfium.FPDFAttachment_GetFile(file, None, 0, ctypes.byref(size)) or not 0 < size.value <= MOST_BYTES:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    pdfium.FPDFAttachment_GetFile(file, buffer, size, ctypes.byref(size))
    return buffer.raw
