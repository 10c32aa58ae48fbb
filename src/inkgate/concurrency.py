"""How blocking work and task groups are run: the one place that starts threads.

Work that blocks runs through a *named* capacity limiter, so that one kind of work can't starve another, and so
that how much of each runs at once is a number somebody chose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
        # Errors come as values: anyio's future would hold one whose traceback holds that future, and all of `args`.
        call = partial(_outcome, partial(function, *args, **kwargs))
        outcome = await anyio.to_thread.run_sync(call, limiter=self._limiter)
        if not isinstance(outcome, _Failed):
            return outcome
        try:
            raise outcome.error
        finally:
            del outcome

    @property
    def waiting(self) -> int:
        return self._limiter.statistics().tasks_waiting


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


def _outcome(function: Callable[[], T]) -> T | _Failed:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - it is raised where the call was made
        return _Failed(error)


class single_error:  # noqa: N801 - used as a function; a generator's frames would keep the group
    """Raises the one exception of a task group as itself instead of as an ExceptionGroup.

    Where several tasks failed the first is raised, a group of the others as its cause; what is no Exception, such as
    KeyboardInterrupt, goes before those that are. Nothing of it refers to itself: what the frames of its traceback
    hold, such as a document, is freed with it, not when the collector next runs.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, BaseExceptionGroup):
            return
        leaves = list(_leaves(error))
        first = next((leaf for leaf in leaves if not isinstance(leaf, Exception)), leaves[0])
        others = [leaf for leaf in leaves if leaf is not first]
        del leaves
        if others:
            first.__cause__ = BaseExceptionGroup("other tasks that failed", others)
        context = first.__context__
        try:
            raise first
        finally:
            first.__context__ = context  # Python has just set it to the group, which refers to `first`
            del first, others, context, error, trace


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
