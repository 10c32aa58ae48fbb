"""Markdown, for people and language models.

An empty line separates pages, as in other OCR services. In documents with several pages, each page begins with a
comment `<!-- page 2 -->`, which is not displayed but lets a reader cite the page. Printed page numbers are omitted. A
page that could not be read is a quoted note.
"""

from __future__ import annotations

from inkgate_client.escape import escape, of_text
from inkgate_client.formats.text import one_line, printable
from inkgate_client.types import DocumentResult, PageError, PageResult


def render(result: DocumentResult) -> bytes:
    """The document as Markdown in UTF-8, with a line feed at the end unless it is empty."""
    return without_marks(result, marked=len(result.pages) > 1).encode()


def without_marks(result: DocumentResult, *, marked: bool = False) -> str:
    """The document as Markdown without comments between pages, for protocols that have none."""
    marks = (page_mark(page) if marked else "" for page in result.pages)
    parts = [part for pair in zip(marks, map(page_markdown, result.pages), strict=True) for part in pair if part]
    return "\n\n".join(parts) + "\n" if parts else ""


def content_of(page: PageResult) -> str:
    """The page's Markdown, or its text if it has no Markdown. Text without lines comes from a model and may contain
    markup.
    """
    if page.markdown is not None:
        return page.markdown
    return of_text(page.text) if page.lines else page.text


def page_markdown(page: PageResult) -> str:
    """The page's Markdown, or its plain text if it has no Markdown; a note if the page could not be read."""
    parts = [printable(content_of(page)).strip("\n")]
    if page.error is not None:
        parts.append(failure_note(page.index, page.error))
    return "\n\n".join(part for part in parts if part)


def failure_note(index: int, error: PageError) -> str:
    """A block quote with the number of the failed page (from 1) and the reason."""
    return f"> **Page {index + 1} could not be read:** {escape(one_line(error.detail))}"


def page_mark(page: PageResult) -> str:
    """The comment with which a page begins in documents of several pages."""
    return f"<!-- page {page.index + 1} -->"
