"""A worker process: starts it, sends calls, and ends it without leaving anything behind."""

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
"""Time limit of a start, which usually takes 0.15 s."""
END_GRACE_S = 1.0
"""How long to wait for the exit status of a worker that has closed its socket."""
_CHUNK = 2**20
_OUT_OF_MEMORY_SIGNALS = {signal.SIGABRT, signal.SIGKILL}
"""Signals of a process out of memory: pdfium aborts itself after a failed allocation, or the kernel kills it. (A failed
assertion in pdfium is SIGTRAP or SIGILL.)"""


class Cause(StrEnum):
    """Why a worker died."""

    CRASH = "crash"
    MEMORY = "memory"
    TIMEOUT = "timeout"


class WorkerDied(Exception):
    """The worker died and its call is lost. `had_call`: it had received the call, which may have killed it."""

    def __init__(self, cause: Cause, *, had_call: bool = True) -> None:
        super().__init__(cause.value)
        self.cause = cause
        self.had_call = had_call


class WorkerProcess:
    """A running worker. One call at a time; its starter must `stop` it.

    Start it on the event loop's thread (see start_child).
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
        """Starts a worker and waits until it is ready.

        Raises:
            EngineFailed: "engine_unavailable": the machine could not start it.
            WorkerDied: it ended or timed out before it was ready.
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
        """Sends a call and returns the reply. `files` must be open; they are sent before the first await.

        Raises:
            WorkerDied: it crashed, ran out of memory, or timed out; the process has ended.
        """
        self.calls += 1
        if not self.tell(call, files):
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S), had_call=False)
        reply = await self._reply(timeout_s)
        self.private_mb = reply.private_mb
        return reply

    def tell(self, call: Call, files: Sequence[FileIO] = ()) -> bool:
        """Sends a call without awaiting a reply. False if the worker is gone. Raises ValueError if a file is closed."""
        frame = wire.encode(call)  # about 200 bytes, which always fit an idle worker's socket buffer
        fds = [file.fileno() for file in files]
        try:
            return socket.send_fds(self._channel, [frame], fds) == len(frame)
        except OSError:
            return False

    async def stop(self, *, grace_s: float = 0.0) -> Cause:
        """Ends the process, which has `grace_s` to exit by itself. Returns why it ended. Further calls do nothing."""
        if self._ended is not None:
            return self._ended
        self._channel.close()
        with anyio.CancelScope(shield=True):  # takes milliseconds after a SIGKILL; avoids a zombie
            cause = self._ended = await self._reaper.run(self._collect, grace_s)
        return cause

    def _collect(self, grace_s: float) -> Cause:
        """Waits for the process to end. Blocking."""
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
        except (EOFError, OSError, ValueError, TypeError) as error:
            # Linux resets a Unix socket whose other end was closed before it had read everything: the worker was dying
            # while the call was sent.
            had_call = not isinstance(error, ConnectionResetError)
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S), had_call=had_call) from error

    async def _receive(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            try:
                chunk = self._channel.recv(min(count - len(received), _CHUNK))
            except BlockingIOError:
                await anyio.wait_readable(self._channel)
                continue
            if not chunk:
                raise EOFError
            received += chunk
        return bytes(received)
