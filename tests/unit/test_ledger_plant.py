"""The ledger and its estimates in a loop with an engine: its KV cache neither runs over nor lies idle."""

from __future__ import annotations

import pytest

from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.ledger import Charge, Ledger
from support.plant import Plant, Request

CAP = 4096
KV_TOKENS = 40_000


class PlantWithLedger:
    """A plant with more to do than it can, sent what the ledger lets through. Nothing else holds it back."""

    def __init__(self, shortest: int = 100, longest: int = 700, *, told: bool = True, grows: bool = False) -> None:
        """`told`: usage of running requests is reported to the ledger; `grows`: and the ledger expects growth."""
        self.plant = Plant(
            slots=1000, kv_tokens=KV_TOKENS, tokens_per_s=1e9, shortest=shortest, longest=longest, on_end=self._ended
        )
        self.ledger = Ledger(KV_TOKENS)
        self.estimates = OutputEstimates()
        self._charges: dict[Request, Charge] = {}
        self._told = told
        self._grows = grows

    def run(self, seconds: int) -> float:
        """The mean part of the KV cache in use."""
        used = 0.0
        for _ in range(10 * seconds):
            while self.ledger.fits(*(expected := self._expected())):
                self._charges[self.plant.send()] = self.ledger.charge(*expected)
            self.plant.tick()
            for request, charge in self._charges.items():
                charge.used(round(request.kv) if self._told else 0)
            used += (self.plant.reading().kv_usage or 0.0) / (10 * seconds)
        return used

    def _expected(self) -> tuple[int, int, int]:
        mean, most = self.estimates.estimates("page", CAP)
        return (200 + most, most - mean, mean) if self._grows else (200 + most, 0, 0)

    def _ended(self, request: Request, now: float) -> None:
        self._charges.pop(request).end()
        self.estimates.finished("page", request.output)


def test_the_cache_is_used_and_does_not_run_over() -> None:
    accounted = PlantWithLedger()
    accounted.run(60)
    assert accounted.run(120) > 0.4
    assert accounted.plant.preemptions == 0


def test_works_that_leave_at_different_times_fill_more_of_the_cache() -> None:
    used = {}
    for grows in (False, True):
        accounted = PlantWithLedger(grows=grows)
        accounted.run(60)
        used[grows] = accounted.run(120)
        assert accounted.plant.preemptions == 0
    assert used[True] > 1.15 * used[False]


@pytest.mark.parametrize(("shortest", "longest"), [(500, 3500), (2000, 2100)])
def test_answers_that_become_five_times_as_long_run_over_once_at_most(shortest: int, longest: int) -> None:
    """Estimates that drift: those under way were let in on the old ones, but no more are, and then it is known."""
    overrun = {}
    for told in (True, False):
        accounted = PlantWithLedger(told=told)
        accounted.run(100)
        accounted.plant.shortest, accounted.plant.longest = shortest, longest
        accounted.run(60)
        overrun[told] = accounted.plant.preemptions
        accounted.run(100)
        assert accounted.plant.preemptions == overrun[told]
    assert overrun[True] < 0.7 * overrun[False]


def test_answers_that_become_short_are_let_in_by_and_by() -> None:
    accounted = PlantWithLedger(2000, 2100)
    accounted.run(120)
    accounted.plant.shortest, accounted.plant.longest = 100, 120
    before = accounted.plant.in_flight
    accounted.run(200)
    assert accounted.plant.in_flight > 4 * before
    assert accounted.plant.preemptions == 0


def test_nothing_stays_charged() -> None:
    accounted = PlantWithLedger()
    accounted.run(30)
    accounted.ledger.capacity = 0
    while accounted.plant.in_flight:
        accounted.plant.tick()
    assert accounted.ledger.promised == 0
