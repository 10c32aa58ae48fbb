"""What the service says of itself while it is under load: its `/state`, a vLLM's `/metrics`, the GPUs of this machine.

All of it is optional: what can't be read is None, and never ends a load test. It is read in a thread: what the event
loop spent on reading it would be lateness of the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Protocol
from urllib.parse import urlsplit

import anyio
import httpx

from inkgate.bench.load.readings import Reading, of_gpus, of_state, summed_up, together
from inkgate.bench.load.results import ServerSide
from inkgate.client import InkgateClient, ServiceError
from inkgate.concurrency import Threads
from inkgate.engines.vllm.metrics import parse_metrics
from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader

EVERY_S = 1.0
_ANSWER_S = 3.0
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Source(Protocol):
    """Something that can be read again and again."""

    def read(self) -> Reading | None:
        """What it says now; None where it says nothing. Blocking, for some seconds at most; raises nothing."""
        ...


class InkgateState:
    """inkgate's `/state`."""

    def __init__(self, client: InkgateClient) -> None:
        self._client = client

    def read(self) -> Reading | None:
        try:
            return of_state(self._client.state())
        except ServiceError:
            return None


class VllmMetrics:
    """A vLLM's `/metrics`."""

    def __init__(self, client: httpx.Client) -> None:
        """`client`: its base URL is the server's."""
        self._client = client

    def read(self) -> Reading | None:
        try:
            answer = self._client.get("/metrics")
        except httpx.HTTPError:
            return None
        said = parse_metrics(answer.text) if answer.is_success else None
        if said is None:
            return None
        return Reading(said.kv_usage, said.running, said.waiting, said.preemptions)


class LocalGpus:
    """The GPUs of this machine: for a service that runs here."""

    def __init__(self, reader: GpuReader) -> None:
        self._reader = reader

    def read(self) -> Reading | None:
        try:
            return of_gpus(self._reader.read())
        except GpuUnavailable:
            return None


@contextmanager
def sources(origin: str, key: str = "", metrics_url: str = "") -> Iterator[tuple[Source, ...]]:
    """Those that answer now, of a service at `origin` (scheme, host, port). Blocking, for some seconds at most.

    `metrics_url`: of the vLLM behind it (scheme, host, port), where it is not the service itself.
    """
    with ExitStack() as opened:
        client = opened.enter_context(InkgateClient(origin, key, timeout_s=_ANSWER_S))
        vllm = opened.enter_context(httpx.Client(base_url=metrics_url or origin, timeout=_ANSWER_S, trust_env=False))
        found: list[Source] = [InkgateState(client), VllmMetrics(vllm)]
        if urlsplit(origin).hostname in _HERE:
            with suppress(GpuUnavailable):  # most machines have none
                found.append(LocalGpus(opened.enter_context(NvmlReader())))
        yield tuple(source for source in found if source.read() is not None)


class Scraper:
    """Reads sources every second while it runs, and sums up what they said since `begin`."""

    def __init__(self, found: Sequence[Source]) -> None:
        self._sources = found
        self._threads = Threads("scrape", 1)
        self._readings: list[Reading] = []
        self.last: Reading | None = None
        """What was said last; None where nothing says anything."""

    async def run(self) -> None:
        """Until cancelled; returns at once where there is nothing to read."""
        while self._sources:
            await self.take()
            await anyio.sleep(EVERY_S)

    async def take(self) -> None:
        """Reads them once."""
        read = [reading for source in self._sources if (reading := await self._threads.run(source.read)) is not None]
        self.last = together(read) if read else None
        if self.last is not None:
            self._readings.append(self.last)

    def begin(self) -> None:
        """A window begins, with what was said last."""
        self._readings = self._readings[-1:]

    def end(self) -> ServerSide | None:
        """What was said in the window; None where that is nothing."""
        return summed_up(self._readings) if self._readings else None
