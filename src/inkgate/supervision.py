"""Supervised background tasks: one that fails is logged, counted and restarted with back-off; the service goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import structlog

log = structlog.get_logger(__name__)

Run = Callable[[], Coroutine[None, None, None]]

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 60.0
_STABLE_S = 60.0
_KEEPS_FAILING = 3
"""A task is reported as failing only after this many failures in a row, not if a restart helps."""


class Pauses:
    """Pauses in seconds before restarts: doubled each time, reset after a stable run."""

    def __init__(self, first_s: float, max_s: float, stable_s: float) -> None:
        self._first_s = self._next_s = first_s
        self._max_s = max_s
        self._stable_s = stable_s

    def after(self, served_s: float) -> float:
        """The pause after a run of `served_s`."""
        if served_s >= self._stable_s:
            self._next_s = self._first_s
        pause = min(self._next_s, self._max_s)
        self._next_s = pause * 2
        return pause


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A task that runs as long as the service.

    Attributes:
        name: for logs and metrics; unique, from a small set.
        run: runs until cancelled, and may be called again after it raised.
        needed: whether pages can't be read without it.
    """

    name: str
    run: Run
    needed: bool = False


@dataclass(slots=True)
class TaskHealth:
    """State of a background task.

    Attributes:
        failures: number since the start of the service.
        in_a_row: consecutive failures, each within a minute of its start.
        error: exception type of the last failure; empty before the first.
        running: whether it runs now.
        since: clock time in seconds of its last start.
        next_try_at: clock time in seconds of its next start; None if none is scheduled.
    """

    name: str
    needed: bool
    failures: int = 0
    in_a_row: int = 0
    error: str = ""
    running: bool = False
    since: float = 0.0
    next_try_at: float | None = None


class Supervisor:
    """Runs background tasks and tracks their state. Used from one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = anyio.current_time,
        pauses: Callable[[], Pauses] = lambda: Pauses(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _STABLE_S),
    ) -> None:
        """`clock` in seconds. `pauses` creates the restart pauses of one task."""
        self._clock = clock
        self._pauses = pauses
        self._tasks: dict[str, TaskHealth] = {}

    @property
    def tasks(self) -> tuple[TaskHealth, ...]:
        """All tasks, in order of their first start."""
        return tuple(self._tasks.values())

    def keeps_failing(self, task: TaskHealth) -> bool:
        """Whether it failed several times in a row and has not run for a minute since."""
        stable = task.running and self._clock() - task.since >= _STABLE_S
        return task.in_a_row >= _KEEPS_FAILING and not stable

    def complaints(self, *, needed: bool) -> list[str]:
        """Messages about tasks that keep failing: the `needed` ones, or the others."""
        failing = (task for task in self._tasks.values() if task.needed == needed and self.keeps_failing(task))
        return [f"background: {task.name} keeps failing" for task in failing]

    @asynccontextmanager
    async def running(self, tasks: Iterable[BackgroundTask]) -> AsyncIterator[None]:
        """Runs the tasks during the block, and cancels them when it is left."""
        async with anyio.create_task_group() as group:
            for task in tasks:
                group.start_soon(self.keep, task)
            yield
            group.cancel_scope.cancel()

    async def keep(self, task: BackgroundTask) -> None:
        """Runs the task until it returns or this is cancelled. Exceptions are logged and counted, and the task is
        restarted after a pause.
        """
        health = self._tasks.setdefault(task.name, TaskHealth(task.name, task.needed))
        pauses = self._pauses()
        while True:
            health.since, health.running, health.next_try_at = self._clock(), True, None
            try:
                await task.run()
            except Exception as error:  # noqa: BLE001 - whatever one task raises, the service goes on
                pause_s = self._failed(health, error, pauses)
            else:
                return
            finally:
                health.running = False
            await anyio.sleep(pause_s)

    def _failed(self, health: TaskHealth, error: Exception, pauses: Pauses) -> float:
        """Counts a failure. Returns the pause before the next start in seconds."""
        now = self._clock()
        served_s = now - health.since
        pause_s = pauses.after(served_s)
        health.failures += 1
        health.in_a_row = 1 if served_s >= _STABLE_S else health.in_a_row + 1
        health.error = type(_first(error)).__name__
        health.next_try_at = now + pause_s
        with suppress(Exception):  # a log that can't be written must not end the task either
            log.error("background_task_failed", task=health.name, next_try_s=pause_s, exc_info=error)
        return pause_s


def _first(error: Exception) -> Exception:
    """The exception itself, or the first one of a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
