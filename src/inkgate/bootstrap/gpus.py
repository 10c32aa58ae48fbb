"""The GPUs of this machine: their readings, and their protection if a model server runs on them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import anyio
import structlog

from inkgate.bootstrap.background import Background
from inkgate.concurrency import Threads
from inkgate.serving.breaker import Breaker
from inkgate.serving.gpu_watch import GpuWatch
from inkgate.settings import GpuMonitoring, Settings
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.gpu import GpuReader, GpuReading, GpuUnavailable, NvmlReader

log = structlog.get_logger(__name__)

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERY_S = 2.0
_BLIND_S = 60.0
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
        self.readings: tuple[GpuReading, ...] = ()
        self._open_reader = open_reader
        self._only = only

    def open(self) -> AbstractContextManager[GpuReader]:
        """A reader whose readings are stored here. Blocking; raises GpuUnavailable."""
        return _Keeping(self, self._open_reader())

    def keep(self, readings: tuple[GpuReading, ...]) -> None:
        """Replaces the stored readings."""
        self.readings = tuple(each for each in readings if not self._only or each.index in self._only)

    async def run(self) -> None:
        """Reads every 2 s until cancelled; returns if GPUs can't be read. For services without a GpuWatch."""
        threads = Threads("gpu", 1)
        try:
            with await threads.run(self.open) as reader:
                while True:
                    seen = await threads.run(_seen, reader)
                    await anyio.sleep(_EVERY_S if seen else _BLIND_S)
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

    def read(self) -> tuple[GpuReading, ...]:
        """See GpuReader."""
        readings: tuple[GpuReading, ...] = ()
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


def gpu_background(settings: Settings, last: LastRead | None, breaker: Breaker | None) -> Background:
    """The task that reads the GPUs. `breaker`: of the engine; None for one without model servers."""
    if last is None:
        return ()
    watch = () if breaker is None else gpu_watch(settings, last, breaker)
    return watch or (BackgroundTask("gpu_readings", last.run),)


def gpu_watch(settings: Settings, last: LastRead, breaker: Breaker) -> Background:
    """The task that trips `breaker` for the GPUs of this machine; empty if model servers run on other machines."""
    urls = settings.engine.vllm.urls
    if not all(urlsplit(url).hostname in _HERE for url in urls):
        return ()
    found = GpuWatch(last.open, breaker, settings.serving.gpu, ours=not urls)
    return (BackgroundTask("gpu_watch", found.run),)
