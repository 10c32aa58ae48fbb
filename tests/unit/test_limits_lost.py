"""What the death of a server does to the limit: half at once, and for long not as much as it died under."""

from __future__ import annotations

import pytest

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.evidence import Pressure
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.clock import Clock


class LimitBench:
    """A limit with readings each ten seconds, of an engine that always has room for more."""

    def __init__(self, **settings: int) -> None:
        self.clock = Clock()
        self.limit = AdaptiveLimit(AdaptiveSettings.model_validate({"initial": 64} | settings), self.clock)

    def serves(self, minutes: float, in_flight: int = 10_000) -> list[int]:
        """The limit after each reading; as many as it allows are at the engine, but no more than `in_flight`."""
        values = []
        for _ in range(round(minutes * 6)):
            self.clock.goes_on(10.0)
            there = min(in_flight, self.limit.value)
            self.limit.observe(Pressure(self.clock.now, 10.0, tokens=100 * there), there)
            values.append(self.limit.value)
        return values

    def fails(self, times: int) -> None:
        for _ in range(times):
            self.limit.ended(WorkOutcome.FAILED, self.clock.now)


def test_it_is_halved_at_once() -> None:
    served = LimitBench()
    served.limit.lost(64)
    assert served.limit.value == 32


def test_it_is_back_soon_but_stays_under_what_the_server_died_of() -> None:
    served = LimitBench()
    served.limit.lost(64)
    values = served.serves(2)
    assert values == sorted(values)
    assert values[-1] in {48, 49}


def test_the_most_there_may_be_rises_by_two_per_cent_a_minute_to_what_is_set() -> None:
    served = LimitBench(most=100)
    served.limit.lost(64)
    assert served.serves(10)[-1] == int(48 * 1.02**10)
    assert served.serves(30)[-1] == 100
    assert max(served.serves(30)) == 100


def test_each_death_leaves_less() -> None:
    served = LimitBench()
    reached = []
    for _ in range(3):
        served.limit.lost(served.limit.value)
        reached.append(served.serves(2)[-1])
    assert reached == [49, 38, 29]


def test_the_least_stays() -> None:
    served = LimitBench(least=4)
    for _ in range(20):
        served.limit.lost(served.limit.value)
        served.clock.goes_on(60.0)
    assert served.limit.value == 4


def test_calls_that_fail_while_it_is_away_cut_no_further() -> None:
    served = LimitBench()
    served.limit.lost(64)
    for _ in range(30):
        served.clock.goes_on(1.0)
        served.fails(20)
    assert served.limit.value == 32


@pytest.mark.parametrize("back_by", ["reading", "answer"])
def test_failures_are_damage_again_when_it_is_back(back_by: str) -> None:
    served = LimitBench()
    served.limit.lost(64)
    if back_by == "reading":
        before = served.serves(1)[-1]
    else:
        served.limit.ended(WorkOutcome.OK, served.clock.now)
        before = served.limit.value
    served.clock.goes_on(60.0)
    served.fails(10)
    assert served.limit.value <= 0.91 * before


def test_a_server_that_dies_of_a_few_has_not_died_of_too_many() -> None:
    served = LimitBench()
    served.limit.lost(31)
    assert served.limit.value == 64


def test_one_that_has_borne_more_has_not_died_of_too_many_though_it_is_limited_to_few() -> None:
    served = LimitBench()
    served.serves(1)
    for _ in range(20):
        served.clock.goes_on(60.0)
        served.limit.damaged()
    limited = served.limit.value
    served.limit.lost(limited)
    assert served.limit.value == limited // 2, "it had all that it may have"


def test_one_that_is_never_given_its_limit_has_died_of_what_it_had() -> None:
    """Fewer come than the limit allows: 40 of 149, say."""
    served = LimitBench(initial=16)
    served.limit.lost(16)
    served = LimitBench(initial=16)
    assert served.serves(5, in_flight=40)[-1] > 60
    served.limit.lost(30)
    assert served.serves(3)[-1] in {23, 24}
