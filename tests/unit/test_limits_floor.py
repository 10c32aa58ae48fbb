"""What the adaptive limit is never lowered below: what the engine is known to run at once, and what may do so."""

from __future__ import annotations

import random
from typing import Any

import pytest

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.evidence import Pressure
from inkgate.model_servers.monitor import PressureGauge
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.clock import Clock
from support.plant import TICK_S, Plant

SLOW: dict[str, Any] = {"inter_token_s": 1.0, "baseline_s": 0.1}
"""Tokens come ten times as slowly as usual."""


class Bench:
    """A limit before an engine that runs 16 at once, and readings of it a second apart."""

    def __init__(self, initial: int = 16, seats: int = 0) -> None:
        self.clock = Clock()
        self.limit = AdaptiveLimit(AdaptiveSettings(initial=initial), self.clock, seats)

    def read(
        self,
        seconds: int = 1,
        running: int = 16,
        waiting: int = 0,
        preemptions: int = 0,
        ended: WorkOutcome = WorkOutcome.OK,
        **more: Any,  # noqa: ANN401 - signals of a Pressure
    ) -> int:
        """Each second as many requests end as run."""
        for _ in range(seconds):
            self.clock.goes_on(1.0)
            reading = Pressure(self.clock.now, 1.0, running, waiting, preemptions=preemptions, tokens=1000, **more)
            self.limit.observe(reading, running + waiting)
            self.ended(ended, running)
        return self.limit.value

    def ended(self, outcome: WorkOutcome, times: int) -> None:
        for _ in range(times):
            self.limit.ended(outcome, self.clock.now)

    def late(self, seconds: int) -> None:
        """All requests are ended by their deadlines, at an engine that is full."""
        for _ in range(seconds):
            self.read(ended=WorkOutcome.LEFT)
            self.clock.goes_on(0.1)
            self.limit.observe(Pressure(self.clock.now, 0.1, 16, tokens=100), 16)  # too soon for a step
            self.ended(WorkOutcome.LATE, 20)

    def ran(self, works: int = 16) -> None:
        """Runs this many at once, all successful; two are queued, so nothing grows."""
        self.read(running=works, waiting=2)


@pytest.mark.parametrize(
    "signals",
    [SLOW, {"render_s": 20.0}, {"queue_s": 20.0}, {"waiting": 48}],
    ids=["slow tokens", "images wait", "a long queue", "many wait"],
)
@pytest.mark.parametrize("told", [True, False])
def test_waits_and_slow_tokens_do_not_lower_it_below_what_the_engine_runs(
    signals: dict[str, Any], *, told: bool
) -> None:
    bench = Bench(seats=16 if told else 0)
    if not told:
        bench.ran()
    least = min(bench.read(**signals) for _ in range(300))
    assert least == 16


@pytest.mark.parametrize("told", [True, False])
def test_deadlines_do_not_lower_it_below_what_the_engine_lately_ran_well(*, told: bool) -> None:
    bench = Bench(seats=16 if told else 0)
    if not told:
        bench.ran()
    bench.late(seconds=50)
    assert bench.limit.value == 16


def test_what_ended_well_long_ago_is_no_floor_for_deadlines() -> None:
    bench = Bench()
    bench.ran()
    bench.late(seconds=100)
    assert bench.limit.value < 16
    assert bench.read(seconds=60, **SLOW) == 16, "it grows back though tokens are slow"


def test_what_runs_and_does_not_end_well_is_no_floor() -> None:
    bench = Bench()
    assert bench.read(seconds=20, ended=WorkOutcome.LEFT, **SLOW) < 16


def test_more_than_the_limit_starts_with_is_to_be_seen_first() -> None:
    bench = Bench(initial=8, seats=256)
    assert bench.read(seconds=20, running=8, **SLOW) == 8


@pytest.mark.parametrize("damage", ["a preemption", "failures", "a busy server", "a death", "a full KV cache"])
def test_damage_lowers_it_further_and_then_it_grows_back_though_tokens_are_slow(damage: str) -> None:
    bench = Bench()
    bench.ran()
    match damage:
        case "a preemption":
            bench.read(preemptions=1)
        case "failures":
            bench.ended(WorkOutcome.FAILED, 5)
        case "a busy server":
            bench.limit.damaged()
        case "a death":
            bench.limit.lost(16)
        case _:
            bench.read(seconds=3, kv_usage=0.99)
    assert bench.limit.value < 16
    regained = 12 if damage == "a death" else 16
    assert bench.read(seconds=120, **SLOW) == regained


def test_an_engine_that_runs_fewer_than_it_did_is_given_fewer() -> None:
    bench = Bench()
    bench.ran()
    assert bench.read(seconds=60, running=4, waiting=12) <= 6


class SharedMachine:
    """An engine of 16 slots on a machine that others use: all gets several times as slow, for seconds at a time."""

    def __init__(self, seed: int) -> None:
        self.plant = Plant(slots=16, tokens_per_s=2000.0, shortest=20, longest=60, seed=seed)
        self.limit = AdaptiveLimit(AdaptiveSettings(), lambda: self.plant.now)
        self.plant.on_end = lambda _, now: self.limit.ended(WorkOutcome.OK, now)
        self._gauge = PressureGauge()
        self._rng = random.Random(seed)

    def closed_loop(self, clients: int, seconds: float) -> list[int]:
        """The limit at each second."""
        values = []
        for tick in range(round(seconds / TICK_S)):
            if tick % 50 == 0:
                self.plant.tokens_per_s = 2000.0 / self._rng.choice((1, 1, 2, 4, 8))
            self.plant.keep(min(self.limit.value, clients))
            self.plant.tick()
            if tick % 10 == 9:
                reading = self._gauge.read(self.plant.reading(), self.plant.now, self.plant.in_flight)
                if reading is not None:
                    self.limit.observe(reading, self.plant.in_flight)
                values.append(self.limit.value)
        return values


@pytest.mark.parametrize("clients", [16, 64])
@pytest.mark.parametrize("seed", range(3))
def test_a_closed_loop_on_a_shared_machine_keeps_the_engines_batch_full(clients: int, seed: int) -> None:
    values = SharedMachine(seed).closed_loop(clients, 300)
    assert min(values[10:]) >= 16
