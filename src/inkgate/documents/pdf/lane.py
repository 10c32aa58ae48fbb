"""A lane: one worker process at a time, the documents it has open, and what happens when it fails."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog

from inkgate.concurrency import Threads
from inkgate.documents.pdf.jobs import Job, Source, closed, stopped
from inkgate.documents.pdf.process import Cause, WorkerDied, WorkerProcess
from inkgate.documents.pdf.wire import Call, Op, Reply
from inkgate.errors import EngineFailed, InkgateError, InputRejected

log = structlog.get_logger(__name__)

START_TRIES = 3
MAX_OPEN_DOCUMENTS = 8
"""Documents that one worker keeps open; the one not used for longest is closed, and opened again when needed."""
MAX_CALLS = 2000
"""A worker is replaced after so many calls: what little pdfium and malloc lose must not add up."""
MAX_GROWTH_MB = 400.0
"""A worker is replaced when, between calls, it holds so much more than when it started."""


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How workers are started (`command`, see process.py), and what a call may take."""

    command: Sequence[str]
    memory_mb: int
    timeout_s: float


class Lane:
    """Serves one job at a time, in the worker process it owns. `idle` is called when it can take the next.

    Attributes:
        deaths: of workers, those that were ended because they took too long or too much included.
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
        """Of the worker process, while there is one."""
        return self._process.pid if self._process else None

    def readiness(self, source: Source) -> int:
        """How soon this lane could serve `source`: 2 when its worker has it open, 1 when there is a worker."""
        return 2 if source.number in self._open else int(self._process is not None)

    def give(self, job: Job) -> None:
        """Only while idle."""
        self._job = job
        self._given.set()

    def close_documents(self) -> None:
        """Have the worker close what nobody uses any more. Only while idle."""
        for source in [source for source in self._open.values() if source.closed]:
            self._close(source)

    async def run(self, warm: bool) -> None:
        """Serve what is given, until cancelled; then no process is left. `warm`: start the worker at once.

        May be run again after it failed. The job that it had then is told.
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
                job.fail(stopped())
            await self._discard()

    async def _serve_one(self, job: Job) -> None:
        try:
            await self._serve(job)
        except Exception:  # the border of one job: whatever it runs into, the lane serves the next
            log.exception("pdf_job_failed", call=job.call.op.value)
            job.fail(EngineFailed("engine_failed", "The PDF worker failed."))
            await self._discard()

    async def _warm(self) -> None:
        try:
            await self._start()
        except EngineFailed as error:  # the first job will say so, to somebody who can do something about it
            log.warning("pdf_worker_not_started", detail=error.detail)

    async def _start(self) -> WorkerProcess:
        """The worker there is, or a new one. One that is killed before it is ready costs nobody anything.

        Raises:
            EngineFailed: "engine_unavailable": none starts.
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
        """Run `job` to its end. What another job may have left behind in the worker isn't held against this one:
        it is tried again, once, in a fresh process. Nor is the end of a worker that had not been given it.
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
        # From here to the sending nothing is awaited: what is open now is open when it is sent.
        if job.abandoned or job.is_closed:
            raise closed()
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
        """End a worker that has served long, has grown, or has run into its memory limit."""
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
    except ValueError:  # a code there is none of: the worker is not itself any more
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
