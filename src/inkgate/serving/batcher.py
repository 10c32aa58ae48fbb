"""Dynamic batching: the items of many pages share calls of a model.

A batch forms while the one before it runs. An idle model serves at once; no timer delays a request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, Protocol, TypeVar

import anyio
import structlog

from inkgate.caller import Priority
from inkgate.concurrency import loop_time
from inkgate.errors import Blame, EngineFailed, InkgateError, Overloaded
from inkgate.serving.batch_queue import Batch, BatchQueue, QueuedItem, Request
from inkgate.serving.batching import BatchModel
from inkgate.settings import BatchingSettings
from inkgate.telemetry.tracing import shared_part, trace_context

log = structlog.get_logger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_RETRY_AFTER_S = (1.0, 60.0)
"""Bounds of Retry-After."""


class RunBlocking(Protocol):
    """Runs a blocking call, such as `Threads.run` does."""

    def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


@dataclass(slots=True)
class BatchFigures:
    """Totals so far. Items retried alone count in `retried` and `busy_s` only.

    Attributes:
        model: the model's name.
        calls: number of batches.
        items: number of items in them.
        dropped: items whose caller left before they were in a batch.
        retried: items run alone after their batch failed.
        cost: pixels of the model's input in all calls, padding included.
        content: how many of them were not padding.
        wait_s: sum over items, from arrival to the start of their batch.
        longest_wait_s: longest wait of one item.
        busy_s: sum over calls.
        sizes: number of batches by size.
    """

    model: str = ""
    calls: int = 0
    items: int = 0
    dropped: int = 0
    retried: int = 0
    cost: int = 0
    content: int = 0
    wait_s: float = 0.0
    longest_wait_s: float = 0.0
    busy_s: float = 0.0
    sizes: Counter[int] = field(default_factory=Counter)

    @property
    def mean_batch(self) -> float:
        """Mean items per batch; 0 before the first."""
        return self.items / self.calls if self.calls else 0.0

    @property
    def mean_wait_s(self) -> float:
        """Mean wait of an item; 0 before the first batch."""
        return self.wait_s / self.items if self.items else 0.0

    @property
    def padding_waste(self) -> float:
        """Fraction of the model's input that was padding, 0 to 1."""
        return 1 - self.content / self.cost if self.cost else 0.0

    def began(self, batch: Batch, now: float) -> None:
        """Counts a batch."""
        self.calls += 1
        self.items += len(batch.pieces)
        self.sizes[len(batch.pieces)] += 1
        self.cost += batch.cost
        self.content += batch.content
        for request, _ in batch.pieces:
            waited_s = now - request.since
            self.wait_s += waited_s
            self.longest_wait_s = max(self.longest_wait_s, waited_s)


class _PendingItem(Generic[ItemT, ResultT]):
    """The items of one caller. After the caller left, results and errors are dropped."""

    __slots__ = ("_answered", "items", "results", "trace")

    def __init__(self, items: Sequence[ItemT]) -> None:
        self.items = items
        self.trace = trace_context()
        self.results: dict[int, ResultT] = {}
        self._answered: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()

    @property
    def waits(self) -> bool:
        """Whether the caller still waits for a result."""
        return self._answered is not None and not self._answered.done()

    async def wait(self) -> None:
        """Returns when each item has its result. Raises what `fail` was given."""
        try:
            if self._answered is not None:
                await self._answered
        finally:
            # Breaks the reference cycle of error, traceback, frame and future, which would keep pixels alive.
            self._answered = None

    def answer(self, index: int, result: ResultT) -> None:
        self.results[index] = result
        if len(self.results) == len(self.items) and self._answered is not None and self.waits:
            self._answered.set_result(None)

    def fail(self, error: Exception) -> None:
        if self._answered is not None and self.waits:
            self._answered.set_exception(error)


class Batcher(Generic[ItemT, ResultT]):
    """A Batching: calls in the order of BatchQueue, `settings.parallel` of them at once.

    A caller that leaves does not wait for a running batch with its items. The items stay in memory until that batch
    ends; `max_pixels` bounds them. Used from one event loop. Its background task is `run`, which may be restarted.
    """

    def __init__(
        self,
        model: BatchModel[ItemT, ResultT],
        run: RunBlocking,
        settings: BatchingSettings,
        clock: Callable[[], float] = loop_time,
    ) -> None:
        """`run`: like Threads.run, with at least `settings.parallel` threads."""
        self.figures = BatchFigures()
        self._model = model
        self._run = run
        self._settings = settings
        self._clock = clock
        self._queue = self._new_queue()
        self._asked: dict[Request, _PendingItem[ItemT, ResultT]] = {}
        self._idle: set[anyio.Event] = set()
        self._running = False

    @property
    def waiting(self) -> int:
        """Items that are in no batch yet."""
        return len(self._queue)

    async def run(self) -> None:
        """Runs batches until cancelled; then waiting callers get "draining" and running batches finish.

        If it fails, waiting callers get "engine_unavailable"; the next `run` starts with an empty queue.
        """
        ended: InkgateError = Overloaded("draining", "The service is stopping.", _RETRY_AFTER_S[0])
        self._queue = self._new_queue()
        self._running = True
        try:
            async with anyio.create_task_group() as workers:
                for _ in range(self._settings.parallel):
                    workers.start_soon(self._work)
        except Exception:
            ended = EngineFailed("engine_unavailable", "The model's batcher failed and is being restarted.")
            raise
        finally:
            self._running = False
            for asked in self._asked.values():
                asked.fail(ended)

    async def predict(self, items: Sequence[ItemT], priority: Priority) -> list[ResultT]:
        """As Batching.predict."""
        if not items:
            return []
        self._admit(len(items))
        asked = _PendingItem[ItemT, ResultT](items)
        queue = self._queue
        request = queue.push(self._pieces(items), priority.rank, self._clock())
        self._asked[request] = asked
        self.wake()
        try:
            await asked.wait()
        finally:
            del self._asked[request]
            self.figures.dropped += queue.remove(request)
        return [asked.results[index] for index in range(len(items))]

    def wake(self) -> None:
        """Wakes idle workers."""
        for idle in self._idle:
            idle.set()

    def _new_queue(self) -> BatchQueue:
        settings = self._settings
        return BatchQueue(settings.max_batch, settings.max_pixels, settings.max_wait_ms / 1000)

    def _admit(self, count: int) -> None:
        if not self._running:
            raise EngineFailed("engine_unavailable", "The service is not running.")
        if self.waiting and self.waiting + count > self._settings.max_waiting:
            detail = f"The model's queue is full: {self.waiting} items are waiting."
            raise Overloaded("service_full", detail, self._retry_after_s())

    def _retry_after_s(self) -> float:
        figures, (least_s, most_s) = self.figures, _RETRY_AFTER_S
        all_s = self._queue.pixels * figures.busy_s / max(figures.cost, 1) / self._settings.parallel
        return min(max(all_s, least_s), most_s)

    def _pieces(self, items: Sequence[ItemT]) -> list[QueuedItem]:
        model = self._model
        return [
            QueuedItem(index, model.shape_of(item), model.cost(item), model.content(item))
            for index, item in enumerate(items)
        ]

    async def _work(self) -> None:
        while True:
            batch = self._queue.take(self._clock())
            if batch is None:
                await self._more()
                continue
            try:
                await self._do(batch)
            except Exception:  # per-batch border: an error fails the callers of this batch only
                log.exception("batch_failed", model=self.figures.model, items=len(batch.pieces))
                for request, _ in batch.pieces:
                    self._fail(request, EngineFailed("engine_failed", "The model's call failed."))

    async def _more(self) -> None:
        """Returns when the queue may have a batch."""
        ready_at, idle = self._queue.ready_at, anyio.Event()
        self._idle.add(idle)
        try:
            with anyio.move_on_after(None if ready_at is None else max(ready_at - self._clock(), 0.001)):
                await idle.wait()
        finally:
            self._idle.discard(idle)

    async def _do(self, batch: Batch) -> None:
        """Runs one batch. If it fails, runs each item alone, so that only the faulty item fails. If the service is at
        fault, no item is.
        """
        began = self._clock()
        self.figures.began(batch, began)
        items = [self._asked[request].items[piece.number] for request, piece in batch.pieces]
        asked = {request: self._asked[request].trace for request, _ in batch.pieces}
        traces = [trace for trace in asked.values() if trace is not None]
        try:
            with shared_part("model call", traces, {"inkgate.model": self.figures.model, "inkgate.items": len(items)}):
                results = await self._predict(items)
            self._answer(batch, results)
        except Exception as error:  # noqa: BLE001 - whatever a model raises goes to the waiting callers
            if len(items) == 1 or (isinstance(error, InkgateError) and error.blame is Blame.SERVICE):
                for request, _ in batch.pieces:
                    self._fail(request, error)
            else:
                await self._do_alone(batch, items)
        self.figures.busy_s += self._clock() - began

    async def _do_alone(self, batch: Batch, items: Sequence[ItemT]) -> None:
        for (request, piece), item in zip(batch.pieces, items, strict=True):
            asked = self._asked.get(request)
            if asked is None or not asked.waits:
                continue
            self.figures.retried += 1
            try:
                (result,) = await self._predict([item])
            except Exception as error:  # noqa: BLE001 - as above
                self._fail(request, error)
            else:
                asked.answer(piece.number, result)  # drops it where the caller left during the call

    async def _predict(self, items: Sequence[ItemT]) -> list[ResultT]:
        results = await self._run(self._model.predict, items)
        if len(results) != len(items):
            raise EngineFailed("engine_failed", f"The model returned {len(results)} results for {len(items)} items.")
        return results

    def _answer(self, batch: Batch, results: Sequence[ResultT]) -> None:
        for (request, piece), result in zip(batch.pieces, results, strict=True):
            asked = self._asked.get(request)
            if asked is not None:
                asked.answer(piece.number, result)

    def _fail(self, request: Request, error: Exception) -> None:
        asked = self._asked.get(request)
        if asked is not None:
            asked.fail(error)
            self.figures.dropped += self._queue.remove(request)
