"""Opens documents of any supported file type, and writes files of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.files.searchable_pdf import SearchablePdfs
from inkgate.documents.files.writers import Writers
from inkgate.documents.images import DecodeThreads, open_image
from inkgate.documents.pdf.pool import PdfDocument, PdfPool
from inkgate.documents.sniff import FileType, sniff
from inkgate.page import Page
from inkgate.serving.threads import FairThreads
from inkgate.settings import LimitSettings, PdfSettings, PdfText, SchedulingSettings
from inkgate.supervision import Supervisor
from inkgate_client.types import Document, PageResult

_THREADS = min(4, os.cpu_count() or 1)


class OpenDocument(Protocol):
    """An open document. Valid within the context of `Opener.open`."""

    @property
    def mime_type(self) -> str: ...

    @property
    def page_count(self) -> int: ...

    @property
    def invoice(self) -> Mapping[str, str]:
        """Values of an invoice as XML that a PDF contains, by name; empty without one."""
        ...

    def notes(self, attachments: Sequence[str]) -> tuple[str, ...]:
        """Messages for people about what of the document was not read. `attachments`: names of files pinned to its
        pages.
        """
        ...

    def retain(self) -> AbstractContextManager[None]:
        """Keeps the document open inside the block, even if the context of `Opener.open` is left meanwhile."""
        ...

    def content_key(self, index: int) -> bytes:
        """The `content_key` of a page, known before the page is opened."""
        ...

    async def page(self, index: int, caller: Caller = NO_CALLER) -> Page:
        """The page with this index from 0, with its size and text layer; its pixels are not rendered yet.

        `caller`: on whose behalf it is opened and rendered.

        Raises:
            InputRejected: this page is broken or too large; the others may be fine.
            IndexError: there is no such page.
        """
        ...


class _OpenPdf:
    """A PDF as an OpenDocument."""

    mime_type = FileType.PDF.value

    def __init__(self, document: PdfDocument) -> None:
        self._document = document
        self.page_count = document.page_count
        self.invoice = document.invoice
        self.notes, self.retain, self.content_key = document.notes, document.retain, document.content_key

    async def page(self, index: int, caller: Caller = NO_CALLER) -> Page:
        return await self._document.page(index, caller)


class Opener:
    """Opens documents, and makes searchable PDFs of them. Owns the threads that decode images and the worker processes
    that render PDFs and write files.

    Pages are not cached: each request decodes the page again.

    Attributes:
        writers: write files that are made of a result alone. While it is open.
        threads: for decoding, and for other short work on documents.
    """

    def __init__(
        self,
        limits: LimitSettings,
        pdf: PdfSettings,
        supervisor: Supervisor | None = None,
        scheduling: SchedulingSettings | None = None,
    ) -> None:
        """`supervisor`: runs the PDF workers. `scheduling`: how callers share them."""
        self._limits = limits
        self._pdf = pdf
        self._supervisor = supervisor
        self._scheduling = scheduling
        self.threads = FairThreads(_THREADS, scheduling)
        self._decoding = DecodeThreads(self.threads, FairThreads(1, scheduling))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._pool = await self._stack.enter_async_context(PdfPool(self._pdf, None, self._supervisor, self._scheduling))
        writers = Writers(self._pdf, self._supervisor, self._scheduling)
        self.writers = await self._stack.enter_async_context(writers)
        max_bytes = self._pdf.worker_memory_mb * 2**20 // 4  # here and in the worker, some in two copies
        self._searchable = SearchablePdfs(self.writers, self._decoding, self._limits.max_pixels, max_bytes)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The current worker processes."""
        return self._pool.worker_pids

    @property
    def worker_lives(self) -> tuple[tuple[int, int], ...]:
        return self._pool.worker_lives

    @property
    def pdf_jobs(self) -> tuple[int, int, int]:
        return self._pool.jobs

    @asynccontextmanager
    async def open(
        self,
        document: Document,
        pdf_text: PdfText | None = None,
        *,
        password: str = "",
        caller: Caller = NO_CALLER,
    ) -> AsyncIterator[OpenDocument]:
        """Opens a document for the context. `pdf_text`: None for the settings' value. `password`: of an encrypted PDF.
        `caller`: on whose behalf.

        Raises:
            InputRejected: `document_empty`, `type_unsupported`, `image_corrupt`, `image_too_large`, `too_many_pages`,
                `pdf_corrupt`, `pdf_encrypted`, `pdf_password_wrong`, `pdf_empty`, and
                `page_memory` of opening a PDF.
            EngineFailed: `page_timeout` of opening a PDF.
        """
        file_type = sniff(document.data)
        if file_type is FileType.PDF:
            async with self._pool.open(document.data, pdf_text or self._pdf.text, password, caller) as opened:
                yield _OpenPdf(opened)
        else:
            yield await open_image(document.data, file_type, self._limits.max_pixels, self._decoding, caller)

    async def searchable_pdf(
        self, document: Document, pages: Sequence[PageResult], password: str = "", caller: Caller = NO_CALLER
    ) -> bytes:
        """`document` as a PDF with the text of `pages`; see SearchablePdfs.make."""
        return await self._searchable.make(document, pages, password, caller)
