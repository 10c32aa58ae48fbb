"""Single-flight: concurrent callers with the same key share one run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.errors import EngineFailed

log = structlog.get_logger(__name__)
T = TypeVar("T")
_STOPPED = "The service stopped before this was done."


class Flight(Generic[T]):
    """A shared run, cancelled when nobody waits for it. `outcome`: its result, once it ended."""

    def __init__(self, run: Callable[[], Awaitable[T]]) -> None:
        self._run = run
        self._scope = anyio.CancelScope()
        self._landed = anyio.Event()
        self.outcome: T | Exception = EngineFailed("engine_unavailable", _STOPPED)
        self._waiting = 0

    @property
    def abandoned(self) -> bool:
        """Whether all waiting callers have left."""
        return self._scope.cancel_called

    async def fly(self) -> None:
        """Runs the work, then wakes all waiting callers."""
        try:
            with self._scope:
                self.outcome = await self._run()
        except Exception as error:  # noqa: BLE001 - whatever it raises goes to the waiting callers
            if self._waiting:  # breaks a reference cycle: the error holds frames that hold this flight
                self.outcome = error
        finally:
            self._landed.set()

    async def wait(self) -> T:
        """Returns or raises what the work did. The last caller to leave early cancels the work."""
        self._waiting += 1
        try:
            await self._landed.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and not self._landed.is_set():
                self._scope.cancel()
        outcome = self.outcome
        if not isinstance(outcome, Exception):
            return outcome
        if not self._waiting:
            self.outcome = EngineFailed("engine_unavailable", _STOPPED)  # breaks a reference cycle of error and frame
        try:
            raise outcome
        finally:
            del outcome


class SingleFlight(Generic[T]):
    """Shared runs by key. Its background task is `run`. Used from one event loop."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, Flight[T]] = {}
        self._tasks: TaskGroup | None = None

    @property
    def running(self) -> bool:
        """Whether shared runs can start."""
        return self._tasks is not None

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self) -> None:
        """Runs the flights until cancelled; unfinished ones then fail with "engine_unavailable"."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:  # before the group ends: a flight that started now would be cancelled while the group waits for it
                self._tasks = None

    def join(
        self,
        key: Hashable,
        run: Callable[[], Awaitable[T]],
        after: Callable[[T], Awaitable[None]],
        hold: Callable[[], AbstractContextManager[None]],
    ) -> tuple[Flight[T], bool]:
        """The flight of this key, and whether this call started it. The work runs in its own task with the context
        variables of the first caller. `after` gets the result unless it is an error; until `after` ends, the flight can
        still be joined and answers at once.

        `hold`: resources of the work that the caller may close. Entered before this returns, and left when the flight
        ends.

        Raises:
            EngineFailed: "engine_unavailable": the service has not started, or has stopped.
        """
        flight = self._flights.get(key)
        if flight is not None and not flight.abandoned:
            return flight, False
        if self._tasks is None:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        held = ExitStack()
        held.enter_context(hold())  # here and not in the task: the caller may leave before the task starts
        flight = self._flights[key] = Flight(run)
        self._tasks.start_soon(self._carry, key, flight, after, held)
        return flight, True

    async def _carry(
        self, key: Hashable, flight: Flight[T], after: Callable[[T], Awaitable[None]], held: ExitStack
    ) -> None:
        try:
            with held:
                await flight.fly()
                if not isinstance(flight.outcome, Exception):
                    await after(flight.outcome)
        except Exception:  # per-flight border: callers have their result, and other flights go on
            log.exception("shared_work_failed")
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
