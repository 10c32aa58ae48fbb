"""How many requests may be at the engine: what each reading, damage and end does to the limit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.evidence import Pressure
from inkgate.serving.limits import FixedLimit
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.clock import Clock


class LimitBench:
    """A limit, and readings of it a second apart. `started`: it has seen pressure before, and grows slowly."""

    def __init__(self, initial: int = 100, most: int = 200, *, started: bool = True) -> None:
        self.clock = Clock()
        self.limit = AdaptiveLimit(AdaptiveSettings(initial=initial, most=most), self.clock)
        if started:
            self.read(waiting=2, in_flight=0)

    def read(self, waiting: int = 0, in_flight: int = 1000, preemptions: int = 0, after_s: float = 1.0) -> int:
        self.clock.goes_on(after_s)
        # throughput that keeps pace with the requests, so that there is always something to gain
        pressure = Pressure(self.clock.now, after_s, waiting=waiting, preemptions=preemptions, tokens=in_flight)
        self.limit.observe(pressure, in_flight)
        return self.limit.value

    def full(self, tokens_per_s: float = 100.0) -> None:
        """A reading that comes too soon for a step."""
        self.clock.goes_on(0.1)
        self.limit.observe(Pressure(self.clock.now, 0.1, waiting=2, tokens=round(0.1 * tokens_per_s)), 100)

    def ended(self, outcome: WorkOutcome, times: int = 1) -> None:
        for _ in range(times):
            self.limit.ended(outcome, self.clock.now)

    def served(self, service_s: float = 2.0) -> None:
        """Learns how long a work takes, while as many are there as are good for."""
        for _ in range(10):
            self.ended(WorkOutcome.OK, round(self.limit.value / service_s))
            self.read(waiting=2, in_flight=self.limit.value)


def test_a_fixed_limit_stays() -> None:
    limit = FixedLimit(7)
    limit.ended(WorkOutcome.FAILED, 0.0)
    assert limit.value == 7


@pytest.mark.parametrize(("waiting", "after"), [(0, 102), (1, 102), (2, 100), (3, 93), (4, 90), (400, 90)])
def test_a_step_is_as_large_as_the_formula_says(waiting: int, after: int) -> None:
    observed = LimitBench()
    assert observed.read(waiting, after_s=100.0) == after


def test_until_the_first_pressure_it_grows_by_a_quarter_a_step() -> None:
    observed = LimitBench(initial=16, started=False)
    assert [observed.read(in_flight=64, after_s=10.0) for _ in range(4)] == [20, 25, 31, 39]
    before = observed.read(waiting=2, in_flight=64, after_s=10.0)
    assert observed.read(in_flight=64, after_s=10.0) <= before + 2


def test_steps_are_half_a_service_time_apart() -> None:
    observed = LimitBench()
    observed.served(service_s=10.0)
    before = observed.limit.value
    values = [observed.read(waiting=400, in_flight=before) for _ in range(9)]
    assert len({before, *values}) <= 3


def test_nothing_grows_while_half_of_it_is_not_used() -> None:
    observed = LimitBench()
    assert {observed.read(in_flight=49) for _ in range(100)} == {100}
    assert observed.read(in_flight=60, after_s=10.0) == 102


def test_a_reading_counts_once_however_often_it_comes() -> None:
    """A stampede: many steps on one reading, before it can show what the first one did."""
    observed = LimitBench()
    observed.clock.goes_on(10.0)
    pressure = Pressure(observed.clock.now, 1.0, waiting=0, tokens=1000)
    for _ in range(100):
        observed.limit.observe(pressure, 1000)
        observed.clock.goes_on(0.04)
    assert observed.limit.value == 102


def test_a_stale_reading_is_not_used() -> None:
    observed = LimitBench()
    pressure = Pressure(observed.clock.now, 1.0, waiting=400)
    observed.clock.goes_on(5.1)
    observed.limit.observe(pressure, 1000)
    assert observed.limit.value == 100


def test_readings_of_before_a_change_do_not_lead_to_another() -> None:
    observed = LimitBench()
    asked = [observed.clock.now + delay for delay in (0.5, 1.0, 1.5)]
    observed.clock.goes_on(2.0)
    observed.limit.damaged()
    observed.clock.goes_on(2.5)
    for at in asked:
        observed.limit.observe(Pressure(at, 0.5, waiting=400), 1000)
    assert observed.limit.value == 90


def test_damage_cuts_once_a_service_time() -> None:
    observed = LimitBench()
    observed.served(service_s=2.0)
    for _ in range(50):
        observed.limit.damaged()
    assert observed.limit.value == 90
    observed.clock.goes_on(1.5)
    observed.limit.damaged()
    assert observed.limit.value == 90
    observed.clock.goes_on(1.0)
    observed.limit.damaged()
    assert observed.limit.value == 81


def test_a_preemption_is_damage() -> None:
    observed = LimitBench()
    assert observed.read(waiting=2, preemptions=1) == 90


def test_failures_are_damage_when_they_are_more_than_a_few() -> None:
    observed = LimitBench()
    for _ in range(50):
        observed.ended(WorkOutcome.OK, 49)
        observed.ended(WorkOutcome.FAILED)
    assert observed.limit.value == 100
    observed.ended(WorkOutcome.FAILED, 3)
    assert observed.limit.value == 90


def test_what_deadlines_end_at_a_full_engine_is_damage_when_it_is_many() -> None:
    observed = LimitBench()
    observed.served()
    observed.full()
    for _ in range(50):
        observed.ended(WorkOutcome.OK, 9)
        observed.ended(WorkOutcome.LATE)
    assert observed.limit.value == 100
    observed.ended(WorkOutcome.LATE, 3)
    assert 85 <= observed.limit.value <= 90


def test_where_deadlines_end_nearly_all_it_is_halved_once_a_service_time() -> None:
    observed = LimitBench()
    observed.served(service_s=2.0)
    observed.full()
    observed.ended(WorkOutcome.OK)
    observed.ended(WorkOutcome.LATE, 100)
    first = observed.limit.value
    assert first < 100
    observed.full()
    observed.ended(WorkOutcome.LATE, 100)
    assert observed.limit.value == first, "not so soon"
    observed.read(waiting=2, in_flight=100, after_s=2.5)
    observed.full()
    observed.ended(WorkOutcome.LATE, 100)
    assert observed.limit.value == first // 2


@pytest.mark.parametrize("tokens_per_s", [0.0, 50.0])
def test_what_deadlines_end_is_no_damage_where_the_engine_is_not_full(tokens_per_s: float) -> None:
    observed = LimitBench()
    observed.served()
    observed.full(tokens_per_s)
    observed.ended(WorkOutcome.LATE, 100)
    assert observed.limit.value == 100


def test_nothing_grows_while_deadlines_end_more_than_a_few() -> None:
    observed = LimitBench(initial=10)
    observed.ended(WorkOutcome.LATE, 3)
    for _ in range(20):
        observed.ended(WorkOutcome.OK, 6)
        observed.ended(WorkOutcome.LATE)
        assert observed.read(in_flight=10) == 10
    for _ in range(20):
        observed.ended(WorkOutcome.OK, 7)
        observed.read(in_flight=10)
    assert observed.limit.value > 10


def test_rejected_input_and_callers_who_left_say_nothing() -> None:
    observed = LimitBench()
    observed.ended(WorkOutcome.REJECTED, 100)
    observed.ended(WorkOutcome.LEFT, 100)
    assert observed.limit.value == 100


def test_without_readings_the_limit_stays() -> None:
    """The metrics endpoint is gone: nothing is read less."""
    observed = LimitBench()
    for _ in range(1000):
        observed.clock.goes_on(1.0)
        observed.ended(WorkOutcome.OK)
    assert observed.limit.value == 100


def test_without_readings_a_cut_is_made_good_again_but_no_more() -> None:
    observed = LimitBench()
    for _ in range(5):
        observed.clock.goes_on(10.0)
        observed.limit.damaged()
    assert observed.limit.value == 59
    values = []
    for _ in range(1000):
        observed.clock.goes_on(1.0)
        observed.ended(WorkOutcome.OK)
        values.append(observed.limit.value)
    assert values == sorted(values)
    assert values[-1] == 100


Event = st.one_of(
    st.tuples(st.just("read"), st.integers(0, 1000), st.integers(0, 300)),
    st.tuples(st.just("damaged"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("ended"), st.integers(0, 3), st.just(0)),
)


@given(st.lists(st.tuples(Event, st.floats(0.01, 20))), st.integers(1, 50))
def test_whatever_happens_the_limit_moves_in_bounds_and_small_steps(
    events: list[tuple[tuple[str, int, int], float]], most: int
) -> None:
    observed = LimitBench(initial=5, most=most)
    for (kind, first, second), after_s in events:
        before = observed.limit.value
        if kind == "read":
            observed.read(first, second, after_s=after_s)
        elif kind == "damaged":
            observed.clock.goes_on(after_s)
            observed.limit.damaged()
        else:
            observed.clock.goes_on(after_s)
            observed.ended(list(WorkOutcome)[first])
        assert 1 <= observed.limit.value <= most
        assert math.floor(0.9 * before) - 1 <= observed.limit.value <= before + 0.2 * math.sqrt(before + 1) + 1
