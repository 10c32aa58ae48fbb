"""Content that takes the engine down again and again is refused for a while."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
import structlog

from inkgate.engines.around import Around
from inkgate.engines.base import Engine
from inkgate.errors import EngineFailed, InputRejected
from inkgate.types import Page, PageResult, Task

log = structlog.get_logger(__name__)

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Attributes:
    deaths: of the engine that content must be to blame for.
    for_s: how long it is refused then, in seconds, and how long blame is remembered.
    grace_s: reads that failed up to so many seconds before a death was noticed were part of it.
    most: contents that are remembered; those blamed the longest ago are forgotten first.
    """

    deaths: float = 2.0
    for_s: float = 600.0
    grace_s: float = 5.0
    most: int = 1024


class Quarantine:
    """Blames content for deaths of the engine.

    When the engine dies, the reads that were in it share the blame: 1/n each; where some of them are suspects, having
    been blamed before, these share it alone. Suspects are read one at a time, so that the next death shows which one it
    was: among n pages the fatal one is found by the second death, and refused after the third at the latest, while the
    others are acquitted by being read. Content read alone is refused after two. Used from one event loop.
    """

    def __init__(
        self, settings: QuarantineSettings | None = None, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        """`clock` in seconds."""
        self._settings = settings or QuarantineSettings()
        self._clock = clock
        self._blame: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._reading: Counter[bytes] = Counter()
        self._failed: OrderedDict[bytes, float] = OrderedDict()
        self._alone = anyio.CapacityLimiter(1)
        self._deaths = 0

    def check(self, key: bytes) -> None:
        """Nothing, unless `key` is in quarantine.

        Raises:
            InputRejected: "content_quarantined".
        """
        if self._blamed(key) >= self._settings.deaths - _ROUNDING:
            raise InputRejected(
                "content_quarantined",
                f"The engine went down while it read this page; it is not read for {self._settings.for_s:g} s.",
            )

    def blamed(self, key: bytes, share: float = 1.0) -> None:
        """The engine died of `key`, with a probability of `share`."""
        blame = self._blamed(key) + share
        self._blame[key] = (blame, self._clock() + self._settings.for_s)
        self._blame.move_to_end(key)
        while len(self._blame) > self._settings.most:
            self._blame.popitem(last=False)
        if blame >= self._settings.deaths - _ROUNDING:
            log.warning("content_quarantined", content=key.hex()[:16], blame=round(blame, 2))

    def died(self) -> None:
        """The engine died: whatever is being read, or just failed, is to blame. Called once for each death."""
        self._deaths += 1
        recent = self._clock() - self._settings.grace_s
        reading = {*self._reading, *(key for key, at in self._failed.items() if at >= recent)}
        self._failed.clear()
        blamed = {key for key in reading if self._blamed(key)} or reading
        for key in blamed:
            self.blamed(key, 1 / len(blamed))

    @asynccontextmanager
    async def reading(self, key: bytes) -> AsyncIterator[None]:
        """While the engine reads `key`. EngineFailed, raised inside, may be a death that is noticed later.

        Raises:
            InputRejected: "content_quarantined".
        """
        async with AsyncExitStack() as stack:
            if self._blamed(key):
                await stack.enter_async_context(self._alone_for(key))
            self._reading[key] += 1
            deaths = self._deaths
            try:
                yield
                self._blame.pop(key, None)
            except EngineFailed:
                if deaths == self._deaths:  # else it has its share of the blame
                    self._note_failure(key)
                raise
            finally:
                self._reading[key] -= 1
                if not self._reading[key]:
                    del self._reading[key]

    @asynccontextmanager
    async def _alone_for(self, key: bytes) -> AsyncIterator[None]:
        """The place of the one suspect that is read, if it may still be read when it is its turn."""
        self.check(key)
        async with self._alone:
            self.check(key)
            yield

    def _blamed(self, key: bytes) -> float:
        blame, ends_at = self._blame.get(key, (0.0, 0.0))
        if blame and self._clock() >= ends_at:
            del self._blame[key]
            return 0.0
        return blame

    def _note_failure(self, key: bytes) -> None:
        self._failed[key] = self._clock()
        self._failed.move_to_end(key)
        while len(self._failed) > self._settings.most:
            self._failed.popitem(last=False)


class Quarantined(Around):
    """An Engine around an Engine: pages that took it down are refused. Whoever sees it die calls `quarantine.died`."""

    def __init__(self, inner: Engine, quarantine: Quarantine) -> None:
        super().__init__(inner)
        self._quarantine = quarantine

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read.

        Raises:
            InputRejected: "content_quarantined".
        """
        if not page.content_key:
            return await self._inner.read(page, task)
        async with self._quarantine.reading(page.content_key):
            return await self._inner.read(page, task)
