"""One worker process: started, called, and ended without leaving anything behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from io import FileIO

import anyio

from inkgate.children import start_child
from inkgate.concurrency import Threads
from inkgate.documents.pdf import wire
from inkgate.documents.pdf.wire import Call, Reply
from inkgate.errors import EngineFailed

START_TIMEOUT_S = 60.0
"""A start takes 0.15 s; a machine that needs this long for it is in trouble."""
END_GRACE_S = 1.0
"""A worker that has closed its end of the socket is dead or dying: how it died is worth this wait."""
_CHUNK = 2**20
_OUT_OF_MEMORY_SIGNALS = {signal.SIGABRT, signal.SIGKILL}
"""How pdfium ends itself when it can't do without an allocation that failed, and how the kernel ends it when the
machine is out of memory. (A check of pdfium's own that fails is SIGTRAP or SIGILL.)"""


class Cause(StrEnum):
    """Why a worker is gone."""

    CRASH = "crash"
    MEMORY = "memory"
    TIMEOUT = "timeout"


class WorkerDied(Exception):
    """The call is lost, and the process with it. `had_call`: it had been given the call, and may have died of it."""

    def __init__(self, cause: Cause, *, had_call: bool = True) -> None:
        super().__init__(cause.value)
        self.cause = cause
        self.had_call = had_call


class WorkerProcess:
    """A running worker. One call at a time; whoever starts it must `stop` it.

    Start it on the event loop's own thread (see start_child).
    """

    def __init__(
        self, process: subprocess.Popen[bytes], channel: socket.socket, memory_mb: int, reaper: Threads
    ) -> None:
        self.calls = 0
        self.start_private_mb = 0.0
        self.private_mb = 0.0
        self._process = process
        self._channel = channel
        self._memory_mb = memory_mb
        self._reaper = reaper
        self._ended: Cause | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, command: Sequence[str], memory_mb: int, reaper: Threads) -> WorkerProcess:
        """A worker that has said it is ready.

        Raises:
            EngineFailed: "engine_unavailable": the machine could not start it.
            WorkerDied: it ended, or took too long, before it was ready.
        """
        try:
            with ExitStack() as undo:
                ours, theirs = socket.socketpair()
                undo.enter_context(ours)
                ours.settimeout(0)
                with theirs:
                    arguments = (str(theirs.fileno()), str(memory_mb), str(os.getpid()))
                    process = start_child((*command, *arguments), [theirs.fileno()])
                undo.pop_all()
        except OSError as error:
            raise EngineFailed("engine_unavailable", "A PDF worker could not be started.") from error
        worker = cls(process, ours, memory_mb, reaper)
        try:
            ready = await worker._reply(START_TIMEOUT_S)
        except BaseException:
            await worker.stop()
            raise
        worker.start_private_mb = worker.private_mb = ready.private_mb
        return worker

    async def call(self, call: Call, files: Sequence[FileIO], timeout_s: float) -> Reply:
        """The worker's reply. `files` are open, and sent before anything is awaited.

        Raises:
            WorkerDied: it crashed, ran out of memory or of time; it is gone when this is raised.
        """
        self.calls += 1
        if not self.tell(call, files):
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S), had_call=False)
        reply = await self._reply(timeout_s)
        self.private_mb = reply.private_mb
        return reply

    def tell(self, call: Call, files: Sequence[FileIO] = ()) -> bool:
        """Send a call and wait for nothing; False when the worker is gone. Raises ValueError for a closed file."""
        frame = wire.encode(call)  # some 200 bytes, for which an idle worker's socket always has room
        fds = [file.fileno() for file in files]
        try:
            return socket.send_fds(self._channel, [frame], fds) == len(frame)
        except OSError:
            return False

    async def stop(self, *, grace_s: float = 0.0) -> Cause:
        """Why it ended. The process is ended, after `grace_s` to do so by itself, and collected; once is enough."""
        if self._ended is not None:
            return self._ended
        self._channel.close()
        with anyio.CancelScope(shield=True):  # milliseconds after a SIGKILL; without it a zombie stays
            cause = self._ended = await self._reaper.run(self._collect, grace_s)
        return cause

    def _collect(self, grace_s: float) -> Cause:
        """Blocking: waits for the process to end."""
        try:
            status = self._process.wait(grace_s) if grace_s else None
        except subprocess.TimeoutExpired:
            status = None
        if status is None:
            self._process.kill()
            self._process.wait()
            return Cause.CRASH
        return Cause.MEMORY if -status in _OUT_OF_MEMORY_SIGNALS else Cause.CRASH

    async def _reply(self, timeout_s: float) -> Reply:
        try:
            with anyio.fail_after(timeout_s):
                length = wire.frame_length(await self._receive(wire.HEAD_BYTES))
                return wire.decode_reply(await self._receive(length))
        except TimeoutError:
            await self.stop()
            raise WorkerDied(Cause.TIMEOUT) from None
        except (EOFError, ValueError, TypeError) as error:
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S)) from error

    async def _receive(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            try:
                chunk = self._channel.recv(min(count - len(received), _CHUNK))
            except BlockingIOError:
                await anyio.wait_readable(self._channel)
                continue
            except OSError as error:
                raise EOFError from error
            if not chunk:
                raise EOFError
            received += chunk
        return bytes(received)
