"""Simulates an engine on shared processors behind the real queue: concurrency limits on a slow machine.

    python -m benchmarks.simulate.processors [--seeds 3]

Prints responses in time a second, with fixed limits and with the embedded engine's limit. In virtual time.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import anyio

from benchmarks.simulate import clock
from inkgate.caller import Caller
from inkgate.errors import InputRejected, Overloaded
from inkgate.serving.limits import AimdLimit, FixedLimit, Limit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.settings import SchedulingSettings

Speed = Callable[[float], float]
"""Available share of the machine at a clock time: 1 if it is idle, less if others use it."""


class Engine:
    """A single work uses at most the share `alone` of the processors; concurrent works share them equally."""

    LOOKS_S = 0.1
    """Maximum delay until a change of speed takes effect."""

    def __init__(self, speed: Speed, alone: float = 0.75) -> None:
        self._speed = speed
        self._alone = alone
        self._left: dict[anyio.Event, float] = {}
        self._changed = anyio.Event()
        self._at = 0.0

    @property
    def busy(self) -> float:
        """Processor utilization, including other programs."""
        own = self._speed(anyio.current_time()) * min(1.0, self._alone * len(self._left))
        return 1 - self._speed(anyio.current_time()) + own

    async def run(self) -> None:
        """Advances works until cancelled."""
        while True:
            self._changed = anyio.Event()
            with anyio.move_on_after(self._next_s() if self._left else math.inf):
                await self._changed.wait()
            self._go_on()

    async def read(self, work_s: float) -> None:
        """Returns when a work is done that takes that long on all processors of an idle machine."""
        self._go_on()
        done = anyio.Event()
        self._left[done] = work_s
        self._changed.set()
        try:
            await done.wait()
        finally:
            self._go_on()
            self._left.pop(done, None)
            self._changed.set()

    def _each(self) -> float:
        """Progress of each work in a second."""
        return self._speed(self._at) * min(1 / len(self._left), self._alone)

    def _next_s(self) -> float:
        return min(min(self._left.values()) / self._each() + 1e-9, self.LOOKS_S)

    def _go_on(self) -> None:
        now = anyio.current_time()
        if self._left:
            got = self._each() * (now - self._at)
            self._left = {done: left - got for done, left in self._left.items()}
            for done in [done for done, left in self._left.items() if left <= 0]:
                del self._left[done]
                done.set()
        self._at = now


@dataclass(frozen=True, slots=True)
class Load:
    """Random arrivals of `rate` pages a second, each with `deadline_s` and `mean_s` of work on average."""

    rate: float = 12.0
    deadline_s: float = 5.0
    mean_s: float = 0.2
    until_s: float = 100.0
    from_s: float = 20.0


@dataclass(frozen=True, slots=True)
class PageRates:
    """Pages a second: completed in time, and timed out at the engine."""

    in_time: float
    late: float


def simulate(limit: Callable[[Engine], Limit], speed: Speed, load: Load = Load(), seed: int = 1) -> PageRates:
    """Simulates the load with this limit. The same arguments give the same result."""
    return clock.run(lambda: _run(limit, speed, load, seed))


async def _run(new_limit: Callable[[Engine], Limit], speed: Speed, load: Load, seed: int) -> PageRates:
    engine, chance = Engine(speed), random.Random(seed)
    work_queue = WorkQueue(new_limit(engine), SchedulingSettings())
    ended = {True: 0, False: 0}

    async def ask(number: int) -> None:
        at, work_s = anyio.current_time(), load.mean_s * _about_one(chance, 0.5)
        caller = Caller(deadline=at + load.deadline_s, flow=str(number), patience_s=load.deadline_s)
        work = Work.for_caller(caller, max(1, round(1000 * work_s * _about_one(chance, 0.3))))
        try:
            with anyio.CancelScope(deadline=caller.deadline) as scope:
                async with work_queue.turn(work):
                    await engine.read(work_s)
        except (Overloaded, InputRejected):
            return
        if anyio.current_time() >= load.from_s:
            ended[not scope.cancelled_caught] += 1

    async with anyio.create_task_group() as background:
        background.start_soon(engine.run)
        async with anyio.create_task_group() as clients:
            number = 0
            while anyio.current_time() < load.until_s:
                await anyio.sleep(chance.expovariate(load.rate))
                clients.start_soon(ask, number)
                number += 1
        background.cancel_scope.cancel()
    seconds = load.until_s - load.from_s
    return PageRates(ended[True] / seconds, ended[False] / seconds)


def _about_one(chance: random.Random, sigma: float) -> float:
    """Log-normal, with mean 1."""
    return math.exp(sigma * chance.gauss(0, 1) - sigma**2 / 2)


def fast(_: float) -> float:
    """No other programs."""
    return 1.0


def third(_: float) -> float:
    """Other programs leave a third."""
    return 1 / 3


def by_turns(now: float) -> float:
    """Alternates between all and a tenth of the machine, 10 s each."""
    return 1.0 if now % 20 < 10 else 0.1


def fixed(places: int) -> Callable[[Engine], Limit]:
    """A fixed limit."""
    return lambda _: FixedLimit(places)


def learned(places: int) -> Callable[[Engine], Limit]:
    """The embedded engine's limit, with that maximum."""
    return lambda engine: AimdLimit(places, lambda: engine.busy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(1, parser.parse_args().seeds + 1)
    print("| deadline | machine | places | as set | learned |\n| --- | --- | --- | --- | --- |")
    for deadline_s in (5.0, 2.0, 1.0):
        load = Load(deadline_s=deadline_s)
        for speed in (fast, third, by_turns):
            for places in (1, 2, 4, 16):
                means = [
                    fmean(simulate(limit(places), speed, load, seed).in_time for seed in seeds)
                    for limit in (fixed, learned)
                ]
                print(
                    f"| {deadline_s:g} s | {speed.__name__} | {places} | {means[0]:.2f} | {means[1]:.2f} |", flush=True
                )


if __name__ == "__main__":
    main()
