"""Measures engine workers: pages a second in this process and in workers, cost of a call, and time under the GIL.

    python -m benchmarks.workers MANIFEST --json FILE

The embedded engine reads pages of the manifest (chosen as in engines/sample.py) from their bytes, with 8 clients and
without HTTP. Setups are WORKERSxTHREADS, where 0 workers means this process. They alternate in rounds; ratios are
within a round. `CPU here` is the CPU time of this process per page: cropping, assembling, copying, and the models if
they run here. Part of it is native code that releases the GIL.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time

import anyio
import cv2
import numpy as np

from benchmarks.engines.closed import Read, closed_loop
from benchmarks.engines.sample import data_of, documents
from benchmarks.figures import table, write_json
from inkgate.bootstrap.stack import pool_of, with_workers
from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.choose import embedded_engine, page_analysis, runtime_of
from inkgate.engines.ppocr import lines as text_lines
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.workers.model import ModelWorkers, model_worker_type
from inkgate.engines.workers.shares import usable_cpus
from inkgate.layout.arrange import arrange
from inkgate.serving.batching import Batchers
from inkgate.settings import load_settings
from inkgate.workers.process import python_command
from inkgate_bench.accuracy.manifest import Entry
from inkgate_client.concurrency import Threads
from inkgate_client.types import Document, PageResult, Size, Task

CALLS = 200
LINE = np.zeros((48, 400, 3), np.uint8)
CROSSINGS = {"nothing": [], "16 lines": [LINE] * 16, "a page, 4000 x 2800": [np.zeros((2800, 4000, 3), np.uint8)]}


@dataclass
class Setup:
    """A started engine and its measurements. `cpu_ms`: CPU time of this process per page."""

    name: str
    engine: Engine
    opener: Opener
    pool: ModelWorkers | None
    rates: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    results: dict[str, PageResult] = field(default_factory=dict)

    async def read(self, entry: Entry) -> Read:
        document = Document(data_of(entry.file), entry.file.name)
        async with self.opener.open(document) as opened:
            result = await self.engine.read(await opened.page(0), Task(), NO_CALLER)
        self.results[entry.path] = result
        return Read(result.text, dict(result.timings_ms))

    async def measure(self, entries: Sequence[Entry], clients: int) -> None:
        began = process_time()
        done = await closed_loop(self.read, entries, clients)
        self.cpu_ms.append((process_time() - began) / len(entries) * 1000)
        self.rates.append(done.rate)

    def workers_mb(self) -> list[float]:
        """Proportional set size (PSS) of each worker in megabytes."""
        return [pss_mb(pid) for pid in self.pool.pids] if self.pool else []


def pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@asynccontextmanager
async def started(name: str) -> AsyncIterator[Setup]:
    workers, threads = map(int, name.split("x"))
    settings = with_workers(load_settings(None, engine={"ppocr": {"workers": workers or -1, "threads": threads}}))
    ppocr = settings.engine.ppocr
    pool, batchers, runtime = pool_of(ppocr), Batchers(ppocr.batching), runtime_of(settings)
    async with Opener(settings.limits, settings.pdf) as opener, anyio.create_task_group() as background:
        if pool:
            background.start_soon(pool.run)
        await anyio.wait_all_tasks_blocked()
        engine = embedded_engine(settings, page_analysis(settings, runtime), pool or runtime, batchers)
        await engine.start()
        while pool and len(pool.pids) < workers:  # noqa: ASYNC110 - processes set no event
            await anyio.sleep(0.05)
        yield Setup(name, engine, opener, pool)
        background.cancel_scope.cancel()


async def rates(arguments: argparse.Namespace) -> list[Setup]:
    entries = documents(arguments.manifest, arguments.documents)
    if not entries:
        raise SystemExit(f"{arguments.manifest} has no images in `pages/` or `receipts/` whose text is known.")
    async with AsyncExitStack() as stack:
        setups = [await stack.enter_async_context(started(name)) for name in arguments.setups]
        for setup in setups:
            await closed_loop(setup.read, entries[:2], 2)
        for _ in range(arguments.rounds):
            for setup in setups:
                await setup.measure(entries, arguments.clients)
        rows = []
        for setup in setups:
            ratio = median(one / first for one, first in zip(setup.rates, setups[0].rates, strict=True))
            memory = ", ".join(f"{mb:.0f}" for mb in setup.workers_mb()) or "-"
            rows.append(
                (setup.name, f"{median(setup.rates):.2f}", f"{ratio:.2f}", f"{median(setup.cpu_ms):.0f}", memory)
            )
        head = ("workers x threads", "pages/s", "to the first", "CPU here, ms a page", "memory of a worker, MB")
        print(table(head, rows))
    return setups


async def crossing() -> dict[str, float]:
    """Median microseconds of a call of an empty model, by its input."""
    command = python_command("benchmarks.echo_worker", Path(__file__).parents[1])
    pool = ModelWorkers(model_worker_type(command, [""], 60.0))
    async with anyio.create_task_group() as background:
        background.start_soon(pool.run)
        await anyio.wait_all_tasks_blocked()
        threads = Threads("crossing", 1)
        await threads.run(pool.start)
        found = {name: await threads.run(_call_us, pool, items) for name, items in CROSSINGS.items()}
        background.cancel_scope.cancel()
    print("\n| handed over | MB | us a call | us a MB |\n| --- | --- | --- | --- |")
    for name, us in found.items():
        mb = sum(item.nbytes for item in CROSSINGS[name]) / 1e6
        a_mb = f"{(us - found['nothing']) / mb:.0f}" if mb else "-"
        print(f"| {name} | {mb:.1f} | {us:.0f} | {a_mb} |")
    return found


def _call_us(pool: ModelWorkers, items: Sequence[object]) -> float:
    times = []
    for _ in range(CALLS):
        began = perf_counter()
        pool.call("nothing", items)
        times.append(perf_counter() - began)
    return median(times) * 1e6


class NativeTimer:
    """A native function that releases the GIL, and the time spent in it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.seconds = 0.0
        self._function = function

    def __call__(self, *args: object, **kwargs: object) -> object:
        began = thread_time()
        try:
            return self._function(*args, **kwargs)
        finally:
            self.seconds += thread_time() - began


def lock(results: Sequence[PageResult]) -> dict[str, float]:
    """Microseconds under the GIL to crop and store a line, and to arrange a page."""
    native = NativeTimer(cv2.warpPerspective)
    before, cv2.warpPerspective = cv2.warpPerspective, native  # type: ignore[assignment]  # for this measurement
    cut = kept = arranged = 0.0
    try:
        for result in results:
            page = np.zeros((result.height, result.width, 3), np.uint8)
            quads = np.array([line.quad for line in result.lines], np.float32).reshape(-1, 4, 2)
            began = thread_time()
            crops = text_lines.crops_of(page, quads)
            cut += thread_time() - began
            readings = [_reading(line.text) for line in result.lines]
            began = thread_time()
            legible = text_lines.legible_lines(list(zip(crops, readings, strict=True)), 0.5)
            found = text_lines.lines_of(legible, 1.0)
            kept += thread_time() - began
            began = thread_time()
            arrange(found, Size(result.width, result.height))
            arranged += thread_time() - began
    finally:
        cv2.warpPerspective = before
    lines = sum(len(result.lines) for result in results)
    found_us = {
        "cutting out a line": (cut - native.seconds) / lines,
        "keeping a line": kept / lines,
        "arranging a page": arranged / len(results),
    }
    print(f"\n{lines / len(results):.0f} lines a page; cutting one out takes {native.seconds / lines * 1e6:.0f} us")
    print("without the lock, and with it:\n\n| step | us under the lock |\n| --- | --- |")
    for name, seconds in found_us.items():
        print(f"| {name} | {seconds * 1e6:.0f} |")
    return {name: seconds * 1e6 for name, seconds in found_us.items()}


def _reading(text: str) -> RecognizedText:
    count = len(text)
    return RecognizedText(text, np.ones(count, np.float32), np.linspace(0, 1, count, dtype=np.float32))


def main() -> None:
    cores = len(usable_cpus())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--documents", type=int, default=24)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--setups", nargs="+", default=[f"0x{cores}", f"1x{cores}", f"{cores}x1"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    setups = anyio.run(rates, arguments)
    found = {
        "usable_cores": cores,
        "setups": [{"name": one.name, "rates": one.rates, "cpu_ms": one.cpu_ms} for one in setups],
        "crossing_us": anyio.run(crossing),
        "lock_us": lock([result for result in setups[0].results.values() if result.lines]),
    }
    write_json(arguments.json, found)


if __name__ == "__main__":
    main()
