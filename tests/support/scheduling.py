"""A scheduler with its dependencies, and a clock set by hand."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from inkgate.serving.limiter import WorkOutcome
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.throughput import TokenRate
from inkgate.serving.work import Work
from inkgate.settings import SchedulingSettings


class FakeLimit:
    def __init__(self, value: int) -> None:
        self.value = self.most = value
        self.outcomes: list[WorkOutcome] = []

    def ended(self, outcome: WorkOutcome, at: float) -> None:
        self.outcomes.append(outcome)


class SchedulerBench:
    """A scheduler and its dependencies."""

    def __init__(self, places: int = 1, **changes: object) -> None:
        self.now = 1000.0
        self.limit = FakeLimit(places)
        self.rate = TokenRate(lambda: self.now)
        chosen = SchedulingSettings.model_validate(changes)
        self.scheduler = Scheduler(self.limit, self.rate, chosen, lambda: self.now, Random(1))
        self.order: list[str] = []

    @asynccontextmanager
    async def busy(self, works: int = 1, tokens: int = 100) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for _ in range(works):
                await stack.enter_async_context(self.scheduler.slot(Work(tokens, "busy")))
            yield

    async def one(self, work: Work) -> None:
        async with self.scheduler.slot(work):
            self.order.append(work.flow)

    async def done(self, tokens: int, seconds: float, works: int = 1) -> None:
        async with self.busy(works, tokens):
            self.now += seconds

    def is_empty(self) -> bool:
        return (self.scheduler.in_flight, self.scheduler.waiting, self.scheduler.backlog_tokens) == (0, 0, 0)
