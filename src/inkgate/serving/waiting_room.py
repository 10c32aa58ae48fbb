"""Where requests wait for room at the door, for clients that take a refusal for the end of a page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

import anyio

from inkgate.errors import Overloaded
from inkgate.serving.limiter import Arrival, Limiter, Permit

_LOOKS_S = 0.05
"""Between two tries of who is first in a tenant's row. Room comes from documents that end, expected waits that get
shorter and degradation that is over: there is no one event to wait for.
"""


@dataclass(slots=True)
class _Row:
    """Those of one tenant that wait, in the order in which they came."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    waiting: int = 0


class WaitingRoom:
    """Admits requests by a Limiter, and has those that it refuses wait, up to `most` of them.

    They wait before their bodies are looked at, so that one takes a connection and little else. Each tenant has a row
    of its own. Used from one event loop.

    Attributes:
        waiting: how many wait now.
    """

    def __init__(self, most: int, clock: Callable[[], float] = anyio.current_time) -> None:
        self.waiting = 0
        self._most = most
        self._clock = clock
        self._rows: dict[str, _Row] = {}

    async def admit(
        self,
        limiter: Limiter,
        arrival: Arrival,
        wait_s: float,
        watched: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> Permit:
        """A permit of `limiter`, to be entered at once. `watched`: what is around the wait, and may end it.

        Raises:
            Overloaded: there is no room within `wait_s` or until the deadline, or too many wait already; as Limiter.
            Exception: what `watched` raises.
        """
        if not wait_s or self.waiting >= self._most:
            return limiter.admit(arrival)
        if arrival.tenant not in self._rows:
            try:
                return limiter.admit(replace(arrival, waits=True))
            except Overloaded:
                pass  # it waits
        until = min(arrival.deadline, self._clock() + wait_s)
        return await self._waited(limiter, arrival, until, watched)

    async def _waited(
        self,
        limiter: Limiter,
        arrival: Arrival,
        until: float,
        watched: Callable[[], AbstractAsyncContextManager[None]],
    ) -> Permit:
        row = self._rows.setdefault(arrival.tenant, _Row())
        row.waiting += 1
        self.waiting += 1
        permit: Permit | None = None
        try:
            async with watched():
                with anyio.CancelScope(deadline=until):
                    permit = await _next_turn(row, limiter, arrival)
        except BaseException:
            if permit is not None:  # its turn came, and then it was given up
                async with permit:
                    raise
            raise
        finally:
            row.waiting -= 1
            self.waiting -= 1
            if not row.waiting:
                del self._rows[arrival.tenant]
        return limiter.admit(arrival) if permit is None else permit


async def _next_turn(row: _Row, limiter: Limiter, arrival: Arrival) -> Permit:
    async with row.lock:
        while True:
            try:
                return limiter.admit(replace(arrival, waits=True))
            except Overloaded:
                await anyio.sleep(_LOOKS_S)
