"""Measures the overhead of the batcher per item, with an empty model: 1, 16 and 256 callers, 1 and 40 items each.

    python -m benchmarks.batcher_cost --json FILE

Prints CPU microseconds per item in a closed loop. `threads` runs each batch in a worker thread, as the service does,
and includes the thread switches; `inline` runs it on the event loop, which leaves the batcher's own cost; `within` is
as `inline`, without items of several callers in a call; `unbatched` runs each caller's items in a thread without a
batcher. Widths are those of text lines, in twelve buckets. Variants alternate in rounds; the table shows medians.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from pathlib import Path
from statistics import median
from typing import ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import uvloop

from benchmarks.figures import write_json
from inkgate.serving.batching import Batcher, Batchers, BatchFigures
from inkgate.settings import BatchingSettings
from inkgate_client.concurrency import Threads

P = ParamSpec("P")
T = TypeVar("T")

CALLERS = (1, 16, 256)
ITEMS = (1, 40)
HEIGHT = 48
STEP = 64
BUCKETS = 12


class IdentityModel:
    """A BatchModel from widths to themselves."""

    def predict(self, items: Sequence[int]) -> list[int]:
        return list(items)

    def shape_of(self, item: int) -> Hashable:
        return -(-item // STEP)

    def cost(self, item: int) -> int:
        return -(-item // STEP) * STEP * HEIGHT

    def content(self, item: int) -> int:
        return item * HEIGHT


class Inline(Threads):
    """Threads without threads."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await anyio.lowlevel.checkpoint()
        return function(*args, **kwargs)


async def cost_us(callers: int, each: int, items: int, predict: Callable[[list[int]], Awaitable[list[int]]]) -> float:
    """CPU time of the process per item, while `callers` repeatedly request `each` items."""
    chance = random.Random(callers)
    asked = 0

    async def caller() -> None:
        nonlocal asked
        wanted = [chance.randint(1, BUCKETS * STEP) for _ in range(each)]
        while asked < items:
            asked += each
            if await predict(wanted) != wanted:
                raise AssertionError("other items' results")

    begin = time.process_time()
    async with anyio.create_task_group() as tasks:
        for _ in range(callers):
            tasks.start_soon(caller)
    return (time.process_time() - begin) / asked * 1e6


async def batched(
    callers: int, each: int, items: int, threads: Threads, *, across_pages: bool = True
) -> tuple[float, float]:
    """Microseconds per item, and the mean batch size."""
    batchers, figures = Batchers(BatchingSettings(), across_pages=across_pages), BatchFigures()
    batcher = Batcher(IdentityModel(), figures, threads, batchers)
    return await cost_us(callers, each, items, batcher.predict), figures.items / figures.calls


async def unbatched(callers: int, each: int, items: int) -> tuple[float, float]:
    """As `batched`."""
    threads, model = Threads("benchmark", 1), IdentityModel()

    async def predict(wanted: list[int]) -> list[int]:
        return await threads.run(model.predict, wanted)

    return await cost_us(callers, each, items, predict), float(each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--items", type=int, default=8_000)
    arguments = parser.parse_args()
    measures: dict[str, Callable[[int, int], Awaitable[tuple[float, float]]]] = {
        "threads": lambda callers, each: batched(callers, each, arguments.items, Threads("benchmark", 1)),
        "inline": lambda callers, each: batched(callers, each, arguments.items, Inline("benchmark", 1)),
        "within": lambda callers, each: batched(
            callers, each, arguments.items, Inline("benchmark", 1), across_pages=False
        ),
        "unbatched": lambda callers, each: unbatched(callers, each, arguments.items),
    }
    cases = [(name, each, callers) for name in measures for each in ITEMS for callers in CALLERS]
    found: dict[tuple[str, int, int], list[tuple[float, float]]] = {case: [] for case in cases}

    async def once(name: str, each: int, callers: int) -> tuple[float, float]:
        return await measures[name](callers, each)

    for _ in range(arguments.rounds):
        for case in cases:
            name, each, callers = case
            found[case].append(uvloop.run(once(name, each, callers)))
    rows = []
    print(f"{'':<10}{'items each':>12}{'callers':>9}{'µs an item':>12}{'mean batch':>12}")
    for (name, each, callers), runs in found.items():
        us, batch = median(run[0] for run in runs), median(run[1] for run in runs)
        rows.append({"what": name, "items": each, "callers": callers, "us": round(us, 1), "batch": round(batch, 1)})
        print(f"{name:<10}{each:>12}{callers:>9}{us:>12.1f}{batch:>12.1f}")
    write_json(arguments.json, {"rounds": arguments.rounds, "items": arguments.items, "rows": rows})


if __name__ == "__main__":
    main()
