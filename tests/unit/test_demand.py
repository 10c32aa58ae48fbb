"""The load in servers: of what is served, and of what is refused at each gate."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from inkgate.serving.demand import Demand, DemandCounts, UsableSlots


@dataclass
class Traffic:
    """Counts that grow by `each` in every second."""

    each: DemandCounts
    slots: float = 10.0
    now: float = 0.0
    counts: DemandCounts = field(default_factory=DemandCounts)

    def after(self, seconds: int, demand: Demand) -> float:
        for _ in range(seconds):
            demand.look()
            self.now += 1
            self.counts = self.counts.added(self.each)
        demand.look()
        assert demand.servers is not None
        return demand.servers

    def demand(self) -> Demand:
        return Demand(lambda: self.counts, lambda tokens: self.slots if tokens < 1000 else 1.0, lambda: self.now)


SERVED = DemandCounts(calls=10, call_s=5, page_call_s=5, call_tokens=5000, pages=10, documents=10)
"""Ten documents of a page, each half a second at a server: half of a server with ten slots."""


@pytest.mark.parametrize(
    ("each", "servers"),
    [
        (SERVED, 0.5),
        # calls that the servers had no slot for
        (DemandCounts(calls=40, call_s=20, page_call_s=20, call_tokens=20_000, pages=40, documents=40), 2.0),
        # pages refused in the queue, and documents refused at admission, count as the mean of the others
        (SERVED.added(DemandCounts(pages_refused=30, documents=30)), 2.0),
        (SERVED.added(DemandCounts(documents_refused=30)), 2.0),
        # both: the refused documents would have had refused pages, too
        (SERVED.added(DemandCounts(pages_refused=10, documents_refused=10)), 2.0),
        # pages that the cache or the text layer answers are no work
        (SERVED.added(DemandCounts(pages=30, documents=30)), 0.5),
    ],
)
def test_all_that_arrives_is_counted_wherever_it_is_refused(each: DemandCounts, servers: float) -> None:
    traffic = Traffic(each)
    assert traffic.after(300, traffic.demand()) == pytest.approx(servers, rel=0.01)


def test_it_follows_the_load_within_a_minute_or_two_and_not_at_once() -> None:
    traffic = Traffic(SERVED)
    demand = traffic.demand()
    traffic.after(300, demand)
    traffic.each = DemandCounts(calls=40, call_s=20, page_call_s=20, call_tokens=20_000, pages=40, documents=40)
    assert traffic.after(1, demand) < 0.6
    assert traffic.after(90, demand) > 1.8
    traffic.each = DemandCounts()
    assert traffic.after(240, demand) < 0.01


def test_chats_are_no_measure_of_a_document_that_is_refused_after_them() -> None:
    traffic = Traffic(DemandCounts(calls=10, call_s=5, call_tokens=5000))
    demand = traffic.demand()
    assert traffic.after(3600, demand) == pytest.approx(0.5, rel=0.01)
    traffic.counts = traffic.counts.added(DemandCounts(documents_refused=1, pages_refused=1))
    assert traffic.after(1, demand) == pytest.approx(0.5, rel=0.01)


def test_a_limit_that_is_low_for_a_while_is_not_taken_for_the_capacity() -> None:
    traffic = Traffic(SERVED)
    demand = traffic.demand()
    traffic.after(300, demand)
    traffic.slots = 2.0
    assert traffic.after(60, demand) < 0.6


def test_calls_that_fill_a_kv_cache_take_a_server_each() -> None:
    traffic = Traffic(DemandCounts(calls=10, call_s=5, page_call_s=5, call_tokens=50_000, pages=10, documents=10))
    assert traffic.after(300, traffic.demand()) == pytest.approx(5.0, rel=0.01)


def test_before_the_first_call_it_is_unknown() -> None:
    traffic = Traffic(DemandCounts())
    demand = traffic.demand()
    demand.look()
    assert demand.servers is None


@pytest.mark.parametrize(
    ("pages", "calls", "slots"),
    [
        (0, 0, 32.0),  # nothing is known
        (16, 16, 16.0),  # one call at a time for each page: 16 pages fill no more slots
        (16, 24, 24.0),
        (16, 64, 32.0),  # blocks of a page are read at once: the server is the limit
        (0, 8, 32.0),  # calls of clients, without pages
    ],
)
def test_slots_that_pages_leave_empty_do_not_count(pages: int, calls: int, slots: float) -> None:
    assert UsableSlots(lambda _: 32.0, 16, lambda: pages, lambda: calls)(100) == pytest.approx(slots)


def test_slots_that_other_gateways_fill_are_part_of_a_server() -> None:
    others = iter([16.0, 16.0, -1.0])
    slots = UsableSlots(lambda _: 32.0, 16, lambda: 16, lambda: 16, lambda: next(others))
    assert slots(100) == slots(100) == pytest.approx(32.0)
    assert 16 < slots(100) < 32


def test_the_load_stays_a_number_when_calls_go_on_for_a_week_without_a_new_page_or_document() -> None:
    now, counts = 0.0, DemandCounts(calls=5, call_s=25, page_call_s=25, call_tokens=500, pages=5, documents=1)
    demand = Demand(lambda: counts, lambda _: 32.0, lambda: now)
    for _ in range(7 * 24 * 60):
        demand.look()
        now, counts = now + 60, counts.added(DemandCounts(calls=60, call_s=300, page_call_s=300, call_tokens=6000))
    counts = counts.added(DemandCounts(pages_refused=1, documents_refused=1))
    demand.look()
    assert demand.servers is not None
    assert 0 < demand.servers < 1000
