r"""Plain text: what people paste and search.

Pages are set apart by a form feed, as pdftotext and tesseract do, so that splitting at `\f` gives one string for
each page, also for a blank one. A page that could not be read is one line in brackets that says so.
"""

from __future__ import annotations

from inkgate.documents.formats.characters import one_line, printable
from inkgate.types import DocumentResult, PageError, PageResult

PAGE_SEPARATOR = "\f"


def render(result: DocumentResult) -> bytes:
    """The document's text in UTF-8; each page that isn't blank ends with a line feed."""
    return PAGE_SEPARATOR.join(page_text(page) for page in result.pages).encode()


def page_text(page: PageResult) -> str:
    """The page's text, ended by a line feed; empty for a blank page; a note where it could not be read."""
    parts = [printable(page.text).strip("\n")]
    if page.error is not None:
        parts.append(failure_note(page.index, page.error))
    return "".join(f"{part}\n" for part in parts if part)


def failure_note(index: int, error: PageError) -> str:
    """One line for people that says which page (counted from 1) was not read, and why."""
    return f"[page {index + 1} could not be read: {one_line(error.detail)}]"
