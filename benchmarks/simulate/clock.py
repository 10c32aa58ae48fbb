"""An asyncio event loop with virtual time: instead of waiting, it jumps to the next timer.

Code that uses the loop's time (asyncio, anyio: `current_time`, `sleep`, cancel scopes) runs on it unchanged. There is
no I/O: waiting for a socket or a thread would never end and raises an error.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


class Deadlock(RuntimeError):
    """All tasks wait, and no timer is left to wake one."""


class _NeverBlocks(selectors.SelectSelector):
    """A selector without ready files; waiting for `timeout` seconds advances the clock by that."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.rounds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.rounds += 1
        if timeout is None:
            raise Deadlock("every task waits and no timer is set: nothing can ever happen again")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 0 and jumps, in seconds. Without threads, signals or sockets."""

    def __init__(self) -> None:
        self._clock = _NeverBlocks()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    @property
    def rounds(self) -> int:
        """Number of times that the loop has run what was ready. Everything that wakes it costs a round."""
        return self._clock.rounds


def run(main: Callable[[], Awaitable[T]]) -> T:
    """Runs `main` in virtual time from 0 s and returns its result.

    Raises:
        Deadlock: all tasks wait forever.
    """
    return anyio.run(main, backend="asyncio", backend_options={"loop_factory": VirtualLoop})
