"""Graceful shutdown: finishes requests in flight and refuses new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from inkgate.errors import Overloaded

ALWAYS_ANSWERED = frozenset({"/health", "/livez", "/readyz", "/state"})
"""Paths that are answered while draining, and don't count as requests in flight."""


class Drain:
    """Whether the service is stopping, and the requests still in flight."""

    def __init__(self, retry_after_s: float = 1.0) -> None:
        self.draining = False
        self._in_flight: set[anyio.CancelScope] = set()
        self._retry_after_s = retry_after_s

    @property
    def in_flight(self) -> int:
        """Number of unfinished requests, without probes."""
        return len(self._in_flight)

    def reasons(self) -> list[str]:
        """Reasons for not being ready; empty if ready."""
        return ["draining: this instance is stopping"] if self.draining else []

    def begin(self) -> None:
        """Refuses new requests from now on. Safe to call twice, and from a signal handler."""
        self.draining = True

    def give_up(self) -> None:
        """Cancels the requests in flight. Those without a response yet get the error "draining"."""
        for scope in self._in_flight:
            scope.cancel()

    @asynccontextmanager
    async def count(self) -> AsyncIterator[None]:
        """Counts a request as in flight within the block.

        Raises:
            Overloaded: the service is stopping, or has cancelled this request.
        """
        if self.draining:
            raise Overloaded("draining", "This instance is stopping and takes no new requests.", self._retry_after_s)
        with anyio.CancelScope() as scope:
            self._in_flight.add(scope)
            try:
                yield
            finally:
                self._in_flight.discard(scope)
        if scope.cancelled_caught:
            raise Overloaded("draining", "This instance stopped before the response was ready.", self._retry_after_s)
