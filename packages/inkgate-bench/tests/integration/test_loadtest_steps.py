"""Steps of load on a service that listens: real requests, a curve, and what is kept when it is interrupted."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from aiohttp import web

from inkgate_bench.load.knee import Steps
from inkgate_bench.load.readings import Scraper
from inkgate_bench.load.results import Axis, LoadPoint, Second, ServerSide
from inkgate_bench.load.run import run
from inkgate_bench.load.steps import LoadInstruments, RunProgress, run_steps
from inkgate_bench.load.target import ProtocolName
from support.load_target import closed_plan, load_target, open_plan, text

pytestmark = pytest.mark.anyio


class StopsAtSecond:
    """A Watcher that interrupts when the run of this number begins."""

    def __init__(self, number: int, stop: anyio.Event) -> None:
        self._number = number
        self._stop = stop

    def begins(self, progress: RunProgress) -> None:
        if progress.number == self._number:
            self._stop.set()

    def second(self, second: Second, reading: ServerSide | None) -> None:
        return

    def ended(self, run: LoadPoint) -> None:
        return


async def test_steps_of_clients_are_measured_with_requests() -> None:
    async with load_target() as target:
        load = target.load(ProtocolName.SIMPLE, closed_plan())
        stepped = await run_steps(
            load, Steps((1, 2), repeats=2), LoadInstruments(run, Scraper([lambda: ServerSide(kv_share=0.5)]))
        )
    assert [(point.level, len(point.runs)) for point in stepped.points] == [(1, 2), (2, 2)]
    assert all(summary.answered == summary.offered > 0 for point in stepped.points for summary in point.runs)
    assert all(point.server == ServerSide(kv_share=0.5) for point in stepped.points)
    assert stepped.knee is not None
    assert not stepped.partial


async def test_a_service_that_fails_at_a_step_is_tried_until_it_answers() -> None:
    failing = 0

    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        nonlocal failing
        if number in {30, 31}:
            failing += 1
            return web.Response(status=500)
        return await text(request, number)

    async with load_target(reply) as target:
        load = target.load(ProtocolName.SIMPLE, replace(open_plan(), axis=Axis.RATE))
        stepped = await run_steps(load, Steps((50, 100, 200)), LoadInstruments(run, Scraper(())))
    assert failing == 2
    assert [point.level for point in stepped.points] == [50, 100, 200]
    assert sum(summary.failed for point in stepped.points for summary in point.runs) == 2
    assert not stepped.partial


async def test_interruption_ends_the_step_that_goes_on_and_keeps_those_before() -> None:
    stop = anyio.Event()
    async with load_target() as target:
        load = target.load(ProtocolName.SIMPLE, closed_plan())
        bench = LoadInstruments(run, Scraper(()), StopsAtSecond(2, stop), stop)
        stepped = await run_steps(load, Steps((1, 2, 4)), bench)
    assert stepped.partial
    assert stepped.points[0].level == 1
    assert all(point.level < 4 for point in stepped.points)


async def test_one_load_alone_is_one_point() -> None:
    async with load_target() as target:
        stepped = await run_steps(
            target.load(ProtocolName.SIMPLE, open_plan()), None, LoadInstruments(run, Scraper(()))
        )
    [point] = stepped.points
    assert point.level == 100
    assert point.runs[0].answered == 30
    assert stepped.knee is None
