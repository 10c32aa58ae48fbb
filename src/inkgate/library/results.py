"""What the library gives: the pages of a document with its text, tables and files, or its fields."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from functools import partial
from html import escape
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from inkgate.library.finding import FoundText, find_text
from inkgate.library.originals import Original, loaded
from inkgate.library.saving import SaveOrder, save, save_here
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.extracted import DataT, Fields
from inkgate_client.files import Source
from inkgate_client.format_names import AnyFormat, FileFormat, format_for
from inkgate_client.many import call
from inkgate_client.rendered import RenderedDocument
from inkgate_client.types import DocumentResult

_SHOWN = 20_000
"""Characters that a notebook shows of a document."""


@dataclass(frozen=True, slots=True, repr=False)
class OcrResult(RenderedDocument):
    """A document's pages, and the whole document as one text. `save` and `Ocr.file` make binary files."""

    _original: Original | None = field(default=None, compare=False)

    def find(self, text: str) -> list[FoundText]:
        """All places of `text`, each inside one line. Case, spaces and punctuation don't matter."""
        return find_text(self, text)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: AnyFormat | str = "",  # noqa: A002 - the term
        original: Source | None = None,
        password: str | None = None,
    ) -> Path:
        """Writes a file: text, Markdown, JSON, hOCR, ALTO, CSV, searchable PDF, Word or Excel, by its suffix or
        `format`. Replaces an existing file, and never leaves half of one. Returns its path. Needs no open Ocr.

        A searchable PDF is made from the document that was read. A path is read again; bytes are kept in the result.
        `original` gives the document in their place, `password` opens an encrypted one that is given so.

        Raises:
            ValueError: the suffix or format is unknown; it shows tables, but the task looked for none; or the document
                is needed and has changed since it was read.
            OSError: the file can't be written, or the document is needed and gone.
            InputRejected: the document can't be written.
        """
        order = self._order(path, format, original, password)

        def run(function: object) -> object:
            with start_blocking_portal() as portal:
                return call(portal, function)  # type: ignore[arg-type]

        return save_here(order, run)

    async def asave(
        self,
        path: str | os.PathLike[str],
        *,
        format: AnyFormat | str = "",  # noqa: A002 - the term
        original: Source | None = None,
        password: str | None = None,
    ) -> Path:
        """Saves the result like `save`, for async code."""
        return await save(self._order(path, format, original, password))

    def _order(
        self, path: str | os.PathLike[str], name: AnyFormat | str, original: Source | None, password: str | None
    ) -> SaveOrder:
        kind, own = format_for(os.fspath(path), name), self._original
        if original is not None:
            document = partial(loaded, original)
        elif own is not None:
            document = own.document  # type: ignore[assignment]
        elif kind is FileFormat.PDF:
            raise ValueError("This result does not know its document. Give it: original=...")
        else:
            document = partial(loaded, b"")
        kept = own.password if own else ""
        limits, pdf = (own.limits, own.pdf) if own else (LimitSettings(), PdfSettings())
        return SaveOrder(self, kind, Path(path), document, kept if password is None else password, limits, pdf)

    def __repr__(self) -> str:
        """Leaves out the texts of the document: it may end in logs."""
        read = sum(page.error is None for page in self.pages)
        sure = "" if self.confidence is None else f", least confidence {self.confidence:.2f}"
        return f"<OcrResult {self.name!r}: {read} of {len(self.pages)} pages read by {self.engine}{sure}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the Markdown as text, which can't become active HTML."""
        shown = self.markdown
        more = "\n..." if len(shown) > _SHOWN else ""
        style = "white-space: pre-wrap; max-height: 40em; overflow: auto"
        return f'<p>{escape(repr(self))}</p><pre style="{style}">{escape(shown[:_SHOWN])}{more}</pre>'


def ocr_result(result: DocumentResult, original: Original) -> OcrResult:
    """`result` as the library gives it."""
    return OcrResult(**{each.name: getattr(result, each.name) for each in fields(DocumentResult)}, _original=original)


@dataclass(frozen=True, slots=True, repr=False)
class DocumentFields(Fields[DataT]):
    """The fields of a document, and its pages as they were read."""

    document: OcrResult = field(kw_only=True)
