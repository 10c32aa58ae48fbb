"""Blocking work in threads, and single exceptions out of task groups. All threads are started here, except the one of
library.Ocr's event loop.

Blocking work runs through a *named* capacity limiter, so that one kind of work can't starve another, and the
concurrency of each kind is chosen explicitly. What is done for callers runs in serving.threads.FairThreads, which
callers share; in Threads runs what no caller can fill, or what waits within a turn.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Generic, ParamSpec, Protocol, TypeVar

import anyio
import anyio.to_thread

P = ParamSpec("P")
T = TypeVar("T")

INLINE_BYTES = 64 * 1024
"""What works on more bytes than this, such as a hash or JSON, runs in a thread: up to it, a thread costs more than it
saves, and the event loop is held up for some 5 ms at most.
"""


def loop_time() -> float:
    """The same clock time in seconds as anyio.current_time, ten times cheaper."""
    return asyncio.get_running_loop().time()


class Threads:
    """Runs blocking calls in a bounded number of worker threads. Created on, and used from, one event loop."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self._limiter = anyio.CapacityLimiter(limit)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `function(*args, **kwargs)`, run in a thread.

        A cancelled caller waits for the thread to finish: its memory and its slot are in use until then.
        """
        # Errors are returned as values: anyio's future would hold an error whose traceback holds the future and `args`.
        call = partial(_outcome, partial(function, *args, **kwargs))
        return _returned(await anyio.to_thread.run_sync(call, limiter=self._limiter))

    async def run_large(self, size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `function` like `run`, but without a thread if `size`, the bytes that it works on, is at most
        INLINE_BYTES.
        """
        if size <= INLINE_BYTES:
            return function(*args, **kwargs)
        return await self.run(function, *args, **kwargs)

    @property
    def waiting(self) -> int:
        return self._limiter.statistics().tasks_waiting


@dataclass(frozen=True, slots=True)
class _Failed:
    error: Exception


class Charge(Protocol):
    """What a request is charged for, such as its slot at admission, until it has ended and its work has."""

    def begin_work(self) -> None:
        """Work has begun that goes on if the request is cancelled, such as a call in a worker process."""
        ...

    def end_work(self) -> None:
        """Such work has ended."""
        ...


async def run_charged(charge: Charge, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Returns `function(*args, **kwargs)`, run in a thread at once: who calls this bounds the number of threads.

    A cancelled caller returns at once. The thread goes on, and `charge` is charged for it until it ends. `function`
    must use nothing that its caller frees.
    """
    work = _ChargedWork(partial(_outcome, partial(function, *args, **kwargs)), charge)
    charge.begin_work()
    try:
        unlimited = anyio.CapacityLimiter(math.inf)
        return _returned(await anyio.to_thread.run_sync(work.run, abandon_on_cancel=True, limiter=unlimited))
    finally:
        if not work.begun:  # cancelled before
            work.end()


_PAUSE: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


def pause() -> None:
    """Lets other work go first, and ends work that nobody waits for. Long work calls it at its steps, in its thread.
    Does nothing elsewhere. Takes 0.1 us.
    """
    pause_now = _PAUSE.get()
    if pause_now is not None:
        pause_now()


@contextmanager
def pausing(pause_now: Callable[[], None]) -> Iterator[None]:
    """Makes `pause` call `pause_now`, in threads that are started within the block."""
    token = _PAUSE.set(pause_now)
    try:
        yield
    finally:
        _PAUSE.reset(token)


class _ChargedWork(Generic[T]):
    """Work in a thread that may outlast its caller."""

    def __init__(self, call: Callable[[], T], charge: Charge) -> None:
        self.begun = False
        self._call = call
        self._charge = charge
        self._ended = False
        self._loop = asyncio.get_running_loop()

    def run(self) -> T:
        """Runs it, in its thread."""
        self.begun = True
        try:
            return self._call()
        finally:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.end)

    def end(self) -> None:
        """Ends what is charged, once. On the event loop."""
        if not self._ended:
            self._ended = True
            self._charge.end_work()


def _returned(outcome: T | _Failed) -> T:
    if not isinstance(outcome, _Failed):
        return outcome
    try:
        raise outcome.error
    finally:
        del outcome


def _outcome(function: Callable[[], T]) -> T | _Failed:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - raised again in `_returned`
        return _Failed(error)


class single_error:  # noqa: N801 - used as a function; a generator's frames would keep the group
    """Raises the exception of a task group as itself instead of as an ExceptionGroup.

    If several tasks failed, raises the first, with a group of the others as its cause; a BaseException such as
    KeyboardInterrupt goes before Exceptions. The exception has no reference cycles: objects in the frames of its
    traceback, such as a document, are freed with it, without the garbage collector.
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
