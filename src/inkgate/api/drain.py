"""Stopping gracefully: what has begun is finished, what is new is sent elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.errors import Overloaded

ALWAYS_ANSWERED = frozenset({"/health", "/livez", "/readyz", "/state"})


class Drain:
    """Whether the service is about to stop, and how many answers are still under way."""

    def __init__(self, retry_after_s: float = 1.0) -> None:
        self.draining = False
        self._in_flight: set[anyio.CancelScope] = set()
        self._retry_after_s = retry_after_s

    @property
    def in_flight(self) -> int:
        """Answers that are not finished yet; probes don't count."""
        return len(self._in_flight)

    def reasons(self) -> list[str]:
        """Why documents should not be sent here; empty when they should."""
        return ["draining: this instance is about to stop"] if self.draining else []

    def begin(self) -> None:
        """From now on, new requests are refused. Safe to call twice, and from a signal handler."""
        self.draining = True

    def give_up(self) -> None:
        """Cancels what is still under way; whoever was not answered yet is told to go elsewhere."""
        for scope in self._in_flight:
            scope.cancel()

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Counts a request in for as long as the block lasts.

        Raises:
            Overloaded: the service is about to stop, or has given up this request.
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
            raise Overloaded("draining", "This instance stopped before the answer was ready.", self._retry_after_s)


class RefuseWhenDraining:
    """Counts the requests in flight; refuses new ones once the service drains, but for probes and `/state`."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        async with self._drain.counted():
            await self._app(scope, receive, send)
