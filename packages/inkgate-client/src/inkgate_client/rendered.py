"""Documents that render themselves, for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from inkgate_client.codec import document_to_dict
from inkgate_client.coordinates import Coordinates
from inkgate_client.format_names import Format, format_named
from inkgate_client.formats import render
from inkgate_client.formats.chunks import Chunk, ChunkOptions, chunks_of
from inkgate_client.formats.csv import csv_of, rows_of
from inkgate_client.formats.marks import marked_document
from inkgate_client.formats.tables import tables_of
from inkgate_client.types import DocumentResult, Line


@dataclass(frozen=True, slots=True)
class OcrTable:
    """A table, whole: with its rows on following pages.

    Attributes:
        page: index of its first page, from 0.
        caption: in one line; empty if it has none.
        rows: texts of the cells; a cell over several rows or columns has its text in the first place.
        header_rows: how many of the first rows name the columns.
    """

    page: int
    caption: str
    rows: list[list[str]] = field(repr=False)
    header_rows: int = 0

    def to_csv(self) -> str:
        """The table as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe."""
        return csv_of(self.rows)

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is no dependency
        """The table as a pandas DataFrame of texts, whose columns have the names of the header rows.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            message = "to_pandas() needs pandas, which inkgate does not install: pip install pandas"
            raise ModuleNotFoundError(message, name="pandas") from error
        head, body = self.rows[: self.header_rows], self.rows[self.header_rows :]
        names = [" ".join(filter(None, parts)) for parts in zip(*head, strict=True)] if head else None
        return pandas.DataFrame(body, columns=names)


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

    @property
    def lines(self) -> list[Line]:
        """The lines of all pages, in order. `pages` tells of which page they are."""
        return [line for page in self.pages for line in page.lines]

    @property
    def confidence(self) -> float | None:
        """The least confidence of its pages; None if none has one."""
        return min((page.confidence for page in self.pages if page.confidence is not None), default=None)

    @property
    def tables(self) -> list[OcrTable]:
        """The tables in the document's order. The task `text` finds none."""
        return [OcrTable(table.page - 1, table.caption, rows_of(table), table.header_rows) for table in tables_of(self)]

    def chunks(self, options: ChunkOptions | None = None) -> list[Chunk]:
        """The Markdown in chunks for retrieval, with their headings, pages and boxes. `ChunkOptions(tokens=256)` limits
        them; its `count` may be the tokenizer of an embedding model. Read with task='parse'.
        """
        return list(chunks_of(self.pages, options))

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON values, in the published schema (docs/reference/formats.md)."""
        return document_to_dict(self)

    def to_json(self) -> str:
        """The document as JSON, in the published schema."""
        return self.render(Format.JSON).decode()

    def render(
        self,
        format: Format | str,  # noqa: A002 - the term
        coordinates: Coordinates | None = None,
        *,
        marks: bool = False,
    ) -> bytes:
        """The document as a text file: `text`, `markdown`, `json`, `hocr`, `alto`, `csv`, `mermaid` or `chunks`, also
        by its suffix, such as `md`. Raises ValueError for another. `marks`: mark doubtful words and blocks in the
        Markdown.
        """
        kind = format_named(format)
        if not isinstance(kind, Format):
            raise ValueError(f"{kind.value} is no text format. Use `save`.")  # noqa: TRY004 - as for any other name
        return render(marked_document(self) if marks else self, kind, coordinates)
