"""Callers that leave at any moment of calls, failures and retries: the batcher goes on, and the others are answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import ParamSpec, TypeVar

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.caller import Priority
from inkgate.errors import EngineFailed
from inkgate.serving.batcher import Batcher
from inkgate.settings import BatchingSettings
from support.batching import Bench, Gate, Item, PoisonedItemError, UpperCase, items, run_ready_tasks
from support.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")

pytestmark = pytest.mark.anyio


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


class Schedule:
    """Callers that come and leave, and calls that take a while and fail, as one seed has it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fails = self.random.choice([0.0, 0.3, 1.0])
        settings = BatchingSettings(parallel=self.random.choice([1, 2]), max_batch=self.random.choice([2, 4, 16]))
        self.batcher = Batcher(UpperCase(), self.run, settings)
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
            answered = await self.batcher.predict(wanted, Priority.NORMAL) == [item.name.upper() for item in wanted]
        except PoisonedItemError:
            answered = poison
        if not answered:
            self.wrong.append(wanted[0].name)

    async def play(self) -> None:
        """Returns when all who stay are answered, and the batcher still works."""
        async with anyio.create_task_group() as background:
            background.start_soon(self.batcher.run)
            await checkpoint()
            async with anyio.create_task_group() as callers:
                for number in range(8):
                    callers.start_soon(self.ask, f"c{number}x", number % 2 == 0)
            assert await self.batcher.predict([Item("last")], Priority.NORMAL) == ["LAST"]
            background.cancel_scope.cancel()
        assert (self.wrong, self.batcher.waiting) == ([], 0)


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 1000), marks=pytest.mark.calibration)])
async def test_random_schedules_of_callers_that_leave(seeds: range) -> None:
    """A batcher that a leaving caller ends fails on half of the seeds."""
    for seed in seeds:
        with anyio.fail_after(60):
            await Schedule(seed).play()


class BrokenClock(Clock):
    """Raises, while it is broken."""

    broken = False

    def __call__(self) -> float:
        if self.broken:
            raise OSError("no clock")
        return super().__call__()


async def test_a_batcher_that_failed_tells_who_waits_and_serves_when_it_is_run_again() -> None:
    clock, gate, failures = BrokenClock(), Gate(), list[ExceptionGroup]()
    batcher = Batcher(UpperCase(), gate.run, BatchingSettings(max_batch=1), clock)
    answers: dict[str, list[str] | str] = {}

    async def run() -> None:
        try:
            await batcher.run()
        except ExceptionGroup as group:
            failures.append(group)

    async def ask(name: str) -> None:
        try:
            answers[name] = await batcher.predict([Item(name)], Priority.NORMAL)
        except EngineFailed as error:
            answers[name] = error.code

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await run_ready_tasks()
        tasks.start_soon(ask, "begun")
        tasks.start_soon(ask, "waiting")
        await run_ready_tasks()
        clock.broken = True
        gate.let_one()
        await run_ready_tasks()
        assert (len(failures), answers) == (1, {"begun": ["BEGUN"], "waiting": "engine_unavailable"})
        clock.broken = False
        tasks.start_soon(run)
        await run_ready_tasks()
        gate.let_all()
        assert await batcher.predict([Item("later")], Priority.NORMAL) == ["LATER"]
        tasks.cancel_scope.cancel()
