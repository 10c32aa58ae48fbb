"""Stopping gracefully: what has begun is finished, what is new is sent elsewhere."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.errors import Overloaded

ALWAYS_ANSWERED = frozenset({"/health", "/livez", "/readyz"})


class Drain:
    """Whether the service is about to stop, and how many answers are still under way."""

    def __init__(self, retry_after_s: float = 1.0) -> None:
        self.draining = False
        self.in_flight = 0
        self._retry_after_s = retry_after_s

    def begin(self) -> None:
        """From now on, new requests are refused. Safe to call twice, and from a signal handler."""
        self.draining = True

    def enter(self) -> None:
        """Counts a request in.

        Raises:
            Overloaded: the service is about to stop.
        """
        if self.draining:
            raise Overloaded("draining", "This instance is stopping and takes no new requests.", self._retry_after_s)
        self.in_flight += 1

    def leave(self) -> None:
        self.in_flight -= 1


class RefuseWhenDraining:
    """Counts the requests in flight; refuses new ones once the service drains. Probes are always answered."""

    def __init__(self, app: ASGIApp, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self._app(scope, receive, send)
            return
        self._drain.enter()
        try:
            await self._app(scope, receive, send)
        finally:
            self._drain.leave()
