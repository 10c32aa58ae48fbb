"""Waits for an idle machine. Measures under load, since a hypervisor takes no time from an idle guest."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from contextlib import suppress

from inkgate_bench.tune.measures import OtherLoad

_WARM_S, _LOOK_S, _PAUSE_S = 0.3, 2.0, 15.0
_BUSY = f"from time import monotonic as now\nend = now() + {2 * (_WARM_S + _LOOK_S)}\nwhile now() < end: pass"
"""Ends by itself, in case its parent has ended."""


async def until_quiet(most_cores: float, patience_s: float = 900.0) -> None:
    """Returns once other programs took at most that many cores for some seconds in which all cores were loaded, or at
    the time limit.
    """
    began = time.monotonic()
    while most_cores < math.inf and (taken := await _taken()) > most_cores:
        waited_s = time.monotonic() - began
        print(f"  others take {taken:.2f} cores; waited {waited_s:.0f} s", flush=True)
        if waited_s > patience_s:
            return
        await asyncio.sleep(_PAUSE_S)


async def _taken() -> float:
    """Cores that other programs take while all cores are loaded."""
    cores = range(os.cpu_count() or 1)
    busy = [await asyncio.create_subprocess_exec(sys.executable, "-c", _BUSY) for _ in cores]
    try:
        await asyncio.sleep(_WARM_S)
        others = OtherLoad()
        await asyncio.sleep(_LOOK_S)
        return others.cores() or 0.0
    finally:
        for process in busy:
            with suppress(ProcessLookupError):  # the process has ended by itself
                process.kill()
            await process.wait()
