"""Limit on a server's open connections: a new one replaces the one that has been idle longest."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Protocol

import structlog

from inkgate.concurrency import loop_time

log = structlog.get_logger(__name__)

_MOST = 8_000
"""Default maximum if the file limit allows it: an idle connection takes about 20 kB."""
_SAY_EVERY_S = 10.0


def raise_file_limit() -> None:
    """Raises this process's soft limit of open files to the hard one; children started later inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def default_connections() -> int:
    """Default limit on open connections: three quarters of the soft limit of open files, at most 8,000.

    The rest is for documents, worker processes, model servers and Redis.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(1, min(_MOST, soft * 3 // 4))


class Closable(Protocol):
    """A connection."""

    def give_way(self) -> None:
        """Closes the connection at once."""
        ...


class Connections:
    """The open connections of one server. At `most` connections, a new one replaces the one that has waited longest for
    a request; if none is waiting, it is refused. Used from one event loop; O(1).
    """

    def __init__(self, most: int, clock: Callable[[], float] = loop_time) -> None:
        self.most = most
        self._clock = clock
        self._open: set[Closable] = set()
        self._waiting: dict[Closable, None] = {}
        self._closed = 0
        self._refused = 0
        self._say_at = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: Closable) -> bool:
        """Adds `connection`, as waiting for a request, if there is room. Returns whether there is."""
        if len(self._open) >= self.most and not self._make_room():
            self._refused += 1
            self._say()
            return False
        self._open.add(connection)
        self._waiting[connection] = None
        return True

    def wait(self, connection: Closable) -> None:
        """Marks `connection` as waiting for its next request."""
        if connection in self._open:
            self._waiting[connection] = None

    def work(self, connection: Closable) -> None:
        """Marks `connection` as having a request; it can't be replaced until that has its response."""
        self._waiting.pop(connection, None)

    def leave(self, connection: Closable) -> None:
        """Removes `connection`, which is closed. Safe to call twice."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def _make_room(self) -> bool:
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        self.leave(longest)
        longest.give_way()
        self._closed += 1
        self._say()
        return True

    def _say(self) -> None:
        """Logs once in a while that the limit is reached: one line per connection would help an attack."""
        now = self._clock()
        if now >= self._say_at:
            self._say_at = now + _SAY_EVERY_S
            log.warning("connections_full", open=self.most, closed_idle=self._closed, refused=self._refused)
