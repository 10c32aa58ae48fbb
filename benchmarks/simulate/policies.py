"""Gateways between clients and a server: none, a queue limit, a semaphore, or inkgate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import anyio

from benchmarks.simulate.scenario import Link
from benchmarks.simulate.server import QueueFull
from benchmarks.simulate.workload import Request


class Policy(Protocol):
    """One gateway in front of one server."""

    @property
    def limit(self) -> int | None:
        """Maximum concurrent requests at the server; None if unlimited."""
        ...

    async def run(self) -> None:
        """Runs background work until cancelled."""
        ...

    async def read(self, request: Request) -> None:
        """Reads the page.

        Raises:
            Overloaded, QueueFull: refused.
            InputRejected: its deadline passed, in the queue or at the server.
            EngineFailed, ServerGone: it failed.
        """
        ...


NewPolicy = Callable[[Link, int], Policy]
"""Creates a policy in front of a server; the number is its seed."""


class Bare:
    """vLLM alone, with a queue limit if the server's flags have one."""

    limit = None

    def __init__(self, link: Link, seed: int) -> None:
        self._server = link.server

    async def run(self) -> None:
        return

    async def read(self, request: Request) -> None:
        await self._server.generate(request.page)


class Semaphore:
    """At most `limit` requests at the server; the others wait in order of arrival.

    Beyond `most_waiting` requests are refused; None: all wait without limit.
    """

    def __init__(self, link: Link, limit: int, most_waiting: int | None = None) -> None:
        self.limit = limit
        self._server = link.server
        self._seats = anyio.Semaphore(limit, fast_acquire=True)
        self._most_waiting = most_waiting

    async def run(self) -> None:
        return

    async def read(self, request: Request) -> None:
        if self._most_waiting is not None and self._seats.statistics().tasks_waiting >= self._most_waiting:
            raise QueueFull
        async with self._seats:
            await self._server.generate(request.page)


def semaphore(limit: int, most_waiting: int | None = None) -> NewPolicy:
    """A Semaphore of `limit`."""
    return lambda link, _seed: Semaphore(link, limit, most_waiting)
