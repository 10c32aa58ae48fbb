import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress

import anyio
import pytest

from inkgate_client.concurrency import Threads, loop_time, run_charged, single_error
from support.charges import CountedCharge

pytestmark = pytest.mark.anyio


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


class Large:
    """An object that must be freed once it is no longer referenced."""


async def test_the_cheap_clock_is_the_one_that_deadlines_are_told_in() -> None:
    before = anyio.current_time()
    assert before <= loop_time() <= anyio.current_time()


async def test_no_more_calls_run_at_once_than_the_limit() -> None:
    threads = Threads("test", 2)
    both_in = threading.Barrier(3)
    release = threading.Event()
    entered: list[int] = []

    def call(number: int) -> None:
        entered.append(number)
        if number < 2:
            both_in.wait(timeout=30)
        assert release.wait(timeout=30)

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(threads.run, call, number)
        await anyio.wait_all_tasks_blocked()
        both_in.wait(timeout=30)
        assert sorted(entered) == [0, 1]
        assert threads.waiting == 3
        release.set()
    assert sorted(entered) == [0, 1, 2, 3, 4]


async def test_a_call_gets_its_arguments_and_its_error_comes_back() -> None:
    threads = Threads("test", 1)
    assert await threads.run(int, "11", base=3) == 4
    with pytest.raises(ValueError, match="invalid literal"):
        await threads.run(int, "x")


async def test_the_error_of_a_task_group_is_raised_as_itself() -> None:
    async def fail() -> None:
        raise LookupError("lost")

    async def run_both() -> None:
        with single_error():
            async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
                inner.start_soon(fail)
                outer.start_soon(anyio.sleep, 0)

    with pytest.raises(LookupError, match="lost"):
        await run_both()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("tasks", [1, 3])
async def test_what_a_failed_task_group_held_is_freed_with_its_error(tasks: int) -> None:
    async def fail(large: Large) -> None:
        raise LookupError(f"lost {id(large)}")

    async def run() -> weakref.ref[Large]:
        large = Large()
        with suppress(LookupError), single_error():  # pytest.raises keeps what it catches
            async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
                for _ in range(tasks - 1):
                    outer.start_soon(fail, large)
                inner.start_soon(fail, large)
        return weakref.ref(large)

    assert (await run())() is None


def test_an_error_that_two_tasks_raise_is_not_its_own_cause() -> None:
    shared = LookupError("lost")
    with pytest.raises(LookupError) as raised, single_error():
        raise ExceptionGroup("both", [shared, shared])
    assert raised.value.__cause__ is None


def test_an_interruption_is_not_hidden_by_an_error() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, single_error():
        raise BaseExceptionGroup("both", [LookupError("lost"), KeyboardInterrupt()])
    assert isinstance(raised.value.__cause__, BaseExceptionGroup)


async def test_the_errors_of_other_tasks_are_the_cause() -> None:
    async def fail(what: str) -> None:
        raise LookupError(what)

    with pytest.raises(LookupError, match="first") as raised, single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, "first")
            tasks.start_soon(fail, "second")
    assert isinstance(raised.value.__cause__, BaseExceptionGroup)
    assert [str(error) for error in raised.value.__cause__.exceptions] == ["second"]


async def test_a_cancelled_caller_leaves_its_thread_and_is_charged_until_it_ends() -> None:
    charge, go, entered = CountedCharge(), threading.Event(), threading.Event()

    def call() -> None:
        entered.set()
        assert go.wait(30)

    async with anyio.create_task_group() as callers:
        callers.start_soon(run_charged, charge, call)
        assert await anyio.to_thread.run_sync(entered.wait, 30)
        callers.cancel_scope.cancel()
    assert (charge.begun, charge.ended) == (1, 0)
    go.set()
    await charge.paid()


async def test_a_call_that_is_cancelled_before_it_has_a_thread_costs_nothing() -> None:
    charge = CountedCharge()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run_charged(charge, list)
    assert charge.begun == charge.ended


async def test_the_result_or_the_error_of_a_thread_that_may_be_left_is_the_callers() -> None:
    charge = CountedCharge()
    assert await run_charged(charge, int, "7") == 7
    with pytest.raises(ValueError, match="seven"):
        await run_charged(charge, int, "seven")
    assert (charge.begun, charge.ended) == (2, 2)
