"""Memory: returns freed memory and what models keep between calls to the system, and keeps long-lived objects out of
garbage collection.

glibc keeps freed blocks: after a page of 100 megapixels the process would stay as large as at its peak (measured: 383
MB resident after a few pages, 172 MB after a trim that took 26 ms). Lowering MALLOC_MMAP_THRESHOLD_ kept it at 241 MB,
but every tensor of every model call was then mapped and zeroed again.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakSet

import anyio

from inkgate_client.concurrency import Threads

_PAUSE_S = 2.0
"""Minimum time between two trims: they take the allocator's locks, which the reading threads need, too."""


IDLE_S: Final = 20.0
"""Time without work after which models release what they keep: their next call takes half as long again."""
_M_ARENA_MAX = -8
"""A constant from glibc's malloc.h."""
_CORES_AN_ARENA = 4
"""Cores per arena: with one arena per two cores pages were read as fast as with the usual sixteen; more cores need more
arenas."""


def _of_glibc(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)  # musl does not have it
    return found


_trim, _mallopt = _of_glibc("malloc_trim"), _of_glibc("mallopt")


def return_free_memory() -> None:
    """Returns freed heap memory to the system if the C library supports it (glibc). Blocking, tens of milliseconds."""
    if _trim is not None:
        _trim(0)


class KeepsMemory(Protocol):
    """A model that keeps the memory of its largest call for the next one."""

    def release_memory(self) -> None:
        """Releases it, unless a call is in progress. Blocking; safe from any thread."""
        ...


_keepers: WeakSet[KeepsMemory] = WeakSet()


def add_keeper(model: KeepsMemory) -> None:
    """Lets `release_kept_memory` ask this model, as long as it lives."""
    _keepers.add(model)


def release_kept_memory() -> None:
    """Returns to the system what this process's models keep between calls: several hundred megabytes after a page.
    Blocking, a tenth of a second.
    """
    for model in list(_keepers):
        model.release_memory()
    return_free_memory()


def limit_arenas(cores: int) -> None:
    """Limits the number of glibc's arenas, so that freed memory is kept in few places that all threads share. Call it
    before threads are started; MALLOC_ARENA_MAX or GLIBC_TUNABLES override it.

    By default there are eight per core, and each one keeps the memory of the largest work it ever served.
    """
    overridden = {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"} & os.environ.keys()  # noqa: TID251 - glibc's, no setting of ours
    if _mallopt is not None and not overridden:
        _mallopt(_M_ARENA_MAX, max(2, cores // _CORES_AN_ARENA))


def freeze_gc() -> None:
    """Excludes all current objects from garbage collection: modules, models, routes. Call it once, at the end of the
    start. Otherwise a full collection scans them all and blocks every request meanwhile (0.1 s).
    """
    gc.collect()
    gc.freeze()


class MemoryReturn:
    """Trims memory soon after work ended, once for everything that ended in the meantime, off the work's own path. When
    no work has ended for a while, releases what models keep.
    """

    def __init__(
        self,
        trim: Callable[[], None] = return_free_memory,
        release: Callable[[], None] = release_kept_memory,
        pause_s: float = _PAUSE_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self._trim, self._release = trim, release
        self._pause_s, self._idle_s = pause_s, idle_s
        self._threads = Threads("memory", 1)
        self._work_ended = anyio.Event()

    def work_ended(self) -> None:
        """Requests a trim. Returns at once."""
        self._work_ended.set()

    async def run(self) -> None:
        """Trims on request, and releases after it, until it is cancelled."""
        while True:
            await self._work_ended.wait()
            await anyio.sleep(self._pause_s)
            self._work_ended = anyio.Event()
            # A cancelled anyio task leaves its error in a cycle, and its traceback refers to frames that held a page.
            gc.collect(1)  # the young generation only: a millisecond
            await self._threads.run(self._trim)
            with anyio.move_on_after(self._idle_s):
                await self._work_ended.wait()
                continue
            await self._threads.run(self._release)
