"""An identical page is read once, and for a while not again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from time import perf_counter

import orjson

from inkgate import __version__
from inkgate.engines.around import EngineWrapper
from inkgate.engines.base import Engine
from inkgate.errors import OVERLOAD_CODES, InkgateError
from inkgate.serving import page_codec
from inkgate.serving.cache import Cache, CacheCodec, CacheSource
from inkgate.serving.store import Store
from inkgate.serving.work import current_caller
from inkgate.types import Page, PageResult, Task

OF_THE_ASKER = frozenset({*OVERLOAD_CODES, "deadline_exceeded", "service_timeout"})
"""Codes of errors that another asker may be spared."""


def _keep(result: PageResult) -> bool:
    """Whether the page was read whole and undiminished: nothing else is good enough for who asks later."""
    return result.error is None and not result.degraded and all(block.error is None for block in result.blocks or ())


def _of_the_asker(outcome: PageResult | InkgateError) -> bool:
    if isinstance(outcome, InkgateError):
        return outcome.code in OF_THE_ASKER
    errors = (outcome.error, *(block.error for block in outcome.blocks or ()))
    return any(error is not None and error.code in OF_THE_ASKER for error in errors)


def _dumps(result: PageResult) -> bytes:
    """Without what differs between those who ask."""
    return page_codec.dumps(replace(result, index=0, timings_ms={}))


PAGES = CacheCodec(_dumps, page_codec.loads, _keep, _of_the_asker)


class Cached(EngineWrapper):
    """An Engine around an Engine, and a cache of what it read. `run` has to run beside it.

    A page is the same when its content is (`Page.content_key`), and it is asked for in the same way: the same task, of
    the same engine. What several read at once is read once, within a priority: nobody waits for a read that is less
    urgent than their own. It is read on behalf of who came first; where that one's deadline or share ends it, the
    others begin anew. It is the first one's page that is read, and held until that is done: the first may leave.
    """

    def __init__(self, inner: Engine, store: Store, ttl_s: float, revision: str) -> None:
        """`revision`: all beside name and task that decides what `inner` reads on a page: the model's revision, and the
        settings that change an answer. Services that share a store share results where it is equal.
        """
        self.cache: Cache[PageResult] = Cache(store, PAGES, ttl_s)
        super().__init__(inner)
        self._revision = revision

    async def run(self) -> None:
        """Carries the reads that are shared, until cancelled."""
        await self.cache.run()

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read. A result that was kept, or read for somebody else, has the time that took as `cache`."""
        if not page.content_key or current_caller().anew:
            return await self._inner.read(page, task)
        begun = perf_counter()
        run: Callable[[], Awaitable[PageResult]] = partial(self._inner.read, page, task)
        result, source = await self.cache.get_or_run(self._key(page, task), run, current_caller().priority, page.hold)
        if source is CacheSource.RUN:
            return result
        return replace(result, index=page.index, timings_ms={"cache": (perf_counter() - begun) * 1000})

    def _key(self, page: Page, task: Task) -> bytes:
        seen = (page.size, page.dpi, page.text_layer is not None)
        asked = (page_codec.FORMAT, __version__, self._inner.name, self._revision, task, *seen)
        return blake2b(orjson.dumps(asked), key=page.content_key[:64], digest_size=32).digest()
