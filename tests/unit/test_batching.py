"""Batched calls of many callers: each gets its own results, even if others in the batch leave or fail."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.errors import EngineFailed, Overloaded
from inkgate.serving.batching import Batchers
from inkgate.settings import BatchingSettings
from inkgate.telemetry.metrics import Metrics
from inkgate_client.concurrency import Threads
from support.batching import Bench, Gate, Item, PoisonedItemError, UpperCase, batcher_of, items, run_ready_tasks
from support.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")

pytestmark = pytest.mark.anyio

MAX_BATCH = 4
MAX_PIXELS = 100


async def test_a_lone_request_is_served_at_once() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("a", items("a", 3))
        assert len(bench.gate.held) == 1
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


async def test_within_pages_no_call_has_items_of_two_callers() -> None:
    bench = Bench(across_pages=False)
    async with bench.running():
        for name in "abc":
            await bench.ask(name, [*items(name, 2), Item(f"{name}wide", 200)])
    assert all(len({name[0] for name in call}) == 1 for call in bench.model.names)
    assert sorted(bench.model.names) == sorted(
        [[f"{name}0", f"{name}1"] for name in "abc"] + [[f"{name}wide"] for name in "abc"]
    )
    assert bench.answers == {name: [f"{name.upper()}{end}" for end in ("0", "1", "WIDE")] for name in "abc"}


async def test_answers_are_in_order_whatever_the_shapes() -> None:
    bench = Bench(max_batch=2)
    mixed = [Item(f"i{number}", width) for number, width in enumerate([10, 20, 10, 30, 20, 10])]
    async with bench.running():
        await bench.ask("a", mixed)
    assert bench.answers["a"] == [f"I{number}" for number in range(6)]
    assert all(len({item.width for item in call}) == 1 for call in bench.model.calls)


async def test_nothing_asked_is_nothing_answered() -> None:
    assert await Bench().batcher.predict([]) == []


async def test_so_many_calls_at_once_as_are_set() -> None:
    bench = Bench(parallel=2, max_batch=2)
    async with bench.running():
        await bench.ask("a", items("a", 6))
        assert len(bench.gate.held) == 2
        await bench.call_ends()
        assert len(bench.gate.held) == 2
    assert bench.answers["a"] == [f"A{number}" for number in range(6)]


async def test_pixels_bound_a_call_and_a_larger_item_goes_alone() -> None:
    bench = Bench(max_pixels=100)
    async with bench.running():
        await bench.ask("a", [*items("s", 5, width=40), *items("l", 2, width=300)])
    assert sorted(bench.model.names) == [["l0"], ["l1"], ["s0", "s1"], ["s2", "s3"], ["s4"]]


async def test_a_call_that_pixels_bound_has_a_power_of_two_of_items() -> None:
    bench = Bench(max_pixels=700)
    async with bench.running():
        await bench.ask("a", items("a", 9))
    assert [len(call) for call in bench.model.calls] == [4, 4, 1]


async def test_within_pages_a_shape_is_done_before_the_next_one() -> None:
    bench = Bench(across_pages=False, max_batch=2)
    async with bench.running():
        await bench.ask("a", [Item("wide", 200), *items("s", 3), Item("wide2", 200), Item("wide3", 200)])
    assert bench.model.names == [["wide", "wide2"], ["wide3"], ["s0", "s1"], ["s2"]]


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
    assert alone == [["busy0"], ["a0"], ["a1"], ["x"], ["poison"], ["b0"]]
    assert bench.batcher.figures.retried == 5
    assert bench.batcher.figures.dropped == 1


async def test_an_item_that_fails_alone_is_not_tried_again() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("bad", [Item("poison", poison=True)])
    assert isinstance(bench.answers["bad"], PoisonedItemError)
    assert len(bench.model.calls) == 1


class NoneFree(Threads):
    """Counts the calls, none of which finds a free worker."""

    calls = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls += 1
        raise Overloaded("service_full", "No engine worker became free in time.", 10.0)


async def test_a_batch_that_found_no_free_worker_is_not_tried_item_by_item() -> None:
    threads = NoneFree("none", 1)
    bench = Bench(threads)
    async with bench.running():
        await bench.ask("a", items("a", 3))
        await bench.ask("b", items("b", 3))
    assert [str(bench.answers[name]) for name in "ab"] == ["service_full: No engine worker became free in time."] * 2
    assert threads.calls == 2


async def test_too_few_results_are_an_error_of_the_engine() -> None:
    class LosesOne(Threads):
        async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
            result = function(*args, **kwargs)
            assert isinstance(result, list)
            result.pop()
            return result

    bench = Bench(LosesOne("loses", 1))
    async with bench.running():
        await bench.ask("a", items("a", 1))
    error = bench.answers["a"]
    assert isinstance(error, EngineFailed)
    assert error.code == "engine_failed"


async def test_ten_lines_don_t_wait_for_three_thousand() -> None:
    bench = Bench()
    async with bench.running():
        await bench.ask("page", items("p", 3000, width=200))
        for _ in range(5):
            await bench.call_ends()
        await bench.ask("receipt", items("r", 10))
        await bench.call_ends()
        await bench.call_ends()
        assert bench.order == ["receipt"]
    assert len(bench.answers["page"]) == 3000  # type: ignore[arg-type]  # a list, or the test fails


async def test_a_page_of_many_lines_is_not_held_up_by_small_ones_that_keep_coming() -> None:
    bench = Bench(max_batch=2)
    async with bench.running():
        await bench.ask("page", items("p", 20, width=200))
        for number in range(20):
            await bench.ask(f"small{number}", items(f"s{number}", 1))
            await bench.call_ends()
        assert sum(call[0].startswith("p") for call in bench.model.names) == 10
        assert "page" in bench.answers


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


async def test_a_call_is_held_back_only_where_that_is_set() -> None:
    bench = Bench(max_wait_ms=3_600_000, max_batch=3)
    async with bench.running():
        await bench.ask("a", items("a", 2))
        assert len(bench.gate.held) == 0
        await bench.ask("b", items("b", 1))
        assert len(bench.gate.held) == 1
    assert bench.model.names == [["a0", "a1", "b0"]]


async def test_a_call_that_is_held_back_begins_in_the_end() -> None:
    bench = Bench(max_wait_ms=1, max_batch=3)
    async with bench.running():
        await bench.ask("a", items("a", 2))
    assert bench.answers["a"] == ["A0", "A1"]


async def test_within_pages_no_call_is_held_back() -> None:
    bench = Bench(across_pages=False, max_wait_ms=3_600_000, max_batch=3)
    async with bench.running():
        await bench.ask("a", items("a", 2))
        assert len(bench.gate.held) == 1


async def test_the_figures() -> None:
    bench = Bench(max_batch=4)
    async with bench.running():
        await bench.ask("a", [Item("a", 100, padding=20)])
        bench.clock.goes_on(1.0)
        await bench.ask("b", [Item(name, 100, padding=10) for name in "bcd"])
        await bench.call_ends(after_s=2.0)
        await bench.call_ends(after_s=3.0)
    figures = bench.batcher.figures
    assert (figures.calls, figures.items, figures.sizes) == (2, 4, {1: 1, 3: 1})
    assert (figures.wait_s, figures.busy_s) == (6.0, 6.0)
    assert (figures.cost, figures.content) == (400, 350)


async def test_figures_go_on_when_an_engine_is_started_again_and_its_requests_are_timed() -> None:
    metrics = Metrics()
    batchers = Batchers(BatchingSettings(), observer=metrics)
    for _ in range(2):
        batcher = batchers(UpperCase(), "recognizer")
        assert await batcher.predict(items("a", 2)) == ["A0", "A1"]
        assert await batcher.predict([]) == []
    assert {name: (each.model, each.calls) for name, each in batchers.by_model.items()} == {
        "recognizer": ("recognizer", 2)
    }
    assert metrics.work().stage_count == {"batch": 2}


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


@given(
    requests=st.lists(st.lists(st.integers(1, 3), max_size=12), min_size=1, max_size=6),
    parallel=st.integers(1, 3),
    across_pages=st.booleans(),
)
def test_calls_keep_their_bounds_and_each_item_is_in_one(
    requests: list[list[int]], parallel: int, across_pages: bool
) -> None:
    """Widths are 40, 80 and 120 pixels of at most 100 a call."""
    model, gate = UpperCase(), Gate()
    gate.open = True
    submitted = [
        [Item(f"r{caller}i{number}", 40 * size) for number, size in enumerate(sizes)]
        for caller, sizes in enumerate(requests)
    ]

    async def play() -> None:
        batcher = batcher_of(
            model,
            gate,
            Clock(),
            across_pages=across_pages,
            max_batch=MAX_BATCH,
            max_pixels=MAX_PIXELS,
            parallel=parallel,
        )

        async def ask(wanted: list[Item]) -> None:
            assert await batcher.predict(wanted) == [item.name.upper() for item in wanted]

        async with anyio.create_task_group() as callers:
            for wanted in submitted:
                callers.start_soon(ask, wanted)
        assert batcher.waiting == 0

    anyio.run(play)
    assert sorted(item.name for call in model.calls for item in call) == sorted(
        item.name for wanted in submitted for item in wanted
    )
    for call in model.calls:
        assert len({item.width for item in call}) == 1
        assert len(call) <= MAX_BATCH
        assert len(call) == 1 or sum(item.width for item in call) <= MAX_PIXELS
        assert across_pages or len({item.name.split("i")[0] for item in call}) == 1
