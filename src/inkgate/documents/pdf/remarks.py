"""What a page and its document hold beside what is shown. Blocking, in worker processes only."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.documents.pdf.attachments import LinkPlace, attached_files, embedded_files, links_of
from inkgate.documents.pdf.catalog import is_portfolio
from inkgate.documents.pdf.pdfium import PdfiumDocument, PdfiumPage
from inkgate.documents.pdf.xfa import is_xfa_placeholder
from inkgate_client.types import ReviewNote, ReviewReason


@dataclass(frozen=True, slots=True)
class PageRemarks:
    """Names of files that are pinned to a page, its links, and notes about all of it."""

    files: tuple[str, ...] = ()
    links: tuple[LinkPlace, ...] = ()
    notes: tuple[ReviewNote, ...] = ()


def document_remarks(document: PdfiumDocument, password: str) -> dict[str, object]:
    """The values of a reply (wire.py) about the document as a whole."""
    files = embedded_files(document, password)
    portfolio = files.count > 0 and is_portfolio(document, password)
    xfa = False
    if document.has_xfa and document.page_count:
        with document.page(0) as page:
            xfa = is_xfa_placeholder(document, page)
    return {
        "invoice": files.invoice,
        "files": list(files.names),
        "file_count": files.count,
        "portfolio": portfolio,
        "xfa": xfa,
    }


def page_remarks(document: PdfiumDocument, page: PdfiumPage, index: int, password: str) -> PageRemarks:
    """Returns remarks on the page from before its annotations are flattened, and the same from after that."""
    if index not in document.remarks:
        notes: tuple[ReviewNote, ...] = ()
        if document.has_xfa and is_xfa_placeholder(document, page):
            notes = (ReviewNote(ReviewReason.PLACEHOLDER, "XFA form"),)
        elif index == 0 and is_portfolio(document, password):
            notes = (ReviewNote(ReviewReason.PLACEHOLDER, "cover sheet of a portfolio"),)
        document.remarks[index] = PageRemarks(attached_files(page), links_of(document, page), notes)
    return document.remarks[index]
