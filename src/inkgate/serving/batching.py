"""Dynamic batching: items of one shape share calls of a model.

A batch forms while the one before it runs, so an idle model serves at once. Where a GPU runs the model, a batch has
items of several pages; elsewhere it has items of one page, because batches across pages save 2 to 3 % on a CPU.

Pages have taken their turn in the engine's queue, so there is no order of priority here: requests take turns, batch by
batch. There is no background task: a request whose turn it is runs a batch with items of its own.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import anyio

from inkgate.errors import Blame, EngineFailed, InkgateError, Overloaded
from inkgate.settings import BatchingSettings
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.telemetry.tracing import shared_span, trace_context
from inkgate_client.concurrency import Threads, loop_time, single_error

ItemT = TypeVar("ItemT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)
ResultT = TypeVar("ResultT")

_MIN_RETRY_AFTER_S, _MAX_RETRY_AFTER_S = 1.0, 60.0


class BatchModel(Protocol[ItemT_contra, ResultT]):
    """A blocking model whose cost per item is lower in batches."""

    def predict(self, items: Sequence[ItemT_contra]) -> list[ResultT]:
        """One result per item, in order, independent of the other items. All items have the same shape. Safe from many
        threads.
        """
        ...

    def shape_of(self, item: ItemT_contra) -> Hashable:
        """Items with equal shapes can share a call: the size they are padded to, and each option that `predict` applies
        to the whole batch. Cheap: called on the event loop.
        """
        ...

    def cost(self, item: ItemT_contra) -> int:
        """Pixels of the model's input that the item uses, including padding; at least 1, and equal for equal shapes."""
        ...

    def content(self, item: ItemT_contra) -> int:
        """Pixels of the item without padding."""
        ...


@dataclass(slots=True)
class BatchFigures:
    """Totals so far. Items retried alone count in `retried` and `busy_s` only.

    Attributes:
        calls: number of batches.
        items: number of items in them.
        dropped: items whose caller left before they were in a batch.
        retried: items run alone after their batch failed.
        cost: pixels of the model's input in all calls, padding included.
        content: how many of them were not padding.
        wait_s: sum over items, from arrival to the start of their batch.
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
    busy_s: float = 0.0
    sizes: Counter[int] = field(default_factory=Counter)


class _Request(Generic[ItemT, ResultT]):
    """The items of one caller.

    Attributes:
        pending: indices of the items that are in no batch yet, by shape.
        ended: set once each item has its result, or one has failed, or the caller has left.
    """

    def __init__(self, items: Sequence[ItemT], shapes: Sequence[Hashable], since: float) -> None:
        self.items = items
        self.since = since
        self.trace = trace_context()
        self.pending: dict[Hashable, deque[int]] = {}
        for index, shape in enumerate(shapes):
            self.pending.setdefault(shape, deque()).append(index)
        self.results: dict[int, ResultT] = {}
        self.error: Exception | None = None
        self.ended = anyio.Event()

    def answer(self, index: int, result: ResultT) -> None:
        self.results[index] = result
        if len(self.results) == len(self.items):
            self.ended.set()


_Batch = list[tuple[_Request[ItemT, ResultT], int]]
"""Items that share a call, each by its request and its index there."""


class Batcher(Generic[ItemT, ResultT]):
    """Batches the calls of a model: at most `settings.parallel` at once. Used from one event loop.

    A caller that leaves waits until the batch that it runs has ended, as other callers' items may be in it. Its other
    items are dropped. An item that the model fails on fails its own caller only.

    Attributes:
        waiting: items that are in no batch yet.
    """

    def __init__(
        self, model: BatchModel[ItemT, ResultT], figures: BatchFigures, threads: Threads, options: Batchers
    ) -> None:
        """`threads`: at least `settings.parallel`."""
        self.figures = figures
        self.waiting = 0
        self._model = model
        self._threads = threads
        self._options = options
        self._settings = options.settings
        # First come, first served: requests take turns, and a receipt does not wait for all lines of a newspaper page.
        self._slots = anyio.CapacityLimiter(options.settings.parallel)
        self._requests: dict[_Request[ItemT, ResultT], None] = {}
        self._arrived = anyio.Event()

    async def predict(self, items: Sequence[ItemT]) -> list[ResultT]:
        """One result per item, in order.

        Raises:
            Overloaded: "service_full": the queue is full.
            EngineFailed: "engine_failed": the model returned too few results.
            Exception: what the model raised for one of these items.
        """
        if not items:
            return []
        request = self._join(items)
        try:
            with single_error():
                async with anyio.create_task_group() as runners:
                    for _ in range(min(self._settings.parallel, len(items))):
                        runners.start_soon(self._serve, request)
                    await request.ended.wait()
                    runners.cancel_scope.cancel()
        finally:
            request.ended.set()
            self._drop(request)
            del self._requests[request]
        error, request.error = request.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # Otherwise the error, its traceback and this frame are a cycle, which keeps the pixels.
        self._options.observer.stage("batch", self._options.clock() - request.since)
        return [request.results[index] for index in range(len(items))]

    def _join(self, items: Sequence[ItemT]) -> _Request[ItemT, ResultT]:
        if self.waiting and self.waiting + len(items) > self._settings.max_waiting:
            all_s = self.waiting * self.figures.busy_s / max(self.figures.items, 1) / self._settings.parallel
            after_s = min(max(all_s, _MIN_RETRY_AFTER_S), _MAX_RETRY_AFTER_S)
            raise Overloaded("service_full", f"The model's queue is full: {self.waiting} items are waiting.", after_s)
        request = _Request[ItemT, ResultT](items, [self._model.shape_of(item) for item in items], self._options.clock())
        self._requests[request] = None
        self.waiting += len(items)
        self._arrived.set()
        self._arrived = anyio.Event()
        return request

    async def _serve(self, request: _Request[ItemT, ResultT]) -> None:
        """Runs the batches that items of this request are in, until none of them is pending."""
        if self._options.across_pages and self._settings.max_wait_ms:
            with anyio.move_on_after(self._settings.max_wait_ms / 1000):
                while not any(self._is_full(request, shape) for shape in request.pending):
                    await self._arrived.wait()
        while request.pending:
            async with self._slots:
                with anyio.CancelScope(shield=True):
                    if request.pending:
                        await self._run(self._take(request))

    def _take(self, request: _Request[ItemT, ResultT]) -> _Batch[ItemT, ResultT]:
        """The next batch, the request's own items first."""
        shape = next(iter(request.pending))
        if self._options.across_pages:  # Shapes with few items get more time to fill.
            shape = max(request.pending, key=lambda shape: len(request.pending[shape]))
        max_items = self._max_items(request, shape)
        batch: _Batch[ItemT, ResultT] = []
        others = [each for each in self._requests if each is not request] if self._options.across_pages else []
        for each in (request, *others):
            indices = each.pending.get(shape, deque[int]())
            while indices and len(batch) < max_items:
                batch.append((each, indices.popleft()))
            if not indices:
                each.pending.pop(shape, None)
        self.waiting -= len(batch)
        return batch

    def _is_full(self, request: _Request[ItemT, ResultT], shape: Hashable) -> bool:
        """Whether the queued items of this shape fill a batch."""
        return sum(len(each.pending.get(shape, ())) for each in self._requests) >= self._max_items(request, shape)

    def _max_items(self, request: _Request[ItemT, ResultT], shape: Hashable) -> int:
        """Maximum items of a batch of a shape that is pending in the request: 1 if an item is above `max_pixels`."""
        fitting = max(self._settings.max_pixels // self._model.cost(request.items[request.pending[shape][0]]), 1)
        # A power of two, because models compile few sizes of calls: a remainder would be a call of another shape.
        return min(self._settings.max_batch, 1 << (fitting.bit_length() - 1))

    async def _run(self, batch: _Batch[ItemT, ResultT]) -> None:
        """Runs a batch. If it fails, runs each item alone, so that only the faulty item fails. If the service is at
        fault, no item is.
        """
        began = self._options.clock()
        self._count(batch, began)
        try:
            error = await self._call(batch)
            alone = len(batch) > 1 and not (isinstance(error, InkgateError) and error.blame is Blame.SERVICE)
            for request, index in () if error is None else batch:
                if request.ended.is_set():
                    continue
                self.figures.retried += alone
                reason = await self._call([(request, index)]) if alone else error
                if reason is not None:
                    self._fail(request, reason)
        finally:
            self.figures.busy_s += self._options.clock() - began
            for request, index in batch:
                if index not in request.results:  # This task was ended from outside; the other callers must not wait.
                    self._fail(request, EngineFailed("engine_failed", "The model's call was ended."))

    async def _call(self, batch: _Batch[ItemT, ResultT]) -> Exception | None:
        """Calls the model, and gives the requests their results. Returns the error of a call that failed."""
        items = [request.items[index] for request, index in batch]
        traces = [request.trace for request in dict.fromkeys(request for request, _ in batch) if request.trace]
        try:
            with shared_span("model call", traces, {"inkgate.model": self.figures.model, "inkgate.items": len(items)}):
                results = await self._threads.run(self._model.predict, items)
            if len(results) != len(items):
                raise EngineFailed("engine_failed", f"The model gave {len(results)} results for {len(items)} items.")
        except Exception as error:  # noqa: BLE001 - whatever a model raises goes to the waiting callers
            return error
        for (request, index), result in zip(batch, results, strict=True):
            request.answer(index, result)
        return None

    def _fail(self, request: _Request[ItemT, ResultT], error: Exception) -> None:
        if not request.ended.is_set():
            request.error = error
            request.ended.set()
            self._drop(request)

    def _drop(self, request: _Request[ItemT, ResultT]) -> None:
        """Removes the request's items from the queue."""
        dropped = sum(map(len, request.pending.values()))
        request.pending.clear()
        self.waiting -= dropped
        self.figures.dropped += dropped

    def _count(self, batch: _Batch[ItemT, ResultT], now: float) -> None:
        figures = self.figures
        figures.calls += 1
        figures.items += len(batch)
        figures.sizes[len(batch)] += 1
        for request, index in batch:
            figures.cost += self._model.cost(request.items[index])
            figures.content += self._model.content(request.items[index])
            figures.wait_s += now - request.since


@dataclass(frozen=True, slots=True)
class Batchers:
    """Makes the batchers of an engine's models, and keeps their figures when the engine is started again.

    Attributes:
        across_pages: whether a batch may have items of several callers.
        observer: told how long each request took, as the stage "batch".
        by_model: the figures of each model, by its name.
    """

    settings: BatchingSettings
    across_pages: bool = False
    observer: Observer = NO_OBSERVER
    clock: Callable[[], float] = loop_time
    by_model: dict[str, BatchFigures] = field(default_factory=dict)

    def __call__(self, model: BatchModel[ItemT, ResultT], name: str) -> Batcher[ItemT, ResultT]:
        """A batcher around the model. `name`: the model's, in figures. Call it on the event loop."""
        figures = self.by_model.setdefault(name, BatchFigures(name))
        return Batcher(model, figures, Threads("batches", self.settings.parallel), self)
