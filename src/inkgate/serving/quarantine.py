"""Quarantine: temporarily refuses content that repeatedly crashed the engine."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
import structlog

from inkgate.errors import InputRejected

log = structlog.get_logger(__name__)

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class QuarantineSettings:
    """Attributes:
    deaths: number of engine crashes from which on content is refused.
    for_s: how long it is refused, in seconds, and how long suspects are remembered.
    most: maximum number of remembered contents; the ones suspected longest ago are forgotten first.
    """

    deaths: float = 2.0
    for_s: float = 600.0
    most: int = 1024


class Quarantine:
    """Finds the content that crashes the engine.

    If a server of the engine dies, the pages in it become suspects; the n of them that already were get blame 1/n each.
    A page that was alone in it is blamed at once. Suspects are read one at a time, so that the next crash
    shows the culprit: it is a suspect after the first crash, blamed after the second, and refused after the third.
    The others are cleared once they are read. Used from one event loop.
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
        """Checks that `key` is not in quarantine.

        Raises:
            InputRejected: "content_quarantined".
        """
        if (self._blame_of(key) or 0.0) >= self._settings.deaths - _ROUNDING:
            raise InputRejected(
                "content_quarantined",
                f"The engine crashed while reading this page. It is refused for {self._settings.for_s:g} s.",
            )

    def add_blame(self, key: bytes, share: float = 1.0) -> None:
        """Blames `key` for a crash with probability `share`; 0 makes it a suspect."""
        blame = (self._blame_of(key) or 0.0) + share
        self._blame[key] = (blame, self._clock() + self._settings.for_s)
        self._blame.move_to_end(key)
        while len(self._blame) > self._settings.most:
            self._blame.popitem(last=False)
        if blame >= self._settings.deaths - _ROUNDING:
            log.warning("content_quarantined", content=key.hex()[:16], blame=round(blame, 2))

    def died(self, contents: Sequence[bytes]) -> None:
        """Notes that a server crashed. `contents`: of each call in it; empty if unknown. Called by the load balancer
        when it takes a server out: bootstrap/stack.py sets it as ReplicaEvents.on_out.
        """
        there = set(contents)
        suspects = there if len(there) == 1 else {key for key in there if self._blame_of(key) is not None}
        for key in there - {b""}:
            self.add_blame(key, 1 / len(suspects) if key in suspects else 0.0)

    @asynccontextmanager
    async def reading(self, key: bytes) -> AsyncIterator[None]:
        """Encloses the engine's reading of `key`. A suspect waits until no other suspect is being read.

        Raises:
            InputRejected: "content_quarantined".
        """
        async with AsyncExitStack() as stack:
            if self._blame_of(key) is not None:
                await stack.enter_async_context(self._alone_for(key))
            before = self._blame.get(key)
            yield
            if self._blame.get(key) == before:  # else a server died meanwhile, even if the page was partly read
                self._blame.pop(key, None)

    @asynccontextmanager
    async def _alone_for(self, key: bytes) -> AsyncIterator[None]:
        """Holds the only slot for suspects. Raises InputRejected if `key` is refused before or after the wait."""
        self.check(key)
        async with self._alone:
            self.check(key)
            yield

    def _blame_of(self, key: bytes) -> float | None:
        """The blame of `key`; None if it is not a suspect."""
        found = self._blame.get(key)
        if found is None:
            return None
        blame, ends_at = found
        if self._clock() >= ends_at:
            del self._blame[key]
            return None
        return blame
