"""One vLLM process under its guardian: starts it, reads its log, and leaves no process behind."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

import anyio

from inkgate.concurrency import Threads
from inkgate.engines.vllm.managed import guardian
from inkgate.engines.vllm.managed.lines import LogLines
from inkgate.errors import EngineFailed

_PIPE_BYTES = 2**20
"""Buffer for vLLM's log: when it is full, vLLM blocks until we read."""
_CHUNK = 2**16
_GONE_S = 10.0
"""Seconds that we wait for the guardian beyond its grace before we kill it."""


class ServerProcess:
    """A running vLLM and its guardian. The caller must `wait` for its end or `stop` it."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: socket.socket, log: int, grace_s: float) -> None:
        self._process = process
        self._lifeline = lifeline
        self._log = log
        self._grace_s = grace_s
        self._reaper = Threads("vllm_reaper", 1)
        self._waiting = anyio.Lock()
        self._told = b""
        self._ended = False

    @classmethod
    def spawn(cls, command: Sequence[str], environment: Mapping[str, str], grace_s: float) -> ServerProcess:
        """Starts `command`. `grace_s`: from SIGTERM to SIGKILL.

        Raises:
            EngineFailed: "engine_unavailable": no process can be started.
        """
        ours, theirs = socket.socketpair()
        readable, writable = os.pipe()
        with suppress(OSError):  # above the machine's limit: keep the default size
            fcntl.fcntl(readable, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter, and the command of the settings
                [sys.executable, "-I", "-S", guardian.__file__, str(theirs.fileno()), f"{grace_s:g}", *command],
                stdin=subprocess.DEVNULL,
                stdout=writable,
                stderr=writable,
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C at a terminal is for inkgate, which stops vLLM itself
            )
        except OSError as error:
            ours.close()
            os.close(readable)
            raise EngineFailed("engine_unavailable", f"vLLM can't be started: {error.strerror}.") from error
        finally:
            theirs.close()
            os.close(writable)
        ours.settimeout(0)
        os.set_blocking(readable, False)
        return cls(process, ours, readable, grace_s)

    @property
    def pid(self) -> int | None:
        """Process ID of vLLM's first process, which leads a process group; None until it is known."""
        found = self._word("pid")
        return None if found is None else int(found)

    async def lines(self) -> AsyncIterator[str]:
        """VLLM's log, line by line, until the last process that could write has ended. Iterate it once."""
        lines = LogLines()
        while True:
            try:
                chunk = os.read(self._log, _CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._log)
                continue
            for line in lines.feed(chunk) if chunk else lines.rest():
                yield line
            if not chunk:
                return

    async def wait(self) -> int | None:
        """Waits until vLLM and all its processes have ended. Returns the exit status (negative: the signal).

        None: the guardian was killed; the remaining processes have then been killed.
        """
        async with self._waiting:
            while not self._ended:
                await self._listen()
        found = self._word("exit")
        return None if found is None else int(found)

    async def stop(self) -> None:
        """Ends vLLM, SIGTERM first, and waits for the end. Safe to call twice."""
        with suppress(OSError):  # the guardian has exited
            self._lifeline.shutdown(socket.SHUT_WR)
        with anyio.CancelScope(shield=True):  # bounded by the time limits below
            with anyio.move_on_after(self._grace_s + _GONE_S):
                await self.wait()
            if not self._ended:
                self._kill()
                await self.wait()

    def close(self) -> None:
        """Closes the log and the connection to the guardian, which then ends vLLM if it still runs."""
        if self._log >= 0:
            os.close(self._log)
        self._log = -1
        self._lifeline.close()

    async def _listen(self) -> None:
        try:
            chunk = self._lifeline.recv(_CHUNK)
        except BlockingIOError:
            await anyio.wait_readable(self._lifeline)
            return
        except OSError:
            chunk = b""
        self._told += chunk
        if not chunk:
            if self._word("exit") is None:
                self._kill()
            with anyio.CancelScope(shield=True):  # without it a zombie remains; takes milliseconds
                await self._reaper.run(self._process.wait)
            self._ended = True

    def _kill(self) -> None:
        """SIGKILL to the guardian and vLLM's process group, for when the guardian can't end vLLM itself."""
        if self.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()

    def _word(self, name: str) -> str | None:
        """The guardian's message of this name."""
        for line in self._told.decode().splitlines(keepends=True):
            told, _, value = line.partition(" ")
            if told == name and line.endswith("\n"):
                return value.strip()
        return None
