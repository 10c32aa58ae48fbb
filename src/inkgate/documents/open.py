"""From a document's bytes to its pages, whatever kind of file it is."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

from inkgate.concurrency import Threads
from inkgate.documents.images import DecodeThreads, open_image
from inkgate.documents.pdf.pool import USUAL_RANK, PdfDocument, PdfPool
from inkgate.documents.sniff import FileType, sniff
from inkgate.settings import LimitSettings, PdfSettings, PdfText
from inkgate.supervision import Supervisor
from inkgate.types import Document, Page

_DECODE_THREADS = min(4, os.cpu_count() or 1)


class OpenDocument(Protocol):
    """A document whose pages can be asked for. Valid within the context that `Opener.open` gave it in."""

    @property
    def mime_type(self) -> str: ...

    @property
    def page_count(self) -> int: ...

    async def page(self, index: int, rank: int = USUAL_RANK) -> Page:
        """The page with this index from 0: its size and text layer are known, its pixels are not made yet.

        `rank`: how urgent it is, among the pages that wait to be opened and rendered; 0 goes first.

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

    async def page(self, index: int, rank: int = USUAL_RANK) -> Page:
        return await self._document.page(index, rank)


class Opener:
    """Opens documents. Owns the threads that decode images and the worker processes that render PDFs.

    Nothing of a page is kept: asked for twice, it is decoded twice.
    """

    def __init__(self, limits: LimitSettings, pdf: PdfSettings, supervisor: Supervisor | None = None) -> None:
        """`supervisor`: keeps what renders PDFs running."""
        self._limits = limits
        self._pdf = pdf
        self._supervisor = supervisor
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._threads = DecodeThreads(Threads("decode", _DECODE_THREADS), Threads("decode-large", 1))
        self._pool = await self._stack.enter_async_context(PdfPool(self._pdf, supervisor=self._supervisor))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The worker processes there are now."""
        return self._pool.worker_pids

    @property
    def worker_lives(self) -> tuple[tuple[int, int], ...]:
        """See PdfPool."""
        return self._pool.worker_lives

    @property
    def pdf_jobs(self) -> tuple[int, int, int]:
        """See PdfPool.jobs."""
        return self._pool.jobs

    @asynccontextmanager
    async def open(
        self, document: Document, pdf_text: PdfText | None = None, *, password: str = "", rank: int = USUAL_RANK
    ) -> AsyncIterator[OpenDocument]:
        """The document, open until the context ends. `pdf_text` None: as the settings say. `password`: of a PDF that
        needs one. `rank`: see `OpenDocument.page`.

        Raises:
            InputRejected: `document_empty`, `type_unsupported`, `image_corrupt`, `image_too_large`, `too_many_pages`,
                `pdf_corrupt`, `pdf_encrypted`, `pdf_password_wrong`, `pdf_empty`, and
                `page_memory` of opening a PDF.
            EngineFailed: `page_timeout` of opening a PDF.
        """
        file_type = sniff(document.data)
        if file_type is FileType.PDF:
            async with self._pool.open(document.data, pdf_text or self._pdf.text, password, rank) as opened:
                yield _OpenPdf(opened)
        else:
            yield await open_image(document.data, file_type, self._limits.max_pixels, self._threads)
