"""Callers that leave at any moment of calls, failures and retries: the batcher goes on, and the others are answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import ParamSpec, TypeVar

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.errors import EngineFailed
from inkgate_client.concurrency import Threads
from support.batching import Bench, Item, PoisonedItemError, UpperCase, batcher_of, items, run_ready_tasks

P = ParamSpec("P")
T = TypeVar("T")

pytestmark = pytest.mark.anyio


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


async def test_who_leaves_during_another_one_s_call_goes_at_once() -> None:
    bench, scope = Bench(max_batch=3), anyio.CancelScope()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("b", items("b", 1))
        await bench.ask("gone", items("gone", 2), scope=scope)
        await bench.call_ends()
        scope.cancel()
        await run_ready_tasks()
        assert scope.cancelled_caught
        await bench.call_ends()
        assert bench.answers["b"] == ["B0"]
    assert bench.batcher.figures.dropped == 0


async def test_who_leaves_during_a_call_of_its_own_ends_it_for_the_others_and_begins_no_other() -> None:
    bench, scope = Bench(max_batch=3), anyio.CancelScope()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("gone", [*items("gone", 2), *items("wide", 2, width=200)], scope=scope)
        await bench.ask("b", items("b", 1))
        await bench.call_ends()
        scope.cancel()
        await run_ready_tasks()
        assert "b" not in bench.answers
        await bench.call_ends()
        assert scope.cancelled_caught
        assert bench.answers["b"] == ["B0"]
    assert bench.model.names == [["busy0"], ["gone0", "gone1", "b0"]]
    assert bench.batcher.figures.dropped == 2
    assert bench.batcher.waiting == 0


async def test_a_call_that_all_have_left_is_finished_and_the_next_one_follows() -> None:
    bench, scope = Bench(), anyio.CancelScope()
    async with bench.running():
        await bench.ask("gone", [Item("x"), Item("poison", poison=True)], scope=scope)
        scope.cancel()
        await bench.ask("b", items("b", 1))
        assert len(bench.model.calls) == 0
        await bench.call_ends()
    assert bench.model.names == [["x", "poison"], ["x"], ["poison"], ["b0"]]
    assert bench.answers == {"b": ["B0"]}


class Interrupted(BaseException):
    """As KeyboardInterrupt, which would end the tests."""


class InterruptsFirst(Threads):
    """Its first call is interrupted."""

    calls = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.calls += 1
        await run_ready_tasks()
        if self.calls == 1:
            raise Interrupted
        return function(*args, **kwargs)


async def test_a_caller_that_is_interrupted_during_a_call_leaves_nobody_waiting() -> None:
    bench, interrupted = Bench(InterruptsFirst("interrupts", 1)), list[bool]()

    async def ask() -> None:
        try:
            await bench.batcher.predict(items("gone", 1))
        except Interrupted:
            interrupted.append(True)

    async with bench.running():
        bench.callers.start_soon(ask)
        bench.callers.start_soon(bench._wait, "b", items("b", 1), anyio.CancelScope())
    assert interrupted == [True]
    error = bench.answers["b"]
    assert isinstance(error, EngineFailed)
    assert await bench.batcher.predict(items("c", 1)) == ["C0"]


async def test_who_leaves_while_an_item_of_theirs_is_tried_alone_harms_nobody() -> None:
    bench, scope = Bench(), anyio.CancelScope()
    async with bench.running():
        await bench.ask("busy", items("busy", 1))
        await bench.ask("bad", [Item("poison", poison=True)])
        await bench.ask("gone", [Item("gone")], scope=scope)
        await bench.ask("b", items("b", 1))
        for _ in range(3):  # the first call, the shared one, and the poisonous item's own
            await bench.call_ends()
        scope.cancel()
        await run_ready_tasks()
        await bench.call_ends()
    assert bench.answers["b"] == ["B0"]
    assert isinstance(bench.answers["bad"], PoisonedItemError)
    assert "gone" not in bench.answers


class Schedule(Threads):
    """Callers that come and leave, and calls that take a while and fail, as one seed has it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fails = self.random.choice([0.0, 0.3, 1.0])
        self.batcher = batcher_of(
            UpperCase(),
            self,
            anyio.current_time,
            across_pages=self.random.random() < 0.8,
            parallel=self.random.choice([1, 2]),
            max_batch=self.random.choice([2, 4, 16]),
        )
        self.wrong: list[str] = []

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A call. One of several items may fail; none can be cancelled."""
        with anyio.CancelScope(shield=True):
            for _ in range(self.random.randrange(4)):
                await checkpoint()
        several = len(args) > 0 and isinstance(args[0], Sequence) and len(args[0]) > 1
        if several and self.random.random() < self.fails:
            raise RuntimeError("the call failed")
        return function(*args, **kwargs)

    async def ask(self, name: str, stays: bool) -> None:
        for _ in range(self.random.randrange(6)):
            await checkpoint()
        poison = self.random.random() < 0.2
        wanted = [Item(f"{name}{number}", poison=poison) for number in range(self.random.randrange(1, 4))]
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                if not stays:
                    tasks.start_soon(self.leave, scope, self.random.randrange(20))
                await self.wait(wanted, poison)
                tasks.cancel_scope.cancel()

    async def leave(self, scope: anyio.CancelScope, after: int) -> None:
        for _ in range(after):
            await checkpoint()
        scope.cancel()

    async def wait(self, wanted: list[Item], poison: bool) -> None:
        try:
            answered = await self.batcher.predict(wanted) == [item.name.upper() for item in wanted]
        except PoisonedItemError:
            answered = poison
        if not answered:
            self.wrong.append(wanted[0].name)

    async def play(self) -> None:
        """Returns when all who stay are answered, and the batcher still works."""
        async with anyio.create_task_group() as callers:
            for number in range(8):
                callers.start_soon(self.ask, f"c{number}x", number % 2 == 0)
        assert await self.batcher.predict([Item("last")]) == ["LAST"]
        assert (self.wrong, self.batcher.waiting) == ([], 0)


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 1000), marks=pytest.mark.calibration)])
async def test_random_schedules_of_callers_that_leave(seeds: range) -> None:
    """A batcher that a leaving caller ends fails on half of the seeds."""
    for seed in seeds:
        with anyio.fail_after(60):
            await Schedule(seed).play()
