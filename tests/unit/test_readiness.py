"""Ready is who reads: however much waits, and only if pages get on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate.service.readiness import BlankPage, EngineProgress, Readiness, blank_page_probe
from inkgate.serving.limits import FixedLimit
from inkgate.serving.queue import WorkQueue
from inkgate.settings import SchedulingSettings
from inkgate_client.types import PageResult, Task
from support.clock import Clock
from support.fake_engine import FakeEngine
from support.page_readers import engine_queue, page_reader
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


STUCK_S = 600.0


class GatedEngine(FakeEngine):
    """A FakeEngine whose pages each wait to be let go, one after the other. `hangs`: none ever ends."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[anyio.Event] = []
        self.open = False

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        if not self.open:
            go = anyio.Event()
            self.waiting.append(go)
            await go.wait()
        return await super().read(page, task, caller)


class Service:
    """Pages that wait for one slot at an engine, and what says whether it is ready."""

    def __init__(self, engine: FakeEngine) -> None:
        self.clock = Clock()
        self.engine = engine
        self.faults: list[str] = []
        self.responded_at = float("-inf")
        self.probes = 0
        progress = EngineProgress(lambda: self.responded_at, self.clock)
        work_queue = WorkQueue(FixedLimit(1), SchedulingSettings())
        self.pages = page_reader(engine, queue=engine_queue(work_queue, progress=progress))
        self.probe_engine = FakeEngine()
        self.readiness = Readiness(engine.name, progress, self._probe, lambda: self.faults, STUCK_S, self.clock)

    async def _probe(self) -> None:
        self.probes += 1
        await blank_page_probe(self.probe_engine)()

    @asynccontextmanager
    async def running(self, pages: int = 0) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.readiness.run)
            await anyio.wait_all_tasks_blocked()
            self.readiness.engine_started()
            for _ in range(pages):
                tasks.start_soon(self.pages.read, BlankPage(), Task(), NO_CALLER)
            await anyio.wait_all_tasks_blocked()
            yield
            tasks.cancel_scope.cancel()


async def test_it_is_not_ready_before_the_first_page_or_probe() -> None:
    service = Service(FakeEngine())
    service.probe_engine.gate = anyio.Event()
    async with service.running():
        assert service.readiness.known_reasons() == ["engine: fake has not read its first page yet"]
        assert await service.readiness.reasons() == ["engine: fake has not read its first page yet"]
        service.probe_engine.gate.set()
        await anyio.wait_all_tasks_blocked()
        assert await service.readiness.reasons() == []


async def test_nothing_is_sent_to_an_engine_that_has_not_started() -> None:
    service = Service(FakeEngine())
    service.readiness.ask()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.readiness.run)
        await service.readiness.reasons()
        assert service.probes == 0
        tasks.cancel_scope.cancel()


async def test_a_page_that_was_read_needs_no_probe() -> None:
    service = Service(FakeEngine())
    async with service.running():
        await service.pages.read(BlankPage(), Task(), NO_CALLER)
        assert await service.readiness.reasons() == []
        service.clock.goes_on(9.0)
        assert await service.readiness.reasons() == []
        assert service.probes == 0
        service.clock.goes_on(2.0)
        assert await service.readiness.reasons() == []
        assert service.probes == 1


async def test_a_busy_service_with_a_full_queue_stays_ready() -> None:
    """Thirty pages wait for one slot, and each takes 20 s: the probe passes them all."""
    engine = GatedEngine()
    service = Service(engine)
    async with service.running(pages=30):
        for _ in range(20):
            service.clock.goes_on(20.0)
            assert await service.readiness.reasons() == []
            engine.waiting.pop(0).set()
            await anyio.wait_all_tasks_blocked()
            assert await service.readiness.reasons() == []
    assert service.probes == 20


async def test_while_a_probe_takes_long_the_last_answer_holds_and_one_probe_is_sent() -> None:
    service = Service(FakeEngine())
    async with service.running():
        assert await service.readiness.reasons() == []
        service.probe_engine.gate = anyio.Event()
        service.clock.goes_on(15.0)
        async with anyio.create_task_group() as askers:
            for _ in range(5):
                askers.start_soon(service.readiness.reasons)
        assert await service.readiness.reasons() == []
        assert service.probes == 2


async def test_an_engine_that_hangs_is_not_ready_and_is_again_when_it_reads() -> None:
    engine = GatedEngine()
    service = Service(engine)
    async with service.running(pages=3):
        assert await service.readiness.reasons() == []
        service.probe_engine.gate = anyio.Event()
        service.clock.goes_on(11.0)
        await service.readiness.reasons()
        service.clock.goes_on(30.0)
        assert await service.readiness.reasons() == ["engine: fake did not read a test page within 30 seconds"]
        engine.waiting.pop(0).set()
        await anyio.wait_all_tasks_blocked()
        assert await service.readiness.reasons() == []


async def test_pages_that_never_get_on_are_told_though_a_blank_one_is_read() -> None:
    engine = GatedEngine()
    service = Service(engine)
    async with service.running(pages=3):
        service.clock.goes_on(STUCK_S - 1)
        assert await service.readiness.reasons() == []
        service.clock.goes_on(1.0)
        told = ["engine: fake has 1 pages and read none for 600 seconds"]
        assert await service.readiness.reasons() == told
        service.responded_at = service.clock()  # a model server sends part of an answer
        assert await service.readiness.reasons() == []


async def test_a_probe_that_fails_is_told_until_one_is_answered() -> None:
    service = Service(FakeEngine())
    async with service.running():
        service.probe_engine.failing = {0: EngineFailed("engine_failed", "It broke.")}
        assert await service.readiness.reasons() == ["engine: fake failed on a test page: engine_failed"]
        service.probe_engine.failing = {0: ValueError("secret")}
        assert await service.readiness.reasons() == ["engine: fake failed on a test page"]
        service.probe_engine.failing = {}
        assert service.readiness.known_reasons() != []
        await anyio.wait_all_tasks_blocked()
        assert service.readiness.known_reasons() == []


async def test_what_is_known_to_fail_is_told_without_a_probe() -> None:
    service = Service(FakeEngine())
    service.faults = ["engine: no model server takes calls"]
    async with service.running():
        assert await service.readiness.reasons() == service.faults
        assert service.probes == 0
