"""Lets requests wait for admission, for clients that give up a page when it is refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

import anyio

from inkgate.errors import Overloaded
from inkgate.serving.limiter import Arrival, Limiter, Permit

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
