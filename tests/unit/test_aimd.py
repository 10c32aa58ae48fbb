"""Concurrency on shared processors: the effect of each outcome on the limit."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from inkgate.serving.limits import AimdLimit
from inkgate.serving.outcomes import WorkOutcome


@dataclass
class Utilization:
    share: float = 1.0

    def __call__(self) -> float:
        return self.share


def _ended(limit: AimdLimit, outcome: WorkOutcome, times: int) -> int:
    for _ in range(times):
        limit.ended(outcome, 0.0)
    return limit.value


def test_a_full_house_of_late_works_leaves_half_of_the_places_and_two_at_least() -> None:
    limit = AimdLimit(16, Utilization())
    assert [_ended(limit, WorkOutcome.LATE, times) for times in (16, 8, 4, 100)] == [8, 4, 2, 2]
    assert limit.most == 16
    assert _ended(AimdLimit(1, Utilization()), WorkOutcome.LATE, 10) == 1


def test_a_place_comes_back_with_twenty_works_and_no_more_than_are_set() -> None:
    limit = AimdLimit(4, Utilization())
    _ended(limit, WorkOutcome.LATE, 4)
    assert [_ended(limit, WorkOutcome.OK, times) for times in (21, 20, 500)] == [3, 4, 4]
    assert _ended(limit, WorkOutcome.LATE, 1) == 3


def test_what_is_late_at_processors_that_are_not_full_costs_no_place() -> None:
    busy = Utilization(0.5)
    limit = AimdLimit(4, busy)
    assert _ended(limit, WorkOutcome.LATE, 100) == 4
    busy.share = 1.0
    assert _ended(limit, WorkOutcome.LATE, 4) == 2
    busy.share = 0.5
    assert _ended(limit, WorkOutcome.LATE, 21) == 3


@pytest.mark.parametrize("outcome", [WorkOutcome.FAILED, WorkOutcome.REJECTED, WorkOutcome.LEFT])
def test_failures_and_callers_that_left_say_nothing(outcome: WorkOutcome) -> None:
    limit = AimdLimit(4, Utilization())
    _ended(limit, WorkOutcome.LATE, 2)
    assert _ended(limit, outcome, 100) == 3
