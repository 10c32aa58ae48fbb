"""Opens and renders PDF documents in a pool of worker processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from io import FileIO
from itertools import count
from types import TracebackType
from typing import Any, Self

import anyio

from inkgate.children import python_command
from inkgate.concurrency import Threads, single_error
from inkgate.documents.content import digest, page_key
from inkgate.documents.pdf.facts import PageFacts, whole
from inkgate.documents.pdf.geometry import shrink
from inkgate.documents.pdf.jobs import Content, Job, JobQueue, Source, stopped_error
from inkgate.documents.pdf.lane import Lane, LaneSettings
from inkgate.documents.pdf.room import machine_has_room
from inkgate.documents.pdf.shared import make_bitmap, map_bitmap, seal_bytes
from inkgate.documents.pdf.wire import Call, Op
from inkgate.errors import InputRejected
from inkgate.settings import PdfSettings, PdfText
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.types import Pixels, TextLayer

USUAL_RANK = 1


class PdfPool:
    """Runs calls on PDF documents in worker processes, page by page, the most urgent first (jobs.py).

    Workers are started on demand, the first `warm_workers` at once. A worker that crashes, hangs or uses too much
    memory fails only its current page, and is replaced. Scheduling is per page, so a document of a thousand pages does
    not block others. A cancelled caller returns at once; the result of its running call is dropped. A document is open
    until its last holder releases it, which may be long after the opener has.
    """

    def __init__(
        self, settings: PdfSettings, command: Sequence[str] | None = None, supervisor: Supervisor | None = None
    ) -> None:
        """`command`: starts another program with the protocol of wire.py, for tests.

        `supervisor`: runs the lanes.
        """
        self._supervisor = supervisor or Supervisor()
        self._settings = settings
        self._lane_settings = LaneSettings(
            command=command or python_command("inkgate.documents.pdf.worker"),
            memory_mb=settings.worker_memory_mb,
            timeout_s=settings.page_timeout_s,
        )
        self._numbers = count(1)
        self._waiting = JobQueue()
        self._idle: list[Lane] = []
        self._lanes: list[Lane] = []
        self._stack = AsyncExitStack()
        self._running = False

    async def __aenter__(self) -> Self:
        self._threads = Threads("pdf", self._settings.workers + 2)
        self._stack.enter_context(single_error())
        group = await self._stack.enter_async_context(anyio.create_task_group())
        self._lanes = [Lane(self._lane_settings, self._threads, self._rest) for _ in range(self._settings.workers)]
        for number, lane in enumerate(self._lanes):
            run = partial(self._run, lane, number < self._settings.warm_workers)
            group.start_soon(self._supervisor.keep, BackgroundTask(f"pdf_worker_{number + 1}", run))
        self._stack.callback(group.cancel_scope.cancel)
        self._running = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._running = False
        try:
            return await self._stack.__aexit__(kind, error, trace)
        finally:
            self._idle.clear()
            while (job := self._waiting.take()) is not None:
                job.fail(stopped_error())

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The current worker processes."""
        return tuple(lane.pid for lane in self._lanes if lane.pid is not None)

    @property
    def worker_lives(self) -> tuple[tuple[int, int], ...]:
        """For each lane: its process, 0 for none, and 1 + the number of its workers that died.

        Lanes that never had a worker are omitted.
        """
        return tuple((lane.pid or 0, lane.deaths + 1) for lane in self._lanes if lane.pid or lane.deaths)

    @property
    def jobs(self) -> tuple[int, int, int]:
        """Number of lanes, of lanes with a job, and of waiting jobs."""
        return len(self._lanes), len(self._lanes) - len(self._idle), len(self._waiting)

    @asynccontextmanager
    async def open(
        self, data: bytes, pdf_text: PdfText, password: str = "", rank: int = USUAL_RANK
    ) -> AsyncIterator[PdfDocument]:
        """Opens the document in `data`. `pdf_text`: whether its pages provide their text layer. `rank`: priority of
        opening it; 0 goes first.

        Raises:
            InputRejected: pdf_corrupt, pdf_encrypted, pdf_password_wrong, pdf_empty or page_memory.
            EngineFailed: page_timeout.
            Overloaded: the machine is out of memory or file descriptors.
        """
        if not data:
            raise InputRejected("pdf_corrupt", "The PDF has no bytes.")
        content = await self._threads.run(digest, data)
        with machine_has_room():
            file = await self._threads.run(seal_bytes, data)
        source = Source(Content(len(data), content, password), next(self._numbers), file, self._close_documents)
        with source.hold():
            opened = await self.call(source, Call(Op.OPEN, source.number), rank)
            page_count = whole(opened.get("page_count"))
            if page_count < 1:
                raise InputRejected("pdf_empty", "The PDF has no pages.")
            yield PdfDocument(self, source, page_count, self._settings, pdf_text)

    def _close_documents(self) -> None:
        """Has idle workers close unused documents; busy workers do so after their job."""
        for lane in self._idle:
            lane.close_documents()

    async def call(self, source: Source, call: Call, rank: int, bitmap: FileIO | None = None) -> dict[str, Any]:
        """Queues `call` and returns a worker's reply.

        Raises:
            InputRejected, EngineFailed: as lane.py decides.
        """
        if not self._running:
            raise stopped_error()
        with source.hold():
            job = Job(source, call, rank, bitmap)
            self._waiting.put(job)
            self._dispatch()
            try:
                await job.done.wait()
            finally:
                if not job.done.is_set():
                    job.abandoned = True
        error, job.error = job.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # the error holds this frame
        return job.value

    async def _run(self, lane: Lane, warm: bool) -> None:
        try:
            await lane.run(warm)
        finally:
            if lane in self._idle:
                self._idle.remove(lane)

    def _rest(self, lane: Lane) -> None:
        """Called by an idle lane."""
        self._idle.append(lane)
        self._dispatch()

    def _dispatch(self) -> None:
        """Gives each waiting job to the idle lane that is most ready for its document, while there are both."""
        while self._idle and (job := self._waiting.take()) is not None:
            lane = max(self._idle, key=lambda lane: lane.readiness(job.source))
            self._idle.remove(lane)
            lane.give(job)


class PdfDocument:
    """An open PDF. Pages may be requested in any order and concurrently."""

    def __init__(
        self, pool: PdfPool, source: Source, page_count: int, settings: PdfSettings, pdf_text: PdfText
    ) -> None:
        self.page_count = page_count
        self._pool = pool
        self._source = source
        self._settings = settings
        self._pdf_text = pdf_text

    async def page(self, index: int, rank: int = USUAL_RANK) -> PdfPage:
        """The page, with its size, and its text layer if used. Its pixels are rendered later with the same rank.

        Raises:
            InputRejected: page_broken or page_memory.
            EngineFailed: page_timeout.
        """
        if not 0 <= index < self.page_count:
            raise IndexError(index)
        call = Call(
            Op.PAGE,
            self._source.number,
            index=index,
            dpi=self._settings.dpi,
            max_side=self._settings.max_side,
            text=self._pdf_text.value,
        )
        answer = await self._pool.call(self._source, call, rank)
        try:
            found = PageFacts.of(answer)
        except (KeyError, ValueError, TypeError) as error:
            raise InputRejected("page_broken", f"Page {index + 1} could not be read.") from error
        content_key = page_key(self._source.digest, index, call.dpi, call.max_side, call.text)
        place = _Place(content_key, index, rank)
        return PdfPage(self._pool, self._source, place, found)


@dataclass(frozen=True, slots=True)
class _Place:
    """A page's index and rank."""

    content_key: bytes
    index: int
    rank: int


class PdfPage:
    """A page of an open PDF (`types.Page`). `text_verdict`: why its text layer is used or not."""

    def __init__(self, pool: PdfPool, source: Source, place: _Place, facts: PageFacts) -> None:
        self.content_key = place.content_key
        self.index = place.index
        self._rank = place.rank
        self.size = facts.size
        self.dpi = facts.dpi
        self.text_layer = TextLayer(facts.lines) if facts.lines is not None else None
        self.text_verdict = facts.verdict
        self._pool = pool
        self._source = source

    def hold(self) -> AbstractContextManager[None]:
        """See `types.Page`: keeps the document's bytes open for the workers."""
        return self._source.hold()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """See `types.Page`. Rendered at the requested size, not shrunk afterwards."""
        size = shrink(self.size, longest_side)
        with machine_has_room():
            bitmap = make_bitmap(size)
        with bitmap:
            call = Call(Op.RENDER, self._source.number, index=self.index, width=size.width, height=size.height)
            await self._pool.call(self._source, call, self._rank, bitmap)
            with machine_has_room():
                rgb = map_bitmap(bitmap.fileno(), size)
        return Pixels(rgb, max(self.size.width, self.size.height) / max(size.width, size.height))
