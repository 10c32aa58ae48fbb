"""A closed loop: each client sends its next page when it has the result of the last."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import anyio

from inkgate_bench.accuracy.manifest import Entry
from inkgate_client.concurrency import single_error


@dataclass(frozen=True)
class Read:
    """Result of a page, and its time by stage if known."""

    text: str
    timings_ms: dict[str, float] = field(default_factory=dict)


Reader = Callable[[Entry], Awaitable[Read]]


@dataclass(frozen=True)
class Pass:
    """All documents read once. `seconds`: wall time; `latencies_s` and `reads` by the documents' paths."""

    clients: int
    seconds: float
    latencies_s: dict[str, float]
    reads: dict[str, Read]

    @property
    def rate(self) -> float:
        """Pages a second."""
        return len(self.reads) / self.seconds

    @property
    def texts(self) -> dict[str, str]:
        return {path: read.text for path, read in self.reads.items()}


async def closed_loop(read: Reader, documents: Sequence[Entry], clients: int) -> Pass:
    """Each document once."""
    left = iter(documents)
    latencies: dict[str, float] = {}
    reads: dict[str, Read] = {}

    async def client() -> None:
        for entry in left:
            started = perf_counter()
            reads[entry.path] = await read(entry)
            latencies[entry.path] = perf_counter() - started

    began = perf_counter()
    with single_error():
        async with anyio.create_task_group() as tasks:
            for _ in range(clients):
                tasks.start_soon(client)
    return Pass(clients, perf_counter() - began, latencies, reads)


def median_rate(passes: Sequence[Pass]) -> float:
    return statistics.median(each.rate for each in passes)


def median_ratio(one: Sequence[Pass], other: Sequence[Pass]) -> float:
    """How many times as fast `one` was as `other`: the median of the ratios within each round."""
    return statistics.median(a.rate / b.rate for a, b in zip(one, other, strict=False))


def page_latencies(passes: Sequence[Pass]) -> dict[str, float]:
    """Median seconds of each page over rounds."""
    return {path: statistics.median(each.latencies_s[path] for each in passes) for path in passes[0].latencies_s}
