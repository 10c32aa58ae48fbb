"""Content that takes the engine down again and again is refused for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import anyio
import structlog

from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.errors import InputRejected
from inkgate.types import Page, PageResult, Task

log = structlog.get_logger(__name__)

_ROUNDING = 1e-9
_content: ContextVar[bytes] = ContextVar("content", default=b"")


def content_being_read() -> bytes:
    """The content of the page that this task reads, as its key; empty where it reads none."""
    return _content.get()


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Attributes:
    deaths: of the engine that content must be to blame for.
    for_s: how long it is refused then, in seconds, and how long suspicion and blame are remembered.
    most: contents that are remembered; those suspected the longest ago are forgotten first.
    """

    deaths: float = 2.0
    for_s: float = 600.0
    most: int = 1024


class Quarantine:
    """Blames content for deaths of the engine.

    When a server of the engine dies, the pages that were in it become suspects, and those that were suspects already
    are blamed: 1/n each. A page that was alone in it is blamed at once. Suspects are read one at a time, so that the
    next death shows which one it was: among n pages the fatal one is suspected at the first death, blamed at the
    second, and refused after the third; the others are acquitted by being read. Used from one event loop.
    """

    def __init__(
        self, settings: QuarantineSettings | None = None, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        """`clock` in seconds."""
        self._settings = settings or QuarantineSettings()
        self._clock = clock
        self._blame: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._alone = anyio.CapacityLimiter(1)

    def check(self, key: bytes) -> None:
        """Nothing, unless `key` is in quarantine.

        Raises:
            InputRejected: "content_quarantined".
        """
        if (self._blamed(key) or 0.0) >= self._settings.deaths - _ROUNDING:
            raise InputRejected(
                "content_quarantined",
                f"The engine went down while it read this page; it is not read for {self._settings.for_s:g} s.",
            )

    def blamed(self, key: bytes, share: float = 1.0) -> None:
        """The engine died of `key`, with a probability of `share`; 0: it is a suspect."""
        blame = (self._blamed(key) or 0.0) + share
        self._blame[key] = (blame, self._clock() + self._settings.for_s)
        self._blame.move_to_end(key)
        while len(self._blame) > self._settings.most:
            self._blame.popitem(last=False)
        if blame >= self._settings.deaths - _ROUNDING:
            log.warning("content_quarantined", content=key.hex()[:16], blame=round(blame, 2))

    def died(self, contents: Sequence[bytes]) -> None:
        """A server died. `contents`: of each call that was in it, empty where that isn't known. Once for each death."""
        there = set(contents)
        suspects = there if len(there) == 1 else {key for key in there if self._blamed(key) is not None}
        for key in there - {b""}:
            self.blamed(key, 1 / len(suspects) if key in suspects else 0.0)

    @asynccontextmanager
    async def reading(self, key: bytes) -> AsyncIterator[None]:
        """While the engine reads `key`; a suspect waits until no other one is read.

        Raises:
            InputRejected: "content_quarantined".
        """
        async with AsyncExitStack() as stack:
            if self._blamed(key) is not None:
                await stack.enter_async_context(self._alone_for(key))
            token, before = _content.set(key), self._blame.get(key)
            try:
                yield
                if self._blame.get(key) == before:  # else a server died of it meanwhile, though it may be read in part
                    self._blame.pop(key, None)
            finally:
                _content.reset(token)

    @asynccontextmanager
    async def _alone_for(self, key: bytes) -> AsyncIterator[None]:
        """The place of the one suspect that is read, if it may still be read when it is its turn."""
        self.check(key)
        async with self._alone:
            self.check(key)
            yield

    def _blamed(self, key: bytes) -> float | None:
        """How much `key` is to blame; None where it is no suspect."""
        found = self._blame.get(key)
        if found is None:
            return None
        blame, ends_at = found
        if self._clock() >= ends_at:
            del self._blame[key]
            return None
        return blame


class Quarantined(EngineWrapper):
    """An Engine around an Engine: pages that took it down are refused. Whoever sees it die calls `quarantine.died`.

    It stands outside of what holds places at the engine: suspects that wait for each other take none.
    """

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
