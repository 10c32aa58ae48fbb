"""A queue with its dependencies, and a clock set by hand."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.queue import WorkQueue
from inkgate.settings import SchedulingSettings


class FakeLimit:
    def __init__(self, value: int) -> None:
        self.value = self.most = value
        self.outcomes: list[WorkOutcome] = []

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        self.outcomes.append(outcome)


class SchedulerBench:
    """A queue and its dependencies."""

    def __init__(self, places: int = 1, *, extra: bool = False, **changes: object) -> None:
        self.now = 1000.0
        self.limit = FakeLimit(places)
        chosen = SchedulingSettings.model_validate(changes)
        self.work_queue = WorkQueue(self.limit, chosen, lambda: self.now, extra=extra)
        self.order: list[str] = []

    @asynccontextmanager
    async def busy(self, requests: int = 1, tokens: int = 100) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for _ in range(requests):
                await stack.enter_async_context(self.work_queue.turn(Work(tokens, "busy")))
            yield

    async def one(self, work: Work) -> None:
        async with self.work_queue.turn(work):
            self.order.append(work.flow)

    async def done(self, tokens: int, seconds: float, requests: int = 1) -> None:
        async with self.busy(requests, tokens):
            self.now += seconds

    def is_empty(self) -> bool:
        return (self.work_queue.in_flight, self.work_queue.waiting, self.work_queue.backlog_tokens) == (0, 0, 0)
