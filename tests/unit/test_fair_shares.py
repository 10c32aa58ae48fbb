"""What the queue is made of: a heap out of which anything can be taken, and shares that forget who is gone."""

import math

from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.fair import FairSharer, FairShares, LazyHeap


@given(st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.floats(0, 100))), max_size=200))
def test_the_heap_is_in_order_after_any_changes(changes: list[tuple[int, float | None]]) -> None:
    heap: LazyHeap[int] = LazyHeap()
    keys: dict[int, float] = {}
    for item, key in changes:
        if key is None:
            heap.discard(item)
            keys.pop(item, None)
        else:
            heap.put(item, key)
            keys[item] = key
        assert len(heap) == len(keys)
        assert heap.first_key() == min(keys.values(), default=math.inf)
    assert [keys[item] for item in heap.in_order()] == sorted(keys.values())


def test_those_who_left_are_forgotten() -> None:
    shares = FairShares(FairSharer)
    stays = shares.join("stays")
    for number in range(1000):
        guest = shares.join(f"{number}")
        shares.serve(guest, 10)
        shares.leave(guest)
        shares.serve(stays, 10)
        for served in (guest, stays):
            shares.end(served, 10, 10)
    assert sum(shares.get(f"{number}") is not None for number in range(1000)) < 10


def test_what_is_taken_out_does_not_pile_up() -> None:
    heap: LazyHeap[int] = LazyHeap()
    heap.put(-1, 0.0)
    for item in range(10_000):
        heap.put(item, 1.0 + item)
        heap.discard(item)
    assert len(heap._heap) < 50
