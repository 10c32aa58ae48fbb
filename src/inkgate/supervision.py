"""Background tasks that can't end the service: one that fails is logged, counted and started again, with back-off."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass

import anyio
import structlog

from inkgate.children import Pauses

log = structlog.get_logger(__name__)

Run = Callable[[], Coroutine[None, None, None]]

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 60.0
_STABLE_S = 60.0
_KEEPS_FAILING = 3
"""Failures in a row after which a task keeps failing: one that is started again and works is no news."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Something that runs as long as the service.

    Attributes:
        name: for logs and metrics; unique, and one of a small set.
        run: ends when cancelled. It may be called again after it raised.
        needed: whether no page can be read without it.
    """

    name: str
    run: Run
    needed: bool = False


@dataclass(slots=True)
class TaskHealth:
    """How a background task gets on.

    Attributes:
        failures: since the start of the service.
        in_a_row: without a minute of service in between.
        error: the type of the last one's exception; empty before the first.
        running: whether it is at work now.
        since: clock time in seconds when it was started the last time.
        next_try_at: clock time in seconds when it is started again; None unless that is waited for.
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
    """Keeps background tasks running, and knows how they get on. Used from one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = anyio.current_time,
        pauses: Callable[[], Pauses] = lambda: Pauses(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _STABLE_S),
    ) -> None:
        """`clock` in seconds. `pauses`: of one task, before it is started again."""
        self._clock = clock
        self._pauses = pauses
        self._tasks: dict[str, TaskHealth] = {}

    @property
    def tasks(self) -> tuple[TaskHealth, ...]:
        """All that were started, in that order."""
        return tuple(self._tasks.values())

    def keeps_failing(self, task: TaskHealth) -> bool:
        """Whether it failed several times in a row, and has not worked for long since."""
        stable = task.running and self._clock() - task.since >= _STABLE_S
        return task.in_a_row >= _KEEPS_FAILING and not stable

    def complaints(self, *, needed: bool) -> list[str]:
        """What is to be said of tasks that keep failing: of those that are `needed`, or of the others."""
        failing = (task for task in self._tasks.values() if task.needed == needed and self.keeps_failing(task))
        return [f"background: {task.name} keeps failing" for task in failing]

    async def keep(self, task: BackgroundTask) -> None:
        """Runs the task until it returns, or this is cancelled. What it raises is logged and counted, and it is started
        again after a pause.
        """
        health = self._tasks.setdefault(task.name, TaskHealth(task.name, task.needed))
        pauses = self._pauses()
        while True:
            health.since, health.running, health.next_try_at = self._clock(), True, None
            try:
                await task.run()
            except Exception as error:  # noqa: BLE001 - the border of one task: whatever it raises, the service goes on
                pause_s = self._failed(health, error, pauses)
            else:
                return
            finally:
                health.running = False
            await anyio.sleep(pause_s)

    def _failed(self, health: TaskHealth, error: Exception, pauses: Pauses) -> float:
        """Counts a failure. How long to wait before the next start, in seconds."""
        now = self._clock()
        served_s = now - health.since
        pause_s = pauses.after(served_s)
        health.failures += 1
        health.in_a_row = 1 if served_s >= _STABLE_S else health.in_a_row + 1
        health.error = type(_first(error)).__name__
        health.next_try_at = now + pause_s
        with suppress(Exception):  # a log that can't be written ends nothing either
            log.error("background_task_failed", task=health.name, next_try_s=pause_s, exc_info=error)
        return pause_s


def _first(error: Exception) -> Exception:
    """The exception itself, of a group: the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error
