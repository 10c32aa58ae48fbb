r"""Plain text, for copying and searching.

A form feed separates pages, as in pdftotext and tesseract, so that splitting at `\f` gives one string per page,
including blank ones. A page that could not be read is a note in brackets on one line.
"""

from __future__ import annotations

from inkgate.documents.formats.characters import one_line, printable
from inkgate.types import DocumentResult, PageError, PageResult

PAGE_SEPARATOR = "\f"


def render(result: DocumentResult) -> bytes:
    """The document's text in UTF-8; each page that isn't blank ends with a line feed."""
    return PAGE_SEPARATOR.join(page_text(page) for page in result.pages).encode()


def page_text(page: PageResult) -> str:
    """The page's text with a line feed at the end; empty for a blank page; a note if it could not be read."""
    parts = [printable(page.text).strip("\n")]
    if page.error is not None:
        parts.append(failure_note(page.index, page.error))
    return "".join(f"{part}\n" for part in parts if part)


def failure_note(index: int, error: PageError) -> str:
    """One line with the number of the failed page (from 1) and the reason."""
    return f"[page {index + 1} could not be read: {one_line(error.detail)}]"
