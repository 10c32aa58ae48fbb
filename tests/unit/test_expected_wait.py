"""Expected waiting times: estimates, refusals, and the errors' text."""

import anyio
import pytest

from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.serving.order import Work
from inkgate.serving.outcomes import CallerLeft, WorkOutcome
from support.scheduling import SchedulerBench

pytestmark = pytest.mark.anyio


async def test_who_would_wait_in_vain_is_refused_at_once() -> None:
    house = SchedulerBench()
    await house.done(100, seconds=1.0)
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(1000, priority=Priority.INTERACTIVE))
        await anyio.wait_all_tasks_blocked()
        late = Work(100, deadline=house.now + 10)
        assert house.work_queue.expected_wait_s(late) == pytest.approx(11.0, rel=0.03)
        with pytest.raises(Overloaded) as refused:
            await house.one(late)
        assert refused.value.retry_after_s == pytest.approx(10.0, rel=0.02)
        light = Work(100, "other", priority=Priority.INTERACTIVE)
        assert house.work_queue.expected_wait_s(light) == pytest.approx(2.0, rel=0.03), "it goes before the heavy one"
    assert house.is_empty()


async def test_nobody_waits_for_more_than_a_share_of_the_time_there_is() -> None:
    house = SchedulerBench()
    await house.done(100, seconds=1.0)

    async def asks(patience_s: float) -> None:
        await house.one(Work(100, deadline=house.now + patience_s, patience_s=patience_s))

    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(500, priority=Priority.INTERACTIVE))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded, match="but would wait"):
            await asks(15.0)
        with pytest.raises(Overloaded, match="but would wait"):
            house.work_queue.check(Work(100, deadline=house.now + 15, patience_s=15))
        house.work_queue.check(Work(100, deadline=house.now + 30, patience_s=30))
        # a page of a document that was asked for a while ago
        house.work_queue.check(Work(100, deadline=house.now + 15, patience_s=30))
        tasks.start_soon(asks, 30.0)
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 2
    assert house.is_empty()


async def test_what_could_begin_but_not_end_in_time_is_not_begun() -> None:
    house = SchedulerBench(places=4)
    for _ in range(5):
        await house.done(100, seconds=8.0, requests=4)
    refused: list[str] = []

    async def expires() -> None:
        with pytest.raises(Overloaded) as raised:
            await house.one(Work(100, deadline=house.now + 10.5, flow="late"))
        refused.append(str(raised.value))

    async with house.busy(4), anyio.create_task_group() as tasks:
        with pytest.raises(Overloaded, match="and then take"):
            await house.one(Work(100, deadline=house.now + 9))
        tasks.start_soon(expires)
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 1
        house.now += 2.6
        house.work_queue.wake()
        await anyio.wait_all_tasks_blocked()
        assert ["no free slot" in each for each in refused] == [True]
    assert house.order == []


async def test_who_would_wait_for_a_moment_is_let_in_however_long_it_may_take() -> None:
    house = SchedulerBench(places=4)
    for _ in range(5):
        await house.done(100, seconds=8.0, requests=4)
    work = Work(100, deadline=house.now + 9, patience_s=9.0)
    async with house.busy(4), anyio.create_task_group() as tasks:
        with pytest.raises(Overloaded, match="and then take"):
            house.work_queue.check(work)  # two seconds of nine
        tasks.start_soon(house.one, Work(10, deadline=house.now + 9, patience_s=9.0))
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 1
        tasks.cancel_scope.cancel()


async def test_where_times_differ_the_long_ones_count() -> None:
    house = SchedulerBench(places=2)
    for seconds in (4.0, 12.0) * 10:
        await house.done(100, seconds=seconds, requests=2)
    async with house.busy(2), anyio.create_task_group() as tasks:
        with pytest.raises(Overloaded, match="and then take"):
            await house.one(Work(100, deadline=house.now + 12, flow="as long as most"))
        tasks.start_soon(house.one, Work(100, deadline=house.now + 20, flow="as long as any"))
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 1
        tasks.cancel_scope.cancel()


async def test_where_there_is_a_place_everybody_may_try() -> None:
    house = SchedulerBench()
    await house.done(100, seconds=8.0)
    await house.one(Work(100, deadline=house.now + 1, flow="short"))
    assert house.order == ["short"]


async def test_without_a_rate_nobody_is_refused_for_time() -> None:
    house = SchedulerBench()
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(10**9, deadline=house.now + 0.5, flow="a"))
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 1
        assert house.work_queue.retry_after_s() == 2.0
    assert house.order == ["a"]


async def test_behind_first_works_that_are_slow_nobody_waits_until_it_is_too_late() -> None:
    house = SchedulerBench()
    async with anyio.create_task_group() as tasks, house.busy():

        async def asks() -> None:
            with pytest.raises(Overloaded, match="no free slot"):
                await house.one(Work(100, deadline=house.now + 10, patience_s=10.0))

        tasks.start_soon(asks)
        await anyio.wait_all_tasks_blocked()
        house.now += 2.9
        house.work_queue.wake()
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 1
        house.now += 0.2
        house.work_queue.wake()
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.waiting == 0
    assert house.order == []


async def ended_by_its_deadline(house: SchedulerBench, tokens: int, after_s: float) -> None:
    """A work that has so long for it at the engine, and is not done."""
    with pytest.raises(CallerLeft):
        async with house.work_queue.turn(Work(tokens, deadline=house.now + after_s, patience_s=after_s)):
            house.now += after_s
            raise CallerLeft


async def test_what_deadlines_end_tells_how_slow_the_engine_is() -> None:
    house = SchedulerBench()
    await ended_by_its_deadline(house, 100, 5.0)
    async with house.busy():
        assert house.work_queue.expected_wait_s(Work(100)) == pytest.approx(5.0, rel=0.03)
    assert house.limit.outcomes == [WorkOutcome.LATE, WorkOutcome.OK]


async def test_deadlines_that_nobody_could_keep_say_nothing() -> None:
    house = SchedulerBench()
    for _ in range(20):
        await house.done(100, seconds=2.0)
    for _ in range(20):
        await ended_by_its_deadline(house, 100, 0.9)
    async with house.busy():
        assert house.work_queue.expected_wait_s(Work(100)) == pytest.approx(2.0, rel=0.03)
    assert house.limit.outcomes == [*[WorkOutcome.OK] * 20, *[WorkOutcome.LEFT] * 20, WorkOutcome.OK]


async def test_who_leaves_before_the_deadline_is_not_late() -> None:
    house = SchedulerBench()
    with pytest.raises(CallerLeft):
        async with house.work_queue.turn(Work(100, deadline=house.now + 5)):
            house.now += 4.9
            raise CallerLeft
    assert house.limit.outcomes == [WorkOutcome.LEFT]


async def test_a_rate_of_quiet_times_does_not_refuse_the_first_burst() -> None:
    house = SchedulerBench(places=16)
    for _ in range(30):
        await house.done(100, seconds=1.0)
    house.limit.value = 0  # where none is at the engine, the rate alone is known
    assert house.work_queue.expected_wait_s(Work(100)) == pytest.approx(1.0, rel=0.03)
    house.limit.value = 16
    async with house.busy(16):
        assert house.work_queue.expected_wait_s(Work(1500)) == pytest.approx(1.0, rel=0.07)


async def test_an_engine_that_hangs_is_expected_to_take_long() -> None:
    house = SchedulerBench()
    await house.done(100, seconds=1.0)
    async with house.busy():
        before = house.work_queue.expected_wait_s(Work(100))
        house.now += 300
        after = house.work_queue.expected_wait_s(Work(100))
    assert before == pytest.approx(1.0, rel=0.03)
    assert after is not None
    assert after > 100


async def test_estimates_too_high_by_as_much_for_all_change_no_expected_wait() -> None:
    waits = []
    for factor in (1, 8):
        house = SchedulerBench(places=4)
        for _ in range(5):
            await house.done(100 * factor, seconds=2.0, requests=4)
        async with house.busy(4, 100 * factor):
            waits.append(house.work_queue.expected_wait_s(Work(700 * factor)))
    assert waits[0] == pytest.approx(waits[1])


async def test_an_idle_engine_is_not_waited_for() -> None:
    house = SchedulerBench()
    await house.done(1, seconds=1000.0)
    assert house.work_queue.expected_wait_s(Work(1000)) == 0
    await house.one(Work(1000, flow="a", deadline=house.now + 1))
    assert house.order == ["a"]
