"""Slots of the engine: bounded, in order, always returned; refused if waiting would be in vain."""

from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.caller import Priority
from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from support.scheduling import SchedulerBench

pytestmark = pytest.mark.anyio


async def test_no_more_are_at_the_engine_than_the_limit() -> None:
    house = SchedulerBench(places=2)
    async with anyio.create_task_group() as tasks, house.busy(2):
        for flow in "abc":
            tasks.start_soon(house.one, Work(1, flow=flow))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.in_flight, house.work_queue.waiting, house.order) == (2, 3, [])
    assert house.order == ["a", "b", "c"]
    assert house.is_empty()


async def test_a_flow_holds_several_slots_at_once() -> None:
    house = SchedulerBench(places=3)
    async with AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(house.work_queue.turn(Work(10, "t", "document")))
        assert house.work_queue.in_flight == 3


async def test_while_all_turns_are_of_one_tenant_the_first_work_of_another_gets_an_extra_one() -> None:
    house = SchedulerBench(places=2, extra=True)
    async with anyio.create_task_group() as tasks, house.busy(2), AsyncExitStack() as stack:
        for flow in ("more", "and more"):
            tasks.start_soon(house.one, Work(100, "busy", flow))
        await anyio.wait_all_tasks_blocked()
        assert house.work_queue.expected_wait_s(Work(10, "busy")) != 0
        await stack.enter_async_context(house.work_queue.turn(Work(10, "b")))
        assert (house.work_queue.in_flight, house.work_queue.waiting) == (3, 2)
        tasks.start_soon(house.one, Work(10, "b", "second of b"))
        tasks.start_soon(house.one, Work(10, "c", "third tenant"))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.in_flight, house.order) == (3, [])
    assert house.is_empty()


async def test_the_extra_turn_is_not_given_back_to_the_tenant_that_has_all_others() -> None:
    house = SchedulerBench(places=1, extra=True)
    async with anyio.create_task_group() as tasks:
        async with AsyncExitStack() as busy, AsyncExitStack() as other:
            await busy.enter_async_context(house.work_queue.turn(Work(100, "busy")))
            await other.enter_async_context(house.work_queue.turn(Work(10, "b")))
            tasks.start_soon(house.one, Work(100, "busy", "next"))
            await other.aclose()
            await anyio.wait_all_tasks_blocked()
            assert (house.work_queue.in_flight, house.order) == (1, [])
        await anyio.wait_all_tasks_blocked()
    assert house.order == ["next"]
    assert house.is_empty()


async def test_a_large_first_work_gets_the_extra_turn_though_small_ones_of_the_busy_tenant_go_first() -> None:
    house = SchedulerBench(places=2, extra=True)
    async with anyio.create_task_group() as tasks, house.busy(2, 1):
        tasks.start_soon(house.one, Work(1, "busy", "small"))
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(house.one, Work(1000, "b", "large"))
        await anyio.wait_all_tasks_blocked()
        assert house.order == ["large"]
        tasks.start_soon(house.one, Work(1, "c", "of a lower class", Priority.BATCH))
        await anyio.wait_all_tasks_blocked()
        assert house.order == ["large"]
    assert house.is_empty()


async def test_two_tenants_that_keep_work_waiting_share_the_limit_and_one_turn_more_at_times() -> None:
    house = SchedulerBench(places=1, extra=True)
    at_once: list[int] = []

    async def one(tenant: str) -> None:
        async with house.work_queue.turn(Work(10, tenant)):
            at_once.append(house.work_queue.in_flight)
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        for _ in range(60):
            tasks.start_soon(one, "a")
            tasks.start_soon(one, "b")
    assert max(at_once) == 2
    assert at_once.count(2) <= 3
    assert house.is_empty()


async def test_a_limit_that_has_shrunk_gives_no_extra_turn() -> None:
    house = SchedulerBench(places=2, extra=True)
    async with anyio.create_task_group() as tasks, house.busy(2):
        house.limit.value = 1
        tasks.start_soon(house.one, Work(10, "b", "b"))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.in_flight, house.order) == (2, [])
    assert house.order == ["b"]


async def test_who_leaves_while_waiting_is_taken_out() -> None:
    house = SchedulerBench()
    async with anyio.create_task_group() as tasks, house.busy():
        with anyio.CancelScope() as scope:
            tasks.start_soon(house.one, Work(10, flow="small", priority=Priority.BATCH))
            scope.cancel()
            await house.one(Work(200, flow="large"))
        await anyio.wait_all_tasks_blocked()
        assert (house.work_queue.waiting, house.work_queue.backlog_tokens) == (1, 10)
    assert house.order == ["small"]
    assert house.is_empty()


async def test_a_slot_that_comes_as_its_caller_leaves_is_passed_on() -> None:
    house = SchedulerBench()
    scope = anyio.CancelScope()

    async def leaves() -> None:
        with scope:
            async with house.work_queue.turn(Work(10)):
                await checkpoint()
                house.order.append("left")

    async with anyio.create_task_group() as tasks:
        async with house.busy():
            tasks.start_soon(leaves)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(house.one, Work(10, flow="next"))
            await anyio.wait_all_tasks_blocked()
        assert house.work_queue.in_flight == 1
        scope.cancel()
    assert house.order == ["next"]
    assert house.limit.outcomes == [WorkOutcome.OK, WorkOutcome.LEFT, WorkOutcome.OK]
    assert house.is_empty()


async def test_what_expires_while_it_waits_is_told() -> None:
    house = SchedulerBench()
    refused: list[str] = []

    async def expires() -> None:
        with pytest.raises(Overloaded) as raised:
            await house.one(Work(10, deadline=house.now + 5))
        refused.append(raised.value.code)

    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(expires)
        await anyio.wait_all_tasks_blocked()
        house.now += 5
        house.work_queue.wake()
        await anyio.wait_all_tasks_blocked()
        assert (refused, house.work_queue.waiting) == (["service_full"], 0)
    with pytest.raises(EngineFailed, match="service_timeout"):
        await house.one(Work(10, deadline=house.now))
    with pytest.raises(InputRejected, match="deadline_exceeded"):
        await house.one(Work(10, deadline=house.now, deadline_given=True))
    assert house.is_empty()


async def test_what_expires_is_told_though_nothing_else_happens() -> None:
    house = SchedulerBench()

    async def expires(after_s: float) -> None:
        with pytest.raises(Overloaded, match="no free slot"):
            await house.one(Work(10, deadline=house.now + after_s))

    async with house.busy(), anyio.create_task_group() as tasks:
        for after_s in (0.003, 0.001, 0.002):
            tasks.start_soon(expires, after_s)
        await anyio.wait_all_tasks_blocked()
        house.now += 0.003
    assert house.order == []
    assert house.is_empty()


@pytest.mark.parametrize(("bound", "value"), [("max_waiting", 2), ("max_waiting_tokens", 25)])
async def test_a_full_queue_refuses_at_once(bound: str, value: int) -> None:
    bounds: dict[str, Any] = {bound: value}
    house = SchedulerBench(1, **bounds)
    async with anyio.create_task_group() as tasks, house.busy():
        for flow in "ab":
            tasks.start_soon(house.one, Work(10, flow=flow))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded) as refused:
            await house.one(Work(10, flow="c"))
        assert (refused.value.code, house.work_queue.waiting) == ("service_full", 2)
    assert sorted(house.order) == ["a", "b"]


async def test_how_it_ended_is_reported_and_only_success_is_progress() -> None:
    house = SchedulerBench()
    for error in (EngineFailed("engine_failed", "x"), InputRejected("pdf_corrupt", "x")):
        with pytest.raises(InkgateError):
            async with house.work_queue.turn(Work(10)):
                raise error
    house.now += 1
    async with house.work_queue.turn(Work(10)) as slot:
        slot.report(WorkOutcome.FAILED)
    house.limit.value = 0
    assert house.work_queue.expected_wait_s(Work(10)) is None, "no rate is known"
    house.limit.value = 1
    await house.one(Work(10))
    assert house.limit.outcomes == [WorkOutcome.FAILED, WorkOutcome.REJECTED, WorkOutcome.FAILED, WorkOutcome.OK]


async def test_who_uses_more_than_estimated_gets_fewer_slots() -> None:
    house = SchedulerBench()

    async def one(work: Work, used: int) -> None:
        async with house.work_queue.turn(work) as slot:
            house.order.append(work.tenant)
            slot.tokens_used = used

    async with house.busy(), anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(one, Work(10, "dense"), 30)
            tasks.start_soon(one, Work(10, "sparse"), 10)
        await anyio.wait_all_tasks_blocked()
        house.limit.value = 2
        house.work_queue.wake()
    assert 9 <= house.order[:40].count("dense") <= 12


async def test_a_limit_that_grew_lets_more_start() -> None:
    house = SchedulerBench()
    async with anyio.create_task_group() as tasks, house.busy():
        tasks.start_soon(house.one, Work(10, flow="a"))
        await anyio.wait_all_tasks_blocked()
        house.limit.value = 2
        house.work_queue.wake()
        await anyio.wait_all_tasks_blocked()
        assert house.order == ["a"]


async def test_it_says_who_waits_and_how_long() -> None:
    house = SchedulerBench(age_s=10.0)
    seen = []

    def look() -> None:
        by_class = house.work_queue.waiting_by_class
        seen.append((house.work_queue.longest_wait_s, *(by_class[each] for each in Priority)))

    async with anyio.create_task_group() as tasks:
        look()
        async with house.busy():
            look()
            tasks.start_soon(house.one, Work(1, flow="a", priority=Priority.BATCH))
            await anyio.wait_all_tasks_blocked()
            house.now += 4
            tasks.start_soon(house.one, Work(1, flow="b", priority=Priority.INTERACTIVE))
            await anyio.wait_all_tasks_blocked()
            look()
            house.now += 6
    look()
    assert seen == [(0.0, 0, 0, 0), (0.0, 0, 0, 0), (4.0, 1, 0, 1), (0.0, 0, 0, 0)]


async def test_retry_after_grows_with_the_backlog_up_to_its_maximum() -> None:
    bench = SchedulerBench(retry_after_s=2.0, max_retry_after_s=20.0)
    await bench.done(100, seconds=1.0)
    said = [bench.work_queue.retry_after_s()]
    async with anyio.create_task_group() as tasks, bench.busy():
        for tokens in (1000, 9000):
            tasks.start_soon(bench.one, Work(tokens))
            await anyio.wait_all_tasks_blocked()
            said.append(bench.work_queue.retry_after_s())
    assert said == pytest.approx([2.0, 10.0, 20.0], rel=0.02)
