"""The engine that reads what another gave up on."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.page import Page
from inkgate.service.page import NO_SERVER, CurrentQueue
from inkgate.service.starting import OnDemand
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.breaker import Breaker
from inkgate.serving.order import Work
from inkgate.serving.permits import Arrival
from inkgate.settings import AdmissionSettings
from inkgate_client.types import Attempt, PageResult, Task, TaskKind
from support.page_readers import engine_queue, page_reader
from support.ppocr import ArrayPage
from support.scheduling import SchedulerBench

pytestmark = pytest.mark.anyio

PAGE = ArrayPage(np.zeros((4, 4, 3), np.uint8))


@dataclass
class FixedEngine:
    """An Engine that says one thing: a result, with `error` if set; raises `fault`, if set."""

    name: str
    error: str = ""
    fault: InkgateError | None = None
    events: list[str] = field(default_factory=list)

    async def start(self) -> None:
        self.events.append("start")
        await anyio.lowlevel.checkpoint()

    async def stop(self) -> None:
        self.events.append("stop")

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.events.append("read")
        if self.fault is not None:
            raise self.fault
        error = EngineFailed(self.error, "So.").as_page_error() if self.error else None
        attempts = (Attempt("", error, 1.0),) if self.name == "inner" else ()
        return PageResult(page.index, text=f"by {self.name}", engine=self.name, error=error, attempts=attempts)


@pytest.mark.parametrize("code", ["output_repeats", "engine_output_invalid"])
async def test_what_the_model_gives_up_on_is_read_by_the_other(code: str) -> None:
    result = await page_reader(FixedEngine("inner", code), embedded=FixedEngine("other")).read(PAGE, Task(), NO_CALLER)

    assert (result.text, result.engine, result.error) == ("by other", "other", None)
    assert [(attempt.change, attempt.error and attempt.error.code) for attempt in result.attempts] == [
        ("", code),
        ("engine other", None),
    ]


@pytest.mark.parametrize("code", ["", "output_truncated"])
async def test_everything_else_is_left_as_it_is(code: str) -> None:
    other = FixedEngine("other")
    result = await page_reader(FixedEngine("inner", code), embedded=other).read(PAGE, Task(), NO_CALLER)
    assert result.text == "by inner"
    assert other.events == []


NOT_READ = [
    EngineFailed("upstream_failed", "It fails on every page."),
    EngineFailed("engine_failed", "It fails on this page."),
    EngineFailed("upstream_denied", "It refuses the key."),
    Overloaded("engine_breaker_open", "It is paused.", 5.0),
    InputRejected("upstream_rejected", "The page is too long for it."),
]


@pytest.mark.parametrize("fault", NOT_READ, ids=lambda fault: fault.code)
async def test_a_page_that_no_server_reads_is_read_by_the_other_and_says_so(fault: InkgateError) -> None:
    result = await page_reader(FixedEngine("inner", fault=fault), embedded=FixedEngine("other")).read(
        PAGE, Task(), NO_CALLER
    )
    assert (result.text, result.degraded) == ("by other", (NO_SERVER,))
    assert [attempt.error and attempt.error.code for attempt in result.attempts] == [fault.code, None]


async def test_output_of_no_use_that_left_nothing_is_taken_over_as_any_other() -> None:
    inner = FixedEngine("inner", fault=EngineFailed("output_repeats", "On every block."))
    result = await page_reader(inner, embedded=FixedEngine("other")).read(PAGE, Task(), NO_CALLER)
    assert (result.text, result.degraded) == ("by other", ())


NOT_TAKEN_OVER = [
    EngineFailed("service_timeout", "Its time ran out."),
    EngineFailed("page_timeout", "It took too long to render."),
    EngineFailed("upstream_busy", "It has enough to do."),
    Overloaded("service_full", "Too many wait.", 2.0),
    InputRejected("deadline_exceeded", "The client's time ran out."),
    InputRejected("page_broken", "It can't be rendered."),
]


@pytest.mark.parametrize("fault", NOT_TAKEN_OVER, ids=lambda fault: fault.code)
async def test_what_would_meet_the_other_too_is_not_taken_over(fault: InkgateError) -> None:
    other = FixedEngine("other")
    with pytest.raises(type(fault)):
        await page_reader(FixedEngine("inner", fault=fault), embedded=other).read(PAGE, Task(), NO_CALLER)
    assert other.events == []


@pytest.mark.parametrize(
    "other",
    [FixedEngine("other", fault=InputRejected("task_unsupported", "No.")), FixedEngine("other", "engine_failed")],
    ids=["raises", "says so"],
)
async def test_where_the_other_fails_too_what_was_read_is_kept(other: FixedEngine) -> None:
    result = await page_reader(FixedEngine("inner", "output_repeats"), embedded=other).read(PAGE, Task(), NO_CALLER)
    assert (result.text, result.error and result.error.code) == ("by inner", "output_repeats")
    assert [attempt.error is not None for attempt in result.attempts] == [True, True]


async def test_a_page_that_the_other_reads_leaves_its_slot_at_the_model_and_waits_for_one_at_the_other() -> None:
    class Gated(FixedEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            await go.wait()
            return await super().read(page, task, caller)

    go = anyio.Event()
    model, own = SchedulerBench(places=1), SchedulerBench(places=1)
    engine = page_reader(
        FixedEngine("inner", fault=EngineFailed("upstream_failed", "It died.")),
        queue=engine_queue(model.work_queue),
        embedded=Gated("other"),
        embedded_queue=engine_queue(own.work_queue),
    )
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(engine.read, PAGE, Task(), NO_CALLER)
        await anyio.wait_all_tasks_blocked()
        assert (model.work_queue.in_flight, model.work_queue.waiting) == (0, 0)
        assert (own.work_queue.in_flight, own.work_queue.waiting) == (1, 2)
        go.set()
    assert own.is_empty()


async def test_without_room_at_the_other_the_caller_is_told_when_to_return() -> None:
    full = Overloaded("service_full", "The queue is full.", 7.0)
    model = FixedEngine("inner", fault=EngineFailed("upstream_unreachable", "It is away."))
    with pytest.raises(Overloaded) as refused:
        await page_reader(model, embedded=FixedEngine("other", fault=full)).read(PAGE, Task(), NO_CALLER)
    assert (refused.value.code, refused.value.retry_after_s) == ("service_full", 7.0)


async def test_what_the_other_cannot_do_does_not_wait_for_it() -> None:
    model, other = FixedEngine("inner", fault=EngineFailed("upstream_failed", "It died.")), FixedEngine("other")
    with pytest.raises(EngineFailed, match="upstream_failed"):
        await page_reader(model, embedded=other).read(PAGE, Task(TaskKind.EXTRACT), NO_CALLER)
    assert other.events == []


async def test_the_other_is_started_once_when_it_is_first_needed_and_stopped() -> None:
    inner, other = FixedEngine("inner", "output_repeats"), FixedEngine("other")
    engine = page_reader(inner, embedded=OnDemand(other))
    await engine.start()
    assert (engine.name, other.events) == ("inner", [])
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(engine.read, PAGE, Task(), NO_CALLER)
    await engine.stop()
    assert sorted(other.events) == ["read", "read", "read", "start", "stop"]
    assert other.events[0] == "start"


async def test_admission_looks_at_the_queue_in_which_pages_wait() -> None:
    """While the breaker keeps pages from the model, a request that the embedded engine can't read in time is refused
    before its upload.
    """
    model, own, breaker = SchedulerBench(), SchedulerBench(), Breaker("model")
    current = CurrentQueue(model.work_queue, own.work_queue, breaker)
    limiter = AdmissionLimiter(10, AdmissionSettings(), current, clock=lambda: own.now, relay_backlog=current.of_model)

    async def admitted(*, relayed: bool = False) -> None:
        async with limiter.admit(Arrival("anybody", deadline=own.now + 10, relayed=relayed)):
            await anyio.lowlevel.checkpoint()

    await own.done(tokens=100, seconds=5)
    async with own.busy(), anyio.create_task_group() as waiting:
        waiting.start_soon(own.one, Work(1000, "jobs"))
        await anyio.wait_all_tasks_blocked()
        await admitted()
        assert current.queue_s == 0
        breaker.trip("tested")
        with pytest.raises(Overloaded, match="would wait"):
            await admitted()
        await admitted(relayed=True)
        assert current.waiting == 1
        breaker.recovered()
        waiting.cancel_scope.cancel()
    await admitted()
