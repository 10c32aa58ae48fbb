"""Memory: what was freed is given back to the system, and what stays is not looked through again and again.

glibc keeps freed blocks for later: after a page of 100 megapixels the process would stay as large as it was at its
peak (measured: 383 MB resident after a few pages, 172 MB after a trim that took 26 ms). Raising less with
MALLOC_MMAP_THRESHOLD_ kept it at 241 MB, but every tensor of every model call was then mapped and zeroed anew.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable

import anyio

from inkgate.concurrency import Threads

_PAUSE_S = 2.0
"""Least time between two trims: they take the allocator's locks, which whoever reads pages needs too."""


_M_ARENA_MAX = -8
"""Of glibc's malloc.h."""
_CORES_AN_ARENA = 4
"""With one for two cores pages were read as fast as with the usual sixteen; more cores want more of them at once."""


def _of_glibc(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    found: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)  # musl has none of it
    return found


_trim, _mallopt = _of_glibc("malloc_trim"), _of_glibc("mallopt")


def return_free_memory() -> None:
    """Gives freed heap memory back to the system where the C library can (glibc). Blocking, tens of milliseconds."""
    if _trim is not None:
        _trim(0)


def limit_arenas(cores: int) -> None:
    """Has the C library keep what is freed in few places (glibc's arenas), where every thread takes from them. To be
    called before threads are started; whoever sets MALLOC_ARENA_MAX or GLIBC_TUNABLES has decided otherwise.

    With eight for each core, as it comes, each thread that happens to be the largest once leaves its holes behind.
    """
    said = {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"} & os.environ.keys()  # noqa: TID251 - glibc's, no setting of ours
    if _mallopt is not None and not said:
        _mallopt(_M_ARENA_MAX, max(2, cores // _CORES_AN_ARENA))


def keep_for_good() -> None:
    """Takes all objects that exist now out of the garbage collector's sight: modules, models, routes. Once, at the end
    of the start. A full collection looks through them all otherwise, and nobody is answered meanwhile (0.1 s).
    """
    gc.collect()
    gc.freeze()


class MemoryReturn:
    """Gives memory back soon after work ended, once for all that ended in the meantime, beside the work's own path."""

    def __init__(self, trim: Callable[[], None] = return_free_memory, pause_s: float = _PAUSE_S) -> None:
        self._trim = trim
        self._pause_s = pause_s
        self._threads = Threads("memory", 1)
        self._work_ended = anyio.Event()

    def work_ended(self) -> None:
        """Asks for a trim. Returns at once."""
        self._work_ended.set()

    async def run(self) -> None:
        """Trims when asked, until it is cancelled."""
        while True:
            await self._work_ended.wait()
            await anyio.sleep(self._pause_s)
            self._work_ended = anyio.Event()
            # A cancelled task of anyio's leaves its error in a cycle, and in its traceback the frames that held a page.
            gc.collect(1)  # what is young: a millisecond
            await self._threads.run(self._trim)
