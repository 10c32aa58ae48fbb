"""A day's load on a gateway whose model servers an Autoscaler adds and removes, and what is to be said of it."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, pairwise

import anyio
from anyio.abc import TaskGroup

from benchmarks.autoscaling.fleet import SimulatedEngine, SimulatedGateway
from benchmarks.autoscaling.hpa import SYNC_S, Autoscaler, ScalingValues
from benchmarks.simulate import clock
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.workload import Pages, Request
from inkgate.caller import Priority
from inkgate.errors import EngineFailed, InkgateError, InputRejected

SLOWNESS = 20.0
"""The card is this much slower, so that a day has 100,000 pages and not two million."""
CARD = RTX_4090D.slower(SLOWNESS).undying()
UNDONE_S = 1800.0
HOUR_S = 3600.0

Load = tuple[tuple[float, float], ...]
"""Points (hour, load) with rising hours, linear between them. Load is in engines that it keeps busy."""
DAY: Load = (
    (0, 0.25), (5, 0.25), (8, 1.6), (9.5, 2.4), (11.5, 2.4), (12.25, 1.1), (13, 1.1), (13.75, 2.2), (17, 2.0),
    (18.5, 1.4), (19.5, 2.6), (20.5, 2.6), (22, 0.9), (24, 0.3),
)  # fmt: skip
BURST = (3.0, 3.25, 5.0)
"""From and to, in hours, and the factor of the load meanwhile."""
Metric = Callable[[Sequence[SimulatedGateway], int], float]
"""What the autoscaler divides by its target, from the gateways and the number of engines."""


def by_load(gateways: Sequence[SimulatedGateway], _replicas: int) -> float:
    """The chart's metric."""
    return sum(gateway.load_servers for gateway in gateways)


def by_backlog(gateways: Sequence[SimulatedGateway], replicas: int) -> float:
    """The seconds of waiting work, as a metric of the type Value with a target of 20 s. The plan's target must be 1."""
    return replicas * max(gateway.backlog_s for gateway in gateways) / 20.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated.

    Attributes:
        capacity: pages a second of one engine.
        start_s: seconds from the creation of a pod until its engine is ready.
        gateways: that share the engines and know nothing of each other.
        replicas: engines at the start; also for the whole day if `scaling` is None.
        hours: of `load`; the day is cut there.
    """

    scaling: ScalingValues | None
    capacity: float
    load: Load = DAY
    burst: tuple[float, float, float] | None = BURST
    metric: Metric = by_load
    hours: float = 24.0
    start_s: float = 180.0
    patience_s: float = 60.0
    replicas: int = 1
    gateways: int = 2
    card: Card = CARD
    pages: Pages = Pages()
    seed: int = 1

    def engines_busy(self, at: float) -> float:
        """The load at `at` seconds."""
        hour = at / HOUR_S
        right = next((index for index, (start, _) in enumerate(self.load) if start > hour), len(self.load) - 1)
        (hour0, load0), (hour1, load1) = self.load[right - 1], self.load[right]
        load = load0 + (load1 - load0) * (hour - hour0) / (hour1 - hour0)
        return load * (self.burst[2] if self.burst is not None and self.burst[0] <= hour < self.burst[1] else 1.0)

    def requests(self) -> Iterator[Request]:
        """A Poisson process, in order of time."""
        chance = random.Random(f"day {self.seed}")
        most = self.capacity * max(load for _, load in self.load) * (1.0 if self.burst is None else self.burst[2])
        at = 0.0
        while (at := at + chance.expovariate(most)) < self.hours * HOUR_S:
            if chance.random() * most < self.capacity * self.engines_busy(at):
                page = self.pages.draw(chance)
                yield Request(at, page, "all", f"{at:.3f}", Priority.NORMAL, at + self.patience_s)


class PageEnd(StrEnum):
    """How a page ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    LATE = "late"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MinuteSample:
    """The state at `at` seconds: load in engines, the metric, pods, and servers that take calls."""

    at: float
    load: float
    metric: float
    replicas: int
    up: int


@dataclass(slots=True)
class DayResult:
    """What happened. `changes`: times in seconds, and replicas before and after."""

    plan: Plan
    ended: Counter[PageEnd] = field(default_factory=Counter)
    samples: list[MinuteSample] = field(default_factory=list)
    changes: list[tuple[float, int, int]] = field(default_factory=list)
    engine_s: float = 0.0

    @property
    def pages(self) -> int:
        return self.ended.total()

    def share(self, *ends: PageEnd) -> float:
        """Share of the pages that ended so."""
        return sum(self.ended[end] for end in ends) / max(1, self.pages)

    @property
    def lost(self) -> float:
        """Share of the pages that were not answered in time."""
        return 1 - self.share(PageEnd.ANSWERED)

    @property
    def undone(self) -> int:
        """See `undone`."""
        return undone(self.changes)

    @property
    def longest_lag_s(self) -> float:
        """Longest time in which the load was more than the servers that took calls, where more were allowed."""
        most = math.inf if self.plan.scaling is None else self.plan.scaling.most
        longest = since = 0.0
        for before, sample in pairwise(self.samples):
            lags = sample.load > sample.up and sample.up < most
            since = since + sample.at - before.at if lags else 0.0
            longest = max(longest, since)
        return longest


def undone(changes: Sequence[tuple[float, int, int]]) -> int:
    """Changes that the next one reversed within half an hour."""
    return sum(
        (after - before) * (later_after - later_before) < 0 and later - at <= UNDONE_S
        for (at, before, after), (later, later_before, later_after) in pairwise(changes)
    )


def simulate_day(plan: Plan) -> DayResult:
    """The same plan gives the same result."""
    return clock.run(lambda: _Day(plan).run())


def capacity_of(gateways: int, seed: int = 1) -> float:
    """Pages a second that one engine reads in time when half as many more arrive."""
    rate = 1.5 * 26 / SLOWNESS
    plan = Plan(None, rate, ((0, 1.0), (24, 1.0)), None, hours=0.5, start_s=0.0, gateways=gateways, seed=seed)
    return simulate_day(plan).ended[PageEnd.ANSWERED] / (plan.hours * HOUR_S)


class _Pod:
    """A pod of the StatefulSet: paid for from its creation to its end."""

    def __init__(self) -> None:
        self.created = anyio.current_time()
        self.engine: SimulatedEngine | None = None
        self.starting = anyio.CancelScope()


class _Day:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._gateways = [SimulatedGateway() for _ in range(plan.gateways)]
        self._turns = cycle(self._gateways)
        self._pods: list[_Pod] = []
        self._made = 0
        self._scraped = 0.0
        self._result = DayResult(plan)

    async def run(self) -> DayResult:
        plan = self._plan
        async with anyio.create_task_group() as background:
            for gateway in self._gateways:
                gateway.start(background)
            for _ in range(plan.replicas):
                self._create(background, 0.0)
            background.start_soon(self._scrape)
            background.start_soon(self._sample)
            if plan.scaling is not None:
                background.start_soon(self._scale, plan.scaling, background)
            async with anyio.create_task_group() as clients:
                for request in plan.requests():
                    await anyio.sleep_until(request.at)
                    clients.start_soon(self._read, request)
            self._result.engine_s += sum(anyio.current_time() - pod.created for pod in self._pods)
            background.cancel_scope.cancel()
        return self._result

    async def _read(self, request: Request) -> None:
        end = PageEnd.ANSWERED
        try:
            await next(self._turns).read(request)
        except EngineFailed:
            end = PageEnd.FAILED
        except InputRejected:
            end = PageEnd.LATE
        except InkgateError:
            end = PageEnd.REFUSED
        self._result.ended[end] += 1

    def _create(self, tasks: TaskGroup, start_s: float) -> None:
        pod = _Pod()
        self._pods.append(pod)
        tasks.start_soon(self._start, pod, start_s)

    async def _start(self, pod: _Pod, start_s: float) -> None:
        with pod.starting:
            await anyio.sleep(start_s)
            self._made += 1
            pod.engine = SimulatedEngine(f"engine-{self._made}", self._plan.card, self._made)
            for gateway in self._gateways:
                gateway.add(pod.engine)

    async def _stop(self, pod: _Pod) -> None:
        pod.starting.cancel()
        if pod.engine is not None:
            async with anyio.create_task_group() as tasks:
                for gateway in self._gateways:
                    tasks.start_soon(gateway.retire, pod.engine)
        self._result.engine_s += anyio.current_time() - pod.created

    async def _scrape(self) -> None:
        every_s = 15.0 if self._plan.scaling is None else self._plan.scaling.scrape_s
        while True:
            self._scraped = self._plan.metric(self._gateways, len(self._pods))
            await anyio.sleep(every_s)

    async def _scale(self, values: ScalingValues, tasks: TaskGroup) -> None:
        autoscaler = Autoscaler(values)
        while True:
            await anyio.sleep(SYNC_S)
            now, before = anyio.current_time(), len(self._pods)
            wanted = autoscaler.decide(before, self._scraped, now)
            if wanted == before:
                continue
            self._result.changes.append((now, before, wanted))
            for _ in range(wanted - before):
                self._create(tasks, self._plan.start_s)
            # A StatefulSet removes the youngest pods first.
            for pod in self._pods[wanted:]:
                tasks.start_soon(self._stop, pod)
            del self._pods[wanted:]

    async def _sample(self) -> None:
        while True:
            now = anyio.current_time()
            self._result.samples.append(
                MinuteSample(
                    now, self._plan.engines_busy(now), self._scraped, len(self._pods), self._gateways[0].servers_up
                )
            )
            await anyio.sleep(SYNC_S)


def described(results: Sequence[tuple[str, DayResult]]) -> list[tuple[str, ...]]:
    """A row of words for each result."""
    return [
        (
            name,
            f"{result.lost:.2%}",
            f"{result.share(PageEnd.REFUSED):.2%}",
            f"{result.share(PageEnd.LATE, PageEnd.FAILED):.2%}",
            f"{result.engine_s / HOUR_S:.1f}",
            f"{len(result.changes)}",
            f"{result.undone}",
            f"{result.longest_lag_s:.0f} s",
        )
        for name, result in results
    ]
