"""The engine's side of a worker process: starts, calls and ends it."""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any, Self

from inkgate.children import end_child, start_child
from inkgate.engines.workers.block import SharedBlock

_TIMEVAL = struct.Struct("@ll")


class WorkerDied(Exception):
    """The worker has ended. `had_call`: it had received the call, and may have died of it."""

    def __init__(self, cause: str, *, had_call: bool) -> None:
        super().__init__(cause)
        self.cause = cause
        self.had_call = had_call


class Worker:
    """A worker process. Serves one call at a time; safe from any thread that has exclusive use of it.

    Attributes:
        alive: False once its end was noticed, or once it must not be used any more.
        pid_fd: becomes readable when the process has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], pid_fd: int, channel: Connection, block: SharedBlock) -> None:
        self.alive = True
        self.pid_fd = pid_fd
        self._process = process
        self._channel = channel
        self._block = block

    @classmethod
    def start(cls, command: Sequence[str], argument: str, timeout_s: float) -> Self:
        """A worker that loads its models: see start_child. `timeout_s`: for each call.

        Raises:
            OSError: it could not be started; nothing of it is left.
        """
        with ExitStack() as undo:
            block = SharedBlock.make()
            undo.callback(block.close)
            ours, theirs = socket.socketpair()
            undo.enter_context(ours)
            with theirs:
                # A worker that stops in the middle of an answer must not block a thread for ever.
                limit = _TIMEVAL.pack(int(timeout_s), int(timeout_s % 1 * 1e6))
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
                fds = (theirs.fileno(), block.fd)
                process = start_child((*command, *map(str, fds), str(os.getpid()), argument), fds)
            undo.callback(end_child, process)
            pid_fd = os.pidfd_open(process.pid)
            undo.pop_all()
        return cls(process, pid_fd, Connection(ours.detach()), block)

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """Readable when it has sent a message, or has ended."""
        return self._channel.fileno()

    def hear_ready(self) -> None:
        """Returns once it reports that its models are loaded.

        Raises:
            WorkerDied: it ended before.
            Exception: the error of loading the models.
        """
        os.set_blocking(self.fileno(), True)  # uvloop makes watched descriptors non-blocking, and leaves them so
        self._answer()

    def call(self, name: str, items: Sequence[Any]) -> list[Any]:
        """The result of the model `name` for the items. Blocking.

        Raises:
            WorkerDied: it ended, or timed out and was killed.
            OSError: there is no memory to pass the items.
            Exception: what the model raised.
        """
        frame = self._block.pack((name, items))
        try:
            self._channel.send_bytes(frame)
        except OSError:
            self.end()
            raise WorkerDied("had ended", had_call=False) from None
        results: list[Any] = self._answer()
        return results

    def end(self) -> None:
        """Kills it, whatever it does."""
        self.alive = False
        self._process.kill()

    def collect(self) -> int:
        """Kills it, and returns its exit status (negative: the signal) once it has ended. Blocking, milliseconds."""
        self.end()
        return self._process.wait()

    def close(self) -> None:
        """Closes its descriptors. Needs exclusive use; safe to call twice."""
        self._channel.close()
        self._block.close()

    def _answer(self) -> Any:  # noqa: ANN401 - whatever the worker's model gives
        try:
            results, error, raised = pickle.loads(self._channel.recv_bytes())  # noqa: S301 - of our own making
        except BlockingIOError:
            self.end()
            raise WorkerDied("timed out", had_call=True) from None
        except (EOFError, OSError):
            self.end()
            raise WorkerDied("ended", had_call=True) from None
        if error is not None:
            error.add_note(f"In worker {self.pid}: {raised}")
            raise error
        return results
