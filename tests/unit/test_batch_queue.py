"""Which items come next, together: bounds, shapes, order, and that nothing is lost or starves."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inkgate.serving.batch_queue import PATIENCE, Batch, BatchQueue, QueuedItem, Request

MAX_BATCH = 4
MAX_PIXELS = 100


def pieces(count: int, shape: int = 1, cost: int = 10) -> list[QueuedItem]:
    return [QueuedItem(index, shape, cost, cost) for index in range(count)]


def mixed(shapes: str) -> list[QueuedItem]:
    """A piece for each letter, which is its shape."""
    return [QueuedItem(index, shape, 10, 10) for index, shape in enumerate(shapes)]


def taken(queue: BatchQueue, now: float = 0.0) -> Batch:
    batch = queue.take(now)
    assert batch is not None
    return batch


def indexes(batch: Batch) -> list[int]:
    return [piece.number for _, piece in batch.pieces]


def test_pixels_bound_a_call_and_a_larger_piece_goes_alone() -> None:
    queue = BatchQueue(16, 100)
    queue.push([*pieces(2, cost=40), *pieces(1, cost=300), *pieces(2, cost=40)], 1, 0.0)
    assert [taken(queue).cost for _ in range(3)] == [80, 300, 80]
    assert queue.take(0.0) is None


def test_of_the_first_one_s_shapes_the_fullest_is_taken() -> None:
    queue = BatchQueue(MAX_BATCH, 1000)
    first = queue.push(mixed("abbbc"), 1, 0.0)
    queue.push(mixed("cccccc"), 1, 0.0)
    assert indexes(taken(queue)) == [4, 0, 1, 2]
    assert indexes(taken(queue)) == [1, 2, 3]
    assert indexes(taken(queue)) == [0]
    assert not first.pending


def test_classes_come_in_order() -> None:
    queue = BatchQueue(2, 1000)
    requests = [queue.push(pieces(2), rank, 0.0) for rank in (2, 0, 1)]
    assert [taken(queue).pieces[0][0] for _ in range(3)] == [requests[1], requests[2], requests[0]]


def test_less_urgent_pieces_at_most_double_a_call() -> None:
    queue = BatchQueue(16, 1000)
    urgent = queue.push(pieces(3), 0, 0.0)
    queue.push(pieces(16), 1, 0.0)
    batch = taken(queue)
    assert Counter(request is urgent for request, _ in batch.pieces) == {True: 3, False: 3}


def test_the_small_overtake_the_large_and_like_ones_come_one_after_the_other() -> None:
    queue = BatchQueue(2, 1000)
    first, second = (queue.push(pieces(4), 1, 0.0) for _ in range(2))
    small = queue.push(pieces(2), 1, 0.0)
    order = [taken(queue).pieces[0][0] for _ in range(5)]
    assert order == [small, first, first, second, second]


def test_what_leaves_is_not_taken_and_changes_nothing_for_the_others() -> None:
    queue = BatchQueue(2, 1000)
    first = queue.push(mixed("ab"), 1, 0.0)
    second = queue.push(mixed("ab"), 1, 0.0)
    assert queue.remove(first) == 2
    assert queue.remove(first) == 0
    assert (len(queue), queue.pixels) == (2, 20)
    assert {taken(queue).pieces[0][0] for _ in range(2)} == {second}
    assert (len(queue), queue.pixels, queue.ready_at) == (0, 0, None)


def test_a_call_that_is_not_full_is_held_back_where_others_are_full() -> None:
    queue = BatchQueue(2, 1000, wait_s=5.0)
    thin = queue.push(mixed("a"), 0, 0.0)
    full = queue.push(mixed("bb"), 1, 1.0)
    assert taken(queue, 1.0).pieces[0][0] is full
    assert queue.take(4.9) is None
    assert queue.ready_at == 5.0
    assert taken(queue, 5.0).pieces[0][0] is thin


@given(st.integers(1, 30), st.integers(0, 2), st.integers(1, 5))
def test_nobody_starves_behind_more_urgent_work_that_never_ends(count: int, rank: int, others: int) -> None:
    """Each call in nine at least is for whoever waits longest, until all of it is done."""
    queue = BatchQueue(MAX_BATCH, 1000)
    patient = queue.push(pieces(count, shape=0), rank, 0.0)
    calls = 0
    while patient.pending:
        while len(queue) - sum(map(len, patient.pending.values())) < others * MAX_BATCH:
            queue.push(pieces(1), 0, 0.0)
        taken(queue)
        calls += 1
    assert calls <= (PATIENCE + 1) * -(-count // MAX_BATCH)


class QueueMachine(RuleBasedStateMachine):
    """Requests come, leave and are taken in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = BatchQueue(MAX_BATCH, MAX_PIXELS)
        self.waiting: dict[Request, set[int]] = {}
        self.passed: dict[Request, int] = {}
        self.ahead: dict[Request, int] = {}

    @rule(
        sizes=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 120)), min_size=1, max_size=10),
        rank=st.integers(0, 2),
    )
    def comes(self, sizes: list[tuple[int, int]], rank: int) -> None:
        ahead = len(self.queue)
        wanted = [QueuedItem(index, shape, cost, cost) for index, (shape, cost) in enumerate(sizes)]
        request = self.queue.push(wanted, rank, 0.0)
        self.waiting[request] = set(range(len(sizes)))
        self.passed[request], self.ahead[request] = 0, ahead

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(list(self.waiting)))
        assert self.queue.remove(request) == len(self.waiting.pop(request))

    @rule()
    def call_begins(self) -> None:
        batch = self.queue.take(0.0)
        assert (batch is None) == (not self.waiting)
        if batch is None:
            return
        assert 1 <= len(batch.pieces) <= MAX_BATCH
        assert batch.cost <= MAX_PIXELS or len(batch.pieces) == 1
        assert batch.cost == sum(piece.cost for _, piece in batch.pieces)
        assert len({piece.shape for _, piece in batch.pieces}) == 1
        served = {request for request, _ in batch.pieces}
        for request, piece in batch.pieces:
            self.waiting[request].remove(piece.number)
        self.waiting = {request: left for request, left in self.waiting.items() if left}
        for request in self.waiting:
            self.passed[request] = 0 if request in served else self.passed[request] + 1

    @invariant()
    def all_that_waits_is_known(self) -> None:
        assert len(self.queue) == sum(map(len, self.waiting.values()))
        assert (self.queue.ready_at is None) == (not self.waiting)
        for request, left in self.waiting.items():
            assert {piece.number for lane in request.pending.values() for piece in lane} == left
        pending = [piece for request in self.waiting for lane in request.pending.values() for piece in lane]
        assert self.queue.pixels == sum(piece.cost for piece in pending)

    @invariant()
    def nobody_is_passed_over_for_ever(self) -> None:
        for request, passed in self.passed.items():
            # Whoever came before takes at most a call in nine for each of its pieces.
            assert request not in self.waiting or passed <= (PATIENCE + 1) * (self.ahead[request] + 1)

    def teardown(self) -> None:
        while self.waiting:
            self.call_begins()
        assert self.queue.take(0.0) is None


TestQueued = QueueMachine.TestCase
