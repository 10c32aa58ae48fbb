"""Pages before an engine that fails: which of them are sent, and what that says of the engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import anyio
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.service.page import NO_SERVER
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState
from inkgate_client.types import Task
from support.clock import Clock
from support.page_readers import page_reader
from support.scripted_engine import KeyedPage, ScriptedEngine

pytestmark = pytest.mark.anyio

SETTINGS = BreakerSettings(window_s=30.0, min_calls=4, open_s=5.0, good=2)


class Bench:
    """A guarded engine that raises a given error."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.error: Exception | None = None
        self.gate: anyio.Event | None = None
        self.engine = ScriptedEngine(self._script)
        self.breaker = Breaker("the engine", SETTINGS, self.clock)
        self.guarded = page_reader(self.engine, breaker=self.breaker)

    async def _script(self, _: int) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def read(self, index: int = 0, caller: Caller = NO_CALLER) -> str:
        return (await self.guarded.read(KeyedPage(b"page %d" % index, index), Task(), caller)).text

    async def fails(self, error: Exception, times: int = 1, pages: Iterable[int] = ()) -> None:
        """`pages`: instead of page 0, `times` times."""
        self.error = error
        for page in pages or [0] * times:
            with pytest.raises(type(error)):
                await self.read(page)
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
        EngineFailed("service_timeout", "It waited for a slot too long."),
        InputRejected("page_broken", "It can't be rendered."),
        Overloaded("service_full", "Too many wait.", 2.0),
    ],
)
async def test_faults_of_a_page_or_of_the_load_say_nothing_of_the_engine(bench: Bench, error: Exception) -> None:
    await bench.fails(error, times=20)
    assert bench.breaker.state is BreakerState.CLOSED
    assert await bench.read(3) == "page 3"


PAGE_FAILED = EngineFailed("engine_failed", "The model server failed only on this request.")


async def test_five_pages_in_a_row_are_not_each_the_only_bad_one(bench: Bench) -> None:
    await bench.fails(PAGE_FAILED, pages=range(4))
    assert bench.breaker.state is BreakerState.CLOSED
    await bench.fails(PAGE_FAILED, pages=[4])
    assert (bench.breaker.state, bench.breaker.why) == (BreakerState.OPEN, "the last 5 pages could not be read")


async def test_one_bad_page_however_often_it_is_sent_stops_no_other(bench: Bench) -> None:
    await bench.fails(PAGE_FAILED, times=100)
    assert bench.breaker.state is BreakerState.CLOSED


async def test_a_page_that_is_read_between_shows_that_the_others_are_to_blame(bench: Bench) -> None:
    for first in range(0, 40, 5):
        await bench.fails(PAGE_FAILED, pages=range(first, first + 4))
        await bench.read(first + 4)
    assert bench.breaker.state is BreakerState.CLOSED


async def test_a_probe_that_fails_on_its_page_does_not_close_it(bench: Bench) -> None:
    await bench.fails(PAGE_FAILED, pages=range(5))
    bench.clock.goes_on(5.0)
    await bench.fails(PAGE_FAILED, pages=[5])
    assert bench.breaker.state is BreakerState.OPEN
    bench.clock.goes_on(5.0)
    assert bench.breaker.state is BreakerState.OPEN  # twice as long


async def test_bad_pages_that_fail_while_good_ones_are_read_stop_no_other(bench: Bench) -> None:
    bench.gate = gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.read, 99)
        await anyio.wait_all_tasks_blocked()
        bench.gate = None
        await bench.fails(PAGE_FAILED, pages=range(10))
        assert bench.breaker.state is BreakerState.CLOSED
        gate.set()
    await bench.fails(PAGE_FAILED, pages=range(4))
    assert bench.breaker.state is BreakerState.CLOSED


async def test_pages_that_fail_are_enough_once_the_older_ones_have_failed_too(bench: Bench) -> None:
    bench.gate = gate = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.fails, PAGE_FAILED, 1, [99])
        await anyio.wait_all_tasks_blocked()
        bench.gate = None
        await bench.fails(PAGE_FAILED, pages=range(10))
        bench.error = PAGE_FAILED
        gate.set()
    assert bench.breaker.why == "the last 11 pages could not be read"


async def test_a_part_of_a_page_that_fails_closes_nothing_and_speaks_for_no_engine(bench: Bench) -> None:
    async def part_fails() -> None:
        with pytest.raises(EngineFailed):
            async with bench.breaker.guard():
                raise PAGE_FAILED

    for number in range(4):
        await bench.fails(PAGE_FAILED, pages=[number])
        await part_fails()
    await bench.fails(PAGE_FAILED, pages=[4])
    bench.clock.goes_on(5.0)
    await part_fails()
    assert bench.breaker.state is BreakerState.OPEN
    assert bench.breaker.why == "the last 5 pages could not be read; then a probe failed"


async def test_a_request_that_asks_the_engine_nothing_does_not_close_it(bench: Bench) -> None:
    await bench.fails(PAGE_FAILED, pages=range(5))
    bench.clock.goes_on(5.0)
    await bench.fails(InputRejected("task_unsupported", "It can't."), times=4)
    assert bench.breaker.state.value == "half_open"
    assert await bench.read(6) == "page 6"
    assert await bench.read(7) == "page 7"
    assert bench.breaker.state is BreakerState.CLOSED


async def test_a_server_that_is_back_is_tried_at_once(bench: Bench) -> None:
    await bench.fails(PAGE_FAILED, pages=range(5))
    bench.breaker.recovered()
    assert await bench.read(6) == "page 6"
    assert await bench.read(7) == "page 7"
    assert bench.breaker.state is BreakerState.CLOSED


async def test_a_server_that_is_back_does_not_cool_the_gpu(bench: Bench) -> None:
    bench.breaker.trip("a GPU is too hot")
    bench.breaker.recovered()
    assert bench.breaker.state is BreakerState.OPEN


async def test_while_it_is_open_another_engine_reads(bench: Bench) -> None:
    engine = page_reader(bench.engine, breaker=bench.breaker, embedded=ScriptedEngine())
    bench.error = PAGE_FAILED
    results = [await engine.read(KeyedPage(b"page %d" % page, page), Task(), NO_CALLER) for page in range(12)]
    assert [result.text for result in results] == [f"page {page}" for page in range(12)]
    assert {result.degraded for result in results} == {(NO_SERVER,)}
    assert len(bench.engine.begun) == 5


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
    await _time_out(bench, Caller(patience_s=0.3), times=4)
    assert bench.breaker.state is BreakerState.OPEN


@pytest.mark.parametrize(
    "caller",
    [Caller(patience_s=0.3, deadline_given=True), Caller(patience_s=100.0)],
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
    deadline = anyio.current_time() + 0.3
    with anyio.CancelScope(deadline=deadline):
        await bench.read(caller=replace(caller, deadline=deadline))
