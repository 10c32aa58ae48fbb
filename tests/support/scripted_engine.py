"""An Engine whose behaviour on each page is given by the test: faults enter through the port, not through patches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import anyio
import numpy as np

from inkgate.caller import Caller
from inkgate.page import Page, Pixels, TextLayer
from inkgate_client.types import PageResult, Size, Task

PageScript = Callable[[int], Awaitable[None]]


@dataclass(frozen=True)
class KeyedPage:
    """A page that has only a key."""

    content_key: bytes
    index: int = 0
    size: Size = Size(100, 200)
    dpi: float | None = None
    text_layer: TextLayer | None = None

    def retain(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        return Pixels(np.zeros((200, 100, 3), np.uint8))


async def at_once(index: int) -> None:
    """Reads any page without waiting."""


class ScriptedEngine:
    """Reads `page N` from page N after `script(N)` has returned; raises what the script raises.

    `running`, `begun` and `cancelled` record events by page index.
    """

    name = "scripted"

    def __init__(self, script: PageScript = at_once) -> None:
        self._script = script
        self.running: set[int] = set()
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.most_at_once = 0

    async def start(self) -> None:
        """Is ready."""

    async def stop(self) -> None:
        """Holds nothing."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.begun.append(page.index)
        self.running.add(page.index)
        self.most_at_once = max(self.most_at_once, len(self.running))
        try:
            await self._script(page.index)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(page.index)
            raise
        finally:
            self.running.discard(page.index)
        text = f"page {page.index}"
        return PageResult(page.index, page.size.width, page.size.height, text=text, engine=self.name)
