"""The order of waiting work: classes that age, fair shares of tenants and flows, deadlines; and nothing starves."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.caller import Priority
from inkgate.serving.order import FairOrder, QueueEntry, Work

AGE_S = 30.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TimedQueue:
    """A FairOrder with a clock set by hand."""

    def __init__(self, clock: Clock, weights: dict[str, float]) -> None:
        self.inner = FairOrder(AGE_S, weights)
        self.remove, self.end, self.ahead = self.inner.remove, self.inner.end, self.inner.ahead
        self._clock = clock

    def push(self, work: Work) -> QueueEntry:
        return self.inner.push(work, self._clock())

    def pop(self) -> QueueEntry | None:
        first = self.inner.first(self._clock())
        return first and self.inner.take(first)

    def expire(self) -> list[QueueEntry]:
        return self.inner.expire(self._clock())


def queue_of(clock: Clock | None = None, weights: dict[str, float] | None = None) -> TimedQueue:
    return TimedQueue(clock or Clock(), weights or {})


def popped(queue: TimedQueue, count: int = 10_000) -> list[Work]:
    found: list[Work] = []
    while len(found) < count and (entry := queue.pop()) is not None:
        found.append(entry.work)
        queue.end(entry)
    return found


works: st.SearchStrategy[Work] = st.builds(
    Work,
    tokens=st.integers(0, 500),
    tenant=st.sampled_from("abc"),
    flow=st.sampled_from("xyz"),
    priority=st.sampled_from(Priority),
    deadline=st.one_of(st.just(math.inf), st.floats(1000.5, 1200.0)),
)


def test_work_alike_goes_in_the_order_it_came() -> None:
    queue = queue_of()
    entries = [queue.push(Work(10)) for _ in range(20)]
    assert [queue.pop() for _ in range(20)] == entries
    assert queue.pop() is None


def test_in_a_flow_the_earliest_deadline_goes_first() -> None:
    queue = queue_of()
    for deadline in (1300.0, math.inf, 1100.0, 1200.0):
        queue.push(Work(10, deadline=deadline))
    assert [work.deadline for work in popped(queue)] == [1100.0, 1200.0, 1300.0, math.inf]


def test_the_higher_class_goes_first() -> None:
    queue = queue_of()
    for priority in reversed(Priority):
        queue.push(Work(10, priority=priority))
    assert [work.priority for work in popped(queue)] == list(Priority)


def test_work_that_waited_counts_one_class_up_and_then_another() -> None:
    clock = Clock()
    queue = queue_of(clock)
    old = queue.push(Work(10, "old", priority=Priority.BATCH, deadline=1e6))
    patient = queue.push(Work(10, "job", priority=Priority.BATCH))
    clock.now += AGE_S - 1
    queue.push(Work(10, "new", priority=Priority.NORMAL))
    assert popped(queue, 1)[0].tenant == "new"
    clock.now += 1
    queue.push(Work(10, "new", priority=Priority.BATCH))
    queue.push(Work(10, "now", priority=Priority.INTERACTIVE))
    assert popped(queue, 1)[0].tenant == "now"
    assert old.rank == Priority.NORMAL.rank
    clock.now += AGE_S
    assert queue.pop() is old
    assert old.rank == Priority.INTERACTIVE.rank
    assert patient.rank == Priority.BATCH.rank, "nobody waits for it"


@pytest.mark.parametrize("deadline", [1e6, math.inf])
def test_batch_is_served_under_an_endless_stream_of_interactive_work(deadline: float) -> None:
    clock = Clock()
    queue = queue_of(clock)
    batch = queue.push(Work(100, "batch", priority=Priority.BATCH, deadline=deadline))
    for turn in range(200):
        for _ in range(3):
            queue.push(Work(10, "interactive", f"{turn}", Priority.INTERACTIVE))
        clock.now += 1
        (work,) = popped(queue, 1)
        if work is batch.work:
            assert turn <= (2 * AGE_S + 10 if deadline < math.inf else 170)  # by its share, 1/16: of 1,600 tokens
            return
    raise AssertionError("starved")


def test_tenants_get_the_same_tokens_however_much_each_sends() -> None:
    queue = queue_of()
    for number in range(900):
        queue.push(Work(10, "greedy", f"{number % 50}"))
    for _ in range(30):
        queue.push(Work(100, "modest"))
    tokens: Counter[str] = Counter()
    for work in popped(queue, 330):
        tokens[work.tenant] += work.tokens
    assert abs(tokens["greedy"] - tokens["modest"]) <= 110


def test_shares_follow_weights() -> None:
    queue = queue_of(weights={"gold": 3.0})
    for _ in range(400):
        queue.push(Work(10, "gold"))
        queue.push(Work(10, "other"))
    assert Counter(work.tenant for work in popped(queue, 400)) == {"gold": 300, "other": 100}


def test_a_long_document_leaves_the_tenants_short_ones_their_turn() -> None:
    queue = queue_of()
    for _ in range(200):
        queue.push(Work(10, "t", "long"))
    for number in range(5):
        queue.push(Work(10, "t", f"short {number}"))
    first = [work.flow for work in popped(queue, 6)]
    assert sorted(first) == ["long", *(f"short {number}" for number in range(5))]


def test_leaving_and_coming_back_gains_nothing() -> None:
    queue = queue_of()
    for _ in range(50):
        queue.push(Work(100, "steady"))
    served: Counter[str] = Counter()
    for _ in range(40):
        queue.push(Work(100, "returning"))
        work = popped(queue, 1)[0]
        served[work.tenant] += 1
        if work.tenant == "steady":
            # Leaves with all that it has, and comes again.
            for entry in [queue.push(Work(100, "returning")) for _ in range(2)]:
                queue.remove(entry)
    assert abs(served["steady"] - served["returning"]) <= 1


def test_having_been_away_is_no_credit() -> None:
    queue = queue_of()
    for _ in range(100):
        queue.push(Work(100, "steady"))
    popped(queue, 50)
    for _ in range(100):
        queue.push(Work(100, "late"))
    assert Counter(work.tenant for work in popped(queue, 40)) == {"steady": 20, "late": 20}


def test_one_large_work_at_a_time_is_no_way_to_a_larger_share() -> None:
    queue = queue_of()
    for _ in range(300):
        queue.push(Work(100, "steady"))
    queue.push(Work(300, "single"))
    served: Counter[str] = Counter()
    for _ in range(120):
        work = popped(queue, 1)[0]
        served[work.tenant] += work.tokens
        if work.tenant == "single":
            queue.push(Work(300, "single"))
    assert abs(served["steady"] - served["single"]) <= 400


def test_what_was_used_beyond_the_estimate_is_made_up_for() -> None:
    queue = queue_of()
    for _ in range(400):
        queue.push(Work(10, "underestimated"))
        queue.push(Work(10, "honest"))
    served: Counter[str] = Counter()
    for _ in range(200):
        entry = queue.pop()
        assert entry is not None
        served[entry.work.tenant] += 1
        queue.end(entry, 30 if entry.work.tenant == "underestimated" else 10)
    assert abs(3 * served["underestimated"] - served["honest"]) <= 6


def test_ahead_is_what_goes_first() -> None:
    queue = queue_of()
    for number in range(100):
        queue.push(Work(10, "greedy", f"{number}"))
    assert queue.ahead(Work(10, "greedy", "new")) == 1000
    assert queue.ahead(Work(10, "modest")) == 10
    assert queue.ahead(Work(10, "greedy", priority=Priority.BATCH)) == 170  # a sixteenth is its own
    assert queue.ahead(Work(10, "greedy", priority=Priority.INTERACTIVE)) == 0


def test_a_small_work_does_not_wait_for_the_larger_ones_that_came_before() -> None:
    queue = queue_of()
    for number in range(10):
        queue.push(Work(100, f"{number % 2}", f"{number}"))
    small = Work(1, "0", "new")
    assert queue.ahead(small) == 11
    assert queue.ahead(Work(100, "0", "new")) == 1000
    queue.push(small)
    assert popped(queue, 1) == [small]


@pytest.mark.parametrize("deadline", [1e6, math.inf])
def test_a_long_document_gets_its_share_of_an_endless_stream_of_short_ones(deadline: float) -> None:
    queue = queue_of()
    for _ in range(100):
        queue.push(Work(10, "library", "long", Priority.BATCH, deadline))
    served: Counter[str] = Counter()
    for number in range(200):
        while len(queue.inner) < 103 - served["long"]:
            queue.push(Work(10, "library", f"{number} {len(queue.inner)}", Priority.BATCH, deadline))
        (work,) = popped(queue, 1)
        served["long" if work.flow == "long" else "short"] += 1
    assert served["long"] > 0.2 * 200, "a quarter, beside three others at any time"


def test_expired_work_is_taken_out_in_order() -> None:
    clock = Clock()
    queue = queue_of(clock)
    late, early, never = (queue.push(Work(10, deadline=deadline)) for deadline in (1020.0, 1010.0, math.inf))
    assert queue.expire() == []
    clock.now = 1020.0
    assert queue.expire() == [early, late]
    assert queue.pop() is never


@given(st.lists(works, max_size=40))
def test_everything_comes_out_once_whatever_comes_in(pushed: list[Work]) -> None:
    queue = queue_of()
    entries = [queue.push(work) for work in pushed]
    assert (len(queue.inner), queue.inner.tokens) == (len(pushed), sum(work.tokens for work in pushed))
    out = [queue.pop() for _ in pushed]
    assert {id(entry) for entry in out} == {id(entry) for entry in entries}
    assert (len(queue.inner), queue.inner.tokens) == (0, 0)


@given(
    st.lists(
        st.one_of(
            works, st.just("pop"), st.just("expire"), st.floats(0.1, 40.0), st.tuples(st.just("remove"), st.integers())
        ),
        max_size=80,
    )
)
def test_counts_hold_after_any_sequence(steps: list[Work | str | float | tuple[str, int]]) -> None:
    clock = Clock()
    queue = queue_of(clock)
    inside: list[QueueEntry] = []
    for step in steps:
        if isinstance(step, Work):
            inside.append(queue.push(replace(step, deadline=step.deadline + clock.now - 1000.0)))
        elif isinstance(step, float):
            clock.now += step
        elif isinstance(step, tuple):
            if inside:
                queue.remove(inside.pop(step[1] % len(inside)))
        elif step == "pop":
            entry = queue.pop()
            assert (entry is None) == (not inside)
            if entry is not None:
                inside.remove(entry)
        else:
            for entry in queue.expire():
                assert entry.work.deadline <= clock.now
                inside.remove(entry)
        assert len(queue.inner) == len(inside)
        assert queue.inner.tokens == sum(entry.work.tokens for entry in inside)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 300)), min_size=1, max_size=200))
def test_no_tenant_that_waits_gets_more_than_one_work_ahead_of_its_share(sent: list[tuple[str, int]]) -> None:
    """Goyal et al. 1996, theorem 1: |W_a - W_b| <= l_a + l_b while both wait, l being the largest work."""
    queue = queue_of()
    left = Counter(tenant for tenant, _ in sent)
    largest = max(tokens for _, tokens in sent)
    for tenant, tokens in sent:
        queue.push(Work(tokens, tenant))
    got: Counter[str] = Counter()
    for work in popped(queue):
        got[work.tenant] += work.tokens
        left[work.tenant] -= 1
        waiting = [got[tenant] for tenant, count in left.items() if count]
        if waiting:
            assert max(waiting) - min(waiting) <= 2 * largest


def served_of_each(seconds: int, per_s: int = 2) -> dict[Priority, int]:
    """Works of each class that are served while more of every class comes than can be: 8 clients of single pages, and
    two documents of other classes.
    """
    clock = Clock()
    queue = queue_of(clock)
    counts: Counter[Priority] = Counter()
    waiting: Counter[Priority] = Counter()
    for tick in range(seconds * per_s):
        for priority, most in ((Priority.INTERACTIVE, 8), (Priority.NORMAL, 4), (Priority.BATCH, 4)):
            for number in range(waiting[priority], most):
                flow = f"{tick} {number}" if priority is Priority.INTERACTIVE else priority
                queue.push(Work(100, priority.value, flow, priority))
                waiting[priority] += 1
        (work,) = popped(queue, 1)
        counts[work.priority] += 1
        waiting[work.priority] -= 1
        clock.now += 1 / per_s
    return counts


def test_every_class_gets_a_share_within_seconds_under_endless_interactive_work() -> None:
    within = served_of_each(20)  # before anything is old enough for the next class
    assert within[Priority.NORMAL] >= 6
    assert within[Priority.BATCH] >= 1
    assert within[Priority.INTERACTIVE] >= 0.7 * sum(within.values())


def test_a_share_is_not_saved_up_while_nobody_waits() -> None:
    queue = queue_of()
    for _ in range(100):
        queue.push(Work(100, "many", priority=Priority.INTERACTIVE))
    popped(queue, 80)
    for _ in range(10):
        queue.push(Work(100, "few", priority=Priority.NORMAL))
    assert [work.priority for work in popped(queue, 4)] == [Priority.INTERACTIVE] * 4
    assert next(iter(popped(queue, 1))).priority is Priority.NORMAL


def test_a_queue_of_one_document_is_told_from_one_of_several() -> None:
    queue = queue_of()

    def found() -> bool:
        return queue.inner.is_single_flow

    assert not found()
    first, second = (queue.push(Work(10, "a", flow)) for flow in ("1", "1"))
    assert found()
    for other in (Work(10, "a", "2"), Work(10, "b", "1"), Work(10, "b", "2", Priority.BATCH)):
        entry = queue.push(other)
        assert not found()
        queue.remove(entry)
    queue.remove(first)
    assert found()
    queue.remove(second)
    assert not found()
