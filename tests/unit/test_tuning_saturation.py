"""A demand that turns out to be too little rises, and what it was answered whole counts as what it is."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from inkgate.bench.load.results import Summary
from inkgate.bench.tune.journal import Row
from inkgate.bench.tune.results import Outcome, Purpose, Trial
from inkgate.bench.tune.saturation import answered, demand, doubt, telling
from support.responses import SEQS, Made, saturating, searched, task

RISING = task(demand=10.0)


def row(goodput: float, offered: float = 10.0, seats: int = 8, **changes: object) -> Row:
    """A trial of ten seconds."""
    asked, in_time = int(10 * offered), int(10 * goodput)
    summary = Summary(10.0, asked, in_time, in_time, asked - in_time, 0, 0, 0, in_time, 0, 0, 4.0, None, None)
    made = Trial(1, Purpose.SEARCH, {SEQS: seats}, Outcome.MEASURED, 10.0, summary, demand=offered)
    return Row(replace(made, **changes), 0.0, 40.0)  # type: ignore[arg-type]  # any field


@pytest.mark.parametrize(
    ("trial", "part"),
    [
        (row(8.5), 0.85),
        (row(8.5, purpose=Purpose.HEAVIEST), None),
        (row(8.5, outcome=Outcome.DIED), None),
        (row(0.0, offered=0.0), None),
        (row(8.5, summary=None), None),
    ],
)
def test_what_part_was_answered_is_known_of_what_was_measured_under_the_usual_load(
    trial: Row, part: float | None
) -> None:
    assert answered(trial.trial) == part


def test_the_demand_rises_to_twice_the_most_that_was_borne() -> None:
    assert demand(RISING, []) == 10.0
    assert demand(RISING, [row(6.5)]) == 10.0
    assert demand(RISING, [row(7.0)]) == 14.0
    assert demand(RISING, [row(8.0), row(12.0, 16.0), row(9.0)]) == 24.0
    assert demand(RISING, [row(8.0), row(14.0, 40.0)]) == 16.0  # 40 were enough for 14


def test_what_was_asked_for_too_little_is_doubted() -> None:
    assert doubt(RISING, row(6.0).trial) == 0
    assert doubt(RISING, row(8.0).trial) == pytest.approx(0.2)
    assert doubt(replace(RISING, rises=False), row(8.0).trial) == 0


def test_a_demand_that_was_asked_for_stays() -> None:
    fixed = replace(RISING, rises=False)
    rows = [row(9.5), row(5.0)]
    assert demand(fixed, rows) == 10.0
    assert telling(fixed, rows) == rows


def test_a_bound_says_something_only_where_it_is_above_what_is_known() -> None:
    slow, fast, bound = row(6.0, 15.0), row(12.0, 15.0), row(9.5)
    assert telling(RISING, [bound, slow]) == [bound, slow]
    assert telling(RISING, [bound, slow, fast, fast]) == [slow, fast, fast]
    assert telling(RISING, [bound, row(6.0, 15.0, seats=4)]) == [row(6.0, 15.0, seats=4)]
    assert telling(RISING, [bound, row(0.0, 15.0, outcome=Outcome.DIED, summary=None)])[1:] == []


def test_bounds_are_what_is_known_until_there_is_anything_else() -> None:
    assert telling(RISING, [row(9.5), row(9.9)]) == [row(9.5), row(9.9)]


def test_a_search_that_begins_with_too_little_ends_with_enough() -> None:
    report, _, _ = anyio.run(searched, Made(saturating(16)), task(demand=5.0))
    offered = [trial.demand or 0.0 for trial in report.trials]
    assert offered[0] == 5.0
    assert offered == sorted(offered)
    assert report.demand == offered[-1] > 20.0
    assert report.chosen is not None
    assert report.chosen.score == pytest.approx(20.0, rel=0.15)
    bound = {trial.number for trial in report.trials if (answered(trial) or 0.0) > 0.9}
    assert bound
    assert report.current is not None
    assert not bound & set(report.current.trials)  # the first trial bore all, and was made again
