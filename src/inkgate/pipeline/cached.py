"""Page cache: an identical page is read once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from time import perf_counter

import orjson

from inkgate import __version__
from inkgate.caller import Caller
from inkgate.codec import EXACT_VERSION, dump_page, load_page
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.errors import Blame, InkgateError, from_page_error
from inkgate.page import Page
from inkgate.serving.cache import Cache, CacheCodec, CacheSource, Store
from inkgate.types import PageResult, Task


def _keep(result: PageResult) -> bool:
    """Whether the page was read completely and without degradation; only then may others get it."""
    return result.error is None and not result.degraded and all(block.error is None for block in result.blocks or ())


def _of_the_asker(outcome: PageResult | InkgateError) -> bool:
    """Whether it has an error that may not apply to another caller: of the first one, or of the service just then."""
    if isinstance(outcome, InkgateError):
        return outcome.blame is Blame.CALLER or (outcome.blame is Blame.SERVICE and outcome.transient)
    errors = (outcome.error, *(block.error for block in outcome.blocks or ()))
    return any(error is not None and _of_the_asker(from_page_error(error)) for error in errors)


def _dumps(result: PageResult) -> bytes:
    """Serializes the result without what differs between callers."""
    return dump_page(replace(result, index=0, timings_ms={}))


_PAGES = CacheCodec(_dumps, load_page, _keep, _of_the_asker)


def page_cache(store: Store, ttl_s: float) -> Cache[PageResult]:
    """A cache of page results, each kept for `ttl_s` seconds. Its `run` must be running when pages are read."""
    return Cache(store, _PAGES, ttl_s)


class Cached(EngineWrapper):
    """An Engine around an Engine with a cache of its results.

    Two requests are identical if content (`Page.content_key`), task and engine are equal. Concurrent identical reads of
    the same priority are shared, so nobody waits for a less urgent read. The read uses the page, deadline and share of
    the first caller, and holds its page open until the read ends, even if that caller leaves. If the first caller's
    deadline or share ends the read, the others start again.
    """

    def __init__(self, inner: Engine, cache: Cache[PageResult], revision: str) -> None:
        """`revision`: identifies everything else that changes results: the model's revision and the engine's settings.
        Services that share a store share results of equal revisions.
        """
        super().__init__(inner)
        self.cache = cache
        self._revision = revision

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """As Engine.read. A cached or shared result has the time it took in `timings_ms["cache"]`."""
        if not page.content_key or caller.anew:
            return await self._inner.read(page, task, caller)
        begun = perf_counter()
        run: Callable[[], Awaitable[PageResult]] = partial(self._inner.read, page, task, caller)
        result, source = await self.cache.get_or_run(self._key(page, task), run, caller.priority, page.hold)
        if source is CacheSource.RUN:
            return result
        return replace(result, index=page.index, timings_ms={"cache": (perf_counter() - begun) * 1000})

    def _key(self, page: Page, task: Task) -> bytes:
        seen = (page.size, page.dpi, page.text_layer is not None)
        asked = (EXACT_VERSION, __version__, self._inner.name, self._revision, task, *seen)
        return blake2b(orjson.dumps(asked), key=page.content_key[:64], digest_size=32).digest()
