"""The adaptive limit in a loop with an engine: where it settles, how it recovers, and what must not fool it."""

from __future__ import annotations

import math
from collections import deque

import pytest

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.evidence import Pressure
from inkgate.model_servers.monitor import PressureGauge
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.plant import TICK_S, Plant

UNBOUNDED = 1e9


class Loop:
    """A plant that is always offered as much as the limit allows, read once a second."""

    def __init__(self, plant: Plant, every_s: float = 1.0, lag_s: float = 0.0, initial: int = 16) -> None:
        self.plant = plant
        self.limit = AdaptiveLimit(AdaptiveSettings(initial=initial), lambda: plant.now)
        self._gauge = PressureGauge()
        self._every = round(every_s / TICK_S)
        self._lag_s = lag_s
        self._on_the_way: deque[tuple[Pressure, int]] = deque()
        plant.on_end = lambda _, now: self.limit.ended(WorkOutcome.OK, now)
        plant.on_late = lambda _, now: self.limit.ended(WorkOutcome.LATE, now)

    def run(self, seconds: float, foreign: int = 0, demand: int = 10**6, *, readings: bool = True) -> list[int]:
        """The limit at each second."""
        values = []
        for tick in range(round(seconds / TICK_S)):
            self.plant.keep(min(self.limit.value, demand), foreign)
            self.plant.tick()
            if readings and tick % self._every == 0:
                pressure = self._gauge.read(self.plant.reading(), self.plant.now, self.plant.in_flight)
                if pressure is not None:
                    self._on_the_way.append((pressure, self.plant.in_flight))
            while self._on_the_way and self._on_the_way[0][0].at + self._lag_s <= self.plant.now:
                self.limit.observe(*self._on_the_way.popleft())
            if tick % 10 == 9:
                values.append(self.limit.value)
        return values


def reach_s(low: int, high: int, service_s: float) -> int:
    """How long the formula takes from one limit to another: dL = 0.2 sqrt(L) each half a service time."""
    return math.ceil(10 * (math.sqrt(high) - math.sqrt(low)) * max(1.0, service_s / 2))


@pytest.mark.parametrize("slots", [4, 16, 32, 64])
def test_it_settles_where_the_engine_is_full_and_stays(slots: int) -> None:
    loop = Loop(Plant(slots=slots, tokens_per_s=UNBOUNDED))
    loop.run(60 + reach_s(16, max(16, slots), 5.0))
    settled = loop.run(200)
    assert slots <= min(settled)
    assert max(settled) <= 1.1 * slots + 2


@pytest.mark.parametrize(("every_s", "lag_s"), [(1.0, 3.0), (3.0, 1.5), (4.5, 0.0), (4.0, 4.5)])
def test_slow_and_late_readings_do_not_make_it_swing(every_s: float, lag_s: float) -> None:
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED), every_s, lag_s)
    loop.run(400)
    settled = loop.run(200)
    assert min(settled) >= 32
    assert max(settled) <= 37


def test_it_follows_the_capacity_down_and_up_in_bounded_time() -> None:
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED))
    loop.run(150)
    loop.plant.slots = 8
    # by a tenth each half a service time: ln(34 / 10) / -ln(0.9) = 12 steps, of which the queue makes some longer
    falling = loop.run(100)
    assert falling[-1] <= 12
    assert min(falling) >= 8
    assert max(loop.run(50)) <= 12
    loop.plant.slots = 64
    rising = loop.run(reach_s(8, 64, 6.0) + 20)
    assert rising[-1] >= 64
    assert max(loop.run(60)) <= 72


def test_growth_that_brings_nothing_is_undone() -> None:
    """A large batch that only gets slower: nothing waits, and no signal but the throughput shows it."""
    loop = Loop(Plant(slots=1000, tokens_per_s=2000.0, fastest=100.0))
    loop.run(300)
    settled = loop.run(600)
    assert min(settled) >= 17
    assert max(settled) <= 26


def test_a_throttled_engine_gets_no_less_than_it_ran_and_grows_with_it_again() -> None:
    """It may be slowed down by others on its machine: with fewer at once it would do no more."""
    loop = Loop(Plant(slots=1000, tokens_per_s=2000.0, fastest=100.0))
    before = loop.run(200)[-1]
    loop.plant.tokens_per_s = 800.0
    throttled = loop.run(60)
    assert min(throttled) >= 17
    assert max(throttled) <= before + 3
    loop.plant.tokens_per_s = 4000.0
    assert max(loop.run(250)) >= 30


def test_a_full_kv_cache_is_seen_before_most_preemptions() -> None:
    held, overrun = (Plant(slots=256, kv_tokens=10_000, tokens_per_s=UNBOUNDED) for _ in range(2))
    Loop(held).run(400)
    for _ in range(4000):
        overrun.keep(64)
        overrun.tick()
    assert held.preemptions < overrun.preemptions / 4
    # 0.85 of the cache is used, from a start at 16
    assert held.requests > 0.75 * overrun.requests


def test_other_clients_of_the_engine_are_made_room_for() -> None:
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED))
    loop.run(150)
    with_others = loop.run(150, foreign=20)
    assert 10 <= with_others[-1] <= 18
    assert max(loop.run(200)) >= 32


def test_a_healthy_engine_is_never_given_less_to_find_out() -> None:
    loop = Loop(Plant(slots=1000, tokens_per_s=UNBOUNDED))
    values = loop.run(200)
    assert values == sorted(values)


def test_an_idle_service_does_not_raise_its_limit() -> None:
    loop = Loop(Plant(slots=1000, tokens_per_s=UNBOUNDED))
    assert set(loop.run(200, demand=3)) == {16}


def test_an_engine_that_stands_still_gets_no_more() -> None:
    loop = Loop(Plant(slots=1000, tokens_per_s=UNBOUNDED))
    last = loop.run(100)[-1]
    loop.plant.fastest = 1e-300
    assert max(loop.run(100)) <= last + 1


def test_a_cut_at_the_knee_is_made_good_without_waiting_for_the_next_try() -> None:
    loop = Loop(Plant(slots=1000, tokens_per_s=2000.0, fastest=100.0))
    settled = loop.run(150)[-1]
    for _ in range(4):
        loop.limit.damaged()
        loop.run(5)
    assert loop.limit.value < settled - 1
    assert max(loop.run(30)) >= settled


def test_it_serves_on_at_the_same_limit_when_readings_end() -> None:
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED))
    last = loop.run(150)[-1]
    before = loop.plant.requests
    assert set(loop.run(100, readings=False)) == {last}
    assert loop.plant.requests - before > 500
    assert max(loop.run(100)) <= 36


def test_long_pages_are_not_taken_for_pressure() -> None:
    """Latency follows the length of the output: eight times as long, and nothing is given up."""
    loop = Loop(Plant(slots=1000, tokens_per_s=UNBOUNDED))
    before = loop.run(100)[-1]
    loop.plant.shortest, loop.plant.longest = 800, 5600
    assert min(loop.run(200)) >= before


def test_waiting_for_the_end_of_a_long_page_is_not_taken_for_pressure() -> None:
    """Of pages of 30 s, one that finds its place taken for a moment waits seconds: a tenth of that time is healthy."""
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED, shortest=2000, longest=4000))
    loop.run(900)
    settled = loop.run(300)
    assert min(settled) >= 32
    assert max(settled) <= 1.1 * 32 + 2


@pytest.mark.parametrize("initial", [16, 64, 200])
def test_where_all_is_too_late_there_is_less_at_once_until_it_is_in_time(initial: int) -> None:
    """Works that take 4 s by themselves, and 13 s where 64 of them share what 20 can have; their deadline is 8 s."""
    loop = Loop(Plant(slots=200, tokens_per_s=2000.0, patience_s=8.0), initial=initial)
    loop.run(60)
    before = loop.plant.requests
    loop.run(300)
    assert loop.plant.requests - before > 0.8 * 300 * 2000 / 400


@pytest.mark.parametrize("quiet_s", [0, 1000])
def test_deadlines_that_cannot_be_met_do_not_empty_the_engine(quiet_s: int) -> None:
    """A third of the requests takes more than 5 s with any number at once. Before there may have been little to do."""
    loop = Loop(Plant(slots=64, tokens_per_s=2000.0, patience_s=5.0), initial=64)
    loop.run(quiet_s, demand=1)
    loop.run(60)
    before = loop.plant.requests
    assert min(loop.run(240)) >= 8
    assert loop.plant.requests - before > 240 * 2.0


def test_an_engine_that_hung_is_given_as_much_again() -> None:
    loop = Loop(Plant(slots=32, tokens_per_s=UNBOUNDED, patience_s=20.0))
    settled = loop.run(200)[-1]
    loop.plant.fastest = 1e-3
    loop.run(60)
    loop.plant.fastest = 100.0
    assert max(loop.run(120)) >= settled - 1
