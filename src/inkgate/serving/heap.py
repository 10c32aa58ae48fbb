"""A priority queue from which any item can be removed."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
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
