"""The service's end of one worker process: starts it, sends calls, and ends it without leaving anything behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from io import FileIO
from pathlib import Path

import anyio

from inkgate.operating_system import ProcessEnd
from inkgate.workers.wire import (
    REPLY_HEAD_BYTES,
    MemoryUse,
    Outcome,
    SharedMemory,
    StartError,
    WorkerReply,
    decode_reply_head,
    encode_call,
    encode_forget,
)
from inkgate_client.concurrency import Threads

END_GRACE_S = 1.0
"""How long to wait for the exit status of a worker that has closed its socket."""
_FIRST_CHUNK, _CHUNK = 2**14, 2**20
_OUT_OF_MEMORY_SIGNALS = {int(getattr(signal, name)) for name in ("SIGABRT", "SIGKILL") if hasattr(signal, name)}
"""Signals of a process out of memory: pdfium aborts itself after a failed allocation, or the kernel kills it. (A failed
assertion in pdfium is SIGTRAP or SIGILL.)"""


class LossCause(StrEnum):
    """Why a call has no result: its worker died (`crash`, `memory`, `timeout`), or none served it."""

    CRASH = "crash"
    MEMORY = "memory"
    TIMEOUT = "timeout"
    NOT_STARTED = "not started"
    NO_WORKER = "no worker"
    STOPPED = "stopped"
    FAILED = "failed"


class WorkerDied(Exception):
    """The worker has ended and its call is lost. `had_call`: it had received the call, which may have killed it."""

    def __init__(self, cause: LossCause, *, had_call: bool = True) -> None:
        super().__init__(cause.value)
        self.cause = cause
        self.had_call = had_call


def python_command(module: str, *roots: Path) -> tuple[str, ...]:
    """The command line of a process that runs `main()` of `module`, from one of `roots` or next to this package.

    -P excludes the current directory, whose modules are not trusted.
    """
    paths = [str(root) for root in (*roots, Path(__file__).parents[2])]
    return (sys.executable, "-P", "-c", f"import sys; sys.path += {paths!r}; from {module} import main; main()")


class WorkerProcess:
    """A running worker. One call at a time; its starter must `stop` it.

    Attributes:
        calls: number of calls sent.
        is_ready: whether it has taken calls, and has not ended as far as is known.
        has_ended: whether its end was noticed by whoever watches it.
        start_private_mb, private_mb: its memory without shared memory, at its start and after the last call.
        pid_file: readable when the process has ended. Whoever watches it closes it.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], channel: socket.socket, pid_file: FileIO, reaper: Threads
    ) -> None:
        self.calls = 0
        self.is_ready = False
        self.has_ended = False
        self.start_private_mb = 0.0
        self.private_mb = 0.0
        self.pid_file = pid_file
        self._process = process
        self._channel = channel
        self._reaper = reaper
        self._ended: LossCause | None = None
        self._waiting = anyio.CancelScope()

    @classmethod
    def spawn(cls, command: Sequence[str], memory_mb: int, argument: str, reaper: Threads) -> WorkerProcess:
        """Starts a process that runs `run_worker` (wire.py). Takes 2 ms. `memory_mb`: 0 for no limit.

        Call it on the event loop's thread: the kernel kills a worker when the *thread* that started it ends. The worker
        has its own session, so Ctrl-C at a terminal doesn't reach it.

        Raises:
            OSError: it could not be started; nothing of it is left.
        """
        with ExitStack() as undo:
            ours, theirs = socket.socketpair()
            undo.enter_context(ours)
            ours.settimeout(0)
            end = undo.enter_context(ProcessEnd())
            with theirs:
                arguments = (str(theirs.fileno()), str(memory_mb), str(os.getpid()), argument)
                process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [*command, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno(), *end.inherited],
                    start_new_session=True,
                )
            undo.callback(process.wait)
            undo.callback(process.kill)
            pid_file = end.file(process.pid)
            undo.pop_all()
        return cls(process, ours, pid_file, reaper)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self, timeout_s: float) -> None:
        """Returns once it takes calls.

        Raises:
            WorkerDied: it ended or timed out before.
            StartError: it says why it can't start.
        """
        reply = await self._reply(timeout_s)
        self.start_private_mb = self.private_mb = reply.private_mb
        if reply.outcome is Outcome.NOT_STARTED:
            raise StartError(reply.body)
        if self.has_ended:
            raise WorkerDied(await self.stop())
        self.is_ready = True

    async def call(
        self, call: object, memories: Sequence[SharedMemory], known: set[int], timeout_s: float
    ) -> WorkerReply:
        """Sends a call and returns the reply. `memories` must be open: their descriptors are sent before the first
        await, unless their numbers are in `known`.

        Raises:
            WorkerDied: it crashed, ran out of memory, or timed out; the process has ended.
        """
        self.calls += 1
        uses = [MemoryUse.of(memory, attached=memory.number not in known) for memory in memories]
        attached = [memory.fileno() for memory, use in zip(memories, uses, strict=True) if use.attached]
        if self._has_sent() or not self._send(encode_call(call, uses), attached):
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S), had_call=False)
        reply = await self._reply(timeout_s)
        self.private_mb = reply.private_mb
        return reply

    def limit(self, timeout_s: float) -> None:
        """Has the call in progress end within this time from now."""
        self._waiting.deadline = min(self._waiting.deadline, anyio.current_time() + timeout_s)

    def forget(self, number: int) -> None:
        """Has it close a kept memory. Only between calls."""
        self._send(encode_forget(number))

    async def stop(self, *, grace_s: float = 0.0) -> LossCause:
        """Ends the process, which has `grace_s` to exit by itself. Returns why it ended. Further calls do nothing."""
        if self._ended is not None:
            return self._ended
        self._channel.close()
        with anyio.CancelScope(shield=True):  # takes milliseconds after a SIGKILL; avoids a zombie
            try:
                cause = self._ended = await self._reaper.run(self._collect, grace_s)
            except BaseException:  # no thread could be started
                self._process.kill()
                raise
        return cause

    def _collect(self, grace_s: float) -> LossCause:
        """Waits for the process to end. Blocking."""
        try:
            status = self._process.wait(grace_s) if grace_s else None
        except subprocess.TimeoutExpired:
            status = None
        if status is None:
            self._process.kill()
            self._process.wait()
            return LossCause.CRASH
        return LossCause.MEMORY if -status in _OUT_OF_MEMORY_SIGNALS else LossCause.CRASH

    def _has_sent(self) -> bool:
        """Whether it has ended, or has sent something that would pass for the reply of the next call."""
        try:
            self._channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def _send(self, frame: bytes, descriptors: Sequence[int] = ()) -> bool:
        """Sends a frame, which always fits the socket buffer of an idle worker. False if the worker is gone."""
        try:
            if not descriptors:
                return self._channel.send(frame) == len(frame)
            return socket.send_fds(self._channel, [frame], descriptors) == len(frame)
        except OSError:
            return False

    async def _reply(self, timeout_s: float) -> WorkerReply:
        try:
            with anyio.fail_after(timeout_s) as self._waiting:
                return await self._receive()
        except TimeoutError:
            await self.stop()
            raise WorkerDied(LossCause.TIMEOUT) from None
        except (EOFError, OSError, ValueError) as error:
            # Linux resets a Unix socket whose other end was closed before it had read everything: the worker was dying
            # while the call was sent.
            had_call = not isinstance(error, ConnectionResetError)
            raise WorkerDied(await self.stop(grace_s=END_GRACE_S), had_call=had_call) from error

    async def _receive(self) -> WorkerReply:
        """The next frame. Raises EOFError, OSError, and ValueError if it makes no sense or more than it has come."""
        await anyio.wait_readable(self._channel)
        received = bytearray()
        while len(received) < REPLY_HEAD_BYTES:
            received += await self._chunk(_FIRST_CHUNK)
        length, outcome, private_mb = decode_reply_head(bytes(received[:REPLY_HEAD_BYTES]))
        while len(received) < REPLY_HEAD_BYTES + length:
            received += await self._chunk(_CHUNK)
        if len(received) > REPLY_HEAD_BYTES + length:
            raise ValueError("more than a reply")
        return WorkerReply(bytes(received[REPLY_HEAD_BYTES:]), outcome, private_mb)

    async def _chunk(self, most: int) -> bytes:
        """What has come, at least a byte and at most this many."""
        while True:
            try:
                chunk = self._channel.recv(most)
            except BlockingIOError:
                await anyio.wait_readable(self._channel)
                continue
            if not chunk:
                raise EOFError
            return chunk
