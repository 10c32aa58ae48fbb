"""One run of vLLM from start to end: forwards its log, detects readiness, and explains its end."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

import anyio
import structlog

from inkgate.engines.vllm.managed.child import ServerProcess
from inkgate.engines.vllm.managed.command import ServerCommand
from inkgate.engines.vllm.managed.diagnose import Death, DeathCause, diagnose
from inkgate.engines.vllm.managed.lines import LogLevels, StartProgress, is_progress_bar, progress_of
from inkgate.engines.vllm.server import ModelServer
from inkgate.errors import InkgateError

log = structlog.get_logger(__name__)

_POLL_S = 0.25
_KEPT_LINES = 200
_REST_OF_LOG_S = 2.0
"""Seconds to read the rest of the log after the end: it is there at once unless a process that could not be killed
holds the log open."""

OomKills = Callable[[], int | None]
"""Number of processes the kernel has killed for lack of memory; None if not reported."""


class ServerRun:
    """One run of `command` with at most `max_num_seqs` sequences at once.

    Attributes:
        pid: of vLLM's first process, once it is known.
        ready_at: time of its first successful response, on anyio's clock.
        kv_tokens: capacity of its KV cache, once it has reported it.
        lines: its last ones.
    """

    def __init__(self, command: ServerCommand, max_num_seqs: int, stop_s: float, oom_kills: OomKills) -> None:
        """`stop_s`: from SIGTERM to SIGKILL."""
        self.ready_at: float | None = None
        self.kv_tokens: int | None = None
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._command = command
        self._arguments = command.arguments(max_num_seqs)
        self._stop_s = stop_s
        self._oom_kills = oom_kills
        self._child: ServerProcess | None = None
        self._ended_for: Death | None = None
        self._told: tuple[str, int | None] | None = None
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
                tasks.start_soon(self._stop_when_asked, child, stopping)
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

    async def _stop_when_asked(self, child: ServerProcess, stopping: anyio.Event) -> None:
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
        self.kv_tokens = progress.kv_tokens or self.kv_tokens
        step = (progress.stage, None if progress.percent is None else progress.percent // 10)
        if self.ready_at is not None or step == self._told:
            return
        self._told = step
        said = {"percent": progress.percent, "kv_tokens": progress.kv_tokens}
        known = {name: value for name, value in said.items() if value is not None}
        self._log.info("model_server_loading", stage=progress.stage, **known)
