"""The states of the adaptive limit, and what leads from one to another."""

from __future__ import annotations

import pytest

from inkgate.model_servers.adaptive import AdaptiveLimit, LimitState
from inkgate.model_servers.evidence import Pressure
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.clock import Clock

STEP_S = 2.5
"""Half of the service time that is assumed before any work has ended."""


class Bench:
    """A limit that starts at 16, all of it in use, with a reading for each step."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.limit = AdaptiveLimit(AdaptiveSettings(), self.clock)

    def step(self, tokens_per_s: float | None = None, waiting: int = 0, preemptions: int = 0) -> LimitState:
        """`tokens_per_s`: None: in proportion to the requests."""
        self.clock.goes_on(STEP_S)
        in_flight = self.limit.value
        tokens = STEP_S * (100 * in_flight if tokens_per_s is None else tokens_per_s)
        reading = Pressure(self.clock.now, STEP_S, in_flight, waiting, preemptions=preemptions, tokens=round(tokens))
        self.limit.observe(reading, in_flight)
        return self.limit.state

    def ended(self, outcome: WorkOutcome) -> LimitState:
        self.limit.ended(outcome, self.clock.now)
        return self.limit.state

    def saturated_at(self, limit: int) -> None:
        """Grows to about `limit` and meets pressure there, once."""
        while self.limit.value < limit:
            self.step()
        assert self.step(waiting=2) is LimitState.SATURATED

    def held(self) -> None:
        """Meets no pressure, but growth brings nothing."""
        while self.step(tokens_per_s=1000.0) is not LimitState.HOLDING:
            assert self.limit.value <= 200


def test_it_starts_fast_and_probes_after_the_first_saturation() -> None:
    bench = Bench()
    assert bench.step() is LimitState.SLOW_START
    assert bench.limit.value == 20
    bench.saturated_at(60)
    before = bench.limit.value
    assert bench.step() is LimitState.PROBING
    assert before + 1 <= bench.limit.value <= before + 2


def test_far_below_the_last_saturation_it_starts_fast_again() -> None:
    bench = Bench()
    bench.saturated_at(60)
    began_at = bench.limit.value
    while bench.limit.value >= 0.5 * began_at:
        assert bench.step(waiting=10) is LimitState.SATURATED
    states = [bench.step() for _ in range(4)]
    assert states == [LimitState.SLOW_START, LimitState.SLOW_START, LimitState.PROBING, LimitState.PROBING]


def test_growth_that_brings_nothing_is_undone_and_not_tried_for_thirty_steps() -> None:
    bench = Bench()
    bench.held()
    held_at = bench.limit.value
    assert held_at < 60
    assert {(bench.step(tokens_per_s=1000.0), bench.limit.value) for _ in range(29)} == {(LimitState.HOLDING, held_at)}
    assert bench.step(tokens_per_s=1000.0) is not LimitState.HOLDING
    assert bench.limit.value > held_at


@pytest.mark.parametrize("cause", ["pressure", "a preemption", "a busy server"])
def test_pressure_and_damage_end_holding(cause: str) -> None:
    bench = Bench()
    bench.held()
    held_at = bench.limit.value
    match cause:
        case "pressure":
            bench.step(waiting=4)
        case "a preemption":
            bench.step(waiting=2, preemptions=1)
        case _:
            bench.clock.goes_on(10.0)
            bench.limit.damaged()
    assert bench.limit.state is LimitState.SATURATED
    assert bench.limit.value < held_at
    assert bench.step() is LimitState.PROBING


@pytest.mark.parametrize("back_by", ["a reading", "a response"])
def test_a_server_that_died_under_load_is_down_until_it_answers(back_by: str) -> None:
    bench = Bench()
    bench.limit.lost(16)
    bench.limit.damaged()
    assert bench.ended(WorkOutcome.FAILED) is LimitState.DOWN
    back = bench.step(waiting=2) if back_by == "a reading" else bench.ended(WorkOutcome.OK)
    assert back is LimitState.SATURATED
    assert LimitState.SLOW_START in {bench.step() for _ in range(5)}
