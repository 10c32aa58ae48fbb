"""Markdown: what people and language models read.

Pages are set apart by an empty line, as the well-known OCR services join theirs; where there are several, each
begins with a comment `<!-- page 2 -->`, which is not shown but lets a reader cite the page. Page numbers are
left out. A page that could not be read is a quoted note.
"""

from __future__ import annotations

from inkgate.documents.formats.characters import one_line, printable
from inkgate.layout.markdown import escaped, of_text
from inkgate.types import DocumentResult, PageError, PageResult


def render(result: DocumentResult) -> bytes:
    """The document as Markdown in UTF-8, ended by a line feed unless it is empty."""
    several = len(result.pages) > 1
    parts = [part for page in result.pages for part in (_mark(page) if several else "", page_markdown(page)) if part]
    return ("\n\n".join(parts) + "\n" if parts else "").encode()


def content_of(page: PageResult) -> str:
    """What was read of the page as Markdown; where it was read without, its text. Text without lines is a model's, who
    may have written markup.
    """
    if page.markdown is not None:
        return page.markdown
    return of_text(page.text) if page.lines else page.text


def page_markdown(page: PageResult) -> str:
    """The page's Markdown; its plain text where it was read without; a note where it could not be read."""
    parts = [printable(content_of(page)).strip("\n")]
    if page.error is not None:
        parts.append(failure_note(page.index, page.error))
    return "\n\n".join(part for part in parts if part)


def failure_note(index: int, error: PageError) -> str:
    """A block quote that says which page (counted from 1) was not read, and why."""
    return f"> **Page {index + 1} could not be read:** {escaped(one_line(error.detail))}"


def _mark(page: PageResult) -> str:
    return f"<!-- page {page.index + 1} -->"
