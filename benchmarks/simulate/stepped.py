"""Load tests in steps on the simulated card: closed loops, measured as `inkgate loadtest --steps` does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import numpy as np

from benchmarks.simulate import clock
from benchmarks.simulate.batch import Flags
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.server import Server, ServerGone
from benchmarks.simulate.workload import Pages
from inkgate_bench.load.results import Latency, LoadPoint, LoadSummary

DEADLINE_S = 5.0
RETRY_S = 1.0
"""Pause before a client retries after a crash of its server."""


@dataclass(frozen=True, slots=True)
class SimulatedService:
    """The service under load: a card, its vLLM's flags, and pages. `deadline_s`: latency target of a response."""

    card: Card = RTX_4090D
    flags: Flags = Flags()
    pages: Pages = Pages()
    seconds: float = 60.0
    warm_s: float = 10.0
    deadline_s: float = DEADLINE_S


def curve(what: SimulatedService, levels: Sequence[int], repeats: int) -> list[LoadPoint]:
    """Measures each level `repeats` times, every run with its own server and seed."""
    return [
        LoadPoint(level, tuple(clock.run(lambda: _run(what, level, seed)) for seed in range(repeats)))  # noqa: B023 - runs at once
        for level in levels
    ]


async def _run(what: SimulatedService, clients: int, seed: int) -> LoadSummary:
    server = Server(what.card, what.flags, seed)
    chance = random.Random(f"{clients} {seed}")
    ended: list[tuple[float, float, bool]] = []  # start, duration, success

    async def client() -> None:
        while anyio.current_time() < what.warm_s + what.seconds:
            asked = anyio.current_time()
            try:
                await server.generate(what.pages.draw(chance))
                ended.append((asked, anyio.current_time() - asked, True))
            except ServerGone:
                ended.append((asked, anyio.current_time() - asked, False))
                await anyio.sleep(RETRY_S)

    async with anyio.create_task_group() as tasks:
        for _ in range(clients):
            tasks.start_soon(client)
    return _summary(what, [each for each in ended if what.warm_s <= each[0] < what.warm_s + what.seconds])


def _summary(what: SimulatedService, ended: Sequence[tuple[float, float, bool]]) -> LoadSummary:
    took = np.array([seconds for _, seconds, answered in ended if answered])
    in_time = int((took <= what.deadline_s).sum())
    failed = len(ended) - len(took)
    errors = {"connection refused": failed} if failed else {}
    latency = None
    if len(took):
        p50, p90, p95, p99, most = (float(value) for value in np.quantile(took, (0.5, 0.9, 0.95, 0.99, 1.0)))
        latency = Latency(float(took.mean()), p50, p90, p95, p99, most)
    in_flight = sum(seconds for _, seconds, _ in ended) / what.seconds
    return LoadSummary(
        what.seconds, len(ended), len(took), in_time, 0, 0, failed, 0, in_time, 0, 0, in_flight, latency, None, errors
    )
