"""Tests that are tried anew: only where the machine was taken from them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from support.disturbance import Stolen

BOOTED = 100.0


@pytest.mark.parametrize(
    ("stolen_s", "took_s", "disturbed"),
    [(0.0, 5.0, False), (0.05, 0.5, False), (0.3, 5.0, True), (0.3, 60.0, False), (30.0, 60.0, True)],
)
def test_what_was_taken_while_a_test_ran_disturbs_it(stolen_s: float, took_s: float, disturbed: bool) -> None:
    times, now = SimpleNamespace(steal=BOOTED), [0.0]
    stolen = Stolen(lambda: times, lambda: now[0])
    times.steal += 50.0
    stolen.begin()
    times.steal += stolen_s
    now[0] += took_s
    assert stolen.disturbs() is disturbed


@pytest.mark.parametrize("times", [SimpleNamespace(steal=0.0), SimpleNamespace()], ids=["nothing", "no such time"])
def test_a_machine_that_never_tells_may_have_been_taken(times: SimpleNamespace) -> None:
    assert Stolen(lambda: times).disturbs()
