r"""Plain text, for copying and searching.

A form feed separates pages, as in pdftotext and tesseract, so that splitting at `\f` gives one string per page,
including blank ones. A page that could not be read is a note in brackets on one line.
"""

from __future__ import annotations

import re

from inkgate_client.types import DocumentResult, PageError, PageResult

# Outside XML 1.0's `Char` production, or a discouraged control character; tab and line feed stay.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS = re.compile("\r\n?")


def printable(text: str) -> str:
    """`text` without control characters, except tabs and line feeds; every line break is one line feed."""
    return _UNPRINTABLE.sub("", _LINE_BREAKS.sub("\n", text))


def one_line(text: str) -> str:
    """`text`, printable, with every run of white space as one space and none at the ends."""
    return " ".join(printable(text).split())


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
