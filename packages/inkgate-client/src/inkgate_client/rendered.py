"""Documents that render themselves, for programs."""

from __future__ import annotations

from inkgate_client.coordinates import Coordinates
from inkgate_client.format_names import Format
from inkgate_client.formats import render
from inkgate_client.formats.marks import marked_document
from inkgate_client.types import DocumentResult


class RenderedDocument(DocumentResult):
    """A document's pages, and the whole document as one text."""

    __slots__ = ()

    @property
    def text(self) -> str:
        r"""The text of all pages, separated by form feeds (`\f`). A failed page is a note."""
        return self.render(Format.TEXT).decode()

    @property
    def markdown(self) -> str:
        """The Markdown of all pages; several are marked by comments `<!-- page 2 -->`. A failed page is a note."""
        return self.render(Format.MARKDOWN).decode()

    def render(
        self,
        format: Format | str,  # noqa: A002 - the term
        coordinates: Coordinates | None = None,
        *,
        marks: bool = False,
    ) -> bytes:
        """The document as a text file: `text`, `markdown`, `json`, `hocr`, `alto`, `csv` or `mermaid`. Raises
        ValueError for another. `marks`: mark doubtful words and blocks in the Markdown.
        """
        return render(marked_document(self) if marks else self, Format(format), coordinates)
