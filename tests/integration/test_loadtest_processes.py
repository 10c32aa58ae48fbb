"""One load, sent by several processes."""

from __future__ import annotations

import anyio
import pytest
from aiohttp import web

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.parts import parts_of
from inkgate.bench.load.plan import Arrivals
from inkgate.bench.load.processes import run_in_processes
from inkgate.bench.load.replay import Recorded
from inkgate.bench.load.results import Second
from inkgate.bench.load.target import ProtocolName
from support.load_target import closed_plan, load_target, open_plan, refusal, text

pytestmark = pytest.mark.anyio


async def test_what_several_send_is_one_load() -> None:
    seconds: list[Second] = []
    async with load_target() as target:
        load = target.load(ProtocolName.SIMPLE, open_plan(rate=60, seconds=1.2))
        with anyio.fail_after(60):
            found = await run_in_processes(load, seconds.append, processes=2)
    assert found.summary.answered == found.summary.offered == pytest.approx(72, abs=2)
    assert found.summary.errors == {}
    assert {second.at for second in seconds} <= {1.0}
    assert [(second.at, second.offered) for second in found.timeline] == [(1.0, 60)]
    assert 30 < found.timeline[0].answered <= 60  # one process alone has 30; a slow machine answers some later
    assert found.timeline[0].level == 60
    assert not found.partial


async def test_errors_of_all_are_counted_together_and_it_may_be_ended_early() -> None:
    stop = anyio.Event()
    no = refusal(503, "service_full", "0")

    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        if number == 40:
            stop.set()
        return await (no if number % 2 else text)(request, number)

    async with load_target(reply) as target:
        load = target.load(ProtocolName.SIMPLE, closed_plan(clients=3, seconds=600))
        with anyio.fail_after(60):
            found = await run_in_processes(load, None, stop, processes=2)
    assert found.partial
    assert found.summary.errors == {"503 service_full": found.summary.refused}
    assert found.summary.refused > 10
    assert found.summary.answered > 10


async def test_what_a_sender_can_not_do_is_told() -> None:
    async with load_target() as target:
        load = target.load(ProtocolName.SIMPLE, open_plan(rate=-1))
        with pytest.raises(LoadImpossible, match="level"):
            await run_in_processes(load, processes=2)


async def test_a_load_is_taken_apart_so_that_the_parts_are_it() -> None:
    async with load_target() as target:
        clients = parts_of(target.load(ProtocolName.OCR, closed_plan(clients=7)), 3)
        assert [part.plan.level for part in clients] == [3.0, 2.0, 2.0]
        assert len(parts_of(target.load(ProtocolName.OCR, closed_plan(clients=2)), 5)) == 2
        rates = parts_of(target.load(ProtocolName.OCR, open_plan(rate=100, max_in_flight=10)), 4)
        assert [part.plan.level for part in rates] == [25.0] * 4
        assert [part.plan.phase for part in rates] == [0.0, 0.25, 0.5, 0.75]
        assert len({part.plan.seed for part in rates}) == 4
        assert sum(part.plan.max_in_flight for part in rates) <= 10
        replay = open_plan(arrivals=Arrivals.REPLAY, replay=(Recorded(0.0),))
        with pytest.raises(LoadImpossible, match="one process"):
            parts_of(target.load(ProtocolName.OCR, replay), 2)
