"""One run of vLLM from start to end, under its guardian: forwards its log, detects readiness, explains its end, and
leaves no process behind.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import structlog

from inkgate.errors import EngineFailed, InkgateError
from inkgate.model_servers.managed.command import ServerCommand
from inkgate.model_servers.managed.diagnose import (
    Death,
    DeathCause,
    LogLevels,
    LogLines,
    StartProgress,
    diagnose,
    is_progress_bar,
    progress_of,
)
from inkgate.model_servers.server import ModelServer
from inkgate.operating_system import enlarge_pipe
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

_GUARDIAN = str(Path(__file__).with_name("guardian.py"))
_PIPE_BYTES = 2**20
"""Buffer for vLLM's log: when it is full, vLLM blocks until we read."""
_CHUNK = 2**16
_GONE_S = 10.0
"""Seconds that we wait for the guardian beyond its grace before we kill it."""
_POLL_S = 0.25
_STORED_LINES = 200
_REST_OF_LOG_S = 2.0
"""Seconds to read the rest of the log after the end: it is there at once unless a process that could not be killed
holds the log open."""
OomKills = Callable[[], int | None]
"""Number of processes the kernel has killed for lack of memory; None if not reported."""


class ServerProcess:
    """A running vLLM and its guardian. The caller must `wait` for its end or `stop` it."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: socket.socket, log: int, grace_s: float) -> None:
        self._process = process
        self._lifeline = lifeline
        self._log = log
        self._grace_s = grace_s
        self._reaper = Threads("vllm_reaper", 1)
        self._waiting = anyio.Lock()
        self._received = b""
        self._ended = False

    @classmethod
    def spawn(cls, command: Sequence[str], environment: Mapping[str, str], grace_s: float) -> ServerProcess:
        """Starts `command`. `grace_s`: from SIGTERM to SIGKILL.

        Raises:
            EngineFailed: "engine_unavailable": no process can be started.
        """
        ours, theirs = socket.socketpair()
        readable, writable = os.pipe()
        enlarge_pipe(readable, _PIPE_BYTES)
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter, and the command of the settings
                [sys.executable, "-I", "-S", _GUARDIAN, str(theirs.fileno()), f"{grace_s:g}", *command],
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
        self._received += chunk
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
        for line in self._received.decode().splitlines(keepends=True):
            word, _, value = line.partition(" ")
            if word == name and line.endswith("\n"):
                return value.strip()
        return None


class ServerRun:
    """One run of `command` with at most `max_num_seqs` sequences at once.

    Attributes:
        pid: of vLLM's first process, once it is known.
        ready_at: time of its first successful response, on anyio's clock.
        lines: its last ones.
    """

    def __init__(self, command: ServerCommand, max_num_seqs: int, stop_s: float, oom_kills: OomKills) -> None:
        """`stop_s`: from SIGTERM to SIGKILL."""
        self.ready_at: float | None = None
        self.lines: deque[str] = deque(maxlen=_STORED_LINES)
        self._command = command
        self._arguments = command.arguments(max_num_seqs)
        self._stop_s = stop_s
        self._oom_kills = oom_kills
        self._child: ServerProcess | None = None
        self._ended_for: Death | None = None
        self._logged: tuple[str, int | None] | None = None
        self._log = log.bind(source="vllm", replica=command.url)

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    async def run(
        self, server: ModelServer, deadline: float, stopping: anyio.Event, on_ready: Callable[[], None]
    ) -> Death | None:
        """Runs the server. Returns why it ended; None if it was stopped, as `stopping` requests.

        `server`: a client of it. `deadline`: on anyio's clock, when it must be ready. Cancelling this ends the server,
        too.

        Raises:
            EngineFailed: "engine_unavailable": no process can be started.
        """
        killed_before = self._oom_kills()
        child = self._child = ServerProcess.spawn(self._arguments, self._command.environment, self._stop_s)
        followed = anyio.Event()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, child, followed)
                tasks.start_soon(self._find_ready, child, server, deadline, on_ready)
                tasks.start_soon(self._stop_on_request, child, stopping)
                status = await child.wait()
                with anyio.move_on_after(_REST_OF_LOG_S):
                    await followed.wait()
                tasks.cancel_scope.cancel()
        finally:
            await child.stop()
            child.close()
        if stopping.is_set():
            return None
        if self._ended_for is not None:
            return self._ended_for
        killed = self._oom_kills()
        unknown = killed is None or killed_before is None
        return diagnose(status, self.lines, None if unknown else (killed or 0) - (killed_before or 0))

    async def end_stalled(self) -> None:
        """Ends the process because it is stalled."""
        if self._child is not None:
            self._ended_for = Death(DeathCause.STALLED, None, "It stalled.")
            await self._child.stop()

    async def _find_ready(
        self, child: ServerProcess, server: ModelServer, deadline: float, on_ready: Callable[[], None]
    ) -> None:
        """Polls the list of models until ours is in it; ends the process if that takes too long."""
        with anyio.CancelScope(deadline=deadline) as scope:
            while not await self._answers(server):  # noqa: ASYNC110 - it happens in another process
                await anyio.sleep(_POLL_S)
        if scope.cancelled_caught:
            self._ended_for = Death(DeathCause.NOT_READY, None, "It did not become ready in time.")
            await child.stop()
            return
        self.ready_at = anyio.current_time()
        on_ready()

    async def _answers(self, server: ModelServer) -> bool:
        try:
            return self._command.name in await server.models()
        except InkgateError:
            return False

    async def _stop_on_request(self, child: ServerProcess, stopping: anyio.Event) -> None:
        await stopping.wait()
        await child.stop()

    async def _follow(self, child: ServerProcess, followed: anyio.Event) -> None:
        levels = LogLevels()
        async for line in child.lines():
            progress = progress_of(line)
            if progress is not None:
                self._note(progress)
            if not is_progress_bar(line):
                self.lines.append(line)
                self._log.log(logging.getLevelNamesMapping()[levels.of(line).upper()], "model_server_log", line=line)
        followed.set()

    def _note(self, progress: StartProgress) -> None:
        """Logs the progress of loading, once per tenth of a stage."""
        step = (progress.stage, None if progress.percent is None else progress.percent // 10)
        if self.ready_at is not None or step == self._logged:
            return
        self._logged = step
        known = {} if progress.percent is None else {"percent": progress.percent}
        self._log.info("model_server_loading", stage=progress.stage, **known)
