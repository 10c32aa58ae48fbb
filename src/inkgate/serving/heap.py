"""A priority queue out of which any item can be taken."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
_Node = tuple[float, int, int, T]
_SLACK = 16
"""Unseen items that are never worth the work."""


class LazyHeap(Generic[T]):
    """Items by key, the least first; each at most once, told apart by identity or hash.

    An item that is taken out, or gets another key, stays in the heap unseen until it comes up, or until the unseen are
    more than the others. So everything is O(log n), amortized, and nothing piles up where items come and are taken
    out again while none comes up.
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
        """Puts it in, or changes its key. Equal keys: the lesser `tie` first, then who was put in first."""
        self._puts += 1
        node = (key, tie, self._puts, item)
        self._live[item] = node
        heapq.heappush(self._heap, node)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._compact()

    def discard(self, item: T) -> None:
        """Takes it out, if it is in."""
        if self._live.pop(item, None) is not None and len(self._heap) > 2 * len(self._live) + _SLACK:
            self._compact()

    def first(self) -> T | None:
        """The item of the least key; it stays in."""
        heap, live = self._heap, self._live
        while heap:
            node = heap[0]
            if live.get(node[3]) is node:
                return node[3]
            heapq.heappop(heap)
        return None

    def first_key(self) -> float:
        """The least key; infinite where there is none."""
        return math.inf if self.first() is None else self._heap[0][0]

    def in_order(self) -> Iterator[T]:
        """The items by key. Nothing may change meanwhile. The first k cost O(k log k)."""
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
