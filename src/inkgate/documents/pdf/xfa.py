"""Forms in XML (XFA), which pdfium does not draw: whether a page is the form or only says that it can't be shown.

A static form has its pages in the PDF, too. A dynamic one has a placeholder, in any language. Blocking, in worker
processes only. Source: XML Forms Architecture 3.3; ISO 32000-1, 12.7.8.
"""

from __future__ import annotations

import ctypes
import html
import re

import pypdfium2.raw as pdfium

from inkgate.documents.pdf.pdfium import PdfiumDocument, PdfiumPage

_MAX_PACKETS = 50
_MAX_PACKET_BYTES = 32 * 2**20
_MAX_FORM_CHARACTERS = 4_000_000
"""Maximum characters of the form's source, of which a tenth is text."""
_MAX_CHARACTERS = 20_000
"""Maximum characters of a page's text, which is compared with the form's."""
_SHINGLE = 8
"""Letters in a row that a page and its form have in common, whatever their spaces and line breaks."""
_COMMON = 0.5
"""Share of a page's letters that its form has, from which the page is the form. (Of placeholders it is under 0.1.)"""
_LONGEST_PLACEHOLDER = 1200
"""Letters of a placeholder; Adobe's has 500 in English."""
_MIN_PLACEHOLDER = 60
"""Letters of a placeholder; a page with fields and less text may be a form. (A placeholder may have fields, too.)"""
_FORM_PACKETS = frozenset({"", "template", "datasets", "form"})
_TAG = re.compile(r"<[^<>]*>")


def is_xfa_placeholder(document: PdfiumDocument, page: PdfiumPage) -> bool:
    """Whether the page stands for a form that is not on it."""
    if not document.has_xfa:
        return False
    needs_rendering = pdfium.FPDF_GetFormType(document.handle) == pdfium.FORMTYPE_XFA_FULL
    fields = _has_fields(page)
    if not needs_rendering and (fields or document.page_count > 1):
        return False
    letters = _letters(_page_text(page))
    if len(letters) > _LONGEST_PLACEHOLDER:
        return False
    if fields and len(letters) < _MIN_PLACEHOLDER:
        return False
    form = _letters(_form_text(document))
    if len(form) < _SHINGLE:
        return bool(needs_rendering)
    return _common(letters, form) < _COMMON


def _has_fields(page: PdfiumPage) -> bool:
    for index in range(pdfium.FPDFPage_GetAnnotCount(page.handle)):
        annotation = pdfium.FPDFPage_GetAnnot(page.handle, index)
        if not annotation:
            continue
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        pdfium.FPDFPage_CloseAnnot(annotation)
        if kind == pdfium.FPDF_ANNOT_WIDGET:
            return True
    return False


def _page_text(page: PdfiumPage) -> str:
    text = pdfium.FPDFText_LoadPage(page.handle)
    if not text:
        return ""
    try:
        count = min(pdfium.FPDFText_CountChars(text), _MAX_CHARACTERS)
        if count < 1:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        pdfium.FPDFText_GetText(text, 0, count, buffer)
        return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")
    finally:
        pdfium.FPDFText_ClosePage(text)


def _form_text(document: PdfiumDocument) -> str:
    """The texts of the form and its data."""
    count = min(pdfium.FPDF_GetXFAPacketCount(document.handle), _MAX_PACKETS)
    return " ".join(_packet(document, index) for index in range(count))[:_MAX_FORM_CHARACTERS]


def _packet(document: PdfiumDocument, index: int) -> str:
    size = pdfium.FPDF_GetXFAPacketName(document.handle, index, None, 0)
    if not 0 < size <= 100:
        return ""
    name = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetXFAPacketName(document.handle, index, name, size)
    length = ctypes.c_ulong()
    pdfium.FPDF_GetXFAPacketContent(document.handle, index, None, 0, ctypes.byref(length))
    if name.value.decode("utf-8", "replace") not in _FORM_PACKETS or not 0 < length.value <= _MAX_PACKET_BYTES:
        return ""
    content = ctypes.create_string_buffer(length.value)
    pdfium.FPDF_GetXFAPacketContent(document.handle, index, content, length.value, ctypes.byref(length))
    # No parser: its entities might grow without bound, and tags are all that has to go.
    source = content.raw[:_MAX_FORM_CHARACTERS].decode("utf-8", "replace")
    return html.unescape(_TAG.sub(" ", source))


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _common(page: str, form: str) -> float:
    """Share of the page's shingles that the form has. Those of the form, which may be a million, are not kept."""
    shown = {page[at : at + _SHINGLE] for at in range(max(len(page) - _SHINGLE + 1, 0))}
    found = {shingle for at in range(len(form) - _SHINGLE + 1) if (shingle := form[at : at + _SHINGLE]) in shown}
    return len(found) / max(len(shown), 1)
