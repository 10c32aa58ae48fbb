"""Work that several ask for at once is done once."""

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
    """Work under way, for as long as somebody waits for it. `outcome` is what came of it, once it has landed."""

    def __init__(self, run: Callable[[], Awaitable[T]]) -> None:
        self._run = run
        self._scope = anyio.CancelScope()
        self._landed = anyio.Event()
        self.outcome: T | Exception = EngineFailed("engine_unavailable", _STOPPED)
        self._waiting = 0

    @property
    def abandoned(self) -> bool:
        """Whether all who waited have left."""
        return self._scope.cancel_called

    async def fly(self) -> None:
        """Does the work, then wakes who waits."""
        try:
            with self._scope:
                self.outcome = await self._run()
        except Exception as error:  # noqa: BLE001 - whatever it raises is for those who wait to handle
            if self._waiting:  # else nobody would take it out again, and an error holds the frames that hold this
                self.outcome = error
        finally:
            self._landed.set()

    async def wait(self) -> T:
        """What came of the work; raises what it raised. The last one to leave before the end cancels it."""
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
            self.outcome = EngineFailed("engine_unavailable", _STOPPED)  # an error holds the frames that hold this
        try:
            raise outcome
        finally:
            del outcome


class SingleFlight(Generic[T]):
    """Flights by key; `run` has to run beside it. Used from one event loop."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, Flight[T]] = {}
        self._tasks: TaskGroup | None = None

    @property
    def running(self) -> bool:
        """Whether flights can begin."""
        return self._tasks is not None

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self) -> None:
        """Carries the flights, until cancelled: those under way then fail with "engine_unavailable"."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:  # before the group ends: a flight that began now would be cancelled, and the group wait for it
                self._tasks = None

    def join(
        self,
        key: Hashable,
        run: Callable[[], Awaitable[T]],
        after: Callable[[T], Awaitable[None]],
        hold: Callable[[], AbstractContextManager[None]],
    ) -> tuple[Flight[T], bool]:
        """The flight of this key to wait for, and whether it begins with this call. What `run` does is done in a task
        of its own, with the context variables of whoever began it. `after` has what came of it, unless that is an
        error; until `after` ends, the flight can still be joined, and has its answer at once.

        `hold`: what `run` needs that its caller may close. It is entered before this returns, and left when the
        flight is over.

        Raises:
            EngineFailed: "engine_unavailable": the service has not started, or has stopped.
        """
        flight = self._flights.get(key)
        if flight is not None and not flight.abandoned:
            return flight, False
        if self._tasks is None:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        held = ExitStack()
        held.enter_context(hold())  # here and not in the task: the caller may be gone before that begins
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
        except Exception:  # the border of one flight: those who waited have their answer, and others fly on
            log.exception("shared_work_failed")
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
