"""Trips the breaker when a GPU overheats, throttles or runs out of memory, before calls fail."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import anyio
import structlog

from inkgate.concurrency import Threads
from inkgate.serving.breaker import Breaker
from inkgate.settings import GpuSettings
from inkgate.telemetry.gpu import GpuReader, GpuReading, GpuUnavailable

log = structlog.get_logger(__name__)

_EVERY_S = 2.0
"""Shorter than a breaker stays open (5 s), so that no probe passes between two bad readings."""
_BLIND_S = 60.0
"""Pause while no GPU can be read: drivers recover rarely, and asking a broken one can take long."""
_COOLER_C = 5.0
"""Hysteresis: an overheated GPU must cool down by this much, or the first page would overheat it again."""


@dataclass(frozen=True, slots=True)
class _State:
    """The state of one GPU. `why` describes the problems of its last reading."""

    hot: bool = False
    throttled_since: float | None = None
    why: tuple[str, ...] = ()


class GpuWatch:
    """Reads the GPUs of this machine every 2 s, and trips a breaker

        at each reading while one is at temperature_c or more, until it is 5 °C cooler,
        at each reading while one has been thermally throttled for throttled_s,
        once, when the used share of a GPU's memory exceeds `memory`.

    Heat and throttling end when the load does. Memory does not, as an engine never returns any; a longer pause would
    not help. The breaker closes by its own probes, `open_s` after the last bad reading. Without a library, a driver or
    a GPU nothing is tripped, and the log says so once.

    Used from one event loop; GPUs are read in a thread.
    """

    def __init__(
        self,
        open_reader: Callable[[], AbstractContextManager[GpuReader]],
        breaker: Breaker,
        settings: GpuSettings,
        *,
        ours: bool,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        """`open_reader`: blocking; raises GpuUnavailable. `ours`: inkgate started the engine on this machine, so GPU
        memory is watched; otherwise other programs may use it. `clock` in seconds.
        """
        self._open_reader = open_reader
        self._breaker = breaker
        self._settings = settings
        self._ours = ours
        self._clock = clock
        self._threads = Threads("gpu", 1)
        self._states: dict[int, _State] = {}
        self._blind = False

    async def run(self) -> None:
        """Reads the GPUs until cancelled. Returns at once if there is nothing to read."""
        try:
            with await self._threads.run(self._open_reader) as reader:
                while True:
                    seen = await self.look(reader)
                    await anyio.sleep(_EVERY_S if seen else _BLIND_S)
        except GpuUnavailable as error:
            log.info("gpus_not_watched", why=str(error))

    async def look(self, reader: GpuReader) -> bool:
        """Reads every GPU once. Returns False if they can't be read."""
        try:
            readings = await self._threads.run(reader.read)
        except GpuUnavailable as error:
            if not self._blind:
                log.warning("gpus_not_read", why=str(error))
            self._blind = True
            self._states.clear()
            return False
        self._blind = False
        for reading in readings:
            if not self._settings.gpus or reading.index in self._settings.gpus:
                self._judge(reading)
        return True

    def _judge(self, reading: GpuReading) -> None:
        now = self._clock()
        was = self._states.get(reading.index, _State())
        bound_c = self._settings.temperature_c - _COOLER_C * was.hot
        hot = reading.temperature_c is not None and reading.temperature_c >= bound_c
        since = now if was.throttled_since is None else was.throttled_since
        throttled = reading.thermal and now - since >= self._settings.throttled_s
        full = self._ours and _part(reading) > self._settings.memory
        troubles = ((_HOT, hot), (_THROTTLED, throttled), (_FULL, full))
        why = tuple(each for each, there in troubles if there)
        self._states[reading.index] = _State(hot, since if reading.thermal else None, why)
        for each in why:
            if each not in was.why:
                log.warning("gpu_in_trouble", gpu=reading.index, why=each, temperature_c=reading.temperature_c)
            if each != _FULL or each not in was.why:
                self._breaker.trip(each)
        if was.why and not why:
            log.info("gpu_well", gpu=reading.index, temperature_c=reading.temperature_c)


_HOT = "a GPU is too hot"
_THROTTLED = "a GPU is slowed down by heat"
_FULL = "a GPU is out of memory"


def _part(reading: GpuReading) -> float:
    """Used share of the memory; 0 if unknown."""
    return (reading.memory_used or 0) / reading.memory_total if reading.memory_total else 0.0
