"""The embedded engine's limit on shared processors: slow machines, short deadlines, a limit that is too high."""

from __future__ import annotations

import pytest

from benchmarks.simulate.processors import (
    Engine,
    Load,
    PageRates,
    Speed,
    by_turns,
    fast,
    fixed,
    learned,
    simulate,
    third,
)
from inkgate.serving.limits import Limit


def _fixed(places: int, speed: Speed, load: Load) -> float:
    return simulate(fixed(places), speed, load).in_time


def _learned(places: int, speed: Speed, load: Load) -> float:
    return simulate(learned(places), speed, load).in_time


def _places_left(places: int, load: Load) -> tuple[PageRates, int]:
    """On a machine that is its own: what came, and how many places there are in the end."""
    limits: list[Limit] = []

    def limit(engine: Engine) -> Limit:
        limits.append(learned(places)(engine))
        return limits[0]

    return simulate(limit, fast, load), limits[0].value


@pytest.mark.parametrize("speed", [fast, third, by_turns])
@pytest.mark.parametrize("deadline_s", [5.0, 1.0])
def test_too_many_places_read_nearly_as_many_in_time_as_the_best_number(speed: Speed, deadline_s: float) -> None:
    load = Load(deadline_s=deadline_s)
    best = max(_fixed(places, speed, load) for places in (1, 2, 4))
    assert _learned(16, speed, load) > 0.85 * best


@pytest.mark.parametrize(("speed", "deadline_s"), [(third, 5.0), (fast, 1.0)])
def test_as_many_places_as_set_would_read_half_at_most(speed: Speed, deadline_s: float) -> None:
    load = Load(deadline_s=deadline_s)
    assert _fixed(16, speed, load) < 0.5 * _learned(16, speed, load)


def test_where_all_is_well_it_stays_at_what_is_set() -> None:
    came, places = _places_left(4, Load())
    assert came.in_time > 5
    assert places == 4


def test_works_that_would_be_late_alone_do_not_take_places_from_others() -> None:
    """One after another they don't fill the processors: what is late is late for its length."""
    came, places = _places_left(4, Load(rate=1.5, deadline_s=0.3, mean_s=0.4))
    assert came.late > came.in_time > 0
    assert places >= 3
