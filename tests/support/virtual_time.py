"""An event loop whose clock jumps to the next timer when nothing else is to be done: a sleep takes no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Advances `now` by the time that it is asked to wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += timeout
            timeout = 0.0
        return super().select(timeout)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """For tests without threads, sockets and processes: these take real time, and time limits would end at once."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


Backend = tuple[str, Mapping[str, Any]]

VIRTUAL_TIME: Backend = ("asyncio", {"loop_factory": VirtualTimeLoop})
"""What the fixture `anyio_backend` returns in a module whose tests run in virtual time."""
