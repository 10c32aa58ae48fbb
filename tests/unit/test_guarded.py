"""Pages before an engine that fails: which of them are sent, and what that says of the engine."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.pipeline.policies import Guarded
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState
from inkgate.types import Task
from support.clock import Clock
from support.scripted_engine import KeyedPage, ScriptedEngine

pytestmark = pytest.mark.anyio

SETTINGS = BreakerSettings(window_s=30.0, least=4, open_s=5.0, good=2)


class Bench:
    """A guarded engine that raises a given error."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.error: Exception | None = None
        self.gate: anyio.Event | None = None
        self.engine = ScriptedEngine(self._script)
        self.breaker = Breaker("the engine", SETTINGS, self.clock)
        self.guarded = Guarded(self.engine, self.breaker)

    async def _script(self, _: int) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def read(self, index: int = 0, caller: Caller = NO_CALLER) -> str:
        return (await self.guarded.read(KeyedPage(b"", index), Task(), caller)).text

    async def fails(self, error: Exception, times: int = 1) -> None:
        self.error = error
        for _ in range(times):
            with pytest.raises(type(error)):
                await self.read()
        self.error = None


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_an_engine_that_works_reads_and_keeps_its_name(bench: Bench) -> None:
    await bench.guarded.start()
    assert await bench.read(7) == "page 7"
    assert bench.guarded.name == "scripted"
    await bench.guarded.stop()


async def test_one_that_fails_gets_no_more_pages_and_callers_are_told_when_to_return(bench: Bench) -> None:
    await bench.fails(EngineFailed("upstream_failed", "It failed."), times=4)
    with pytest.raises(Overloaded) as refused:
        await bench.read()
    assert (refused.value.code, refused.value.retry_after_s) == ("engine_breaker_open", 5.0)
    assert "4 of 4 calls failed" in refused.value.detail
    assert len(bench.engine.begun) == 4


@pytest.mark.parametrize(
    "error",
    [
        EngineFailed("output_repeats", "It ran in circles."),
        EngineFailed("upstream_busy", "It has enough to do."),
        InputRejected("deadline_exceeded", "Its time ran out."),
        EngineFailed("page_timeout", "It took too long to render."),
        Overloaded("service_full", "Too many wait.", 2.0),
    ],
)
async def test_faults_of_a_page_or_of_the_load_say_nothing_of_the_engine(bench: Bench, error: Exception) -> None:
    await bench.fails(error, times=20)
    assert bench.breaker.state is BreakerState.CLOSED
    assert await bench.read(3) == "page 3"


async def test_a_caller_who_leaves_says_nothing_of_the_engine(bench: Bench) -> None:
    bench.gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for index in range(8):
            tasks.start_soon(bench.read, index)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert len(bench.engine.cancelled) == 8
    assert bench.breaker.state is BreakerState.CLOSED


async def test_one_page_tries_it_again_and_two_good_ones_open_the_way(bench: Bench) -> None:
    await bench.fails(EngineFailed("upstream_unreachable", "It is not there."), times=4)
    bench.clock.goes_on(5.0)
    bench.gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.read, 1)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded):
            await bench.read(2)  # one at a time
        bench.gate.set()
    assert await bench.read(3) == "page 3"
    assert bench.breaker.state is BreakerState.CLOSED
    assert bench.engine.begun[4:] == [1, 3]


async def test_a_trip_from_outside_stops_pages_too(bench: Bench) -> None:
    bench.breaker.trip("a GPU is too hot")
    with pytest.raises(Overloaded, match="a GPU is too hot"):
        await bench.read()
    assert bench.engine.begun == []


async def test_pages_that_hang_until_the_services_time_is_over_open_the_breaker(bench: Bench) -> None:
    bench.gate = anyio.Event()
    await _time_out(bench, Caller(patience_s=0.02), times=4)
    assert bench.breaker.state is BreakerState.OPEN


@pytest.mark.parametrize(
    "caller",
    [Caller(patience_s=0.02, deadline_given=True), Caller(patience_s=100.0)],
    ids=["a client's own timeout", "a page that began late"],
)
async def test_other_pages_that_time_out_say_nothing_of_the_engine(bench: Bench, caller: Caller) -> None:
    bench.gate = anyio.Event()
    await _time_out(bench, caller, times=20)
    assert bench.breaker.state is BreakerState.CLOSED


async def _time_out(bench: Bench, caller: Caller, times: int) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(times):
            tasks.start_soon(_timed_out, bench, caller)


async def _timed_out(bench: Bench, caller: Caller) -> None:
    deadline = anyio.current_time() + 0.02
    with anyio.CancelScope(deadline=deadline):
        await bench.read(caller=replace(caller, deadline=deadline))
