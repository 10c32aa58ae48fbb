"""Requests beside a queue of jobs that is always full, with the service's own queue, admission and degradation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import anyio
import pytest

from inkgate.caller import Priority
from inkgate.errors import InkgateError, Overloaded
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.degradation import Degradation
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.permits import Arrival
from inkgate.serving.queue import WorkQueue
from inkgate.settings import AdmissionSettings, DegradationSettings, JobSettings, LimitSettings, SchedulingSettings
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio

SLOTS, PAGE_S, TOKENS = 4, 1.0, 1000
PATIENCE_S = 20.0
TIME_S = 900.0


@pytest.fixture(scope="session")
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


@dataclass
class Service:
    """Reads `SLOTS` pages at once, each in about `PAGE_S`."""

    random: Random
    ended: Counter[str] = field(default_factory=Counter)
    levels: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        limits = LimitSettings()
        self.work_queue = WorkQueue(FixedLimit(SLOTS), SchedulingSettings())
        self.degradation = Degradation(DegradationSettings(), lambda: self.work_queue.queue_s)
        self.limiter = AdmissionLimiter(limits.max_in_flight, AdmissionSettings(), self.work_queue, self.degradation)
        self.window = limits.page_window

    async def page(self, work: Work, who: str) -> None:
        async with self.work_queue.turn(work):
            await anyio.sleep(PAGE_S * self.random.uniform(0.5, 1.5))
        self.ended[who] += 1

    async def job(self, number: int) -> None:
        """One job after the other, without a pause."""
        work = Work(TOKENS, f"tenant {number % 3}", f"job {number}", Priority.BATCH)
        arrival = Arrival(work.tenant, Priority.BATCH, 1_000_000)
        async with self.limiter.admit(arrival), anyio.create_task_group() as pages:
            for _ in range(self.window):
                pages.start_soon(self._pages_of, work)

    async def _pages_of(self, work: Work) -> None:
        while True:
            await self.page(work, "pages of jobs")

    async def request(self, number: int) -> None:
        deadline = anyio.current_time() + PATIENCE_S
        tenant = f"client {number % 5}"
        work = Work(TOKENS, tenant, f"request {number}", Priority.INTERACTIVE, deadline, PATIENCE_S)
        try:
            async with self.limiter.admit(Arrival(tenant, Priority.INTERACTIVE, 100_000, deadline)):
                with anyio.CancelScope(deadline=deadline) as scope:
                    await self.page(work, "in time")
            self.ended["late"] += scope.cancelled_caught
        except Overloaded:
            self.ended["refused"] += 1
        except InkgateError:
            self.ended["late"] += 1

    async def look(self) -> None:
        while True:
            self.levels[self.degradation.level] += 1
            await anyio.sleep(1)


async def run(share: float, *, jobs: bool, seed: int) -> Service:
    """The service after requests at this share of its capacity, with jobs or without."""
    service, arrivals = Service(Random(seed)), Random(seed + 1000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.look)
        for number in range(JobSettings().at_once if jobs else 0):
            tasks.start_soon(service.job, number)
        async with anyio.create_task_group() as requests:
            number = 0
            while anyio.current_time() < TIME_S:
                await anyio.sleep(arrivals.expovariate(share * SLOTS / PAGE_S))
                requests.start_soon(service.request, number)
                number += 1
        tasks.cancel_scope.cancel()
    return service


@pytest.mark.parametrize("share", [0.7, 0.9])
@pytest.mark.parametrize("seed", [2, *(pytest.param(n, marks=pytest.mark.calibration) for n in (1, 3, 4, 5))])
async def test_no_request_is_late_because_of_jobs_and_no_quality_is_lost(seed: int, share: float) -> None:
    service = await run(share, jobs=True, seed=seed)
    print(service.ended)
    sent = service.ended["in time"] + service.ended["refused"] + service.ended["late"]
    assert sent > 0.9 * share * TIME_S * SLOTS / PAGE_S
    assert service.ended["late"] == 0
    # Bursts that fill the queue are refused without jobs, too; with pages of jobs that aged, 15 % were at 0.9.
    assert service.ended["refused"] <= (0.001 if share < 0.8 else 0.02) * sent
    assert set(service.levels) == {0}
    # Jobs get what requests leave, and at least their share, 1/16.
    assert service.ended["pages of jobs"] > 0.9 * max(1 - share, 1 / 17) * TIME_S * SLOTS / PAGE_S
