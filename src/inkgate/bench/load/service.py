"""`inkgate serve` as a child, with settings of its own, for as long as it is measured; it ends with us, however we end.

The guardian that watches over a managed vLLM watches over it, too: nothing that it has started is left behind.
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

from inkgate.concurrency import single_error
from inkgate.engines.vllm.managed.child import Child
from inkgate.errors import EngineFailed

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
    "log.level": "info",  # it says that it is ready
    "ui.enabled": False,
    "cache.enabled": False,
}
"""A service that is measured is for this machine alone, and reads each page: one that it has kept costs nothing."""

_KEPT_LINES = 200
_REST_OF_LOG_S = 2.0


class ServiceNotStarted(Exception):
    """The service ended, or was not ready in time; the message says why, in its own words where it had some."""


@dataclass(frozen=True, slots=True)
class Serve:
    """What is to be started.

    Attributes:
        settings: by path, such as `engine.vllm.managed.max_num_seqs`; they win over `config` and over MEASURED.
        config: a TOML file.
        start_s: for models to be loaded, and downloaded; stop_s: from SIGTERM to SIGKILL.
    """

    settings: Mapping[str, Value] = field(default_factory=dict)
    config: Path | None = None
    start_s: float = 900.0
    stop_s: float = 30.0


class ServiceProcess:
    """A service that answers, until it has `ended`."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._ready = anyio.Event()
        self._said_all = anyio.Event()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.url = ""
        self.ended = anyio.Event()
        self.status: int | None = None
        """Its exit status, once it has ended; negative: the signal. None as well where the guardian was killed."""

    @property
    def pid(self) -> int | None:
        """Of the service itself: model servers and workers are below it."""
        return self._child.pid

    @property
    def lines(self) -> tuple[str, ...]:
        """The last of its log."""
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
        """Reads what it says until it has ended: a log that nobody reads would stop it."""
        async for line in self._child.lines():
            self._lines.append(line)
            event = _event(line)
            if event.get("event") == "ready":
                self.url = str(event["url"])
                self._ready.set()
        self._said_all.set()

    async def observer(self) -> None:
        """Waits for its end: until this runs not even its number is known."""
        self.status = await self._child.wait()
        with anyio.move_on_after(_REST_OF_LOG_S):
            await self._said_all.wait()
        self.ended.set()
        self._ready.set()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[ServiceProcess]:
    """A service that is ready; stopped, with all that it has started, when the block is left.

    Raises:
        ServiceNotStarted: no process can be started, it ended, or it took too long.
    """
    try:
        child = Child.spawn(_command(serve), _environment(serve.settings), serve.stop_s)
    except EngineFailed as error:
        raise ServiceNotStarted(error.detail) from error
    service = ServiceProcess(child)
    try:
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(service.listen)
                tasks.start_soon(service.observer)
                try:
                    await service.wait_ready(serve.start_s)
                    yield service
                finally:
                    await child.stop()
                    with anyio.CancelScope(shield=True):  # it has ended
                        service.status = await child.wait()
                    service.ended.set()
                    tasks.cancel_scope.cancel()
    finally:
        child.close()


def last_words(lines: Iterable[str]) -> str:
    """The last line that tells of a failure: a plain one, or an event of level error; empty where there is none."""
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
    """Ours, with the settings as variables: those of whoever runs us count where nothing else is said."""
    ours = dict(os.environ)  # noqa: TID251 - the child gets what we were given; no setting is read
    return ours | {_variable(path): _word(value) for path, value in {**MEASURED, **settings}.items()}


def _variable(path: str) -> str:
    return f"INKGATE_{path.replace('.', '__').upper()}"


def _word(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
