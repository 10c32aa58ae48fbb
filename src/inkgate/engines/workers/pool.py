"""A pool of engine workers: keeps them running and gives calls to free ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import structlog

from inkgate.children import Pauses
from inkgate.concurrency import Threads, loop_time
from inkgate.engines.workers.process import Worker, WorkerDied
from inkgate.errors import EngineFailed
from inkgate.supervision import BackgroundTask, Supervisor

log = structlog.get_logger(__name__)

_TRIES = 2
"""Attempts of a call whose worker dies: a call that is not at fault hardly ever meets two that die."""
_PATIENCE = 4
"""A call waits for a free worker this many times `timeout_s`: each model may have a call before it."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How workers are started, and their limits.

    Attributes:
        command: starts a worker; descriptors, our process ID and one of `arguments` are appended (see serve.py).
        arguments: one for each worker.
        timeout_s: of a call.
        start_s: timeout for loading its models.
        pause_s, most_pause_s: before a worker is replaced; doubled each time until one has lived for `stable_s`.
    """

    command: Sequence[str]
    arguments: Sequence[str]
    timeout_s: float = 60.0
    start_s: float = 120.0
    pause_s: float = 0.25
    most_pause_s: float = 30.0
    stable_s: float = 60.0


class WorkerPool:
    """Runs each call in the next free worker process.

    Its background task is `run`, which must be running while calls are made, and may be run again. `start` and `call`
    block and are safe from many threads at once. A call whose worker dies is retried once, in another.
    """

    def __init__(self, settings: PoolSettings, supervisor: Supervisor | None = None) -> None:
        """`supervisor`: keeps the task that restarts each worker running."""
        self._settings = settings
        self._supervisor = supervisor or Supervisor()
        self._started = False
        self._changed = threading.Condition()
        self._free: list[Worker] = []
        self._workers: set[Worker] = set()
        self._failure: Exception | None = None
        self._closed = True
        self._wanted: anyio.Event | None = None
        self._lives = [(0, 0)] * len(settings.arguments)

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes whose models are loaded."""
        with self._changed:
            return tuple(worker.pid for worker in self._workers)

    @property
    def lives(self) -> tuple[tuple[int, int], ...]:
        """For each slot of a worker: its current process ID, 0 for none, and how many it has had."""
        return tuple(self._lives)

    async def run(self) -> None:
        """Keeps workers running from the first `start` on, until cancelled; then no process is left."""
        self._reaper = Threads("engine_workers", len(self._settings.arguments))
        self._wanted = anyio.Event()
        if self._started:
            self._wanted.set()
        self._closed = False
        try:
            await self._wanted.wait()
            self._started = True
            async with anyio.create_task_group() as group:
                for place, argument in enumerate(self._settings.arguments):
                    keep = partial(self._keep, place, argument)
                    group.start_soon(self._supervisor.keep, BackgroundTask(f"engine_worker_{place + 1}", keep))
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()

    def start(self) -> None:
        """Starts the workers; returns once the first is ready. Call it from a thread of the event loop that `run` runs
        on. Raises the error of loading the models, or EngineFailed.
        """
        if self._wanted is None:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        self._failure = None
        anyio.from_thread.run_sync(self._wanted.set)
        with self._changed:
            self._changed.wait_for(lambda: self._workers or self._failure is not None or self._closed)
            if not self._workers:
                raise self._reason()

    def call(self, model: str, items: Sequence[Any]) -> list[Any]:
        """The result of the model `model` for the items.

        Raises:
            EngineFailed: "engine_failed": workers died during the call, or none became free; "engine_unavailable":
                stopped.
            Exception: what the model raised.
        """
        deaths = 0
        while deaths < _TRIES:
            worker = self._take()
            try:
                return worker.call(model, items)
            except WorkerDied as death:
                deaths += death.had_call
                log.warning("engine_worker_lost", pid=worker.pid, model=model, items=len(items), cause=death.cause)
            finally:
                self._give_back(worker)
        raise EngineFailed("engine_failed", "The engine's workers crashed on this page.")

    def _take(self) -> Worker:
        with self._changed:
            waited_s = _PATIENCE * self._settings.timeout_s
            if not self._changed.wait_for(lambda: self._free or self._closed, waited_s):
                raise EngineFailed("engine_failed", "Timed out waiting for a free engine worker.")
            if self._closed:
                raise _closed()
            return self._free.pop()

    def _give_back(self, worker: Worker) -> None:
        with self._changed:
            if worker.alive:
                self._free.append(worker)
                self._changed.notify_all()
            else:
                worker.close()

    async def _keep(self, place: int, argument: str) -> None:
        """Keeps one slot filled: starts a worker after the other."""
        settings = self._settings
        pauses = Pauses(settings.pause_s, settings.most_pause_s, settings.stable_s)
        while True:
            began = loop_time()
            await self._live(place, argument)
            await anyio.sleep(pauses.after(loop_time() - began))

    async def _live(self, place: int, argument: str) -> None:
        """One worker, from its start to its end."""
        try:
            worker = Worker.start(self._settings.command, argument, self._settings.timeout_s)
        except OSError as error:
            self._failed(error)
            return
        started = self._lives[place][1] + 1
        self._lives[place] = (worker.pid, started)
        try:
            await self._ready(worker)
            await anyio.wait_readable(worker.pid_fd)
        except Exception as error:  # noqa: BLE001 - a runtime may raise any exception for a model it can't load
            self._failed(error)
        finally:
            with anyio.CancelScope(shield=True):  # takes milliseconds; without it a zombie remains
                status = await self._reaper.run(worker.collect)
            self._lives[place] = (0, started)
            self._withdraw(worker)
            log.info("engine_worker_ended", pid=worker.pid, status=status)

    async def _ready(self, worker: Worker) -> None:
        """Returns once the worker accepts calls. Raises as Worker.hear_ready, and TimeoutError."""
        with anyio.fail_after(self._settings.start_s):
            await anyio.wait_readable(worker.fileno())
        worker.hear_ready()
        with self._changed:
            self._workers.add(worker)
            self._free.append(worker)
            self._changed.notify_all()

    def _withdraw(self, worker: Worker) -> None:
        """Removes a worker that has ended. The thread that uses it closes it; if none does, it is closed here."""
        os.close(worker.pid_fd)
        with self._changed:
            held = worker in self._workers and worker not in self._free
            self._workers.discard(worker)
            if not held:
                worker.close()
            if worker in self._free:
                self._free.remove(worker)

    def _reason(self) -> Exception:
        """Why no worker is ready."""
        return _closed() if self._failure is None else self._failure

    def _failed(self, error: Exception) -> None:
        log.warning("engine_worker_not_started", reason=str(error))
        with self._changed:
            self._failure = error
            self._changed.notify_all()


def _closed() -> EngineFailed:
    return EngineFailed("engine_unavailable", "The engine's workers have stopped.")
