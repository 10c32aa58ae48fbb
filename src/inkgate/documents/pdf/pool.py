"""Opens and renders PDF documents in a pool of worker processes (workers/pool.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import structlog

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.images import content_key_of, digest
from inkgate.documents.pdf.facts import PageFacts, whole
from inkgate.documents.pdf.geometry import shrink
from inkgate.documents.pdf.notes import MAX_FILES, XFA_NOTE, files_note, texts_of
from inkgate.documents.pdf.wire import Op, PdfCall, Reply, decode_reply
from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.page import Pixels
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import PdfSettings, PdfText, SchedulingSettings
from inkgate.supervision import Supervisor
from inkgate.workers.pool import ProcessPool
from inkgate.workers.process import LossCause, python_command
from inkgate.workers.slot import CallLost, WorkerType
from inkgate.workers.wire import SharedMemory
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

MAX_CALLS = 2000
"""A worker is replaced after this many calls, so that small leaks of pdfium and malloc don't add up."""
MAX_GROWTH_MB = 400.0
"""A worker is replaced if its memory between calls has grown by this much since its start."""
RETRY_AFTER_S = 5.0
"""Documents in flight usually free their memory within this time."""


class PdfPool:
    """Runs calls on PDF documents in worker processes, page by page. A call takes its turn in a WorkQueue.

    Workers are started on demand, the first `warm_workers` at once. A worker that crashes, hangs or uses too much
    memory fails only its current page, and is replaced. Scheduling is per page, so a document of a thousand pages does
    not block others. A cancelled caller returns at once; the result of its running call is dropped. A document is open
    until its last holder releases it, which may be long after the opener has.
    """

    def __init__(
        self,
        settings: PdfSettings,
        command: Sequence[str] | None = None,
        supervisor: Supervisor | None = None,
        scheduling: SchedulingSettings | None = None,
    ) -> None:
        """`command`: starts another program with the protocol of wire.py, for tests.

        `supervisor`: runs the tasks of the workers. `scheduling`: how callers share them.
        """
        self._settings = settings
        worker_type = WorkerType(
            name="pdf",
            command=command or python_command("inkgate.documents.pdf.worker"),
            arguments=("",) * settings.workers,
            decode=decode_reply,
            hostile=True,
            warm=settings.warm_workers,
            call_s=settings.page_timeout_s,
            memory_mb=settings.worker_memory_mb,
            max_calls=MAX_CALLS,
            max_growth_mb=MAX_GROWTH_MB,
        )
        self._processes = ProcessPool(worker_type, supervisor)
        self._queue = WorkQueue(FixedLimit(settings.workers), scheduling or SchedulingSettings(), timed=True)
        self.threads = FairThreads(settings.workers + 2, scheduling)

    async def __aenter__(self) -> Self:
        self._copying = Threads("pdf_copies", self._settings.workers + 2)
        await self._processes.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._processes.__aexit__(kind, error, trace)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The current worker processes."""
        return self._processes.pids

    @property
    def worker_lives(self) -> tuple[tuple[int, int], ...]:
        return self._processes.lives

    @property
    def jobs(self) -> tuple[int, int, int]:
        """Number of workers, of those with a call, and of waiting calls."""
        workers, busy, waiting = self._processes.calls
        return workers, busy, waiting + self._queue.waiting

    @asynccontextmanager
    async def open(
        self, data: bytes, pdf_text: PdfText, password: str = "", caller: Caller = NO_CALLER
    ) -> AsyncIterator[PdfDocument]:
        """Opens the document in `data`. `pdf_text`: whether its pages provide their text layer. `caller`: on
        whose behalf.

        Raises:
            InputRejected: pdf_corrupt, pdf_encrypted, pdf_password_wrong, pdf_empty or page_memory.
            EngineFailed: page_timeout.
            Overloaded: the machine is out of memory or file descriptors.
        """
        if not data:
            raise InputRejected("pdf_corrupt", "The PDF has no bytes.")
        content_key = await self.threads.run_large(caller, len(data), digest, data)
        with machine_has_room():  # a copy takes some 20 ms for 100 MB, and is closed here whatever happens
            memory = await self._copying.run(SharedMemory, "inkgate-pdf", len(data), data, retained=True)
        source = PdfSource(memory, content_key, password, self._processes)
        with source.retain():
            opened = await self.call(source, PdfCall(Op.OPEN, source.number, password), caller)
            page_count = whole(opened.get("page_count"))
            if page_count < 1:
                raise InputRejected("pdf_empty", "The PDF has no pages.")
            yield PdfDocument(self, source, page_count, _Reading(self._settings, pdf_text), _Contents.of(opened))

    async def call(
        self, source: PdfSource, call: PdfCall, caller: Caller, bitmap: SharedMemory | None = None
    ) -> dict[str, Any]:
        """Has a worker run `call`, and returns its reply.

        Raises:
            InputRejected, EngineFailed: as the worker says, or by the crash rules of workers/slot.py.
        """
        memories = (source.memory,) if bitmap is None else (source.memory, bitmap)
        with source.retain():
            try:
                async with self._queue.turn(Work.for_caller(caller, call.usual_ms)) as turn:
                    reply: Reply = await self._processes.call(call, memories, turn)
            except CallLost as lost:
                raise _lost_error(call, lost.cause, self._settings.page_timeout_s) from None
        if reply.error:
            raise _rejected(reply)
        return reply.value


def _texts(found: object) -> dict[str, str]:
    """What a worker, which may have been taken over, says to be texts by name."""
    pairs = found.items() if isinstance(found, dict) else ()
    return {name: text for name, text in pairs if isinstance(name, str) and isinstance(text, str)}


@dataclass(frozen=True, slots=True)
class _Reading:
    """How pages are read."""

    settings: PdfSettings
    pdf_text: PdfText


@dataclass(frozen=True, slots=True)
class _Contents:
    """What a document holds beside its pages. `invoice`: values of an invoice as XML. `files`: names of some of the
    `file_count` others.
    """

    invoice: Mapping[str, str]
    files: tuple[str, ...]
    file_count: int
    portfolio: bool
    xfa: bool

    @classmethod
    def of(cls, reply: Mapping[str, object]) -> Self:
        """Makes one from a worker's reply, which is not trusted."""
        files, count = texts_of(reply.get("files"), MAX_FILES), whole(reply.get("file_count"))
        return cls(_texts(reply.get("invoice")), files, count, reply.get("portfolio") is True, reply.get("xfa") is True)

    def notes(self, pinned: Sequence[str]) -> tuple[str, ...]:
        """`pinned`: names of files that are pinned to pages; the document may list them, too."""
        others = [name for name in pinned if not name or name not in self.files]
        note = files_note([*self.files, *others], self.file_count + len(others), portfolio=self.portfolio)
        return tuple(note for note in (XFA_NOTE if self.xfa else "", note) if note)


class PdfSource:
    """A document's bytes in shared memory, for workers. Reference-counted: open until its last holder releases it.

    Used from one event loop.

    Attributes:
        number: of the shared memory. New for each opening, so that no caller uses a document opened by another's
            password.
        digest: the key of its bytes.
    """

    def __init__(self, memory: SharedMemory, content_key: bytes, password: str, processes: ProcessPool) -> None:
        self.number = memory.number
        self.memory = memory
        self.digest = content_key
        self.password = password
        self._processes = processes
        self._retained = 0

    @contextmanager
    def retain(self) -> Iterator[None]:
        """Keeps the document open within the block.

        Raises:
            EngineFailed: "engine_unavailable": it is closed.
        """
        if self.memory.closed:
            raise EngineFailed("engine_unavailable", "The document was closed before this page was read.")
        self._retained += 1
        try:
            yield
        finally:
            self._retained -= 1
            if not self._retained:
                self.memory.close()
                self._processes.forget_closed()


class PdfDocument:
    """An open PDF. Pages may be requested in any order and concurrently."""

    def __init__(
        self,
        pool: PdfPool,
        source: PdfSource,
        page_count: int,
        how: _Reading,
        contents: _Contents,
    ) -> None:
        self.page_count = page_count
        self.invoice = contents.invoice
        self._pool = pool
        self._source = source
        self._how = how
        self._contents = contents

    def notes(self, attachments: Sequence[str]) -> tuple[str, ...]:
        """Messages for people about what of it was not read. `attachments`: names of files pinned to its pages."""
        return self._contents.notes(attachments)

    def retain(self) -> AbstractContextManager[None]:
        """Keeps the document's bytes open for the workers inside the block."""
        return self._source.retain()

    def content_key(self, index: int) -> bytes:
        """The key of a page in the cache, known before the page is opened."""
        settings, text = self._how.settings, self._how.pdf_text
        return content_key_of(self._source.digest, index, settings.dpi, settings.max_side, text.value)

    async def page(self, index: int, caller: Caller = NO_CALLER) -> PdfPage:
        """The page, with its size, and its text layer if used. Its pixels are rendered later, for the same caller.

        Raises:
            InputRejected: page_broken or page_memory.
            EngineFailed: page_timeout.
        """
        if not 0 <= index < self.page_count:
            raise IndexError(index)
        call = PdfCall(
            Op.PAGE,
            self._source.number,
            self._source.password,
            index=index,
            dpi=self._how.settings.dpi,
            max_side=self._how.settings.max_side,
            text=self._how.pdf_text.value,
        )
        answer = await self._pool.call(self._source, call, caller)
        try:
            found = await self._pool.threads.run(caller, 1, PageFacts.of, answer)
        except (KeyError, ValueError, TypeError) as error:
            raise InputRejected("page_broken", f"Page {index + 1} could not be read.") from error
        place = _Place(self.content_key(index), index, caller)
        return PdfPage(self._pool, self._source, place, found)


@dataclass(frozen=True, slots=True)
class _Place:
    """A page's index, and on whose behalf it is read."""

    content_key: bytes
    index: int
    caller: Caller


class PdfPage:
    """A page of an open PDF (`page.Page`). `text_verdict`: why its text layer is used or not."""

    def __init__(self, pool: PdfPool, source: PdfSource, place: _Place, facts: PageFacts) -> None:
        self.content_key = place.content_key
        self.index = place.index
        self._caller = place.caller
        self.size = facts.size
        self.dpi = facts.dpi
        self.text_layer = facts.layer
        self.text_verdict = facts.verdict
        self._pool = pool
        self._source = source

    def retain(self) -> AbstractContextManager[None]:
        """Keeps the document's bytes open for the workers."""
        return self._source.retain()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Renders the page at the requested size, rather than shrinking it afterwards."""
        size = shrink(self.size, longest_side)
        source = self._source
        with machine_has_room():
            bitmap = SharedMemory("inkgate-page", size.pixels * 3, retained=False)
        with bitmap:
            call = PdfCall(
                Op.RENDER, source.number, source.password, index=self.index, width=size.width, height=size.height
            )
            await self._pool.call(source, call, self._caller, bitmap)
            with machine_has_room():
                rgb = np.frombuffer(bitmap.map(), np.uint8).reshape(size.height, size.width, 3)
        return Pixels(rgb, max(self.size.width, self.size.height) / max(size.width, size.height))


@contextmanager
def machine_has_room() -> Iterator[None]:
    """Context around the allocation of shared memory.

    Raises:
        Overloaded: "service_full": no shared memory is left, or too many files are open. The log says which.
    """
    try:
        yield
    except OSError as error:
        log.warning("no_room_for_pdf", reason=error.strerror)
        raise Overloaded("service_full", "The machine is out of memory or file descriptors.", RETRY_AFTER_S) from error


def _rejected(reply: Reply) -> InkgateError:
    try:
        return InputRejected(reply.error, reply.detail)
    except ValueError:  # unknown code: the worker is corrupted
        return InputRejected("page_broken", "The page could not be rendered.")


def _lost_error(call: PdfCall, cause: LossCause, timeout_s: float) -> InkgateError:
    match cause:
        case LossCause.TIMEOUT:
            return EngineFailed("page_timeout", f"{call.what} timed out after {timeout_s:g} s.")
        case LossCause.MEMORY:
            return InputRejected("page_memory", f"{call.what} needs more memory than a PDF worker may use.")
        case LossCause.CRASH:
            code = "pdf_corrupt" if call.op is Op.OPEN else "page_broken"
            return InputRejected(code, f"{call.what} is so badly damaged that it crashed the PDF worker.")
        case LossCause.STOPPED:
            return EngineFailed("engine_unavailable", "The service is stopping and reads no more PDFs.")
        case LossCause.NOT_STARTED | LossCause.NO_WORKER:
            return EngineFailed("engine_unavailable", "A PDF worker did not start.")
        case LossCause.FAILED:
            return EngineFailed("engine_failed", "The PDF worker failed.")
