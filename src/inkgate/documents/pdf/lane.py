"""A lane: runs one worker process at a time with its open documents, and handles its failures."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog

from inkgate.concurrency import Threads
from inkgate.documents.pdf.jobs import Job, Source, closed_error, stopped_error
from inkgate.documents.pdf.process import Cause, WorkerDied, WorkerProcess
from inkgate.documents.pdf.wire import Call, Op, Reply
from inkgate.errors import EngineFailed, InkgateError, InputRejected

log = structlog.get_logger(__name__)

START_TRIES = 3
MAX_OPEN_DOCUMENTS = 8
"""Maximum open documents of a worker; the least recently used one is closed, and reopened when needed."""
MAX_CALLS = 2000
"""A worker is replaced after this many calls, so that small leaks of pdfium and malloc don't add up."""
MAX_GROWTH_MB = 400.0
"""A worker is replaced if its memory between calls has grown by this much since its start."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How workers are started (`command`, see process.py), and the limits of a call."""

    command: Sequence[str]
    memory_mb: int
    timeout_s: float


class Lane:
    """Serves one job at a time, in the worker process it owns. Calls `idle` when it can take the next.

    Attributes:
        deaths: number of workers that died, including those killed for exceeding time or memory.
    """

    def __init__(self, settings: LaneSettings, reaper: Threads, idle: Callable[[Lane], None]) -> None:
        self.deaths = 0
        self._settings = settings
        self._reaper = reaper
        self._idle = idle
        self._process: WorkerProcess | None = None
        self._open: OrderedDict[int, Source] = OrderedDict()
        self._job: Job | None = None
        self._given = anyio.Event()

    @property
    def pid(self) -> int | None:
        """PID of the worker process, if there is one."""
        return self._process.pid if self._process else None

    def readiness(self, source: Source) -> int:
        """How ready this lane is for `source`: 2 if its worker has it open, 1 if it has a worker, else 0."""
        return 2 if source.number in self._open else int(self._process is not None)

    def give(self, job: Job) -> None:
        """Gives the lane its next job. Only while idle."""
        self._job = job
        self._given.set()

    def close_documents(self) -> None:
        """Has the worker close unused documents. Only while idle."""
        for source in [source for source in self._open.values() if source.closed]:
            self._close(source)

    async def run(self, warm: bool) -> None:
        """Serves jobs until cancelled; then ends its process. `warm`: starts the worker at once.

        May be run again after a failure. The job in progress then gets an error.
        """
        try:
            if warm:
                await self._warm()
            while True:
                self._given = anyio.Event()
                self._idle(self)
                await self._given.wait()
                if self._job is not None:
                    await self._serve_one(self._job)
                    self._job = None
                self.close_documents()
        finally:
            job, self._job = self._job, None
            if job is not None and not job.done.is_set():
                job.fail(stopped_error())
            await self._discard()

    async def _serve_one(self, job: Job) -> None:
        try:
            await self._serve(job)
        except Exception:  # per-job border: the lane serves the next job after any failure
            log.exception("pdf_job_failed", call=job.call.op.value)
            job.fail(EngineFailed("engine_failed", "The PDF worker failed."))
            await self._discard()

    async def _warm(self) -> None:
        try:
            await self._start()
        except EngineFailed as error:  # the first job will report it
            log.warning("pdf_worker_not_started", detail=error.detail)

    async def _start(self) -> WorkerProcess:
        """The running worker, or a new one. A worker that is killed before it is ready is replaced.

        Raises:
            EngineFailed: "engine_unavailable": no worker starts.
        """
        for _ in range(START_TRIES):
            if self._process is not None:
                break
            try:
                self._process = await WorkerProcess.start(
                    self._settings.command, self._settings.memory_mb, self._reaper
                )
            except WorkerDied as death:
                self.deaths += 1
                log.warning("pdf_worker_ended_at_start", cause=death.cause.value)
                if death.cause is Cause.TIMEOUT:
                    break
        if self._process is None:
            raise EngineFailed("engine_unavailable", "A PDF worker did not start.")
        return self._process

    async def _serve(self, job: Job) -> None:
        """Runs `job`. A failure that an earlier job in the same worker may have caused is retried once in a new
        process. So is the death of a worker that had not received the job.
        """
        starts = START_TRIES
        while not job.abandoned:
            used = self._process is not None and self._process.calls > 0
            try:
                reply = await self._attempt(job)
            except WorkerDied as death:
                self.deaths += 1
                await self._discard()
                if not death.had_call and starts:
                    starts -= 1
                    continue
                if used and death.cause is not Cause.TIMEOUT:
                    continue
                job.fail(_rejection(job.call, death.cause, self._settings.timeout_s))
                return
            except InkgateError as error:
                job.fail(error)
                return
            await self._recycle(reply)
            if used and reply.error == "page_memory":
                continue
            if reply.error:
                job.fail(_rejected(reply))
            else:
                job.finish(reply.value)
            return

    async def _attempt(self, job: Job) -> Reply:
        process = await self._start()
        # No await between here and sending, so that documents stay open until they are sent.
        if job.abandoned or job.is_closed:
            raise closed_error()
        call, source = job.call, job.source
        files = [] if job.bitmap is None else [job.bitmap]
        if source.number not in self._open:
            self._make_room()
            call = replace(call, document_bytes=source.size, password=source.password)
            files.insert(0, source.file)
        self._open[source.number] = source
        self._open.move_to_end(source.number)
        return await process.call(call, files, self._settings.timeout_s)

    def _make_room(self) -> None:
        while len(self._open) >= MAX_OPEN_DOCUMENTS:
            self._close(next(iter(self._open.values())))

    def _close(self, source: Source) -> None:
        del self._open[source.number]
        if self._process is not None:
            self._process.tell(Call(Op.CLOSE, source.number))

    async def _recycle(self, reply: Reply) -> None:
        """Ends a worker that has served many calls, has grown, or has reached its memory limit."""
        process = self._process
        if process is not None and (
            reply.error == "page_memory"
            or process.calls >= MAX_CALLS
            or process.private_mb - process.start_private_mb > MAX_GROWTH_MB
        ):
            await self._discard()

    async def _discard(self) -> None:
        process, self._process = self._process, None
        self._open.clear()
        if process is not None:
            await process.stop()


def _rejected(reply: Reply) -> InkgateError:
    try:
        return InputRejected(reply.error, reply.detail)
    except ValueError:  # unknown code: the worker is corrupted
        return InputRejected("page_broken", "The page could not be rendered.")


def _rejection(call: Call, cause: Cause, timeout_s: float) -> InkgateError:
    what = "The document" if call.op is Op.OPEN else f"Page {call.index + 1}"
    match cause:
        case Cause.TIMEOUT:
            return EngineFailed("page_timeout", f"{what} timed out after {timeout_s:g} s.")
        case Cause.MEMORY:
            return InputRejected("page_memory", f"{what} needs more memory than a PDF worker may use.")
        case Cause.CRASH:
            code = "pdf_corrupt" if call.op is Op.OPEN else "page_broken"
            return InputRejected(code, f"{what} is so badly damaged that it crashed the PDF worker.")
