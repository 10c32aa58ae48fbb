"""What the page cache holds: pages by their content and task."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import orjson

from inkgate import __version__
from inkgate.errors import Blame, InkgateError, from_page_error
from inkgate.serving.cache import Cache, CacheCodec, Store
from inkgate.settings import SchedulingSettings
from inkgate_client.codec import EXACT_VERSION, dump_page, estimated_bytes, load_page
from inkgate_client.types import PageResult, Task


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


_PAGES = CacheCodec(_dumps, load_page, estimated_bytes, _keep, _of_the_asker)


def page_cache(store: Store, ttl_s: float, scheduling: SchedulingSettings | None = None) -> Cache[PageResult]:
    """A cache of page results, each stored for `ttl_s` seconds. Its `run` must be running when pages are read."""
    return Cache(store, _PAGES, ttl_s, scheduling)


def cache_key(content_key: bytes, task: Task, engine: str, revision: str) -> bytes:
    """The key of a page in the cache, 32 bytes. `content_key`: of the page. `engine`: its name. `revision`: identifies
    everything else that changes results: the model's revision and the engine's settings. Services that share a store
    share results of equal revisions.
    """
    request = (EXACT_VERSION, __version__, engine, revision, task)
    return blake2b(orjson.dumps(request), key=content_key[:64], digest_size=32).digest()
