"""The GPUs of this machine: their readings, and a breaker that trips while a model server's GPU is in trouble."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import anyio
import structlog

from inkgate.concurrency import Threads
from inkgate.serving.breaker import Breaker
from inkgate.settings import GpuMonitoring, GpuSettings, Settings
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate.telemetry.state import Gpu

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

    def _judge(self, reading: Gpu) -> None:
        now, thermal = self._clock(), "thermal" in reading.throttled
        was = self._states.get(reading.index, _State())
        bound_c = self._settings.temperature_c - _COOLER_C * was.hot
        hot = reading.temperature_c is not None and reading.temperature_c >= bound_c
        since = now if was.throttled_since is None else was.throttled_since
        throttled = thermal and now - since >= self._settings.throttled_s
        full = self._ours and _part(reading) > self._settings.memory
        troubles = ((_HOT, hot), (_THROTTLED, throttled), (_FULL, full))
        why = tuple(each for each, there in troubles if there)
        self._states[reading.index] = _State(hot, since if thermal else None, why)
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


def _part(reading: Gpu) -> float:
    """Used share of the memory; 0 if unknown."""
    return (reading.memory_used or 0) / reading.memory_total if reading.memory_total else 0.0


_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_READ_EVERY_S = 2.0
_UNREADABLE_S = 60.0
"""Interval of attempts while GPUs can't be read, as in GpuWatch."""


class LastRead:
    """The last readings of the GPUs, from whichever reader took them.

    Attributes:
        readings: empty before the first reading, or if GPUs can't be read.
    """

    def __init__(
        self, open_reader: Callable[[], AbstractContextManager[GpuReader]], only: tuple[int, ...] = ()
    ) -> None:
        """`open_reader`: blocking; raises GpuUnavailable. `only`: these GPUs, by the driver's number; empty: all."""
        self.readings: tuple[Gpu, ...] = ()
        self._open_reader = open_reader
        self._only = only

    def open(self) -> AbstractContextManager[GpuReader]:
        """A reader whose readings are stored here. Blocking; raises GpuUnavailable."""
        return _Keeping(self, self._open_reader())

    def keep(self, readings: tuple[Gpu, ...]) -> None:
        """Replaces the stored readings."""
        self.readings = tuple(each for each in readings if not self._only or each.index in self._only)

    async def run(self) -> None:
        """Reads every 2 s until cancelled; returns if GPUs can't be read. For services without a GpuWatch."""
        threads = Threads("gpu", 1)
        try:
            with await threads.run(self.open) as reader:
                while True:
                    seen = await threads.run(_seen, reader)
                    await anyio.sleep(_READ_EVERY_S if seen else _UNREADABLE_S)
        except GpuUnavailable as error:
            log.debug("gpus_not_read", why=str(error))


class _Keeping:
    """A GpuReader around an open GpuReader that stores the readings."""

    def __init__(self, last: LastRead, inner: AbstractContextManager[GpuReader]) -> None:
        self._last = last
        self._inner = inner
        self._reader: GpuReader | None = None

    def __enter__(self) -> Self:
        self._reader = self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._last.keep(())
        return self._inner.__exit__(kind, error, trace)

    def read(self) -> tuple[Gpu, ...]:
        """See GpuReader."""
        readings: tuple[Gpu, ...] = ()
        try:
            readings = () if self._reader is None else self._reader.read()
        finally:
            self._last.keep(readings)
        return readings


def _seen(reader: GpuReader) -> bool:
    """Reads once. Returns False if that is not possible now."""
    try:
        return bool(reader.read())
    except GpuUnavailable:
        return False


def last_read(settings: Settings) -> LastRead | None:
    """Storage for the readings of this machine's GPUs; None without nvidia-ml-py, or if the settings disable it."""
    gpu = settings.serving.gpu
    if gpu.enabled is GpuMonitoring.NEVER or find_spec("pynvml") is None:
        return None
    return LastRead(NvmlReader, gpu.gpus)


def gpu_background(settings: Settings, last: LastRead | None, breaker: Breaker | None) -> tuple[BackgroundTask, ...]:
    """The task that reads the GPUs. `breaker`: of the engine; None for one without model servers."""
    if last is None:
        return ()
    watch = () if breaker is None else gpu_watch(settings, last, breaker)
    return watch or (BackgroundTask("gpu_readings", last.run),)


def gpu_watch(settings: Settings, last: LastRead, breaker: Breaker) -> tuple[BackgroundTask, ...]:
    """The task that trips `breaker` for the GPUs of this machine; empty if model servers run on other machines."""
    urls = settings.engine.vllm.urls
    if not all(urlsplit(url).hostname in _HERE for url in urls):
        return ()
    found = GpuWatch(last.open, breaker, settings.serving.gpu, ours=not urls)
    return (BackgroundTask("gpu_watch", found.run),)
