"""The queue of items for a model: decides which items form the next batch. Knows neither model nor event loop."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from inkgate.serving.fair import FairSojourn

PATIENCE = 8
"""After this many batches without the longest-waiting request, the next batch starts with it."""


class QueuedItem(NamedTuple):
    """One queued item.

    Attributes:
        number: its index in its request.
        shape: only items of one shape share a batch.
        cost: pixels of the model's input, padding included.
        content: how many of them are not padding.
    """

    number: int
    shape: Hashable
    cost: int
    content: int


class Request:
    """The items of one caller. Compared by identity.

    Attributes:
        rank: of its priority class; 0 goes first.
        since: clock time of arrival in seconds.
    """

    __slots__ = ("_pending", "key", "rank", "since")

    def __init__(self, pieces: Iterable[QueuedItem], rank: int, since: float) -> None:
        self.rank = rank
        self.since = since
        self.key: tuple[int, float, int] = (rank, 0.0, 0)
        self._pending: dict[Hashable, deque[QueuedItem]] = {}
        for piece in pieces:
            self._pending.setdefault(piece.shape, deque()).append(piece)

    @property
    def pending(self) -> dict[Hashable, deque[QueuedItem]]:
        """Items that are in no batch yet, by shape. Changed by the queue only."""
        return self._pending


_key = attrgetter("key")


class _Lane:
    """All queued items of one shape. `requests` by key."""

    __slots__ = ("cost", "count", "requests")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.count = 0
        self.cost = 0


@dataclass(slots=True)
class Batch:
    """Items that share a call. `cost` and `content` are sums over them, in pixels."""

    pieces: list[tuple[Request, QueuedItem]] = field(default_factory=list)
    cost: int = 0
    content: int = 0

    def add(self, request: Request, piece: QueuedItem) -> None:
        self.pieces.append((request, piece))
        self.cost += piece.cost
        self.content += piece.content


class BatchQueue:
    """The most urgent request decides the shape of the next batch; other requests fill it.

    - Requests are ordered by class, and by FairSojourn within a class. After PATIENCE batches without the
      longest-waiting request, that one goes first: nothing starves, and urgent work loses at most one batch in nine.
    - Among the shapes of the first request, the one that fills a batch best is taken. Shapes that would nearly go alone
      get more time to fill.
    - The batch is filled with items of that shape in the order of their requests. Items of less urgent classes may not
      cost more than the urgent ones: on a CPU, time is proportional to pixels.
    """

    def __init__(self, max_batch: int, max_pixels: int, wait_s: float = 0.0) -> None:
        """`max_batch`, `max_pixels`: of a batch; a larger item goes alone. `wait_s`: how long a batch that is not full
        waits for more items.
        """
        self._max_batch = max_batch
        self._max_pixels = max_pixels
        self._wait_s = wait_s
        self._order: list[Request] = []
        self._arrived: OrderedDict[Request, None] = OrderedDict()
        self._lanes: dict[Hashable, _Lane] = {}
        self._sojourns: dict[int, FairSojourn] = {}
        self._requests_so_far = 0
        self._passed = 0
        self._pieces = 0
        self._pixels = 0

    def __len__(self) -> int:
        """Number of queued items."""
        return self._pieces

    @property
    def pixels(self) -> int:
        """Cost of all queued items."""
        return self._pixels

    @property
    def ready_at(self) -> float | None:
        """Clock time from which `take` returns a batch even if nothing else arrives; None if the queue is empty."""
        oldest = next(iter(self._arrived), None)
        return None if oldest is None else oldest.since + self._wait_s

    def push(self, pieces: Iterable[QueuedItem], rank: int, now: float) -> Request:
        """Adds a request of at least one item."""
        request = Request(pieces, rank, now)
        cost = 0
        for shape, waiting in request.pending.items():
            lane = self._lanes.setdefault(shape, _Lane())
            lane_cost = sum(piece.cost for piece in waiting)
            lane.count += len(waiting)
            lane.cost += lane_cost
            self._pieces += len(waiting)
            cost += lane_cost
        self._pixels += cost
        self._requests_so_far += 1
        end = self._sojourns.setdefault(rank, FairSojourn()).join(cost)
        request.key = (rank, end, self._requests_so_far)
        insort(self._order, request, key=_key)
        for shape in request.pending:
            insort(self._lanes[shape].requests, request, key=_key)
        self._arrived[request] = None
        return request

    def remove(self, request: Request) -> int:
        """Drops its queued items; returns how many. The request may be gone already."""
        dropped = cost = 0
        for shape, waiting in list(request.pending.items()):
            lane = self._lanes[shape]
            lane_cost = sum(piece.cost for piece in waiting)
            lane.count -= len(waiting)
            lane.cost -= lane_cost
            dropped += len(waiting)
            cost += lane_cost
            self._leaves(request, shape, lane)
        self._pieces -= dropped
        self._pixels -= cost
        if cost:
            self._sojourns[request.rank].serve(cost)
        return dropped

    def take(self, now: float) -> Batch | None:
        """Removes and returns the next batch; None if the queue is empty or it should still wait."""
        for request in self._candidates():
            shape = max(request.pending, key=self._fill)
            if request.since + self._wait_s <= now or self._fill(shape) >= 1:
                return self._taken(request, shape)
        return None

    def _candidates(self) -> Iterator[Request]:
        if self._passed >= PATIENCE and self._arrived:
            yield next(iter(self._arrived))
        yield from self._order

    def _fill(self, shape: Hashable) -> float:
        """How much of a batch the queued items of this shape fill, up to 1."""
        lane = self._lanes[shape]
        return min(1.0, max(lane.count / self._max_batch, lane.cost / self._max_pixels))

    def _taken(self, first: Request, shape: Hashable) -> Batch:
        oldest = next(iter(self._arrived))
        lane = self._lanes[shape]
        batch = Batch()
        emptied: list[Request] = []
        for request in self._joining(first, lane):
            self._fill_from(request, first.rank, shape, batch)
            if request.pending[shape]:
                break
            emptied.append(request)
        lane.count -= len(batch.pieces)
        lane.cost -= batch.cost
        self._pieces -= len(batch.pieces)
        self._pixels -= batch.cost
        for request in emptied:
            self._leaves(request, shape, lane)
        for request, piece in batch.pieces:
            self._sojourns[request.rank].serve(piece.cost)
        helped = any(request is oldest for request, _ in batch.pieces)
        self._passed = 0 if helped else self._passed + 1
        return batch

    def _joining(self, first: Request, lane: _Lane) -> Iterator[Request]:
        yield first
        for request in lane.requests:
            if request is not first:
                yield request

    def _fill_from(self, request: Request, rank: int, shape: Hashable, batch: Batch) -> None:
        """Moves the items of a request that fit into a batch for class `rank`."""
        waiting = request.pending[shape]
        most = self._max_pixels
        if request.rank > rank:
            urgent = sum(piece.cost for other, piece in batch.pieces if other.rank <= rank)
            most = min(most, 2 * urgent)
        while waiting and len(batch.pieces) < self._max_batch:
            if batch.pieces and batch.cost + waiting[0].cost > most:
                return
            batch.add(request, waiting.popleft())

    def _leaves(self, request: Request, shape: Hashable, lane: _Lane) -> None:
        """Removes it from a lane, and from the queue if that was its last lane."""
        del request.pending[shape]
        del lane.requests[bisect_left(lane.requests, request.key, key=_key)]
        if not lane.requests:
            del self._lanes[shape]
        if not request.pending:
            del self._order[bisect_left(self._order, request.key, key=_key)]
            del self._arrived[request]
