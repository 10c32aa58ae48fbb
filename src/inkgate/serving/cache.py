"""Result cache with single-flight: identical requests share one computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar

import anyio
import structlog

from inkgate.errors import InkgateError
from inkgate.serving.joined import SingleFlight
from inkgate.serving.store import Store

log = structlog.get_logger(__name__)
R = TypeVar("R")

_CLOSE_S = 2.0
_SHARED_TRIES = 2
"""After this many shared reads that ended by the limits of their first callers, each caller reads for itself.
Otherwise a thousand callers would be woken a thousand times."""


@dataclass(frozen=True, slots=True)
class CacheCodec(Generic[R]):
    """How a Cache stores its values.

    Attributes:
        dumps, loads: to bytes and back; raise ValueError, TypeError or KeyError if that fails.
        keep: whether a value may be stored.
        of_the_asker: whether an error is due to the first caller (its deadline, its share), not the request.
    """

    dumps: Callable[[R], bytes]
    loads: Callable[[bytes], R]
    keep: Callable[[R], bool]
    of_the_asker: Callable[[R | InkgateError], bool]


class CacheSource(StrEnum):
    """Where a value came from: `run` (computed), `kept` (cached) or `joined` (shared with a concurrent caller)."""

    RUN = "run"
    KEPT = "kept"
    JOINED = "joined"


class Cache(Generic[R]):
    """Values from a store or computed once for all concurrent callers. Its background task is `run`.

    A caller that leaves does not affect the others; once all left, the computation is cancelled. An error is raised
    to all waiting callers and not stored. No caller waits for the store to be written.

    Attributes:
        found: number of values by source.
    """

    def __init__(self, store: Store, kind: CacheCodec[R], ttl_s: float) -> None:
        self.found: Counter[CacheSource] = Counter()
        self._store = store
        self._kind = kind
        self._ttl_s = ttl_s
        self._joined: SingleFlight[tuple[R, CacheSource]] = SingleFlight()

    async def run(self) -> None:
        """Runs shared computations and writes to the store, until cancelled. Closes the store."""
        try:
            await self._joined.run()
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await self._store.close()

    async def get_or_run(
        self,
        key: bytes,
        run: Callable[[], Awaitable[R]],
        group: Hashable = None,
        hold: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> tuple[R, CacheSource]:
        """The value of `key` and its source. Only callers of the same `group` share a computation; while `run` is not
        running, each caller computes for itself.

        `hold`: resources that this caller may close when it leaves; held until the shared computation ends.

        Raises:
            EngineFailed: "engine_unavailable": what carries shared work ended meanwhile.
            Exception: what `run` raises.
        """
        for _ in range(_SHARED_TRIES if self._joined.running else 0):
            flight, first = self._joined.join(
                (key, group), partial(self._look_or_run, key, run), partial(self._put, key), hold
            )
            try:
                value, source = await flight.wait()
            except InkgateError as error:
                if first or not self._kind.of_the_asker(error):
                    raise
                continue
            if not first and self._kind.of_the_asker(value):
                continue
            return value, self._counted(CacheSource.JOINED if source is CacheSource.RUN and not first else source)
        return await run(), self._counted(CacheSource.RUN)

    def _counted(self, source: CacheSource) -> CacheSource:
        self.found[source] += 1
        return source

    async def _look_or_run(self, key: bytes, run: Callable[[], Awaitable[R]]) -> tuple[R, CacheSource]:
        try:
            data = await self._store.get(key)
            if data is not None:
                return self._kind.loads(data), CacheSource.KEPT
        except OSError as error:
            log.debug("cache_lookup_failed", reason=type(error).__name__)
        except (ValueError, TypeError, KeyError) as error:
            log.warning("cache_value_damaged", reason=type(error).__name__)
        return await run(), CacheSource.RUN

    async def _put(self, key: bytes, found: tuple[R, CacheSource]) -> None:
        value, source = found
        if source is not CacheSource.RUN or not self._kind.keep(value):
            return
        try:
            await self._store.put(key, self._kind.dumps(value), self._ttl_s)
        except OSError as error:
            log.debug("cache_put_failed", reason=type(error).__name__)
        except Exception:  # per-value border: the caller already has its answer
            log.exception("cache_value_not_kept")
