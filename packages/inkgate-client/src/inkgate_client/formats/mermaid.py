"""Mermaid: the diagrams of a document, and nothing else; no diagram, an empty file.

One diagram is a file that Mermaid draws. Before each of several is a comment with its number and page; programs that
draw one diagram a file need them split there.
"""

from __future__ import annotations

from inkgate_client.formats.text import one_line, printable
from inkgate_client.types import DocumentResult


def render(result: DocumentResult) -> bytes:
    """The document's diagrams in UTF-8, in its order. A page that could not be read is a comment."""
    found = [
        (page.index + 1, printable(block.diagram.mermaid).strip("\n"))
        for page in result.pages
        for block in page.blocks or ()
        if block.diagram is not None
    ]
    parts = [source for _, source in found]
    if len(found) > 1:
        parts = [f"%% diagram {number}, page {page}\n{source}" for number, (page, source) in enumerate(found, 1)]
    parts += [
        f"%% page {page.index + 1} could not be read: {one_line(page.error.detail)}"
        for page in result.pages
        if page.error is not None
    ]
    return ("\n\n".join(parts) + "\n" if parts else "").encode()
