"""A page's time at the engine, for callers without a deadline."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate.service.page import PageReader
from inkgate.serving.order import Work
from inkgate_client.types import PageResult, Task
from support.page_readers import engine_queue, page_reader
from support.ppocr import ArrayPage
from support.scheduling import SchedulerBench

pytestmark = pytest.mark.anyio
TIME_S = 0.05
PAGE = ArrayPage(np.zeros((4, 4, 3), np.uint8))


@dataclass
class SleepingEngine:
    """Reads a page in `seconds`."""

    seconds: float
    name: str = "sleeping"

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await anyio.sleep(self.seconds)
        return PageResult(page.index, engine=self.name)


def scheduled(house: SchedulerBench, engine: SleepingEngine) -> PageReader:
    return page_reader(engine, queue=engine_queue(house.work_queue, page_time_s=TIME_S))


async def test_a_page_that_hangs_at_the_engine_is_given_up() -> None:
    house = SchedulerBench(places=1)
    with pytest.raises(EngineFailed, match="service_timeout"):
        await scheduled(house, SleepingEngine(60.0)).read(PAGE, Task(), NO_CALLER)
    assert house.is_empty()


async def test_the_wait_for_a_slot_does_not_count() -> None:
    house = SchedulerBench(places=1)
    engine = scheduled(house, SleepingEngine(0.0))
    results: list[PageResult] = []

    async def read() -> None:
        results.append(await engine.read(PAGE, Task(), NO_CALLER))

    async with anyio.create_task_group() as tasks:
        async with house.work_queue.turn(Work(1, "busy")):
            tasks.start_soon(read)
            await anyio.sleep(4 * TIME_S)
        assert not results
    assert [result.error for result in results] == [None]
