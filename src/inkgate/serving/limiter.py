"""The ports of admission: a Limiter admits or refuses at once; a Permit is the right to run. In the WaitingRoom,
requests wait that a Limiter refuses. admission.py has the
Limiter that knows tenants and the scheduler's expected wait.

A permit reports how the work ended. Rejected input, or a client that left, is no sample of how long work takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

import anyio

from inkgate.caller import Priority
from inkgate.errors import InputRejected, Overloaded


class WorkOutcome(StrEnum):
    """How admitted work ended. `LATE`: it timed out at the engine; only the scheduler distinguishes that from LEFT."""

    OK = "ok"
    REJECTED = "rejected"
    FAILED = "failed"
    LEFT = "left"
    LATE = "late"


class CallerLeft(Exception):
    """The caller has left."""


class Permit:
    """The right to run. Leaving the block releases it and reports the outcome by the exception: none is `ok`,
    InputRejected is `rejected`, CallerLeft or cancellation is `left`, anything else is `failed`.
    """

    def __init__(self, release: Callable[[WorkOutcome], None]) -> None:
        self._release = release
        self._reported: WorkOutcome | None = None

    def holds(self, body_bytes: int) -> None:
        """Sets the body's size once it is known; until then the maximum may be counted."""

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Context for receiving the body. A slow upload may be evicted in favour of others.

        Raises:
            Overloaded: it was evicted.
        """
        yield

    def report(self, outcome: WorkOutcome) -> None:
        """Sets the outcome where no exception does, such as a response whose pages all failed."""
        self._reported = outcome

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release(self._reported or outcome_of(error))


def outcome_of(error: BaseException | None) -> WorkOutcome:
    """The outcome of work that raised `error` (None: nothing)."""
    if error is None:
        return WorkOutcome.OK
    if isinstance(error, InputRejected):
        return WorkOutcome.REJECTED
    if isinstance(error, CallerLeft | anyio.get_cancelled_exc_class()):
        return WorkOutcome.LEFT
    return WorkOutcome.FAILED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request at admission, before its body is read.

    Attributes:
        tenant, priority, deadline: as in Work.
        body_bytes: its Content-Length; the maximum allowed for chunked bodies.
        waits: it will be retried if there is no room, and does not count as refused.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    body_bytes: int = 0
    deadline: float = math.inf
    waits: bool = False


ANYBODY = Arrival()


class Limiter(Protocol):
    """Admits or refuses work at once. Used from one event loop."""

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        """A permit to enter with `async with`.

        Raises:
            Overloaded: there is no room; it says when to retry.
        """
        ...


_POLL_S = 0.05
"""Interval between attempts of a tenant's first request. Room can come from documents that end, from shorter expected
waits and from the end of degradation, so there is no single event to wait for.
"""


@dataclass(slots=True)
class _TenantQueue:
    """Waiting requests of one tenant, in order of arrival."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    waiting: int = 0


class WaitingRoom:
    """Admits requests by a Limiter; up to `most` requests that it refuses wait.

    They wait before their bodies are read, so that each costs little more than a connection. Each tenant has its own
    queue. Used from one event loop.

    Attributes:
        waiting: number of waiting requests.
    """

    def __init__(self, most: int, clock: Callable[[], float] = anyio.current_time) -> None:
        self.waiting = 0
        self._most = most
        self._clock = clock
        self._queues: dict[str, _TenantQueue] = {}

    async def admit(
        self,
        limiter: Limiter,
        arrival: Arrival,
        wait_s: float,
        watched: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> Permit:
        """A permit of `limiter`, to be entered at once. `watched`: context around the wait, which may end it.

        Raises:
            Overloaded: as Limiter: no room within `wait_s` or before the deadline, or too many requests wait.
            Exception: raised by `watched`.
        """
        if not wait_s or self.waiting >= self._most:
            return limiter.admit(arrival)
        if arrival.tenant not in self._queues:
            try:
                return limiter.admit(replace(arrival, waits=True))
            except Overloaded:
                pass  # it waits
        until = min(arrival.deadline, self._clock() + wait_s)
        return await self._wait(limiter, arrival, until, watched)

    async def _wait(
        self,
        limiter: Limiter,
        arrival: Arrival,
        until: float,
        watched: Callable[[], AbstractAsyncContextManager[None]],
    ) -> Permit:
        queue = self._queues.setdefault(arrival.tenant, _TenantQueue())
        queue.waiting += 1
        self.waiting += 1
        permit: Permit | None = None
        try:
            async with watched():
                with anyio.CancelScope(deadline=until):
                    permit = await _wait_for_permit(queue, limiter, arrival)
        except BaseException:
            if permit is not None:  # admitted, and then abandoned
                async with permit:
                    raise
            raise
        finally:
            queue.waiting -= 1
            self.waiting -= 1
            if not queue.waiting:
                del self._queues[arrival.tenant]
        return limiter.admit(arrival) if permit is None else permit


async def _wait_for_permit(queue: _TenantQueue, limiter: Limiter, arrival: Arrival) -> Permit:
    async with queue.lock:
        while True:
            try:
                return limiter.admit(replace(arrival, waits=True))
            except Overloaded:
                await anyio.sleep(_POLL_S)
