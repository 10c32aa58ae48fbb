"""Writes files in worker processes (workers/pool.py): PDFs because strangers' files are parsed for it, office files and
conversions because a small document may need much time and memory. Calls take turns in a WorkQueue.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from inkgate.caller import Caller
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.documents.files.wire import WriteCall, WriteOp, WriteReply, decode_reply, encode_result
from inkgate.documents.pdf.pool import machine_has_room
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import PdfSettings, SchedulingSettings
from inkgate.supervision import Supervisor
from inkgate.workers.pool import ProcessPool
from inkgate.workers.process import LossCause, python_command
from inkgate.workers.slot import CallLost, WorkerType
from inkgate.workers.wire import SharedMemory
from inkgate_client.concurrency import Threads
from inkgate_client.types import DocumentResult

_MAX_CALLS, _MAX_GROWTH_MB = 200, 400.0
"""A worker is replaced after this many calls, or if its memory between calls has grown by this much."""
_ABANDONED_S = 2.0
"""Most files are written in this time. A worker that takes longer for a caller who has left is replaced."""
_USUAL_MS = 50
"""Cost of a call until its worker's time is known."""
_GROWTH = 1.25
_PAGE_BYTES, _MIN_BYTES = 4096, 4 * 2**20
"""Room for what a PDF grows by beside its text. Memory that is not written is not used."""


class Writers:
    """Runs calls on worker processes, which are started when they are needed. Two write at once, and a third for a
    tenant that comes while both are another's: what a file takes is not known before, and a worker can't be
    interrupted.
    """

    def __init__(
        self, settings: PdfSettings, supervisor: Supervisor | None, scheduling: SchedulingSettings | None
    ) -> None:
        self._settings = settings
        self._scheduling = scheduling or SchedulingSettings()
        self._max_bytes = settings.worker_memory_mb * 2**20 // 4  # here and in the worker, which has it in copies
        at_once = min(2, settings.workers)
        worker_type = WorkerType(
            name="writer",
            command=python_command("inkgate.documents.files.worker"),
            arguments=("",) * (at_once + 1),
            decode=decode_reply,
            hostile=True,
            warm=0,
            call_s=settings.write_timeout_s,
            abandoned_s=_ABANDONED_S,
            memory_mb=settings.worker_memory_mb,
            max_calls=_MAX_CALLS,
            max_growth_mb=_MAX_GROWTH_MB,
        )
        self._processes = ProcessPool(worker_type, supervisor)
        self._queue = WorkQueue(FixedLimit(at_once), self._scheduling, timed=True, extra=True)
        self._encoding = FairThreads(2, self._scheduling)

    async def __aenter__(self) -> Self:
        self._threads = Threads("writers", 2)
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
        room = int((len(document) + len(plan)) * _GROWTH) + pages * _PAGE_BYTES + _MIN_BYTES
        return await self._write(WriteCall(WriteOp.ADD_TEXT, password), (document, plan), room, caller)

    async def new_pdf(self, plan: bytes, pages: int, caller: Caller) -> bytes:
        """A PDF of the images and texts of `plan`. Raises as `add_text`."""
        room = int(len(plan) * _GROWTH) + pages * _PAGE_BYTES + _MIN_BYTES
        return await self._write(WriteCall(WriteOp.NEW_PDF), (plan,), room, caller)

    async def office_file(self, result: DocumentResult, format: FileFormat, caller: Caller) -> bytes:  # noqa: A002
        """The file of one of the formats of `write.OFFICE`.

        Raises:
            InputRejected: page_memory.
            EngineFailed: page_timeout.
            Overloaded: the machine is out of memory or file descriptors.
        """
        encoded = await self._encoding.run(caller, len(result.pages), encode_result, result)
        return await self._write(WriteCall(WriteOp.OFFICE, format=format), (encoded,), self._max_bytes, caller)

    async def converted(self, body: bytes, format: AnyFormat, caller: Caller, *, marks: bool) -> bytes:  # noqa: A002
        """The document that `body` is the published JSON of, in another format; see `write.converted`.

        Raises as `office_file`, and:
            InputRejected: options_invalid.
        """
        return await self._of_json(WriteCall(WriteOp.CONVERT, format=format, marks=marks), body, caller)

    async def fields_table(self, body: bytes, format: AnyFormat, caller: Caller) -> bytes:  # noqa: A002
        """The table of the fields that `body` has as JSON, as CSV or Excel; see `write.fields_table`.

        Raises as `converted`.
        """
        return await self._of_json(WriteCall(WriteOp.FIELDS, format=format), body, caller)

    async def _of_json(self, call: WriteCall, body: bytes, caller: Caller) -> bytes:
        if not body:
            raise InputRejected("options_invalid", "The body is empty; it must be JSON.")
        return await self._write(call, (body,), self._max_bytes, caller)

    async def _write(self, call: WriteCall, contents: tuple[bytes, ...], room: int, caller: Caller) -> bytes:
        """The output of `call`. Owns the shared memories, and frees them whatever happens."""
        memories: list[SharedMemory] = []
        try:
            with machine_has_room():
                for data in contents:  # one by one: what was made is closed if another fails
                    memory = await self._threads.run(_shared, data)
                    memories.append(memory)
                memories.append(SharedMemory("inkgate-file-output", room, retained=False))
            try:
                async with self._queue.turn(Work.for_caller(caller, _USUAL_MS)) as turn:
                    reply: WriteReply = await self._processes.call(call, memories, turn)
            except CallLost as lost:
                raise _lost_error(lost.cause, call.op, self._settings.write_timeout_s) from None
            if reply.error:
                raise _rejected(reply)
            if not 0 <= reply.length <= room:
                raise EngineFailed("engine_failed", "The worker that wrote the file failed.")
            return await self._threads.run(_content, memories[-1], reply.length)
        finally:
            for memory in memories:
                memory.close()


def _shared(data: bytes) -> SharedMemory:
    return SharedMemory("inkgate-file-input", len(data), data, retained=False)


def _content(memory: SharedMemory, length: int) -> bytes:
    with memory.map() as mapped:
        return mapped[:length]


def _rejected(reply: WriteReply) -> InkgateError:
    try:
        return InputRejected(reply.error, reply.detail)
    except ValueError:  # "engine_failed", or the worker is corrupted
        return EngineFailed("engine_failed", "The file could not be written.")


def _lost_error(cause: LossCause, op: WriteOp, timeout_s: float) -> InkgateError:
    match cause:
        case LossCause.TIMEOUT:
            return EngineFailed("page_timeout", f"Writing the file timed out after {timeout_s:g} s.")
        case LossCause.MEMORY:
            return InputRejected("page_memory", "Writing the file needs more memory than a worker may use.")
        case LossCause.CRASH if op in (WriteOp.ADD_TEXT, WriteOp.NEW_PDF):
            return InputRejected("pdf_corrupt", "The PDF is so badly damaged that it crashed the worker that wrote it.")
        case LossCause.CRASH | LossCause.FAILED:
            return EngineFailed("engine_failed", "The worker that wrote the file failed.")
        case LossCause.STOPPED:
            return EngineFailed("engine_unavailable", "The service is stopping and writes no more files.")
        case LossCause.NOT_STARTED | LossCause.NO_WORKER:
            return EngineFailed("engine_unavailable", "A worker that writes files did not start.")
