"""What is given up under pressure, and when it comes back."""

from __future__ import annotations

from dataclasses import replace

import anyio
import numpy as np
import pytest

from inkgate.caller import Caller, Priority
from inkgate.errors import Overloaded
from inkgate.page import Page
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.degradation import Degradation, DegradationLevel
from inkgate.serving.order import Work
from inkgate.serving.permits import Arrival
from inkgate.settings import AdmissionSettings, DegradationSettings
from inkgate_client.types import PageResult, Task, TaskKind
from support.fixed_limiter import EmptyBacklog
from support.page_readers import engine_queue, page_reader
from support.ppocr import ArrayPage
from support.scheduling import SchedulerBench

SETTINGS = DegradationSettings(target_wait_s=10, up_s=5, down_s=10, image_scale=0.5, max_output_tokens=300)
PAGE = ArrayPage(np.zeros((4, 4, 3), np.uint8))
BATCH, NORMAL, INTERACTIVE = Priority.BATCH, Priority.NORMAL, Priority.INTERACTIVE


class Load:
    """A clock, and how long work would wait now."""

    def __init__(self, settings: DegradationSettings = SETTINGS) -> None:
        self.now = 0.0
        self.wait_s: float | None = 0.0
        self.degradation = Degradation(settings, lambda: self.wait_s, lambda: self.now)

    def last(self, seconds: float, wait_s: float | None) -> int:
        """The level after this many seconds with that wait, updated every half second."""
        self.wait_s = wait_s
        level = self.degradation.level
        for _ in range(round(seconds * 2)):
            self.now += 0.5
            level = self.degradation.level
        return level

    def climbed(self, level: int) -> Degradation:
        """The degradation at that level."""
        assert self.last(5 * level, 20) == level
        return self.degradation


def test_a_short_burst_gives_nothing_up() -> None:
    load = Load()
    assert load.last(4.5, 100) == 0
    assert load.last(2, 0) == 0
    assert load.last(4.5, 100) == 0


def test_each_step_needs_its_own_time_and_there_are_four() -> None:
    load = Load()
    assert [load.last(5, 11) for _ in range(6)] == [1, 2, 3, 4, 4, 4]


def test_between_half_the_target_and_the_target_nothing_moves() -> None:
    load = Load()
    load.climbed(2)
    assert load.last(1000, 7) == 2


def test_steps_are_undone_one_by_one_when_it_is_over() -> None:
    load = Load()
    load.climbed(3)
    assert [load.last(10, 4) for _ in range(4)] == [2, 1, 0, 0]


def test_a_wait_around_the_target_makes_it_climb_no_faster_than_it_lasts() -> None:
    load = Load()
    levels = [load.last(1, 11 if second % 2 else 9) for second in range(200)]
    assert max(levels) == 0


def test_while_nobody_asked_it_has_come_down() -> None:
    load = Load()
    load.climbed(4)
    load.wait_s = 0.0
    assert load.degradation.level == 4
    load.now += 1000
    assert load.degradation.level == 0


def test_a_wait_that_is_not_known_is_none() -> None:
    assert Load().last(100, None) == 0


def test_interactive_work_is_a_step_behind_and_only_batches_leave_the_engine() -> None:
    degradation = Load().climbed(1)
    assert degradation.levels(INTERACTIVE) == ()
    assert degradation.levels(NORMAL) == (DegradationLevel.IMAGE,)
    degradation = Load().climbed(4)
    assert degradation.levels(BATCH) == tuple(DegradationLevel)
    assert (
        degradation.levels(NORMAL)
        == degradation.levels(INTERACTIVE)
        == (DegradationLevel.IMAGE, DegradationLevel.OUTPUT)
    )


def test_it_can_be_switched_off() -> None:
    off = Degradation(SETTINGS.model_copy(update={"enabled": False}), lambda: 1e9, lambda: 0.0)
    assert [off.level for _ in range(3)] == [0, 0, 0]


def test_batches_are_refused_at_the_door_with_the_time_to_come_back() -> None:
    degradation = Load().climbed(4)
    door = AdmissionLimiter(1, AdmissionSettings(), EmptyBacklog(), degradation, clock=lambda: 0.0)
    with pytest.raises(Overloaded, match="Batch requests") as refused:
        door.admit(Arrival(priority=BATCH))
    assert refused.value.retry_after_s == 20
    assert door.admit(Arrival(priority=NORMAL)) is not None
    assert door.refused == {"service_full": 1}


class RecordingEngine:
    """An Engine that records the tasks it was given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: list[Task] = []

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.tasks.append(task)
        return PageResult(page.index, engine=self.name)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("level", "priority", "engine", "degraded"),
    [
        (0, BATCH, "model", ()),
        (1, NORMAL, "model", ("image",)),
        (2, NORMAL, "model", ("image", "output")),
        (3, NORMAL, "model", ("image", "output")),
        (3, BATCH, "embedded", ("image", "embedded")),
        (1, INTERACTIVE, "model", ()),
    ],
)
async def test_the_answer_says_what_was_given_up(
    level: int, priority: Priority, engine: str, degraded: tuple[str, ...]
) -> None:
    model, embedded = RecordingEngine("model"), RecordingEngine("embedded")
    reader = page_reader(
        model, queue=engine_queue(degradation=Load().climbed(level), settings=SETTINGS), embedded=embedded
    )
    result = await reader.read(PAGE, Task(), Caller(priority=priority))
    assert (result.engine, result.degraded) == (engine, degraded)
    (task,) = model.tasks + embedded.tasks
    assert task.image_scale == (0.5 if "image" in degraded else 1.0)
    assert task.max_output_tokens == (300 if "output" in degraded else None)
    assert task.detect_rotation


@pytest.mark.anyio
async def test_an_engine_that_generates_nothing_gives_up_no_output() -> None:
    engine, queue = RecordingEngine("ppocr"), engine_queue(degradation=Load().climbed(4), settings=SETTINGS)
    result = await page_reader(engine, queue=replace(queue, generates=False)).read(PAGE, Task(), Caller())
    assert (result.degraded, engine.tasks[0].max_output_tokens) == (("image",), None)


def test_by_default_the_quality_is_lowered_before_clients_give_up_and_not_long_before() -> None:
    """Twelve clients of a machine that reads a page in 2.5 s wait 25 s: full quality. Many give up at 60 s."""
    load = Load(DegradationSettings())
    assert [load.last(11, wait_s) for wait_s in (25, 31)] == [0, 1]


@pytest.mark.anyio
async def test_what_the_embedded_engine_can_not_do_stays_where_it_is() -> None:
    model, embedded = RecordingEngine("model"), RecordingEngine("embedded")
    reader = page_reader(model, queue=engine_queue(degradation=Load().climbed(3), settings=SETTINGS), embedded=embedded)
    result = await reader.read(PAGE, Task(TaskKind.EXTRACT, fields=("total",)), Caller(priority=BATCH))
    assert (result.engine, result.degraded) == ("model", ("image", "output"))


@pytest.mark.anyio
async def test_who_reads_alone_gives_nothing_up_however_slow_the_machine() -> None:
    house = SchedulerBench(places=2)
    await house.done(100, seconds=20.0)
    degradation = Degradation(SETTINGS, lambda: house.work_queue.queue_s, lambda: house.now)
    async with anyio.create_task_group() as tasks, house.busy(requests=2):
        for _ in range(3):
            tasks.start_soon(house.one, Work(100, "alone", "document", deadline=1e6))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.backlog_s or 0) > SETTINGS.target_wait_s
        for _ in range(100):
            house.now += 1
            assert degradation.level == 0
        tasks.start_soon(house.one, Work(100, "another", "document", deadline=1e6))
        await anyio.wait_all_tasks_blocked()
        assert degradation.level == 0
        house.now += SETTINGS.up_s
        assert degradation.level == 1


@pytest.mark.anyio
async def test_work_that_nobody_waits_for_is_no_overload() -> None:
    house = SchedulerBench(places=2)
    await house.done(100, seconds=20.0)
    degradation = Degradation(SETTINGS, lambda: house.work_queue.queue_s, lambda: house.now)
    async with anyio.create_task_group() as tasks, house.busy(requests=2):
        for job in range(8):
            tasks.start_soon(house.one, Work(100, "jobs", f"job {job}"))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.backlog_s or 0) > SETTINGS.target_wait_s
        for _ in range(100):
            house.now += 1
            assert degradation.level == 0
