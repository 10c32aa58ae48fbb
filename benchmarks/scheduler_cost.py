"""Measures the overhead of queue and admission per request, with 10, 1,000 and 10,000 others waiting.

    python -m benchmarks.scheduler_cost --json FILE

Prints CPU microseconds. `slot` is one cycle of a client in a closed loop while all others wait: queue, get a slot, free
it, wake the next; `semaphore` is the same with anyio's semaphore, which does not reorder, so that the difference is the
cost of order, fairness, deadlines and accounting. Variants alternate in rounds; the table shows medians.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import anyio
import anyio.lowlevel
import uvloop

from benchmarks.figures import write_json
from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import FairOrder, Work
from inkgate.serving.permits import Arrival
from inkgate.serving.queue import WorkQueue
from inkgate.settings import AdmissionSettings, SchedulingSettings

WAITING = (10, 1_000, 10_000)
PLACES = 16
TENANTS = 50


def requests(count: int) -> list[Work]:
    """Documents of several pages each, of fifty tenants, in all three classes, with distant deadlines."""
    chance = random.Random(count)
    until = time.monotonic() + 3600
    return [
        Work(
            chance.randint(300, 3000),
            f"tenant {chance.randrange(TENANTS)}",
            f"document {number // 4}",
            chance.choice(list(Priority)),
            until + chance.random(),
        )
        for number in range(count)
    ]


def queue_of(max_waiting: int = 20_000) -> WorkQueue:
    settings = SchedulingSettings(max_waiting=max_waiting)
    return WorkQueue(FixedLimit(PLACES), settings)


def queue_us(waiting: int, turns: int) -> float:
    """One push and one pop in a queue of `waiting`."""
    queue = FairOrder(age_s=30.0)
    todo = requests(waiting + turns)
    for work in todo[:waiting]:
        queue.push(work, 0.0)
    begin = time.process_time()
    for work in todo[waiting:]:
        queue.push(work, 0.0)
        if (entry := queue.first(0.0)) is not None:
            queue.end(queue.take(entry))
    return (time.process_time() - begin) / turns * 1e6


async def closed_loop_us(clients: int, turns: int, one: Callable[[int], Awaitable[None]]) -> float:
    """Time of a cycle in a closed loop of `clients`."""
    taken, begin, end = -clients, 0.0, math.inf

    async def client(number: int) -> None:
        nonlocal taken, begin, end
        while taken < turns:
            await one(number)
            taken += 1
            if taken == 0:
                begin = time.process_time()
            elif taken == turns:
                end = time.process_time()

    async with anyio.create_task_group() as tasks:
        for number in range(clients):
            tasks.start_soon(client, number)
    return (end - begin) / turns * 1e6


async def slot_us(waiting: int, turns: int) -> float:
    work_queue, todo = queue_of(), requests(waiting + PLACES)

    async def one(number: int) -> None:
        async with work_queue.turn(todo[number]):
            await anyio.lowlevel.checkpoint()

    return await closed_loop_us(waiting + PLACES, turns, one)


async def semaphore_us(waiting: int, turns: int) -> float:
    semaphore = anyio.Semaphore(PLACES)

    async def one(_: int) -> None:
        async with semaphore:
            await anyio.lowlevel.checkpoint()

    return await closed_loop_us(waiting + PLACES, turns, one)


async def behind(waiting: int, measure: Callable[[WorkQueue], Awaitable[float]]) -> float:
    """Result of `measure` on a queue with this many waiting requests."""
    work_queue = queue_of(waiting)

    async def wait(work: Work) -> None:
        async with work_queue.turn(work):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        for work in requests(waiting + PLACES):
            tasks.start_soon(wait, work)
        while work_queue.waiting < waiting:
            await anyio.lowlevel.checkpoint()
        result = await measure(work_queue)
        tasks.cancel_scope.cancel()
    return result


async def refused_us(waiting: int, turns: int) -> float:
    """Time of a refusal by a full queue."""

    async def measure(work_queue: WorkQueue) -> float:
        begin = time.process_time()
        for _ in range(turns):
            try:
                async with work_queue.turn(Work(100)):
                    raise AssertionError("not full")
            except Overloaded:
                pass
        return (time.process_time() - begin) / turns * 1e6

    return await behind(waiting, measure)


async def admit_us(waiting: int, turns: int) -> float:
    """Time to admit and release a document while that many are in flight, including the check of its deadline."""

    async def measure(work_queue: WorkQueue) -> float:
        door = AdmissionLimiter(waiting + 1, AdmissionSettings(max_bytes_mb=1e6), work_queue)
        for number in range(waiting):
            door.admit(Arrival(f"tenant {number % TENANTS}", body_bytes=100_000))
        arrival = Arrival("another", body_bytes=100_000, deadline=anyio.current_time() + 1e6)
        begin = time.process_time()
        for _ in range(turns):
            async with door.admit(arrival):
                pass
        return (time.process_time() - begin) / turns * 1e6

    return await behind(waiting, measure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=5_000)
    arguments = parser.parse_args()
    measures = {"slot": slot_us, "semaphore": semaphore_us, "refused": refused_us, "admit": admit_us}
    found: dict[str, dict[int, list[float]]] = {
        name: {waiting: [] for waiting in WAITING} for name in ("queue", *measures)
    }
    for _ in range(arguments.rounds):
        for waiting in WAITING:
            found["queue"][waiting].append(queue_us(waiting, arguments.turns))
            for name, measure in measures.items():
                found[name][waiting].append(uvloop.run(measure(waiting, arguments.turns)))
    rows = [
        {"what": name, **{f"{waiting} waiting": round(median(of[waiting]), 1) for waiting in WAITING}}
        for name, of in found.items()
    ]
    print(f"{'µs a request':<14}" + "".join(f"{waiting:>9,} waiting" for waiting in WAITING) + "   10,000 / 10")
    for name, of in found.items():
        medians = [median(of[waiting]) for waiting in WAITING]
        print(f"{name:<14}" + "".join(f"{value:>17.1f}" for value in medians) + f"{medians[-1] / medians[0]:>13.1f}x")
    write_json(arguments.json, {"rounds": arguments.rounds, "turns": arguments.turns, "rows": rows})


if __name__ == "__main__":
    main()
