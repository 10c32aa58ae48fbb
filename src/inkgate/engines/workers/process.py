"""One engine worker, seen from outside: started, called, and ended."""

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
    """The worker is gone. `had_call`: it had been given the call, and may have died of it."""

    def __init__(self, cause: str, *, had_call: bool) -> None:
        super().__init__(cause)
        self.cause = cause
        self.had_call = had_call


class Worker:
    """A worker process. Serves one call at a time; safe from any thread that has it to itself.

    Attributes:
        alive: False from when anybody has noticed that it is gone, or that it is not to be used any more.
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
            OSError: nothing of it is left.
        """
        with ExitStack() as undo:
            block = SharedBlock.make()
            undo.callback(block.close)
            ours, theirs = socket.socketpair()
            undo.enter_context(ours)
            with theirs:
                # A worker that stops in the middle of an answer must not hold a thread for ever.
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
        """Readable when it has said something, or has ended."""
        return self._channel.fileno()

    def hear_ready(self) -> None:
        """Returns when it says that its models are loaded.

        Raises:
            WorkerDied: it ended instead.
            Exception: whatever its models' loading raised.
        """
        os.set_blocking(self.fileno(), True)  # uvloop makes what it has watched non-blocking, and leaves it so
        self._answer()

    def call(self, name: str, items: Sequence[Any]) -> list[Any]:
        """What the model `name` gives for the items. Blocking.

        Raises:
            WorkerDied: it ended, or took too long and was ended.
            OSError: there is no memory to hand the items over.
            Exception: whatever the model raised.
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
        """Closes what leads to it. For whoever has it to himself; safe to call twice."""
        self._channel.close()
        self._block.close()

    def _answer(self) -> Any:  # noqa: ANN401 - whatever the worker's model gives
        try:
            results, error, raised = pickle.loads(self._channel.recv_bytes())  # noqa: S301 - of our own making
        except BlockingIOError:
            self.end()
            raise WorkerDied("took too long", had_call=True) from None
        except (EOFError, OSError):
            self.end()
            raise WorkerDied("ended", had_call=True) from None
        if error is not None:
            error.add_note(f"In worker {self.pid}: {raised}")
            raise error
        return results
