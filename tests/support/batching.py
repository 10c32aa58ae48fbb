"""A batcher whose model's calls end when the test lets them, and a clock set by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from inkgate.serving.batching import Batcher, Batchers, BatchFigures
from inkgate.settings import BatchingSettings
from inkgate_client.concurrency import Threads
from support.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """`poison`: fails the call that contains it."""

    name: str
    width: int = 100
    padding: int = 0
    poison: bool = False


def items(name: str, count: int, width: int = 100) -> list[Item]:
    """`count` items called name0, name1, ..."""
    return [Item(f"{name}{number}", width) for number in range(count)]


class PoisonedItemError(Exception):
    pass


class UpperCase:
    """A BatchModel from Item to its name in capitals. `calls`: the items of each call."""

    def __init__(self) -> None:
        self.calls: list[list[Item]] = []

    @property
    def names(self) -> list[list[str]]:
        return [[item.name for item in call] for call in self.calls]

    def predict(self, items: Sequence[Item]) -> list[str]:
        self.calls.append(list(items))
        for item in items:
            if item.poison:
                raise PoisonedItemError(item.name)
        return [item.name.upper() for item in items]

    def shape_of(self, item: Item) -> Hashable:
        return item.width

    def cost(self, item: Item) -> int:
        return item.width

    def content(self, item: Item) -> int:
        return item.width - item.padding


class Gate(Threads):
    """Threads without threads: holds each call until the test lets it through. A call can be cancelled until it
    begins.
    """

    def __init__(self) -> None:
        self.open = False
        self.held: list[anyio.Event] = []

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        await checkpoint()
        if not self.open:
            passed = anyio.Event()
            self.held.append(passed)
            with anyio.CancelScope(shield=True):
                await passed.wait()
        return function(*args, **kwargs)

    def let_one(self) -> None:
        self.held.pop(0).set()

    def let_all(self) -> None:
        self.open = True
        while self.held:
            self.let_one()


async def run_ready_tasks() -> None:
    """Returns once all tasks that can run have done so. Each step of those here takes a few iterations of the event
    loop.
    """
    for _ in range(12):
        await checkpoint()


def batcher_of(
    model: UpperCase,
    threads: Threads,
    clock: Callable[[], float],
    *,
    across_pages: bool = True,
    **changes: object,
) -> Batcher[Item, str]:
    """`changes`: of the settings."""
    settings = BatchingSettings.model_validate(changes)
    return Batcher(model, BatchFigures(), threads, Batchers(settings, across_pages=across_pages, clock=clock))


class Bench:
    """A batcher and the results of its callers, which run inside `running`."""

    def __init__(self, threads: Threads | None = None, *, across_pages: bool = True, **changes: object) -> None:
        """`threads`: replaces the gate. `changes`: of the settings."""
        self.clock = Clock()
        self.model = UpperCase()
        self.gate = Gate()
        self.batcher = batcher_of(self.model, threads or self.gate, self.clock, across_pages=across_pages, **changes)
        self.answers: dict[str, list[str] | Exception] = {}
        self.order: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end all calls are let through, and all callers are answered."""
        async with anyio.create_task_group() as self.callers:
            yield
            self.gate.let_all()

    async def ask(self, name: str, wanted: Sequence[Item], scope: anyio.CancelScope | None = None) -> None:
        """Submits `wanted` and waits; stores the result in `answers`. `scope`: of that caller."""
        self.callers.start_soon(self._wait, name, wanted, scope or anyio.CancelScope())
        await run_ready_tasks()

    async def _wait(self, name: str, wanted: Sequence[Item], scope: anyio.CancelScope) -> None:
        with scope:
            try:
                self.answers[name] = await self.batcher.predict(wanted)
            except Exception as error:  # noqa: BLE001 - the test looks at it
                self.answers[name] = error
            self.order.append(name)

    async def call_ends(self, after_s: float = 0.0) -> None:
        """Ends the oldest running call, and returns once the next ones have begun."""
        self.clock.goes_on(after_s)
        self.gate.let_one()
        await run_ready_tasks()
