"""Limit on a server's open connections: a new one replaces the one that has been idle longest."""

from __future__ import annotations

from asyncio import WriteTransport
from collections.abc import Callable

import structlog

from inkgate.api.http.errors import Places
from inkgate.operating_system import file_limit
from inkgate_client.concurrency import loop_time

log = structlog.get_logger(__name__)

_MAX_OPEN = 8_000
"""Default maximum if the file limit allows it: an idle connection takes about 20 kB."""
_LOG_EVERY_S = 10.0
_FULL_RETRY_S = 1.0


def default_connections() -> int:
    """Default limit on open connections: three quarters of the soft limit of open files, at most 8,000.

    The rest is for documents, worker processes, model servers and Redis.
    """
    limit = file_limit()
    return _MAX_OPEN if limit is None else max(1, min(_MAX_OPEN, limit * 3 // 4))


class Connections:
    """The open connections of one server. At `max_open` connections, a new one replaces the one that has waited longest
    for a request; if none is waiting, it is refused. Used from one event loop; O(1).
    """

    def __init__(self, max_open: int, clock: Callable[[], float] = loop_time) -> None:
        self.max_open = max_open
        self._clock = clock
        self._open: set[WriteTransport] = set()
        self._waiting: dict[WriteTransport, None] = {}
        self._places = Places(clock=clock)
        self._closed = 0
        self._refused = 0
        self._log_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: WriteTransport) -> bool:
        """Adds `connection`, as waiting for a request, if there is room. Returns whether there is."""
        if len(self._open) >= self.max_open and not self._make_room():
            self._refused += 1
            self._log_full()
            return False
        self._open.add(connection)
        self._waiting[connection] = None
        return True

    def wait(self, connection: WriteTransport) -> None:
        """Marks `connection` as waiting for its next request."""
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: WriteTransport) -> None:
        """Marks `connection` as having a request; it can't be replaced until that has its response."""
        self._waiting.pop(connection, None)

    def return_s(self) -> float:
        """Seconds after which a client that was refused should return."""
        return self._places.return_s("", _FULL_RETRY_S)

    def leave(self, connection: WriteTransport) -> None:
        """Removes `connection`, which is closed. Safe to call twice."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def _make_room(self) -> bool:
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        self.leave(longest)
        longest.abort()
        self._closed += 1
        self._log_full()
        return True

    def _log_full(self) -> None:
        """Logs once in a while that the limit is reached: one line per connection would help an attack."""
        now = self._clock()
        if now >= self._log_at:
            self._log_at = now + _LOG_EVERY_S
            log.warning("connections_full", open=self.max_open, closed_idle=self._closed, refused=self._refused)
