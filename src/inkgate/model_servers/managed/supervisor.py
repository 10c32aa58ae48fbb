"""ManagedServer starts vLLM and restarts it when it dies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import anyio
import structlog

from inkgate.errors import EngineFailed
from inkgate.model_servers.managed.command import ServerCommand
from inkgate.model_servers.managed.diagnose import Death, DeathCause, kernel_oom_kills
from inkgate.model_servers.managed.process import OomKills, ServerRun
from inkgate.model_servers.server import ModelServer
from inkgate.settings import ManagedSettings
from inkgate.supervision import Pauses

log = structlog.get_logger(__name__)
_TRIES = 3
"""Number of deaths of one kind before it was ever ready, after which the start has failed."""
_SHOWN_LINES = 12
_UNKNOWN_FLAGS = re.compile(r"unrecognized arguments: (.+)")
_CONNECT_S = 1.0


class ManagedState(StrEnum):
    """State of a managed server. `paused`: between a death and the next start."""

    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    PAUSED = "paused"
    STOPPED = "stopped"
    FAILED = "failed"


def fewer_sequences(max_num_seqs: int, *, served: bool) -> int:
    """`max_num_seqs` for the next start of a server that ran out of memory.

    Three quarters if it had `served`: it nearly fits. Half if it never was ready: each attempt costs a whole start.
    """
    return max(1, max_num_seqs * 3 // 4 if served else max_num_seqs // 2)


class ManagedServer:
    """A vLLM server at one address. `run` must be running from before `start` until after `stop`; it owns the process.

    Attributes:
        state: current state.
        restarts: number of restarts.
        deaths: number of deaths by cause.
        max_num_seqs: sequences at once; reduced after running out of memory.
    """

    def __init__(
        self,
        command: ServerCommand,
        settings: ManagedSettings,
        api_key: str = "",
        oom_kills: OomKills = kernel_oom_kills,
    ) -> None:
        """`api_key`: the key that the server requires, as in `command`'s environment."""
        self.state = ManagedState.IDLE
        self.restarts = 0
        self.deaths: Counter[DeathCause] = Counter()
        self.max_num_seqs = command.launch.max_num_seqs
        self._command = command
        self._settings = settings
        self._api_key = api_key
        self._oom_kills = oom_kills
        self._pauses = Pauses(settings.restart_pause_s, settings.max_restart_pause_s, settings.stable_s)
        self._life: ServerRun | None = None
        self._alike: Counter[tuple[DeathCause, int | None, str]] = Counter()
        self._failure: EngineFailed | None = None
        self._served = False
        self._running = False
        self._requested = anyio.Event()
        self._settled = anyio.Event()
        self._stopping = anyio.Event()
        self._ended = anyio.Event()
        self._log = log.bind(replica=command.url)

    @property
    def url(self) -> str:
        """The server's address, ending in `/v1`; restarts keep it."""
        return self._command.url

    @property
    def pid(self) -> int | None:
        """Process ID of vLLM's first process; None if there is none."""
        return None if self._life is None else self._life.pid

    @property
    def flags(self) -> tuple[str, ...]:
        """The server's flags now, and at the next start. They contain no API key."""
        arguments = self._command.arguments(self.max_num_seqs)
        return tuple(arguments[arguments.index("--model") :])

    async def start(self) -> None:
        """Starts the server and returns when it responds. `run` does the work.

        Raises:
            EngineFailed: "engine_unavailable": it does not start, with its last lines; or it was stopped.
        """
        self._requested.set()
        await self._settled.wait()
        if self._failure is not None:
            raise self._failure
        if self._stopping.is_set():
            raise EngineFailed("engine_unavailable", "vLLM was stopped before it was ready.")

    async def stop(self) -> None:
        """Stops the server and all its processes. Safe to call twice, and without `start`."""
        self._stopping.set()
        self._requested.set()
        if self._running:
            await self._ended.wait()

    async def restart_stalled(self) -> None:
        """Restarts a stalled server; does nothing if it is not ready and so already restarting."""
        if self._life is not None and self.state is ManagedState.READY:
            self.state = ManagedState.PAUSED
            await self._life.end_stalled()

    async def run(self) -> None:
        """Keeps the server running from `start` until `stop`. Cancelling this stops the server, too.

        If this fails, no server is left running. It may be called again and continues as if the server had died, or
        ends at once if it was to stop.
        """
        self._running = True
        server = ModelServer(self.url, _CONNECT_S, self._api_key)
        failed = False
        try:
            await self._requested.wait()
            await self._keep_alive(server)
        except Exception:
            failed = True
            raise
        finally:
            if failed and not self._stopping.is_set():
                self._running = False
                self.state = ManagedState.PAUSED
            else:
                self._end()
            with anyio.CancelScope(shield=True):
                await server.close()

    def _end(self) -> None:
        """Wakes the callers that wait in `start` and `stop`."""
        self.state = ManagedState.STOPPED if self._failure is None else ManagedState.FAILED
        self._settled.set()
        self._ended.set()

    async def _keep_alive(self, server: ModelServer) -> None:
        deadline = anyio.current_time() + self._settings.start_s
        while not self._stopping.is_set():
            death = await self._live(server, deadline)
            if death is None:
                return
            if self._drop_unknown_flags(death):
                continue
            self._record(death)
            if not self._served and self._is_hopeless(death):
                return
            self._reduce_sequences(death)
            await self._pause()
            if self._served:
                deadline = anyio.current_time() + self._settings.start_s

    async def _live(self, server: ModelServer, deadline: float) -> Death | None:
        """One run of the server. Returns its death; None if it was stopped."""
        self.state = ManagedState.STARTING
        self._log.info("model_server_starting", model=self._command.model, max_num_seqs=self.max_num_seqs)
        self._life = ServerRun(self._command, self.max_num_seqs, self._settings.stop_s, self._oom_kills)
        try:
            return await self._life.run(server, deadline, self._stopping, self._ready)
        except EngineFailed as error:  # the machine can't start a process now: treated as a process that dies at once
            return Death(DeathCause.CRASH, None, error.detail)

    def _ready(self) -> None:
        self.state = ManagedState.READY
        self._served = True
        self._log.info("model_server_ready", max_num_seqs=self.max_num_seqs, pid=self.pid)
        self._settled.set()

    def _record(self, death: Death) -> None:
        self.deaths[death.cause] += 1
        self._alike[death.kind] += 1
        self._log.error(
            "model_server_died",
            cause=death.cause.value,
            status=death.status,
            reason=death.reason,
            served_s=round(self._served_s(), 1),
        )

    def _drop_unknown_flags(self, death: Death) -> bool:
        """Whether vLLM ended because it is too old for some of `newer_flags`; later starts omit these."""
        unknown = _UNKNOWN_FLAGS.search(death.reason)
        launch = self._command.launch
        dropped = set(launch.newer_flags).intersection(unknown[1].split() if unknown else ())
        if not dropped:
            return False
        known = tuple(flag for flag in launch.newer_flags if flag not in dropped)
        self._command = replace(self._command, launch=replace(launch, newer_flags=known))
        self._log.warning("model_server_flags_dropped", flags=sorted(dropped), reason=death.reason)
        return True

    def _served_s(self) -> float:
        """How long the last run was ready, in seconds."""
        ready_at = self._life.ready_at if self._life is not None else None
        return 0.0 if ready_at is None else anyio.current_time() - ready_at

    def _is_hopeless(self, death: Death) -> bool:
        """Whether a server that was never ready will never be; if so, `start` raises the reason."""
        if death.cause is DeathCause.OUT_OF_MEMORY:
            hopeless = self.max_num_seqs == 1
        else:
            hopeless = death.cause is DeathCause.NOT_READY or self._alike[death.kind] >= _TRIES
        if hopeless:
            lines = list(self._life.lines)[-_SHOWN_LINES:] if self._life is not None else []
            last = "".join(f"\n  {line}" for line in lines) or " nothing."
            self._failure = EngineFailed("engine_unavailable", f"vLLM does not start: {death}\nIts last lines:{last}\n")
        return hopeless

    def _reduce_sequences(self, death: Death) -> None:
        """Permanently reduces the number of concurrent sequences if vLLM ran out of memory."""
        if death.cause is not DeathCause.OUT_OF_MEMORY:
            return
        before = self.max_num_seqs
        self.max_num_seqs = fewer_sequences(before, served=self._served_s() > 0)
        self._log.warning(
            "model_server_out_of_memory",
            old_max_num_seqs=before,
            new_max_num_seqs=self.max_num_seqs,
            reason=death.reason,
        )

    async def _pause(self) -> None:
        pause_s = self._pauses.after(self._served_s())
        self.state = ManagedState.PAUSED
        self._life = None
        self._log.info("model_server_restarting", pause_s=pause_s)
        with anyio.move_on_after(pause_s):
            await self._stopping.wait()
        self.restarts += not self._stopping.is_set()


async def start_one(servers: Sequence[ManagedServer]) -> None:
    """Returns when one of the servers responds, or at once if there are none. The others go on starting.

    Raises:
        EngineFailed: no server starts; the error is that of the first one that failed.
    """
    failures: list[EngineFailed] = []

    async def one(server: ManagedServer) -> None:
        try:
            await server.start()
        except EngineFailed as error:
            failures.append(error)
        else:
            waits.cancel_scope.cancel()  # the wait only: `run` goes on starting the others

    async with anyio.create_task_group() as waits:
        for server in servers:
            waits.start_soon(one, server)
    if servers and len(failures) == len(servers):
        raise failures[0]


async def stop_all(servers: Sequence[ManagedServer]) -> None:
    """Stops the servers, all at once."""
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(server.stop)
