"""`inkgate serve` as a child process with its own settings, while it is measured. It ends with this process.

A guardian, as for a managed vLLM, stops it and all that it started, however this process ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from inkgate.errors import EngineFailed
from inkgate.model_servers.managed.process import ServerProcess
from inkgate_client.concurrency import single_error

Value = int | float | str | bool

MEASURED: Mapping[str, Value] = {
    "server.host": "127.0.0.1",
    "server.port": 0,
    "server.drain_s": 1.0,
    "auth.key_hashes": "[]",
    "rate_limit.per_key": "",
    "metrics.port": 0,
    "tracing.endpoint": "",
    "log.format": "json",
    "log.level": "info",  # for the ready event
    "ui.enabled": False,
    "cache.enabled": False,
    "engine.vllm.listen_after_s": 86_400.0,
}
"""A measured service is for this machine only, and reads each page: a cached one would cost nothing. Nor is
the embedded engine measured while the model server starts."""

_STOP_S = 30.0
"""Seconds from SIGTERM to SIGKILL."""
_KEPT_LINES = 200
_REST_OF_LOG_S = 2.0


class ServiceNotStarted(Exception):
    """The service ended, or was not ready in time; the message has the reason that it logged."""


@dataclass(frozen=True, slots=True)
class Serve:
    """A service to start.

    Attributes:
        settings: by path, such as `engine.vllm.managed.max_num_seqs`; they win over `config` and over MEASURED.
        config: a TOML file.
        start_s: until it must be ready, model downloads included.
    """

    settings: Mapping[str, Value] = field(default_factory=dict)
    config: Path | None = None
    start_s: float = 900.0


class ServiceProcess:
    """A running service. `ended` is set at its end."""

    def __init__(self, child: ServerProcess) -> None:
        self._child = child
        self._ready = anyio.Event()
        self._log_ended = anyio.Event()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.url = ""
        self.ended = anyio.Event()
        self.status: int | None = None
        """Exit status after its end; negative: the signal. None too if the guardian was killed."""

    @property
    def pid(self) -> int | None:
        """The process id of the service; model servers and workers are its children."""
        return self._child.pid

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines of its log."""
        return tuple(self._lines)

    async def wait_ready(self, within_s: float) -> None:
        """Returns when requests are accepted. Raises ServiceNotStarted."""
        with anyio.move_on_after(within_s):
            await self._ready.wait()
        if not self.url:
            why = last_words(self._lines)
            how = f"ended with status {self.status}" if self.ended.is_set() else f"was not ready within {within_s:g} s"
            raise ServiceNotStarted(f"The service {how}{': ' if why else '.'}{why}")

    async def listen(self) -> None:
        """Reads its log until it ends: a full pipe would stop it."""
        async for line in self._child.lines():
            self._lines.append(line)
            event = _event(line)
            if event.get("event") == "ready":
                self.url = str(event["url"])
                self._ready.set()
        self._log_ended.set()

    async def wait_end(self) -> None:
        """Waits for its end. Its pid is known once this runs."""
        self.status = await self._child.wait()
        with anyio.move_on_after(_REST_OF_LOG_S):
            await self._log_ended.wait()
        self.ended.set()
        self._ready.set()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[ServiceProcess]:
    """A service that is ready; when the block is left, it is stopped with all that it started.

    Raises:
        ServiceNotStarted: it could not be started, ended, or took too long.
    """
    try:
        child = ServerProcess.spawn(_command(serve), _environment(serve.settings), _STOP_S)
    except EngineFailed as error:
        raise ServiceNotStarted(error.detail) from error
    service = ServiceProcess(child)
    try:
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(service.listen)
                tasks.start_soon(service.wait_end)
                try:
                    await service.wait_ready(serve.start_s)
                    yield service
                finally:
                    await child.stop()
                    with anyio.CancelScope(shield=True):  # it has ended already
                        service.status = await child.wait()
                    service.ended.set()
                    tasks.cancel_scope.cancel()
    finally:
        child.close()


def last_words(lines: Iterable[str]) -> str:
    """The last line that reports a failure: plain text, or an event of level error; empty without one."""
    for line in reversed(tuple(lines)):
        event = _event(line)
        if not event and line.strip():
            return line.strip()
        if event.get("level") in {"error", "critical"}:
            return " ".join(str(event[key]) for key in ("event", "reason", "detail", "error") if event.get(key))
    return ""


def _event(line: str) -> dict[str, object]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _command(serve: Serve) -> list[str]:
    config = [] if serve.config is None else ["--config", str(serve.config)]
    return [sys.executable, "-P", "-m", "inkgate", "serve", *config]


def _environment(settings: Mapping[str, Value]) -> dict[str, str]:
    """This process's environment, overridden by the settings."""
    environment = dict(os.environ)  # noqa: TID251 - passed on to the child; no setting is read
    for path, value in {**MEASURED, **settings}.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        environment[f"INKGATE_{path.replace('.', '__').upper()}"] = text
    return environment
