"""Result cache: a store in memory or behind a breaker, and single-flight, by which identical requests share one
computation.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Generic, Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.caller import NO_CHARGE, Caller
from inkgate.errors import EngineFailed, InkgateError, Overloaded
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState
from inkgate.serving.threads import FairThreads
from inkgate.settings import SchedulingSettings

log = structlog.get_logger(__name__)

_ENTRY_BYTES = 300
"""Memory of a MemoryStore entry besides its value: key, tuple, and node of the ordered dict."""


class Store(Protocol):
    """Bytes by key, with expiry. Any entry may vanish at any time."""

    async def get(self, key: bytes) -> bytes | None:
        """The value of `key`, or None. Raises OSError if the store can't be reached."""
        ...

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        """Keeps `value` for at most `ttl_s` seconds. Raises OSError if the store can't be reached."""
        ...

    async def close(self) -> None:
        """Frees its connections."""
        ...


class MemoryStore:
    """A Store of at most `max_bytes`; evicts the least recently used entry first (LRU).

    Attributes:
        bytes: current size.
        max_bytes: maximum size.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = anyio.current_time) -> None:
        """`clock` in seconds."""
        self.bytes = 0
        self.max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()

    def __len__(self) -> int:
        """Number of entries, including expired ones that were not requested since."""
        return len(self._entries)

    async def get(self, key: bytes) -> bytes | None:
        value, ends_at = self._entries.get(key, (None, 0.0))
        if value is None:
            return None
        if self._clock() >= ends_at:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return value

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        self._drop(key)
        if len(value) + _ENTRY_BYTES > self.max_bytes:
            return
        self._entries[key] = (value, self._clock() + ttl_s)
        self.bytes += len(value) + _ENTRY_BYTES
        while self.bytes > self.max_bytes:
            self._drop(next(iter(self._entries)))

    async def close(self) -> None:
        self._entries.clear()
        self.bytes = 0

    def _drop(self, key: bytes) -> None:
        if entry := self._entries.pop(key, None):
            self.bytes -= len(entry[0]) + _ENTRY_BYTES


SPARING = BreakerSettings(window_s=2.0, min_calls=5, failed_rate=0.5, target_s=0.02, slow_rate=0.5, max_open_s=60.0)
"""A lookup of more than 20 ms counts as slow: reading a page takes hundreds of milliseconds."""


class BreakingStore:
    """A Store behind a circuit breaker: if it is slow or unreachable, only cache hits are lost.

    `get_s`, `put_s`: timeouts in seconds. While `breaker` is not closed, lookups return None at once. Puts, which no
    request waits for, serve as probes.
    """

    def __init__(self, inner: Store, breaker: Breaker, get_s: float = 0.05, put_s: float = 1.0) -> None:
        self._inner = inner
        self._breaker = breaker
        self._get_s = get_s
        self._put_s = put_s

    async def get(self, key: bytes) -> bytes | None:
        if self._breaker.state is not BreakerState.CLOSED:
            return None
        async with self._breaker.guard():
            with anyio.fail_after(self._get_s):
                return await self._inner.get(key)

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        try:
            async with self._breaker.guard():
                with anyio.fail_after(self._put_s):
                    await self._inner.put(key, value, ttl_s)
        except Overloaded as error:
            log.debug("cache_put_spared", reason=error.detail)

    async def close(self) -> None:
        await self._inner.close()


T = TypeVar("T")
_STOPPED = "The service stopped before this was done."


class Flight(Generic[T]):
    """A shared run, cancelled when nobody waits for it. `outcome`: its result, once it ended."""

    def __init__(self, run: Callable[[], Awaitable[T]]) -> None:
        self._run = run
        self._scope = anyio.CancelScope()
        self._landed = anyio.Event()
        self.outcome: T | Exception = EngineFailed("engine_unavailable", _STOPPED)
        self._waiting = 0

    @property
    def abandoned(self) -> bool:
        """Whether all waiting callers have left."""
        return self._scope.cancel_called

    async def fly(self) -> None:
        """Runs the work, then wakes all waiting callers."""
        try:
            with self._scope:
                self.outcome = await self._run()
        except Exception as error:  # noqa: BLE001 - whatever it raises goes to the waiting callers
            if self._waiting:  # breaks a reference cycle: the error holds frames that hold this flight
                self.outcome = error
        finally:
            self._landed.set()

    async def wait(self) -> T:
        """Returns or raises what the work did. The last caller to leave early cancels the work."""
        self._waiting += 1
        try:
            await self._landed.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and not self._landed.is_set():
                self._scope.cancel()
        outcome = self.outcome
        if not isinstance(outcome, Exception):
            return outcome
        if not self._waiting:
            self.outcome = EngineFailed("engine_unavailable", _STOPPED)  # breaks a reference cycle of error and frame
        try:
            raise outcome
        finally:
            del outcome


class SingleFlight(Generic[T]):
    """Shared runs by key. Its background task is `run`. Used from one event loop."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, Flight[T]] = {}
        self._tasks: TaskGroup | None = None

    @property
    def running(self) -> bool:
        """Whether shared runs can start."""
        return self._tasks is not None

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self) -> None:
        """Runs the flights until cancelled; unfinished ones then fail with "engine_unavailable"."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await anyio.sleep_forever()
            finally:  # before the group ends: a flight that started now would be cancelled while the group waits for it
                self._tasks = None

    def join(
        self,
        key: Hashable,
        run: Callable[[], Awaitable[T]],
        after: Callable[[T], Awaitable[None]],
        retain: Callable[[], AbstractContextManager[None]],
    ) -> tuple[Flight[T], bool]:
        """The flight of this key, and whether this call started it. The work runs in its own task with the context
        variables of the first caller. `after` gets the result unless it is an error; until `after` ends, the flight can
        still be joined and answers at once.

        `retain`: resources of the work that the caller may close. Entered before this returns, and left when the flight
        ends.

        Raises:
            EngineFailed: "engine_unavailable": the service has not started, or has stopped.
        """
        flight = self._flights.get(key)
        if flight is not None and not flight.abandoned:
            return flight, False
        if self._tasks is None:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        held = ExitStack()
        held.enter_context(retain())  # here and not in the task: the caller may leave before the task starts
        flight = self._flights[key] = Flight(run)
        self._tasks.start_soon(self._carry, key, flight, after, held)
        return flight, True

    async def _carry(
        self, key: Hashable, flight: Flight[T], after: Callable[[T], Awaitable[None]], held: ExitStack
    ) -> None:
        try:
            with held:
                await flight.fly()
                if not isinstance(flight.outcome, Exception):
                    await after(flight.outcome)
        except Exception:  # per-flight border: callers have their result, and other flights go on
            log.exception("shared_work_failed")
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]


R = TypeVar("R")

_CLOSE_S = 2.0
_SHARED_TRIES = 2
"""Number of shared reads that ended by the limits of their first callers, after which each caller reads for itself.
Otherwise a thousand callers would be woken a thousand times."""


@dataclass(frozen=True, slots=True)
class CacheCodec(Generic[R]):
    """How a Cache stores its values.

    Attributes:
        dumps, loads: to bytes and back; raise ValueError, TypeError or KeyError if that fails. In a thread for large
            values.
        size: about how many bytes a value has.
        keep: whether a value may be stored.
        of_the_asker: whether an error is due to the first caller (its deadline, its share), not the request.
    """

    dumps: Callable[[R], bytes]
    loads: Callable[[bytes], R]
    size: Callable[[R], int]
    keep: Callable[[R], bool]
    of_the_asker: Callable[[R | InkgateError], bool]


class CacheSource(StrEnum):
    """The origin of a value: `run` (computed), `kept` (cached) or `joined` (shared with a concurrent caller)."""

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

    def __init__(
        self, store: Store, kind: CacheCodec[R], ttl_s: float, scheduling: SchedulingSettings | None = None
    ) -> None:
        """`scheduling`: how callers share the threads that parse and serialize large values."""
        self.found: Counter[CacheSource] = Counter()
        self._store = store
        self._kind = kind
        self._ttl_s = ttl_s
        self._threads = FairThreads(2, scheduling)
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
        caller: Caller,
        group: Hashable = None,
        retain: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> tuple[R, CacheSource]:
        """The value of `key` and its source. Only callers of the same `group` share a computation; while `run` is not
        running, each caller computes for itself.

        `caller`: on whose behalf a large value is parsed. `retain`: resources that this caller may close when it
        leaves; held until the shared computation ends.

        Raises:
            EngineFailed: "engine_unavailable": what carries shared work ended meanwhile.
            Exception: what `run` raises.
        """
        for _ in range(_SHARED_TRIES if self._joined.running else 0):
            flight, first = self._joined.join(
                (key, group), partial(self._look_or_run, key, run, caller), partial(self._put, key, caller), retain
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

    async def _look_or_run(self, key: bytes, run: Callable[[], Awaitable[R]], caller: Caller) -> tuple[R, CacheSource]:
        try:
            data = await self._store.get(key)
            if data is not None:
                return await self._threads.run_large(caller, len(data), self._kind.loads, data), CacheSource.KEPT
        except OSError as error:
            log.debug("cache_lookup_failed", reason=type(error).__name__)
        except (ValueError, TypeError, KeyError) as error:
            log.warning("cache_value_damaged", reason=type(error).__name__)
        return await run(), CacheSource.RUN

    async def _put(self, key: bytes, caller: Caller, found: tuple[R, CacheSource]) -> None:
        value, source = found
        if source is not CacheSource.RUN or not self._kind.keep(value):
            return
        try:
            later = replace(caller, charge=NO_CHARGE)  # its request may end before
            data = await self._threads.run_large(later, self._kind.size(value), self._kind.dumps, value)
            await self._store.put(key, data, self._ttl_s)
        except OSError as error:
            log.debug("cache_put_failed", reason=type(error).__name__)
        except Exception:  # per-value border: the caller already has its answer
            log.exception("cache_value_not_kept")
