"""An asyncio event loop whose time is made up: it never waits, it jumps to the next timer.

Everything that tells the time or sleeps by the loop (asyncio, anyio: `current_time`, `sleep`, cancel scopes) runs on
it unchanged. There is no input and output: what waits for a socket or a thread waits for ever, which is an error here.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


class Deadlock(RuntimeError):
    """Every task waits, and no timer is left that could wake one."""


class _NeverBlocks(selectors.SelectSelector):
    """Nothing is ever ready; being asked to wait for `timeout` seconds moves the clock on by as much."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("every task waits and no timer is set: nothing can ever happen again")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 0 and moves by jumps, in seconds. Not for threads, signals or sockets."""

    def __init__(self) -> None:
        self._clock = _NeverBlocks()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def run(main: Callable[[], Awaitable[T]]) -> T:
    """What `main` returns, run in virtual time from 0 s.

    Raises:
        Deadlock: nothing was left that could have gone on.
    """
    return anyio.run(main, backend="asyncio", backend_options={"loop_factory": VirtualLoop})
