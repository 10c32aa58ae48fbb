"""Fair shares of work, by virtual time, and the heap that holds their participants."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_Node = tuple[float, int, int, T]
_SLACK = 16
"""Number of stale entries that are never worth a clean-up."""


class LazyHeap(Generic[T]):
    """Items by key, smallest first; each at most once, compared by identity or hash.

    A removed or re-keyed item leaves a stale entry, which is dropped when it reaches the top or when stale entries
    outnumber the others. All operations are O(log n) amortized, and stale entries can't pile up.
    """

    __slots__ = ("_heap", "_live", "_puts")

    def __init__(self) -> None:
        self._heap: list[_Node[T]] = []
        self._live: dict[T, _Node[T]] = {}
        self._puts = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, item: T) -> bool:
        return item in self._live

    def put(self, item: T, key: float, tie: int = 0) -> None:
        """Adds an item or changes its key. Equal keys: smaller `tie` first, then first in, first out."""
        self._puts += 1
        node = (key, tie, self._puts, item)
        self._live[item] = node
        heapq.heappush(self._heap, node)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._compact()

    def discard(self, item: T) -> None:
        """Removes an item if it is present."""
        if self._live.pop(item, None) is not None and len(self._heap) > 2 * len(self._live) + _SLACK:
            self._compact()

    def first(self) -> T | None:
        """The item with the smallest key, which stays in the heap."""
        heap, live = self._heap, self._live
        while heap:
            node = heap[0]
            if live.get(node[3]) is node:
                return node[3]
            heapq.heappop(heap)
        return None

    def first_key(self) -> float:
        """The smallest key; infinity if empty."""
        return math.inf if self.first() is None else self._heap[0][0]

    def in_order(self) -> Iterator[T]:
        """Iterates by key. The heap must not change meanwhile. The first k items cost O(k log k)."""
        heap = self._heap
        border = [(heap[0], 0)] if heap else []
        while border:
            node, at = heapq.heappop(border)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heapq.heappush(border, (heap[child], child))
            if self._live.get(node[3]) is node:
                yield node[3]

    def _compact(self) -> None:
        self._heap = list(self._live.values())
        heapq.heapify(self._heap)


class FairSharer:
    """One participant, such as a tenant.

    Attributes:
        tag: virtual time at which its next work starts: tokens used, divided by weight.
        serving: number of its requests that were served and have not ended.
    """

    __slots__ = ("name", "serving", "tag", "weight")

    def __init__(self, name: str, weight: float = 1.0) -> None:
        self.name = name
        self.weight = weight
        self.tag = 0.0
        self.serving = 0

    @property
    def next_tokens(self) -> int:
        """The tokens of the sharer's next work."""
        return 0


SharerT = TypeVar("SharerT", bound=FairSharer)


class FairShares(Generic[SharerT]):
    """Weighted fair queueing (Demers, Keshav, Shenker 1989), by tokens.

    A work starts at its sharer's tag S and finishes at F = S + tokens / weight. The least F goes first: of requests
    that come together, the lightest. A sharer that comes (back) starts at max(v, F), so that being away gains nothing.
    Virtual time v grows by tokens / weight of all that wait or are served, as on a machine that serves all of them at
    once. Were it the least S that waits, as in start-time fair queueing, an endless stream of newcomers would stop it,
    and nobody else would be served. Absent sharers are forgotten once v has passed their F.

    Attributes:
        weight: sum over waiting sharers.
    """

    __slots__ = ("_active", "_away", "_known", "_latest", "_make", "_v", "_waiting", "weight")

    def __init__(self, make: Callable[[str], SharerT]) -> None:
        self._make = make
        self._known: dict[str, SharerT] = {}
        self._waiting: LazyHeap[SharerT] = LazyHeap()
        self._away: LazyHeap[SharerT] = LazyHeap()
        self._v = 0.0
        self._latest = 0.0
        self._active = 0.0
        """Weight of the sharers that wait or are served."""
        self.weight = 0.0

    @property
    def waiting(self) -> LazyHeap[SharerT]:
        """Waiting sharers, the next one first. Read only."""
        return self._waiting

    def get(self, name: str) -> SharerT | None:
        return self._known.get(name)

    def join(self, name: str) -> SharerT:
        """Returns the sharer of this name, which waits from now on. Call `update` once its work is known."""
        sharer = self._known.get(name)
        if sharer is None:
            sharer = self._known[name] = self._make(name)
        if sharer not in self._waiting:
            self._away.discard(sharer)
            sharer.tag = max(self._v, sharer.tag)
            self._waiting.put(sharer, sharer.tag)
            self.weight += sharer.weight
            if not sharer.serving:
                self._active += sharer.weight
        return sharer

    def update(self, sharer: SharerT) -> None:
        """Moves a waiting sharer to its place after its next work has changed."""
        self._waiting.put(sharer, self._key(sharer))

    def serve(self, sharer: SharerT, tokens: int) -> None:
        """Counts tokens for a sharer. Call `leave` if it has nothing more waiting, else `update`; and `end`, later."""
        sharer.serving += 1
        sharer.tag += max(1, tokens) / sharer.weight
        self._latest = max(self._latest, sharer.tag)
        self._waiting.put(sharer, self._key(sharer))

    def end(self, sharer: SharerT, tokens: int, used: int) -> None:
        """Marks the end of a work that was served with `tokens` and has used others."""
        self._v += max(1, used) / self._active
        sharer.serving -= 1
        sharer.tag += (max(1, used) - max(1, tokens)) / sharer.weight
        self._latest = max(self._latest, sharer.tag)
        if sharer in self._waiting:
            self._waiting.put(sharer, self._key(sharer))
        elif not sharer.serving:
            self._rest(sharer)

    def leave(self, sharer: SharerT) -> None:
        """Marks a sharer that has nothing more waiting."""
        self._waiting.discard(sharer)
        self.weight -= sharer.weight
        if not sharer.serving:
            self._rest(sharer)

    def _key(self, sharer: SharerT) -> float:
        return sharer.tag + sharer.next_tokens / sharer.weight

    def _rest(self, sharer: SharerT) -> None:
        """Marks the sharer as one that neither waits nor is served."""
        self._away.put(sharer, sharer.tag)
        self._active -= sharer.weight
        if len(self._away) == len(self._known):
            # The busy period is over: all tags start again.
            self._v, self.weight, self._active = self._latest, 0.0, 0.0
            self._known.clear()
            self._away = LazyHeap()
            return
        while (first := self._away.first()) is not None and first.tag <= self._v:
            self._away.discard(first)
            del self._known[first.name]
