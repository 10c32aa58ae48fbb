"""Measurements of a running service: start-up time, memory and priority."""

from __future__ import annotations

import io
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from statistics import linear_regression

import anyio
from PIL import Image

from benchmarks.engines.child import Client, client_of, serving
from benchmarks.engines.race import FULL_CARE
from benchmarks.engines.sample import data_of
from inkgate_bench.accuracy.manifest import Entry

CLIENTS = 16
LOOK_S = 0.1
SETTLE_S = 5.0
"""Longer than the service takes to return freed memory."""
LOOKS = 10
STRIP_WIDTHS, STRIP_HEIGHTS = (240, 400), (64, 128)
"""Sizes in pixels of crops of receipts: a few words, in about ninety sizes for the detector."""


def starts(times: int = 4) -> list[float]:
    """Seconds from start to ready; the disk cache is empty before the first start."""
    with tempfile.TemporaryDirectory() as home:
        found = []
        for _ in range(times):
            with serving(HOME=home, XDG_CACHE_HOME=f"{home}/.cache") as child:
                found.append(child.ready_s)
    print(f"starts: {found}", file=sys.stderr, flush=True)
    return found


@dataclass(frozen=True)
class Memory:
    """Megabytes of all processes of the service: once ready, and the maximum with sixteen clients."""

    ready_mb: float
    most_mb: float


async def memory(documents: Sequence[Entry]) -> Memory:
    with serving(**FULL_CARE) as child:
        ready = most = child.resident_mb()
        async with client_of(child) as client, _loading(client, documents, "") as served:
            while served.count < 2 * len(documents):
                most = max(most, child.resident_mb())
                await anyio.sleep(LOOK_S)
    return Memory(ready, most)


@dataclass(frozen=True)
class Growth:
    """`looks_mb`: resident memory with nothing in flight, after each tenth of the requests."""

    requests: int
    looks_mb: list[float]

    @property
    def per_cent(self) -> float:
        """Growth from the first sample to the last in percent of the first, by a fitted line."""
        slope, start = linear_regression(range(len(self.looks_mb)), self.looks_mb)
        return 100 * slope * (len(self.looks_mb) - 1) / start


async def growth(documents: Sequence[Entry], requests: int, clients: int = 8) -> Growth:
    rng = random.Random(11)
    receipts = [Image.open(io.BytesIO(data_of(entry.file))).convert("RGB") for entry in documents]
    looks: list[float] = []
    with serving() as child:
        async with client_of(child) as client:
            for _ in range(LOOKS):
                left = iter([strip(rng.choice(receipts), rng) for _ in range(requests // LOOKS)])

                async def ask(left: Sequence[bytes] = left) -> None:  # type: ignore[assignment]  # taken from by all
                    for data in left:
                        await client.read("strip.png", data)

                async with anyio.create_task_group() as tasks:
                    for _ in range(clients):
                        tasks.start_soon(ask)
                await anyio.sleep(SETTLE_S)
                looks.append(child.resident_mb())
                print(f"{looks[-1]:.1f} MB", file=sys.stderr, flush=True)
    return Growth(requests, looks)


def strip(receipt: Image.Image, rng: random.Random) -> bytes:
    """A random crop of a receipt as PNG."""
    width, height = min(rng.randint(*STRIP_WIDTHS), receipt.width), min(rng.randint(*STRIP_HEIGHTS), receipt.height)
    left, top = rng.randint(0, receipt.width - width), rng.randint(0, receipt.height - height)
    out = io.BytesIO()
    receipt.crop((left, top, left + width, top + height)).save(out, "PNG")
    return out.getvalue()


@dataclass(frozen=True)
class Urgent:
    """Seconds of each urgent receipt, alone and beside sixteen clients."""

    unloaded_s: list[float]
    loaded_s: list[float]


async def urgent(receipts: Sequence[Entry], documents: Sequence[Entry], rounds: int) -> Urgent:
    """Sends consecutive receipts at `interactive`, while sixteen clients send `normal` pages."""
    unloaded: list[float] = []
    loaded: list[float] = []
    with serving(**FULL_CARE) as child:
        async with client_of(child) as client:
            first = client.at("interactive")
            await _times(first, receipts)  # the first call with a new shape is slow
            for _ in range(rounds):
                unloaded += await _times(first, receipts)
                async with _loading(client.at("normal"), documents, "normal") as served:
                    await served.all_clients.wait()
                    loaded += await _times(first, receipts)
                await _idle(first, receipts[0])
    return Urgent(unloaded, loaded)


async def _times(client: Client, documents: Sequence[Entry]) -> list[float]:
    found = []
    for entry in documents:
        answer = await client.ask(entry.file.name, data_of(entry.file))
        if answer.status != 200:
            raise SystemExit(f"an urgent receipt was refused with {answer.status}")
        found.append(answer.seconds)
    return found


async def _idle(client: Client, receipt: Entry) -> None:
    """Returns once the remaining work of the load is done."""
    await client.read(receipt.file.name, data_of(receipt.file))
    await anyio.sleep(1.0)


@dataclass
class _ServedPages:
    """`count`: pages so far. `all_clients`: set once there are as many pages as clients."""

    count: int = 0
    all_clients: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def _loading(client: Client, documents: Sequence[Entry], priority: str) -> AsyncIterator[_ServedPages]:
    """A closed loop of sixteen clients inside the block."""
    served = _ServedPages()
    pages = cycle(documents)

    async def ask() -> None:
        while True:
            entry = next(pages)
            await client.at(priority).read(entry.file.name, data_of(entry.file))
            served.count += 1
            if served.count == CLIENTS:
                served.all_clients.set()

    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(ask)
        yield served
        tasks.cancel_scope.cancel()
