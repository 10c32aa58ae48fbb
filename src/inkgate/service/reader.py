"""Reads a document: opens it, reads a few pages at a time, and yields results in order as they complete."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Final, Protocol, runtime_checkable

import anyio
import structlog
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from inkgate.caller import Caller, with_default_priority
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.documents.files.write import FileRequest
from inkgate.documents.open import OpenDocument, Opener
from inkgate.documents.pages import PageSelection, parse_page_list
from inkgate.engines.base import Engine
from inkgate.errors import EngineFailed, InkgateError, InputRejected, from_page_error
from inkgate.layout.whole_document import finished
from inkgate.page import Page, Pixels
from inkgate.service.page import DEGRADED_NOTES
from inkgate.serving.threads import FairThreads
from inkgate.settings import LimitSettings, PdfText
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.telemetry.tracing import child_span
from inkgate_client.codec import estimated_bytes
from inkgate_client.concurrency import single_error
from inkgate_client.types import (
    Barcode,
    Block,
    BlockType,
    Document,
    DocumentResult,
    DocumentStatus,
    PageError,
    PageResult,
    Quad,
    ReviewReason,
    Task,
    box_of_quad,
)

log = structlog.get_logger(__name__)

INVOICE_XML: Final = "invoice_xml"
"""Format and content of a code that is a file inside the PDF."""
TEXT_LAYER: Final = "text_layer"
"""The engine of a page whose text was inside its PDF."""
NOWHERE: Final[Quad] = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
MAX_IMAGE_BYTES: Final = 64 * 1024 * 1024
"""Images of a document's figures, as base64. Pages that are begun after that have none."""


@runtime_checkable
class PageOpener(Protocol):
    """What an Engine has that opens pages itself, so that it need not open those whose content it knows."""

    def page_of(self, document: OpenDocument, index: int, caller: Caller) -> Page:
        """The page with this index from 0, for Engine.read alone: it may not be open yet."""
        ...


@dataclass(frozen=True, slots=True)
class CheckedOptions:
    """How to read a document.

    Attributes:
        pages: None: all.
        pdf_text: None: the setting.
        password: of an encrypted PDF.
        window: pages that are open at once; None: the setting. With 1, a page is begun when it is asked for.
        page_limit: for a job: the maximum of pages instead of the setting's. The document then has no time limit; its
            pages have one at the engine.
        private: the pages are neither answered from the cache nor kept in it.
    """

    task: Task = Task()
    pages: PageSelection | None = None
    pdf_text: PdfText | None = None
    password: str = field(default="", repr=False)
    window: int | None = None
    page_limit: int | None = None
    private: bool = False


class Reading:
    """A document being read. Iterate it once: yields page results in the document's order, as soon as they complete.
    Raises RuntimeError once its block has been left and the pages are cancelled, as another task may do.

    `limits.page_window` pages are open at once, counted from the oldest that was not yielded yet: a slow consumer
    slows down reading instead of filling memory.

    Attributes:
        answered: pages yielded so far.
        failed: how many of them have an error.
        to_review: indexes of those that a person should look at.
        page_bytes: about how many bytes they have as JSON.
    """

    def __init__(
        self, document: Document, opened: OpenDocument, selected: tuple[int, ...], window: PageWindow, note: str = ""
    ) -> None:
        self.name = document.name
        self.byte_count = len(document.data)
        self._notes = (note,) if note else ()
        self.mime_type = opened.mime_type
        self.page_count = opened.page_count
        self.selected = selected
        self.answered = self.failed = self.page_bytes = 0
        self.to_review: list[int] = []
        self._lost = 0
        self._first_error: PageError | None = None
        self._attachments: dict[int, tuple[str, ...]] = {}
        self._engines: dict[str, None] = {}
        self._degraded: dict[str, list[int]] = {}
        self._window = window

    @property
    def engine(self) -> str:
        """The engines that read the pages until now, joined by `+`; before the first page, the service's engine.
        `text_layer` is named only if no engine read anything.
        """
        return self.engine_after("")

    def engine_after(self, before: str) -> str:
        """As `engine`; `before` read other pages of the document earlier."""
        names = dict.fromkeys((*filter(None, before.split("+")), *self._engines))
        return "+".join([name for name in names if name != TEXT_LAYER] or names) or self._window.engine.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for people, of the pages until now."""
        full = self._window.images.note
        attachments = [name for index in sorted(self._attachments) for name in self._attachments[index]]
        degraded = [f"{_numbered(pages)}: {DEGRADED_NOTES.get(why, why)}" for why, pages in self._degraded.items()]
        return (*self._notes, *self._window.opened.notes(attachments), *([full] if full else ()), *degraded)

    @property
    def status(self) -> DocumentStatus:
        """The status by the pages yielded so far."""
        if not self.failed:
            return DocumentStatus.COMPLETE
        return DocumentStatus.FAILED if self._lost == self.answered else DocumentStatus.PARTIAL

    @property
    def failure(self) -> InkgateError | None:
        """The first page's error if no page yielded so far has any result; None if one has, and before the first."""
        if self._first_error is None or self.status is not DocumentStatus.FAILED:
            return None
        return from_page_error(self._first_error)

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        upcoming = iter(self.selected)
        open_pages: deque[_PendingPage] = deque()
        self._window.start(upcoming, open_pages)
        while open_pages:
            pending = open_pages.popleft()
            await pending.done.wait()
            if pending.cancelled:
                await checkpoint_if_cancelled()  # a task that was just being woken is cancelled after its pages
                raise RuntimeError("The block of this reading was left before all pages were read.")
            if self._window.size > 1:
                self._window.start(upcoming, open_pages)
            self._count(pending.result)
            yield pending.result
            self._window.start(upcoming, open_pages)

    def only(self, pages: Sequence[int]) -> None:
        """Reads only these pages, in this order. Before it is iterated."""
        self.selected = tuple(pages)

    def _count(self, page: PageResult) -> None:
        self.answered += 1
        self.page_bytes += estimated_bytes(page)
        if page.engine and not page.lost:
            self._engines[page.engine] = None
        if page.fields is not None:  # of the engine, whoever read the text
            self._engines[self._window.engine.name] = None
        for why in page.degraded:
            self._degraded.setdefault(why, []).append(page.index + 1)
        if page.attachments:
            self._attachments[page.index] = page.attachments
        if page.review:
            self.to_review.append(page.index)
        if page.error is not None:
            self.failed += 1
            self._lost += page.lost
            self._first_error = self._first_error or page.error

    @property
    def count(self) -> int:
        """How many pages there are to read."""
        return len(self.selected)

    async def all(
        self,
        charge: Callable[[int], None] | None = None,
        progress: Callable[[int, int], Awaitable[None]] | None = None,
    ) -> DocumentResult:
        """All pages, once the last is read, after the steps for whole documents (layout.whole_document).

        `charge` is called with `page_bytes` after each page; `progress` with the number of pages that are read and of
        all, before the first, too.
        """
        pages: list[PageResult] = []
        if progress is not None:
            await progress(0, self.count)
        async for page in self:
            pages.append(page)
            if charge is not None:
                charge(self.page_bytes)
            if progress is not None:
                await progress(len(pages), self.count)
        threads, caller = self._window.threads, self._window.caller
        return await threads.run_large(caller, self.page_bytes, self.result, pages)

    def result(self, pages: Sequence[PageResult]) -> DocumentResult:
        """The document with `pages`, those that were yielded. Blocking, some 0.3 ms for each page."""
        result = DocumentResult(
            self.name, self.mime_type, self.byte_count, self.page_count, self.engine, tuple(pages), self.notes
        )
        return finished(result)


def _numbered(pages: Sequence[int]) -> str:
    """The pages for people, such as "Page 1" or "Pages 1-3, 7". `pages`: their numbers, ascending."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], page]
        else:
            runs.append([page])
    return ("Page " if len(pages) == 1 else "Pages ") + ", ".join("-".join(map(str, run)) for run in runs)


class _PendingPage:
    """A page that is being read, and its result once `done` is set. `cancelled`: it was not read to the end."""

    def __init__(self, index: int) -> None:
        self.done = anyio.Event()
        self.cancelled = True
        self.result = PageResult(index=index)


@dataclass(frozen=True, slots=True)
class PageCallbacks:
    """`on_work_ended` is called when a page's memory is free; `observer` gets its result."""

    on_work_ended: Callable[[], None]
    observer: Observer


@dataclass(slots=True)
class ImageBudget:
    """Room for the images of one document. `note`: for people, once it is used up."""

    left: int = MAX_IMAGE_BYTES
    note: str = ""

    def task(self, task: Task, index: int) -> Task:
        """The task for a page that is begun now."""
        if not task.images or self.left > 0:
            return task
        if not self.note:
            most = MAX_IMAGE_BYTES // (1024 * 1024)
            self.note = f"From page {index + 1} on, figures have no images: those before have {most} MiB."
        return replace(task, images=False)

    def spend(self, page: PageResult) -> None:
        """Counts the images of a page that was read."""
        self.left -= sum(len(block.image.base64) for block in page.blocks or () if block.image is not None)


@dataclass(frozen=True, slots=True)
class PageWindow:
    """Reads up to `size` pages of one open document at once, in the background. Each page gets a result; errors become
    page errors.
    """

    opened: OpenDocument
    engine: Engine
    task: Task
    caller: Caller
    size: int
    tasks: TaskGroup
    callbacks: PageCallbacks
    threads: FairThreads
    images: ImageBudget = field(default_factory=ImageBudget)

    def start(self, upcoming: Iterator[int], open_pages: deque[_PendingPage]) -> None:
        """Starts the next pages until the window is full."""
        while len(open_pages) < self.size and (index := next(upcoming, None)) is not None:
            pending = _PendingPage(index)
            open_pages.append(pending)
            self.tasks.start_soon(self._read, pending, name=f"page {index}")

    async def _read(self, pending: _PendingPage) -> None:
        try:
            with child_span("page", {"inkgate.page": pending.result.index}):
                await self._read_one(pending)
        finally:  # also when cancelled: another task may iterate
            pending.done.set()

    async def _read_one(self, pending: _PendingPage) -> None:
        begun = perf_counter()
        pending.result = await self._result(pending.result.index)
        pending.cancelled = False
        pending.done.set()
        self.callbacks.observer.page(pending.result, self.task, perf_counter() - begun)
        self.callbacks.on_work_ended()

    async def _page(self, index: int) -> Page:
        if isinstance(self.engine, PageOpener):
            return self.engine.page_of(self.opened, index, self.caller)
        begun = perf_counter()
        page = await self.opened.page(index, self.caller)
        self.callbacks.observer.stage("open", perf_counter() - begun)
        return page

    async def _result(self, index: int) -> PageResult:
        try:
            with self.caller.in_time("The document's time limit passed before this page was read."):
                page = await self._page(index)
                result = _checked(await self.engine.read(page, self.images.task(self.task, index), self.caller))
                self.images.spend(result)
                return _with_invoice(result, self.opened.invoice) if index == 0 else result
        except InkgateError as error:
            failure = error.as_page_error()
        except Exception:  # whatever an engine raises for one page, the other pages are read
            log.exception("page_failed", page=index, engine=self.engine.name)
            failure = EngineFailed("engine_failed", "The engine failed while reading this page.").as_page_error()
        return _unread(index, self.engine.name, failure)


def _with_invoice(page: PageResult, invoice: Mapping[str, str]) -> PageResult:
    """The first page with a block for an invoice as XML that the PDF contains, which stands at no place of it."""
    if not invoice or page.blocks is None:
        return page
    code = Barcode(INVOICE_XML, "", NOWHERE, INVOICE_XML, invoice)
    block = Block(BlockType.BARCODE, box_of_quad(NOWHERE), (), "", "", barcode=code)
    return replace(page, blocks=(*page.blocks, block))


def _unread(index: int, engine: str, error: PageError) -> PageResult:
    return PageResult(index=index, engine=engine, error=error, review=(ReviewReason.NOT_READ,))


def _checked(result: object) -> PageResult:
    """The result of an engine, which may be of another package. Raises TypeError if it is none."""
    if not isinstance(result, PageResult):
        raise TypeError(f"a page was read as {type(result).__name__}, not as PageResult")
    return result


class Reader:
    """Reads documents with one engine, in the service a service.page.PageReader. Several documents may be read at once,
    on one event loop.
    """

    def __init__(
        self,
        opener: Opener,
        engine: Engine,
        limits: LimitSettings,
        on_work_ended: Callable[[], None] = lambda: None,
        observer: Observer = NO_OBSERVER,
    ) -> None:
        """`on_work_ended` is called after each page and each document, successful or not. `observer` gets every page's
        result.
        """
        self._opener = opener
        self._engine = engine
        self._limits = limits
        self._on_work_ended = on_work_ended
        self._observer = observer

    @asynccontextmanager
    async def read(self, document: Document, options: CheckedOptions, caller: Caller) -> AsyncIterator[Reading]:
        """A Reading of `document` for `caller`. Leaving the block early cancels pages that are still being read.

        Pages that the deadline ends have an error. Once the document is open, nothing else is ended by it.

        Raises:
            InputRejected: the document can't be opened, or `options.pages` doesn't fit it.
            InputRejected, EngineFailed: the deadline passed before it was open; see Caller.timeout_error.
        """
        # Requests came with this deadline; callers in this process have none.
        time_s = self._limits.time_s if options.page_limit is None else math.inf
        deadline = min(caller.deadline, anyio.current_time() + time_s)
        caller = replace(caller, deadline=deadline, anew=caller.anew or options.private)
        begun = perf_counter()
        try:
            # its page count isn't known yet
            opens = with_default_priority(caller, 1, len(document.data))
            opening = self._opener.open(document, options.pdf_text, password=options.password, caller=opens)
            late = "The document's time limit passed before it was open."
            with caller.in_time(late) as scope:
                async with opening as opened:
                    scope.deadline = math.inf  # each page keeps it
                    self._observer.stage("open", perf_counter() - begun)
                    selected = self._select(opened.page_count, options)
                    caller = with_default_priority(caller, len(selected), len(document.data))
                    with single_error():
                        async with anyio.create_task_group() as tasks:
                            size = options.window or self._limits.page_window
                            callbacks = PageCallbacks(self._on_work_ended, self._observer)
                            window = PageWindow(
                                opened, self._engine, options.task, caller, size, tasks, callbacks, self._opener.threads
                            )
                            note = options.pages.note(opened.page_count) if options.pages else ""
                            yield Reading(document, opened, selected, window, note)
                            tasks.cancel_scope.cancel()
        finally:
            self._on_work_ended()

    async def picture(self, document: Document, page: int, longest_side: int, caller: Caller) -> Pixels:
        """The pixels of page number `page`, from 1, shrunk to `longest_side`. Does not read the page.
        `caller`: on whose behalf.

        Raises:
            InputRejected: the document or the page can't be opened, or the page doesn't exist.
        """
        async with self._opener.open(document, PdfText.NEVER, caller=caller) as opened:
            (index,) = parse_page_list([page], first=1).indexes(opened.page_count)
            return await (await opened.page(index, caller)).pixels(longest_side)

    async def file(self, request: FileRequest, caller: Caller) -> bytes:
        """The file that `request` describes, written in a worker process.

        Raises:
            InputRejected: the document can't be written: see SearchablePdfs.make and Writers.
            EngineFailed: writing takes too long.
        """
        begun = perf_counter()
        caller = with_default_priority(caller, len(request.result.pages), request.result.byte_count)
        with caller.in_time("The document's time limit passed before its file was written."):
            if request.format is FileFormat.PDF:
                made = await self._opener.searchable_pdf(
                    request.document, request.result.pages, request.password, caller
                )
            else:
                made = await self._opener.writers.office_file(request.result, request.format, caller)
            self._observer.stage("assemble", perf_counter() - begun)
            return made

    async def converted(self, body: bytes, shape: AnyFormat, caller: Caller, *, marks: bool) -> bytes:
        """The document whose published JSON a client sent, in another format; see Writers.converted."""
        caller = with_default_priority(caller, 1, len(body))
        return await self._opener.writers.converted(body, shape, caller, marks=marks)

    async def fields_table(self, body: bytes, shape: AnyFormat, caller: Caller) -> bytes:
        """The fields of documents, which a client sent as JSON, as a table; see Writers.fields_table."""
        caller = with_default_priority(caller, 1, len(body))
        return await self._opener.writers.fields_table(body, shape, caller)

    def _select(self, page_count: int, options: CheckedOptions) -> tuple[int, ...]:
        selected = tuple(range(page_count)) if options.pages is None else options.pages.indexes(page_count)
        most = options.page_limit or self._limits.max_pages
        if len(selected) > most:
            raise InputRejected("too_many_pages", f"{len(selected)} pages are selected; the maximum is {most}.")
        return selected
