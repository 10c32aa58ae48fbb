"""Writes PDFs in worker processes (workers/pool.py), because it parses strangers' files."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from inkgate.caller import Caller
from inkgate.concurrency import Threads
from inkgate.documents.files.pdf_wire import WriteCall, WriteOp, WriteReply, decode_reply
from inkgate.documents.pdf.pool import machine_has_room
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.settings import PdfSettings, SchedulingSettings
from inkgate.supervision import Supervisor
from inkgate.workers.pool import ProcessPool
from inkgate.workers.process import LossCause, python_command
from inkgate.workers.slot import CallLost, WorkerType
from inkgate.workers.wire import SharedMemory

_MAX_CALLS = 200
_USUAL_MS = 50
"""Cost of a call until its worker's time is known."""
_GROWTH = 1.25
_PAGE_BYTES, _LEAST_BYTES = 4096, 4 * 2**20
"""Room for what the file grows by beside its text. Memory that is not written is not used."""


class PdfWriters:
    """Runs calls on worker processes, which are started with the first one. Two documents at once; others wait."""

    def __init__(
        self, settings: PdfSettings, supervisor: Supervisor | None, scheduling: SchedulingSettings | None
    ) -> None:
        self._settings = settings
        worker_type = WorkerType(
            name="pdf_writer",
            command=python_command("inkgate.documents.files.pdf_worker"),
            arguments=("",) * min(2, settings.workers),
            decode=decode_reply,
            hostile=True,
            warm=0,
            call_s=settings.write_timeout_s,
            memory_mb=settings.worker_memory_mb,
            max_calls=_MAX_CALLS,
        )
        self._processes = ProcessPool(worker_type, supervisor)
        workers = FixedLimit(len(worker_type.arguments))
        self._queue = WorkQueue(workers, scheduling or SchedulingSettings(), timed=True)

    async def __aenter__(self) -> Self:
        self._threads = Threads("pdf_writers", 2)
        await self._processes.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._processes.__aexit__(kind, error, trace)

    async def add_text(self, document: bytes, plan: bytes, pages: int, password: str, caller: Caller) -> bytes:
        """The PDF `document` with the texts of `plan` (WritePlan), which has `pages`.

        Raises:
            InputRejected: pdf_corrupt, pdf_encrypted, pdf_password_wrong or page_memory.
            EngineFailed: page_timeout.
            Overloaded: the machine is out of memory or file descriptors.
        """
        room = int((len(document) + len(plan)) * _GROWTH) + pages * _PAGE_BYTES + _LEAST_BYTES
        return await self._write(WriteCall(WriteOp.ADD_TEXT, password), (document, plan), room, caller)

    async def new_pdf(self, plan: bytes, pages: int, caller: Caller) -> bytes:
        """A PDF of the images and texts of `plan`. Raises as `add_text`."""
        room = int(len(plan) * _GROWTH) + pages * _PAGE_BYTES + _LEAST_BYTES
        return await self._write(WriteCall(WriteOp.NEW_PDF), (plan,), room, caller)

    async def _write(self, call: WriteCall, contents: tuple[bytes, ...], room: int, caller: Caller) -> bytes:
        """The output of `call`. Owns the shared memories, and frees them whatever happens."""
        memories: list[SharedMemory] = []
        try:
            with machine_has_room():
                for data in contents:  # one by one: what was made is closed if another fails
                    memory = await self._threads.run(_shared, data)
                    memories.append(memory)
                memories.append(SharedMemory("inkgate-pdf-output", room, kept=False))
            try:
                async with self._queue.turn(Work.for_caller(caller, _USUAL_MS)) as turn:
                    reply: WriteReply = await self._processes.call(call, memories, turn)
            except CallLost as lost:
                raise _lost_error(lost.cause, self._settings.write_timeout_s) from None
            if reply.error:
                raise _rejected(reply)
            if not 0 < reply.length <= room:
                raise EngineFailed("engine_failed", "The PDF writer failed.")
            return await self._threads.run(_content, memories[-1], reply.length)
        finally:
            for memory in memories:
                memory.close()


def _shared(data: bytes) -> SharedMemory:
    return SharedMemory("inkgate-pdf-input", len(data), data, kept=False)


def _content(memory: SharedMemory, length: int) -> bytes:
    with memory.map() as mapped:
        return mapped[:length]


def _rejected(reply: WriteReply) -> InkgateError:
    try:
        return InputRejected(reply.error, reply.detail)
    except ValueError:  # unknown code: the worker is corrupted
        return InputRejected("pdf_corrupt", "The PDF could not be written.")


def _lost_error(cause: LossCause, timeout_s: float) -> InkgateError:
    match cause:
        case LossCause.TIMEOUT:
            return EngineFailed("page_timeout", f"Writing the PDF timed out after {timeout_s:g} s.")
        case LossCause.MEMORY:
            return InputRejected("page_memory", "Writing the PDF needs more memory than a PDF worker may use.")
        case LossCause.CRASH:
            return InputRejected("pdf_corrupt", "The PDF is so badly damaged that it crashed the worker that wrote it.")
        case LossCause.STOPPED:
            return EngineFailed("engine_unavailable", "The service is stopping and writes no more PDFs.")
        case LossCause.NOT_STARTED | LossCause.NO_WORKER:
            return EngineFailed("engine_unavailable", "A worker that writes PDFs did not start.")
        case LossCause.FAILED:
            return EngineFailed("engine_failed", "The PDF writer failed.")
