"""A test that holds to times is retried only where the machine reports that processor time was taken from it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from support.disturbance import StolenTime

BOOTED = 100.0


@pytest.mark.parametrize(
    ("stolen_s", "took_s", "significant"),
    [(0.0, 5.0, False), (0.05, 0.5, False), (0.3, 5.0, True), (0.3, 60.0, False), (30.0, 60.0, True)],
)
def test_time_stolen_while_a_test_ran_counts(stolen_s: float, took_s: float, significant: bool) -> None:
    times, now = SimpleNamespace(steal=BOOTED), [0.0]
    stolen = StolenTime(lambda: times, lambda: now[0])
    times.steal += 50.0
    stolen.begin()
    times.steal += stolen_s
    now[0] += took_s
    assert stolen.is_significant() is significant


@pytest.mark.parametrize("times", [SimpleNamespace(steal=0.0), SimpleNamespace()], ids=["nothing", "no such time"])
def test_a_machine_that_reports_no_stolen_time_gives_no_retry(times: SimpleNamespace) -> None:
    assert not StolenTime(lambda: times).is_significant()
