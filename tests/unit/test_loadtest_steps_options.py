"""What `--steps`, `--rate-steps` and `--repeats` of `inkgate loadtest` ask for."""

from __future__ import annotations

import pytest

from inkgate.bench.load import LoadImpossible
from inkgate.bench.load.knee import Steps
from inkgate.bench.load.plan import Arrivals, Plan
from inkgate.bench.load.results import Axis
from inkgate.cli.loadtest_options import steps_of

CLIENTS = Plan(Axis.CONCURRENCY, 3, 10)
RATE = Plan(Axis.RATE, 2.5, 10)
RAMP = Plan(Axis.RATE, 1, 10, arrivals=Arrivals.RAMP, until_level=5)


def test_without_steps_the_plan_is_as_it_was() -> None:
    assert steps_of(None, None, None, RATE) == (None, RATE)


def test_steps_of_clients_and_of_rates_set_the_axis() -> None:
    steps, plan = steps_of("1,2,4", None, 3, CLIENTS)
    assert steps == Steps((1, 2, 4), 3, first=3)
    assert (plan.axis, plan.level) == (Axis.CONCURRENCY, 1)
    steps, plan = steps_of(None, "0.5,2", 1, CLIENTS)
    assert steps == Steps((0.5, 2), 1, first=1)
    assert (plan.axis, plan.level) == (Axis.RATE, 0.5)


def test_auto_begins_with_the_load_that_is_given_along_the_same_axis() -> None:
    assert steps_of("auto", None, None, CLIENTS)[0] == Steps((), 3, first=3)
    assert steps_of(None, "auto", 1, RATE)[0] == Steps((), 1, first=2.5)
    assert steps_of(None, "auto", 1, CLIENTS)[0] == Steps((), 1, first=1)


@pytest.mark.parametrize(
    ("levels", "rates", "repeats", "plan"),
    [("1,2", "1,2", 1, CLIENTS), ("one", None, 1, CLIENTS), (None, None, 2, CLIENTS), ("auto", None, 1, RAMP)],
    ids=["both", "no number", "repeats alone", "ramp"],
)
def test_contradictions_are_refused(levels: str | None, rates: str | None, repeats: int, plan: Plan) -> None:
    with pytest.raises(LoadImpossible):
        steps_of(levels, rates, repeats, plan)
