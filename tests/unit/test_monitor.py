"""Readings of several model servers as reported to the limit, and the size of their KV cache."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from inkgate.errors import EngineFailed
from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.balancer import ReplicaSet
from inkgate.model_servers.metrics import ServerReading
from inkgate.model_servers.monitor import PerServerLimit, ServerMonitor
from inkgate.model_servers.replica import Replica, ReplicaState
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.queue import WorkQueue
from inkgate.settings import AdaptiveSettings, SchedulingSettings
from support.clock import Clock
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


IDLE = ServerReading(kv_usage=0.0, kv_tokens=1000)
PRESSED = replace(IDLE, waiting=4)


class FakeServer:
    """A server that accepts no calls and has given metrics."""

    def __init__(self, name: str, reading: ServerReading | None) -> None:
        self.base_url = name
        self.reading = reading
        self.asked = 0
        self.hangs: anyio.Event | None = None

    async def models(self) -> tuple[str, ...]:
        return ("fake",)

    async def close(self) -> None:
        """Holds nothing."""

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        if call.body:
            raise EngineFailed("upstream_unreachable", "It takes no calls.")
        yield ModelAnswer(200, {}, _nothing())

    async def probe(self) -> None:
        """Works."""

    async def readings(self) -> ServerReading | None:
        self.asked += 1
        if self.hangs is not None:
            await self.hangs.wait()
        return self.reading


async def _nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for chunk in nothing:
        yield chunk


class MonitorBench:
    """A monitor over servers with these readings, and its reports."""

    def __init__(self, *readings: ServerReading | None, adaptive: bool = True, later: float = 1.0) -> None:
        """`later`: seconds between two looks."""
        self.clock = Clock()
        self.servers = [FakeServer(f"http://{number}/v1", reading) for number, reading in enumerate(readings)]
        self.replicas = [Replica(server, clock=self.clock) for server in self.servers]
        self.set = ReplicaSet(self.replicas, self.clock)
        self.limit = AdaptiveLimit(AdaptiveSettings(initial=8), self.clock)
        self.monitor = ServerMonitor(self.set, self.limit if adaptive else None, later, self.clock)

    async def looks(self, times: int = 1, later_s: float = 4.0) -> None:
        for _ in range(times):
            self.clock.goes_on(later_s)
            await self.monitor.look()


def test_each_server_has_its_limit_and_one_place_is_there_without_any() -> None:
    up = [3, 1, 0]
    limit = PerServerLimit(FixedLimit(8), lambda: up[0])
    assert limit.value == 24
    up[0] = 1
    assert limit.value == 8
    up[0] = 0
    assert limit.value == 8


def test_what_ends_is_told_to_the_limit_of_each() -> None:
    clock = Clock()
    each = AdaptiveLimit(AdaptiveSettings(initial=8), clock)
    limit = PerServerLimit(each, lambda: 2)
    for _ in range(10):
        limit.ended(WorkOutcome.FAILED, clock())
    assert limit.value == 2 * each.value
    assert each.value < 8


async def test_the_kv_cache_is_that_of_the_servers_that_take_calls() -> None:
    watched = MonitorBench(IDLE, replace(IDLE, kv_tokens=500))
    await watched.looks()
    assert watched.monitor.kv_tokens == 1500
    watched.replicas[0].take_out("it failed")
    await watched.looks()
    assert watched.monitor.kv_tokens == 500
    watched.replicas[0].set_state(ReplicaState.UP)
    await watched.looks()
    assert watched.monitor.kv_tokens == 1500


async def test_while_one_did_not_say_its_size_nothing_is_bounded_by_it() -> None:
    watched = MonitorBench(IDLE, replace(IDLE, kv_tokens=None))
    await watched.looks()
    assert watched.monitor.kv_tokens is None
    watched.servers[1].reading = IDLE
    await watched.looks()
    assert watched.monitor.kv_tokens == 2000


async def test_with_every_server_out_what_is_known_stays() -> None:
    watched = MonitorBench(IDLE)
    await watched.looks()
    watched.replicas[0].take_out("it failed")
    await watched.looks(3)
    assert (watched.monitor.up, watched.monitor.kv_tokens) == (0, 1000)
    assert watched.servers[0].asked == 1


async def test_without_metrics_it_serves_on_with_the_size_and_the_limit_it_had() -> None:
    watched = MonitorBench(replace(IDLE, kv_usage=0.9))
    await watched.looks(2)
    limit = watched.limit.value
    watched.servers[0].reading = None
    await watched.looks(20)
    assert (watched.monitor.kv_tokens, watched.limit.value) == (1000, limit)


async def test_the_limit_follows_the_server_that_is_pressed_the_most() -> None:
    watched = MonitorBench(IDLE, PRESSED, IDLE)
    await watched.looks(2)
    assert watched.limit.value == 7  # 8 + 0.2 * (8 * clamp(1/2) - 8)


async def test_a_server_that_is_out_presses_nobody() -> None:
    watched = MonitorBench(IDLE, PRESSED)
    watched.replicas[1].take_out("it failed")
    await watched.looks(5)
    assert watched.limit.value == 8
    assert watched.servers[1].asked == 0


@pytest.mark.parametrize("heard_before", [False, True])
async def test_a_server_whose_metrics_hang_keeps_nothing_of_the_others_from_being_heard(*, heard_before: bool) -> None:
    watched = MonitorBench(replace(IDLE, kv_usage=0.5), replace(IDLE, kv_usage=0.1), later=0.01)
    if heard_before:
        await watched.looks()
    asked = watched.servers[0].asked
    hangs = watched.servers[0].hangs = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.monitor.run)
        with anyio.fail_after(60):
            while watched.servers[1].asked < 20:  # noqa: ASYNC110 - a look is 10 ms, the first one a second
                await anyio.sleep(0.01)
        assert watched.servers[0].asked == asked + 1
        # Its last reading stands meanwhile.
        assert set(watched.monitor.read) == {*watched.replicas[0 if heard_before else 1 :]}
        hangs.set()
        with anyio.fail_after(60):
            while set(watched.monitor.read) != set(watched.replicas):  # noqa: ASYNC110 - as above
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()


async def test_preemptions_of_any_server_are_damage() -> None:
    watched = MonitorBench(IDLE, IDLE)
    await watched.looks()
    watched.servers[1].reading = replace(IDLE, preemptions=1)
    await watched.looks()
    assert watched.limit.value == 7  # 0.9 * 8


async def test_with_a_fixed_limit_the_size_of_the_cache_is_still_known() -> None:
    watched = MonitorBench(PRESSED, adaptive=False)
    await watched.looks(5)
    assert (watched.monitor.kv_tokens, watched.limit.value) == (1000, 8)


async def test_what_the_limit_allows_after_a_reading_starts_then() -> None:
    watched = MonitorBench(IDLE)
    work_queue = WorkQueue(FixedLimit(1), SchedulingSettings())
    watched.monitor.after_reading.append(work_queue.wake)
    began = anyio.Event()

    async def second() -> None:
        async with work_queue.turn(Work(100)):
            began.set()

    async with anyio.create_task_group() as tasks, work_queue.turn(Work(100)):
        tasks.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        assert (work_queue.waiting, began.is_set()) == (1, False)
        work_queue.limit = FixedLimit(2)
        await watched.looks()
        with anyio.fail_after(60):
            await began.wait()
