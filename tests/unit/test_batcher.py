"""Batched calls of many callers: each gets its own results, even if others in the batch leave or fail."""

import gc
import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio
import pytest

from inkgate.caller import Priority
from inkgate.errors import EngineFailed, Overloaded
from support.batching import Bench, Item, PoisonedItemError, items, run_ready_tasks

P = ParamSpec("P")
T = TypeVar("T")

pytestmark = pytest.mark.anyio


async def test_a_lone_request_is_served_at_once() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("a", items("a", 3))
        assert len(bench.gate.waiting) == 1
    assert bench.answers == {"a": ["A0", "A1", "A2"]}
    assert bench.model.names == [["a0", "a1", "a2"]]


async def test_what_comes_while_the_model_is_busy_shares_the_next_call() -> None:
    bench = Bench()
    async with bench.running():
        for name in "abc":
            await bench.ask(name, items(name, 2))
        await bench.call_ends()
        assert bench.order == ["a"]
    assert bench.model.names == [["a0", "a1"], ["b0", "b1", "c0", "c1"]]
    assert bench.batcher.figures.sizes == {2: 1, 4: 1}
    assert bench.answers == {name: [f"{name.upper()}0", f"{name.upper()}1"] for name in "abc"}


async def test_answers_are_in_order_whatever_the_shapes() -> None:
    bench = Bench(max_batch=2)
    mixed = [Item(f"i{number}", width) for number, width in enumerate([10, 20, 10, 30, 20, 10])]
    async with bench.running():
        await bench.ask("a", mixed)
    assert bench.answers["a"] == [f"I{number}" for number in range(6)]
    assert all(len({item.width for item in call}) == 1 for call in bench.model.calls)


async def test_nothing_asked_is_nothing_answered() -> None:
    assert await Bench().batcher.predict([], Priority.NORMAL) == []


async def test_so_many_calls_at_once_as_are_set() -> None:
    bench = Bench(parallel=2, max_batch=2)
    async with bench.running():
        await bench.ask("a", items("a", 6))
        assert len(bench.gate.waiting) == 2
        await bench.call_ends()
        assert len(bench.gate.waiting) == 2
    assert bench.answers["a"] == [f"A{number}" for number in range(6)]


async def test_a_poisonous_item_fails_its_own_caller_alone() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("a", items("a", 2))
        await bench.ask("bad", [Item("x"), Item("poison", poison=True), Item("never"), Item("wide", 200)])
        await bench.ask("b", items("b", 1))
    assert (bench.answers["a"], bench.answers["b"]) == (["A0", "A1"], ["B0"])
    assert isinstance(bench.answers["bad"], PoisonedItemError)
    alone = [call for call in bench.model.names if len(call) == 1]
    assert alone == [["busy0"], ["b0"], ["a0"], ["a1"], ["x"], ["poison"]]
    assert bench.batcher.figures.retried == 5
    assert bench.batcher.figures.dropped == 1


async def test_an_item_that_fails_alone_is_not_tried_again() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("bad", [Item("poison", poison=True)])
    assert isinstance(bench.answers["bad"], PoisonedItemError)
    assert len(bench.model.calls) == 1


async def test_a_batch_that_found_no_free_worker_is_not_tried_item_by_item() -> None:
    calls = []

    async def none_free(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        calls.append(args)
        raise Overloaded("service_full", "No engine worker became free in time.", 10.0)

    bench = Bench(run=none_free)
    async with bench.running():
        await bench.ask("a", items("a", 3))
        await bench.ask("b", items("b", 3))
    assert [str(bench.answers[name]) for name in "ab"] == ["service_full: No engine worker became free in time."] * 2
    assert len(calls) == 2


async def test_too_few_results_are_an_error_of_the_engine() -> None:
    async def loses_one(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        result = function(*args, **kwargs)
        assert isinstance(result, list)
        result.pop()
        return result

    bench = Bench(run=loses_one)
    async with bench.running():
        await bench.ask("a", items("a", 1))
    error = bench.answers["a"]
    assert isinstance(error, EngineFailed)
    assert error.code == "engine_failed"


async def test_who_leaves_while_waiting_costs_nothing() -> None:
    bench, scope = Bench(), anyio.CancelScope()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("gone", items("gone", 5), scope=scope)
        await bench.ask("b", items("b", 1))
        scope.cancel()
        await run_ready_tasks()
        assert bench.batcher.waiting == 1
    assert bench.model.names == [["busy0"], ["b0"]]
    assert bench.batcher.figures.dropped == 5
    assert "gone" not in bench.answers


async def test_who_leaves_during_a_call_goes_at_once_and_the_others_get_theirs() -> None:
    bench, scope = Bench(max_batch=3), anyio.CancelScope()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("gone", items("gone", 2), scope=scope)
        await bench.ask("b", items("b", 1))
        await bench.call_ends()
        scope.cancel()
        await run_ready_tasks()
        assert scope.cancelled_caught
        await bench.call_ends()
        assert bench.answers["b"] == ["B0"]
    assert bench.batcher.figures.dropped == 0


async def test_a_call_that_all_have_left_is_finished_and_the_next_one_follows() -> None:
    bench, scope = Bench(), anyio.CancelScope()
    async with bench.running():
        await bench.ask("gone", [Item("x"), Item("poison", poison=True)], scope=scope)
        scope.cancel()
        await bench.ask("b", items("b", 1))
        assert len(bench.model.calls) == 0
        await bench.call_ends()
    assert bench.model.names == [["x", "poison"], ["b0"]]
    assert bench.answers == {"b": ["B0"]}


async def test_the_caller_s_class_decides() -> None:
    bench = Bench(max_batch=2)
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("batch", items("batch", 2), Priority.BATCH)
        await bench.ask("normal", items("normal", 2))
        await bench.ask("urgent", items("urgent", 2), Priority.INTERACTIVE)
    assert bench.order == ["busy", "urgent", "normal", "batch"]


async def test_ten_lines_don_t_wait_for_three_thousand() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("page", items("p", 3000))
        for _ in range(5):
            await bench.call_ends()
        await bench.ask("receipt", items("r", 10))
        await bench.call_ends()
        await bench.call_ends()
        assert bench.order == ["receipt"]
    assert len(bench.answers["page"]) == 3000  # type: ignore[arg-type]  # a list, or the test fails


async def test_more_than_may_wait_is_refused_with_a_time_to_come_back() -> None:
    bench = Bench(max_waiting=10, max_batch=2)
    async with bench.running():
        await bench.ask("large", items("l", 30))
        await bench.call_ends(after_s=4.0)
        await bench.ask("refused", items("r", 1))
        error = bench.answers["refused"]
        assert isinstance(error, Overloaded)
        # 26 items wait; of the two calls of 2 that have begun one has ended, after 4 s.
        assert error.code == "service_full"
        assert error.retry_after_s == pytest.approx(26.0)


async def test_a_batcher_that_does_not_run_says_so() -> None:
    bench = Bench()
    with pytest.raises(EngineFailed, match="engine_unavailable"):
        await bench.batcher.predict(items("a", 1), Priority.NORMAL)
    async with bench.running():
        await bench.ask("a", items("a", 1))
    with pytest.raises(EngineFailed, match="engine_unavailable"):
        await bench.batcher.predict(items("a", 1), Priority.NORMAL)
    bench.gate.open = False
    async with bench.running():
        await bench.ask("b", items("b", 1))
    assert bench.answers["b"] == ["B0"]


async def test_who_waits_as_it_stops_is_told_and_the_call_under_way_is_waited_for() -> None:
    bench = Bench(max_batch=1)
    async with bench.running():
        await bench.ask("a", items("a", 1))
        await bench.ask("b", items("b", 1))
        bench.stop()
        await run_ready_tasks()
        assert bench.answers == {}
    assert bench.answers["a"] == ["A0"]
    error = bench.answers["b"]
    assert isinstance(error, Overloaded)
    assert error.code == "draining"
    assert bench.batcher.waiting == 0


async def test_a_call_is_held_back_only_where_that_is_set() -> None:
    bench = Bench(max_wait_ms=3_600_000, max_batch=3)
    async with bench.running():
        await bench.ask("a", items("a", 2))
        assert len(bench.gate.waiting) == 0
        await bench.ask("b", items("b", 1))
        assert len(bench.gate.waiting) == 1
        await bench.call_ends()
        await bench.ask("c", items("c", 1))
        assert len(bench.gate.waiting) == 0
        bench.clock.goes_on(3600)
        bench.batcher.wake()
        await run_ready_tasks()
        assert len(bench.gate.waiting) == 1


async def test_the_figures() -> None:
    bench = Bench(max_batch=4)
    async with bench.running():
        await bench.ask("a", [Item("a", 100, padding=20)])
        bench.clock.goes_on(1.0)
        await bench.ask("b", [Item(name, 100, padding=10) for name in "bcd"])
        await bench.call_ends(after_s=2.0)
        await bench.call_ends(after_s=3.0)
    figures = bench.batcher.figures
    assert (figures.calls, figures.items, figures.mean_batch) == (2, 4, 2.0)
    assert (figures.wait_s, figures.longest_wait_s, figures.busy_s) == (6.0, 2.0, 6.0)
    assert figures.padding_waste == pytest.approx(50 / 400)


class Pixels(Item):
    """An Item that can be watched."""


@pytest.mark.parametrize("poison", [False, True])
async def test_nothing_is_held_after_the_answer(poison: bool) -> None:
    bench = Bench()
    gc.disable()
    try:
        async with bench.running():
            item = Pixels("a", poison=poison)
            watched = weakref.ref(item)
            await bench.ask("a", [item, Item("b")])
            del item
            bench.gate.let_all()
            await run_ready_tasks()
            assert "a" in bench.answers
            bench.answers.clear()
            bench.model.calls.clear()
            assert watched() is None
    finally:
        gc.enable()
