"""Items that wait for a model, and which of them come next, together. Knows neither the model nor the event loop."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from inkgate.serving.sojourn import FairSojourn

PATIENCE = 8
"""Calls in a row without the request that waits longest, after which the next one begins with it."""


class QueuedItem(NamedTuple):
    """One item that waits.

    Attributes:
        number: its place among those of its request.
        shape: only pieces of one shape share a call.
        cost: pixels of the model's input, padding included.
        content: how many of them are not padding.
    """

    number: int
    shape: Hashable
    cost: int
    content: int


class Request:
    """Pieces that one caller waits for. Told apart by identity.

    Attributes:
        rank: of its class; 0 goes first.
        since: clock time in seconds when it came.
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
        """What is not in a call yet, by shape. The queue's own to change."""
        return self._pending


_key = attrgetter("key")


class _Lane:
    """All that waits with one shape. `requests` by key."""

    __slots__ = ("cost", "count", "requests")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.count = 0
        self.cost = 0


@dataclass(slots=True)
class Batch:
    """Pieces that share a call. `cost` and `content` are their sums, in pixels."""

    pieces: list[tuple[Request, QueuedItem]] = field(default_factory=list)
    cost: int = 0
    content: int = 0

    def add(self, request: Request, piece: QueuedItem) -> None:
        self.pieces.append((request, piece))
        self.cost += piece.cost
        self.content += piece.content


class BatchQueue:
    """The most urgent request says what the next call is about, and others join it.

    - Requests are in order of class, and of FairSojourn within a class. Which waits longest is first when PATIENCE
      calls in a row had nothing of it: nobody starves, and the urgent lose one call in nine at most.
    - Of the shapes that the first request has, the one that fills a call best is taken: that passes nobody over, and
      what would go nearly alone gets more time to find company.
    - The call is filled with pieces of that shape, by order of their requests. Those of less urgent classes may not
      cost more than the others: on a CPU a call takes as long as it has pixels.
    """

    def __init__(self, max_batch: int, max_pixels: int, wait_s: float = 0.0) -> None:
        """`max_batch`, `max_pixels`: of a call; a piece that is larger goes alone. `wait_s`: how long a call that is
        not full is held back for others to join.
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
        """Pieces that wait."""
        return self._pieces

    @property
    def pixels(self) -> int:
        """What all that waits costs."""
        return self._pixels

    @property
    def ready_at(self) -> float | None:
        """Clock time from which `take` has something even if nobody else comes; None where nothing waits."""
        oldest = next(iter(self._arrived), None)
        return None if oldest is None else oldest.since + self._wait_s

    def push(self, pieces: Iterable[QueuedItem], rank: int, now: float) -> Request:
        """Adds a request of at least one piece."""
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
        """Drops what of it is not in a call yet: how many pieces. It may have left already."""
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
            self._sojourns[request.rank].served(cost)
        return dropped

    def take(self, now: float) -> Batch | None:
        """Takes the pieces of the next call out of the queue; None where nothing waits, or it is worth waiting on."""
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
        """The part of a call that what waits with this shape fills, up to 1."""
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
            self._sojourns[request.rank].served(piece.cost)
        helped = any(request is oldest for request, _ in batch.pieces)
        self._passed = 0 if helped else self._passed + 1
        return batch

    def _joining(self, first: Request, lane: _Lane) -> Iterator[Request]:
        yield first
        for request in lane.requests:
            if request is not first:
                yield request

    def _fill_from(self, request: Request, rank: int, shape: Hashable, batch: Batch) -> None:
        """Moves what fits of a request into a call that is for class `rank`."""
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
        """Takes it out of a lane, and out of the queue where that was the last one."""
        del request.pending[shape]
        del lane.requests[bisect_left(lane.requests, request.key, key=_key)]
        if not lane.requests:
            del self._lanes[shape]
        if not request.pending:
            del self._order[bisect_left(self._order, request.key, key=_key)]
            del self._arrived[request]
