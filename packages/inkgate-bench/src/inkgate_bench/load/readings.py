"""What the service reports about itself under load: its `/state`, a vLLM's `/metrics`, the GPUs of this machine.

All of it is optional: what can't be read is None, and never ends a load test. Sources are read in a thread: time that
the event loop spent on them would make requests late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx

from inkgate.model_servers.metrics import parse_metrics
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate_bench.load.results import ServerSide
from inkgate_client import InkgateClient, ServiceError
from inkgate_client.concurrency import Threads
from inkgate_client.telemetry.state import State

COMPUTING = frozenset({"engine", "vllm"})
"""Kinds of processes in which the engine computes."""
EVERY_S = 1.0
_TIMEOUT_S = 3.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


_FIELDS = tuple(field.name for field in fields(ServerSide))
_PEAKS = frozenset({"kv_share", "gpu_share", "gpu_memory_share", "memory_mb"})
_MEANS = frozenset({"running", "waiting"})


def of_state(state: State) -> ServerSide:
    """What a load test uses of a service's state."""
    replicas = state.replicas
    gpus = [(gpu.utilisation, gpu.memory_used, gpu.memory_total) for gpu in state.gpus]
    return ServerSide(
        kv_share=_most(replica.kv_usage for replica in replicas),
        running=_sum(replica.running for replica in replicas),
        waiting=_sum(replica.waiting for replica in replicas),
        preemptions=_whole(_sum(replica.preemptions for replica in replicas)),
        restarts=restarts_of(state),
        gpu_share=_most(share for share, _, _ in gpus),
        gpu_memory_share=_most(_part(used, total) for _, used, total in gpus),
        memory_mb=_sum(process.rss_bytes / 1e6 for process in state.processes),
    )


def restarts_of(state: State) -> int:
    """How many computing processes died since the service started, restarted or not; the first start is none."""
    return sum(process.started - bool(process.pid) for process in state.processes if process.kind in COMPUTING)


def summarize_readings(readings: Sequence[ServerSide]) -> ServerSide:
    """A window's readings, in the order in which they were taken: peaks, means, and how far counters rose."""
    return _combine(readings, lambda name, values: _counter_rise(values, resets=name == "preemptions"))


def merge_windows(windows: Sequence[ServerSide]) -> ServerSide | None:
    """All runs of one level together: the highest peak, the mean of means, the sum of counts; None without a run."""
    return _combine(windows, lambda _, values: round(sum(values)) if values else None) if windows else None


def _combine(parts: Sequence[ServerSide], count: Callable[[str, list[float]], int | None]) -> ServerSide:
    """Peaks and means of `parts`; `count` combines the values of the counter of that name."""
    figures: dict[str, Any] = {}
    for name in _FIELDS:
        values = _known(getattr(part, name) for part in parts)
        if name in _PEAKS:
            figures[name] = max(values, default=None)
        elif name in _MEANS:
            figures[name] = fmean(values) if values else None
        else:
            figures[name] = count(name, values)
    return ServerSide(**figures)


def merge_sources(readings: Sequence[ServerSide]) -> ServerSide:
    """Returns for each figure the value of the first source that has it."""
    figures: dict[str, Any] = {
        name: next(iter(_known(getattr(reading, name) for reading in readings)), None) for name in _FIELDS
    }
    return ServerSide(**figures)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _most(values: Iterable[float | None]) -> float | None:
    return max(_known(values), default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _part(used: int | None, total: int | None) -> float | None:
    return used / total if used is not None and total else None


def _counter_rise(values: Sequence[float], *, resets: bool) -> int | None:
    """How far a counter rose. `resets`: where it fell, it was reset to 0 before."""
    rises = [after - before if after >= before else after * resets for before, after in pairwise(values)]
    return round(sum(rises)) if values else None


ReadingSource = Callable[[], ServerSide | None]
"""Gives the current reading, None where there is none. Blocks for seconds at most; raises nothing."""


def read_state(client: InkgateClient) -> ServerSide | None:
    """Inkgate's `/state`."""
    try:
        return of_state(client.state())
    except ServiceError:
        return None


def read_vllm(client: httpx.Client) -> ServerSide | None:
    """A vLLM's `/metrics`. `client`: its base URL is the server's."""
    try:
        response = client.get("/metrics")
    except httpx.HTTPError:
        return None
    metrics = parse_metrics(response.text) if response.is_success else None
    if metrics is None:
        return None
    return ServerSide(metrics.kv_usage, metrics.running, metrics.waiting, _whole(metrics.preemptions))


def read_gpus(reader: GpuReader) -> ServerSide | None:
    """The GPUs of this machine, for a service that runs here."""
    try:
        readings = reader.read()
    except GpuUnavailable:
        return None
    return ServerSide(
        gpu_share=_most(reading.utilisation for reading in readings),
        gpu_memory_share=_most(_part(reading.memory_used, reading.memory_total) for reading in readings),
    )


@contextmanager
def reading_sources(origin: str, key: str = "", metrics_url: str = "") -> Iterator[tuple[ReadingSource, ...]]:
    """The sources that can be read, of a service at `origin` (scheme, host, port). Blocks for seconds at most.

    `metrics_url`: of the vLLM behind the service (scheme, host, port), where the service isn't one itself.
    """
    with ExitStack() as stack:
        client = stack.enter_context(InkgateClient(origin, key, timeout_s=_TIMEOUT_S))
        vllm = stack.enter_context(httpx.Client(base_url=metrics_url or origin, timeout=_TIMEOUT_S, trust_env=False))
        sources: list[ReadingSource] = [partial(read_state, client), partial(read_vllm, vllm)]
        if urlsplit(origin).hostname in _LOCAL:
            with suppress(GpuUnavailable):  # most machines have none
                sources.append(partial(read_gpus, stack.enter_context(NvmlReader())))
        yield tuple(source for source in sources if source() is not None)


class Scraper:
    """Reads sources every second while it runs, and sums up the readings since `begin`."""

    def __init__(self, sources: Sequence[ReadingSource]) -> None:
        self._sources = sources
        self._threads = Threads("scrape", 1)
        self._readings: list[ServerSide] = []
        self.last: ServerSide | None = None
        """The last reading; None where no source has one."""

    async def run(self) -> None:
        """Runs until cancelled; returns at once without sources."""
        while self._sources:
            await self.take()
            await anyio.sleep(EVERY_S)

    async def take(self) -> None:
        """Reads all sources once."""
        readings = [reading for source in self._sources if (reading := await self._threads.run(source))]
        self.last = merge_sources(readings) if readings else None
        if self.last is not None:
            self._readings.append(self.last)

    def begin(self) -> None:
        """A window begins, with the last reading: counters are compared with it."""
        self._readings = self._readings[-1:]

    def end(self) -> ServerSide | None:
        """The window's readings; None where there are none."""
        return summarize_readings(self._readings) if self._readings else None
