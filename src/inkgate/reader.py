"""The path of a document: opened, its pages read a few at a time, results handed over in order as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.concurrency import single_error
from inkgate.documents.open import OpenDocument, Opener
from inkgate.documents.pages import PageSelection, parse_page_list
from inkgate.engines.base import Engine
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.serving.work import as_caller, current_caller, with_default_priority
from inkgate.settings import LimitSettings, PdfText
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.telemetry.tracing import part
from inkgate.types import Document, DocumentResult, PageResult, Pixels, Task

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is asked of a document. None means: every page; as the settings say. `password`: of an encrypted PDF."""

    task: Task = Task()
    pages: PageSelection | None = None
    pdf_text: PdfText | None = None
    password: str = field(default="", repr=False)


class Reading:
    """A document being read. Iterate it once: each page's result in the document's order, as soon as it is there.

    `limits.page_window` pages are open at once, counted from the oldest that was not handed over yet: a slow
    consumer slows the reading down instead of filling the memory.
    """

    def __init__(
        self, document: Document, opened: OpenDocument, selected: tuple[int, ...], reads: PageReads, note: str = ""
    ) -> None:
        self.name = document.name
        self.byte_count = len(document.data)
        self.notes = (note,) if note else ()
        self.mime_type = opened.mime_type
        self.page_count = opened.page_count
        self.engine = reads.engine.name
        self.selected = selected
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        upcoming = iter(self.selected)
        open_pages: deque[_Slot] = deque()
        self._reads.start(upcoming, open_pages)
        while open_pages:
            slot = open_pages.popleft()
            await slot.done.wait()
            self._reads.start(upcoming, open_pages)
            yield slot.result

    async def all(self) -> DocumentResult:
        """Every page, when the last is read."""
        pages = tuple([page async for page in self])
        return DocumentResult(
            self.name, self.mime_type, self.byte_count, self.page_count, self.engine, pages, self.notes
        )


class _Slot:
    """Where a page's result will be."""

    def __init__(self, index: int) -> None:
        self.done = anyio.Event()
        self.result = PageResult(index=index)


@dataclass(frozen=True, slots=True)
class PageCallbacks:
    """Who is told of pages: `after_page` when the memory of one is free, `observer` what became of it."""

    after_page: Callable[[], None]
    observer: Observer


@dataclass(frozen=True, slots=True)
class PageReads:
    """Reads pages of one open document in the background, each ending in a result, whatever happens."""

    opened: OpenDocument
    engine: Engine
    task: Task
    window: int
    deadline: float
    tasks: TaskGroup
    told: PageCallbacks

    def start(self, upcoming: Iterator[int], open_pages: deque[_Slot]) -> None:
        """Begins with the next pages until the window is full."""
        while len(open_pages) < self.window and (index := next(upcoming, None)) is not None:
            slot = _Slot(index)
            open_pages.append(slot)
            self.tasks.start_soon(self._read, slot, name=f"page {index}")

    async def _read(self, slot: _Slot) -> None:
        with part("page", {"inkgate.page": slot.result.index}):
            await self._read_one(slot)

    async def _read_one(self, slot: _Slot) -> None:
        begun = perf_counter()
        with anyio.CancelScope(deadline=self.deadline) as scope:
            slot.result = await self._result(slot.result.index)
        if scope.cancelled_caught:
            late = current_caller().timeout_error("The time for this document was over before this page was read.")
            slot.result = replace(slot.result, engine=self.engine.name, error=late.as_page_error())
        slot.done.set()
        self.told.observer.page(slot.result, self.task, perf_counter() - begun)
        self.told.after_page()

    async def _result(self, index: int) -> PageResult:
        try:
            begun = perf_counter()
            page = await self.opened.page(index, current_caller().priority.rank)
            self.told.observer.stage("open", perf_counter() - begun)
            return await self.engine.read(page, self.task)
        except InkgateError as error:
            failure = error.as_page_error()
        except Exception:  # the border of one page: whatever an engine raises, the other pages are answered
            log.exception("page_failed", page=index, engine=self.engine.name)
            failure = EngineFailed("engine_failed", "The engine failed while it read this page.").as_page_error()
        return PageResult(index=index, engine=self.engine.name, error=failure)


class Reader:
    """Reads documents with one engine. Safe for many documents at once, on one event loop."""

    def __init__(
        self,
        opener: Opener,
        engine: Engine,
        limits: LimitSettings,
        after_page: Callable[[], None] = lambda: None,
        observer: Observer = NO_OBSERVER,
    ) -> None:
        """`after_page` is called after each page and each document that ended, however it did. `observer` is told of
        every page that has its result.
        """
        self._opener = opener
        self._engine = engine
        self._limits = limits
        self._after_page = after_page
        self._observer = observer

    @asynccontextmanager
    async def read(self, document: Document, options: ReadOptions) -> AsyncIterator[Reading]:
        """A Reading of `document`. Leaving the block early cancels what is still being read.

        Raises:
            InputRejected: the document as a whole can't be read, or `options.pages` doesn't fit it.
        """
        caller = current_caller()
        deadline = min(caller.deadline, anyio.current_time() + self._limits.time_s)
        begun = perf_counter()
        try:
            # its page count isn't known yet
            rank = with_default_priority(caller, 1, len(document.data)).priority.rank
            opening = self._opener.open(document, options.pdf_text, password=options.password, rank=rank)
            async with opening as opened:
                self._observer.stage("open", perf_counter() - begun)
                selected = self._select(opened.page_count, options.pages)
                caller = with_default_priority(replace(caller, deadline=deadline), len(selected), len(document.data))
                with as_caller(caller), single_error():
                    async with anyio.create_task_group() as tasks:
                        window = self._limits.page_window
                        told = PageCallbacks(self._after_page, self._observer)
                        reads = PageReads(opened, self._engine, options.task, window, deadline, tasks, told)
                        note = options.pages.note(opened.page_count) if options.pages else ""
                        yield Reading(document, opened, selected, reads, note)
                        tasks.cancel_scope.cancel()
        finally:
            self._after_page()

    async def picture(self, document: Document, page: int, longest_side: int) -> Pixels:
        """The page with this number from 1, shrunk so that no side is longer; it is opened, not read.

        Raises:
            InputRejected: the document or this page can't be opened, or there is no such page.
        """
        async with self._opener.open(document, PdfText.NEVER) as opened:
            (index,) = parse_page_list([page], first=1).indexes(opened.page_count)
            return await (await opened.page(index)).pixels(longest_side)

    def _select(self, page_count: int, pages: PageSelection | None) -> tuple[int, ...]:
        selected = tuple(range(page_count)) if pages is None else pages.indexes(page_count)
        if len(selected) > self._limits.max_pages:
            raise InputRejected(
                "too_many_pages", f"{len(selected)} pages were asked for; at most {self._limits.max_pages} are read."
            )
        return selected
