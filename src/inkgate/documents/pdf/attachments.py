"""Files inside PDFs, and links on their pages. Blocking, in worker processes only."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import pypdfium2.raw as pdfium

from inkgate.codes.invoice_xml import MAX_BYTES, NAMES, read_invoice_xml
from inkgate.documents.pdf.catalog import associated_files
from inkgate.documents.pdf.notes import MAX_FILES, MAX_LINKS, readable_name
from inkgate.documents.pdf.pdfium import Handle, PdfiumDocument, PdfiumPage
from inkgate_client.types import Box

_XML = ".xml"
_MAX_ANNOTATIONS = 2000
_LONGEST_NAME_BYTES = 4096
_LONGEST_LINK_BYTES = 2048
_MOST_PARTS = 50
_LINK = re.compile(r"(?:https?|ftp|mailto|tel):[^\s\x00-\x1f\x7f-\x9f]+", re.IGNORECASE)
"""Links that lead out of the document; not those that run a script."""


@dataclass(frozen=True, slots=True)
class EmbeddedFiles:
    """The files inside a document.

    Attributes:
        invoice: the values of the invoice as XML: of the first file with a standard's name, else of the only invoice;
            empty without one.
        names: of the other files, as people may see them, up to `MAX_FILES`.
        count: of the other files.
    """

    invoice: dict[str, str]
    names: tuple[str, ...]
    count: int


def embedded_files(document: PdfiumDocument, password: str) -> EmbeddedFiles:
    """The files that the document lists. If no invoice is among them, one that only the catalog names counts."""
    count = max(int(pdfium.FPDFDoc_GetAttachmentCount(document.handle)), 0)
    invoices: list[tuple[str, Mapping[str, str]]] = []
    others = []
    for index in range(min(count, MAX_FILES)):
        file = pdfium.FPDFDoc_GetAttachment(document.handle, index)
        name = _name(file) if file else ""
        values = read_invoice_xml(_data(file)) if name.lower().endswith(_XML) else {}
        if values:
            invoices.append((name, values))
        else:
            others.append(readable_name(name))
    listed = len(invoices)
    if not listed:
        files = associated_files(document, password, _XML)
        invoices = [(name, values) for name, data in files if (values := read_invoice_xml(data))]
    return EmbeddedFiles(_the_invoice(invoices), tuple(others), count - listed)


def _the_invoice(invoices: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """The values of the invoice that the pages show. `invoices`: names of files, and values."""
    named = [values for name, values in invoices if name.lower() in NAMES]
    return dict(named[0]) if named else dict(invoices[0][1]) if len(invoices) == 1 else {}


def attached_files(page: PdfiumPage) -> tuple[str, ...]:
    """Names of the files that are pinned to the page, as people may see them; without those that are read."""
    names: list[str] = []
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page.handle), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page.handle, index)
        if not annotation:
            continue
        if pdfium.FPDFAnnot_GetSubtype(annotation) == pdfium.FPDF_ANNOT_FILEATTACHMENT:
            file = pdfium.FPDFAnnot_GetFileAttachment(annotation)
            names.append(readable_name(_name(file)) if file else "")
        pdfium.FPDFPage_CloseAnnot(annotation)
    return tuple(names[:MAX_FILES])


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """A link of a page. `boxes`: left, bottom, right and top of its parts, in points of the page."""

    address: str
    boxes: tuple[Box, ...]


def links_of(document: PdfiumDocument, page: PdfiumPage) -> tuple[LinkPlace, ...]:
    """The links of the page that lead out of the document, in their order, up to `MAX_LINKS`."""
    found: list[LinkPlace] = []
    at, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    for _ in range(_MAX_ANNOTATIONS):
        if len(found) == MAX_LINKS or not pdfium.FPDFLink_Enumerate(page.handle, at, link):
            break
        action = pdfium.FPDFLink_GetAction(link)
        if action and pdfium.FPDFAction_GetType(action) == pdfium.PDFACTION_URI:
            size = int(pdfium.FPDFAction_GetURIPath(document.handle, action, None, 0))
            if 1 < size <= _LONGEST_LINK_BYTES:
                buffer = ctypes.create_string_buffer(size)
                pdfium.FPDFAction_GetURIPath(document.handle, action, buffer, size)
                address = buffer.value.decode("utf-8", "replace").strip()
                if _LINK.fullmatch(address):
                    found.append(LinkPlace(address, _boxes_of(link)))
    return tuple(found)


def _boxes_of(link: Handle) -> tuple[Box, ...]:
    """The parts of a link, one on each line; else its rectangle."""
    boxes: list[Box] = []
    points = pdfium.FS_QUADPOINTSF()
    for number in range(min(max(int(pdfium.FPDFLink_CountQuadPoints(link)), 0), _MOST_PARTS)):
        if pdfium.FPDFLink_GetQuadPoints(link, number, points):
            xs, ys = (points.x1, points.x2, points.x3, points.x4), (points.y1, points.y2, points.y3, points.y4)
            boxes.append((min(xs), min(ys), max(xs), max(ys)))
    rectangle = pdfium.FS_RECTF()
    if not boxes and pdfium.FPDFLink_GetAnnotRect(link, rectangle):
        boxes.append((rectangle.left, rectangle.bottom, rectangle.right, rectangle.top))
    return tuple(box for box in boxes if all(map(isfinite, box)))


def _name(file: Handle) -> str:
    """Empty if it has none, or an absurd one."""
    size = int(pdfium.FPDFAttachment_GetName(file, None, 0))
    if not 2 < size <= _LONGEST_NAME_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFAttachment_GetName(file, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _data(file: Handle) -> bytes:
    """Empty if there is none, or more than an invoice has."""
    size = ctypes.c_ulong()
    if not pdfium.FPDFAttachment_GetFile(file, None, 0, ctypes.byref(size)) or not 0 < size.value <= MAX_BYTES:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    pdfium.FPDFAttachment_GetFile(file, buffer, size, ctypes.byref(size))
    return buffer.raw
