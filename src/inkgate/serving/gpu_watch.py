"""The GPUs of this machine: their readings, and a breaker that trips while a model server's GPU is in trouble."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

import anyio
import structlog

from inkgate.serving.breaker import Breaker
from inkgate.settings import GpuMonitoring, GpuSettings, Settings
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate_client.concurrency import Threads, loop_time
from inkgate_client.telemetry.state import Gpu

log = structlog.get_logger(__name__)

_EVERY_S = 2.0
"""Shorter than a breaker stays open (5 s), so that no probe passes between two bad readings."""
_UNREADABLE_S = 60.0
"""Pause while no GPU can be read: drivers recover rarely, and asking a broken one can take long."""
_COOLER_C = 5.0
"""Hysteresis: an overheated GPU must cool down by this much, or the first page would overheat it again."""
_HOT = "a GPU is too hot"
_THROTTLED = "a GPU is slowed down by heat"
_FULL = "a GPU is out of memory"
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class _Trouble:
    """The problems of one GPU's last reading. `throttled_since`: when heat began to throttle it."""

    why: tuple[str, ...] = ()
    throttled_since: float | None = None


class GpuWatch:
    """Reads the GPUs of this machine every 2 s, and trips a breaker, if there is one,

        at each reading while one is at temperature_c or more, until it is 5 °C cooler,
        at each reading while one has been thermally throttled for throttled_s,
        once, when the used share of a GPU's memory exceeds `memory`.

    Heat and throttling end when the load does. Memory does not, as an engine never returns any; a longer pause would
    not help. The breaker closes by its own probes, `open_s` after the last bad reading. Without a library, a driver or
    a GPU nothing is tripped, and the log says so once.

    Used from one event loop; GPUs are read in a thread.

    Attributes:
        readings: the last ones; empty before the first, after the last, and while GPUs can't be read.
    """

    def __init__(
        self,
        open_reader: Callable[[], AbstractContextManager[GpuReader]],
        settings: GpuSettings,
        breaker: Breaker | None = None,
        *,
        own_engine: bool = False,
        clock: Callable[[], float] = loop_time,
    ) -> None:
        """`open_reader`: blocking; raises GpuUnavailable. `own_engine`: inkgate started the engine on this machine, so
        GPU memory is watched; otherwise other programs may use it.
        """
        self.readings: tuple[Gpu, ...] = ()
        self._open_reader = open_reader
        self._settings = settings
        self._breaker = breaker
        self._own_engine = own_engine
        self._clock = clock
        self._threads = Threads("gpu", 1)
        self._troubles: dict[int, _Trouble] = {}
        self._unreadable = False

    async def run(self) -> None:
        """Reads the GPUs until cancelled. Returns at once if there is nothing to read."""
        try:
            with await self._threads.run(self._open_reader) as reader:
                while True:
                    await self.look(reader)
                    await anyio.sleep(_UNREADABLE_S if self._unreadable else _EVERY_S)
        except GpuUnavailable as error:
            (log.debug if self._breaker is None else log.info)("gpus_not_watched", why=str(error))
        finally:
            self.readings = ()

    async def look(self, reader: GpuReader) -> None:
        """Reads every GPU once."""
        try:
            found = await self._threads.run(reader.read)
        except GpuUnavailable as error:
            if not self._unreadable:
                log.warning("gpus_not_read", why=str(error))
            self._unreadable = True
            self._troubles.clear()
            self.readings = ()
            return
        self._unreadable = False
        chosen = self._settings.gpus
        self.readings = tuple(each for each in found if not chosen or each.index in chosen)
        if self._breaker is not None:
            for reading in self.readings:
                self._judge(reading, self._breaker)

    def _judge(self, reading: Gpu, breaker: Breaker) -> None:
        settings, now = self._settings, self._clock()
        before = self._troubles.get(reading.index, _Trouble())
        limit_c = settings.temperature_c - _COOLER_C * (_HOT in before.why)
        since = None
        if "thermal" in reading.throttled:
            since = now if before.throttled_since is None else before.throttled_since
        memory = (reading.memory_used or 0) / reading.memory_total if reading.memory_total else 0.0
        troubles = {
            _HOT: reading.temperature_c is not None and reading.temperature_c >= limit_c,
            _THROTTLED: since is not None and now - since >= settings.throttled_s,
            _FULL: self._own_engine and memory > settings.memory,
        }
        why = tuple(name for name, there in troubles.items() if there)
        self._troubles[reading.index] = _Trouble(why, since)
        for each in why:
            if each not in before.why:
                log.warning("gpu_in_trouble", gpu=reading.index, why=each, temperature_c=reading.temperature_c)
            if each != _FULL or each not in before.why:
                breaker.trip(each)
        if before.why and not why:
            log.info("gpu_well", gpu=reading.index, temperature_c=reading.temperature_c)


def gpu_watch(settings: Settings, breaker: Breaker | None) -> GpuWatch | None:
    """The watch over this machine's GPUs; None without nvidia-ml-py, or if the settings disable it. `breaker`: of the
    engine; None for one without model servers. It is left alone if a model server runs on another machine.
    """
    gpu, urls = settings.serving.gpu, settings.engine.vllm.urls
    if gpu.enabled is GpuMonitoring.NEVER or find_spec("pynvml") is None:
        return None
    local = all(urlsplit(url).hostname in _LOCAL_HOSTS for url in urls)
    return GpuWatch(NvmlReader, gpu, breaker if local else None, own_engine=not urls)
