"""How blocking work and task groups are run: the one place that starts threads.

Work that blocks runs through a *named* capacity limiter, so that one kind of work can't starve another, and so
that how much of each runs at once is a number somebody chose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")


def loop_time() -> float:
    """Clock time in seconds, as anyio.current_time says it, but a tenth as dear: for what is read often."""
    return asyncio.get_running_loop().time()


class Threads:
    """A named, bounded right to run blocking calls in worker threads. Made on, and used from, one event loop."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self._limiter = anyio.CapacityLimiter(limit)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`function(*args, **kwargs)`, run in a thread.

        A cancelled caller waits for the thread to finish: its memory and its place are in use until then.
        """
        return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._limiter)

    @property
    def waiting(self) -> int:
        return self._limiter.statistics().tasks_waiting


@contextmanager
def single_error() -> Iterator[None]:
    """Raises the one exception of a task group as itself instead of as an ExceptionGroup.

    Where several tasks failed the first is raised, the group as its cause.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from group
