"""How often equal runs are called different, and how often different ones are: on seeded runs with a queue's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from inkgate.bench.load.results import Second, Summary
from inkgate.bench.reports.differences import (
    Figure,
    Untellable,
    Verdict,
    goodput_of_repeats,
    goodput_of_seconds,
    p95_of_repeats,
    p95_of_seconds,
    ratio,
)
from support.sample_reports import Made, run

ROUNDS = 60
pytestmark = pytest.mark.calibration
Seconds = Callable[[Sequence[Second]], Figure]
Repeats = Callable[[Sequence[Summary]], Figure]


def made(length: int, memory: float, faster: float) -> Made:
    return Made(16, 10 * faster, 1.6 / faster, seconds=length, memory=memory)


def share_called_different(figure: Seconds, length: int, memory: float, faster: float) -> float:
    random = np.random.default_rng(11)
    real = 0
    for _ in range(ROUNDS):
        sides = [run(made(length, memory, quick), random)[1] for quick in (1.0, faster)]
        try:
            a, b = (figure(side) for side in sides)
        except Untellable:
            continue
        real += ratio(a, b, 0.95, "").verdict is Verdict.REAL
    return real / ROUNDS


@pytest.mark.parametrize("figure", [goodput_of_seconds, p95_of_seconds])
@pytest.mark.parametrize(("length", "memory"), [(60, 0.0), (60, 0.8), (120, 0.9)])
def test_equal_runs_are_seldom_called_different(figure: Seconds, length: int, memory: float) -> None:
    # 5 % are meant; of 60 rounds more than 13 % come by chance in fewer than one case of a hundred.
    assert share_called_different(figure, length, memory, 1.0) <= 0.13


@pytest.mark.parametrize("figure", [goodput_of_seconds, p95_of_seconds])
def test_a_difference_of_a_quarter_is_nearly_always_seen_in_two_minutes(figure: Seconds) -> None:
    assert share_called_different(figure, 120, 0.5, 1.25) >= 0.9


def share_of_repeats(figure: Repeats, length: int, faster: float, rounds: int) -> float:
    random = np.random.default_rng(12)
    real = 0
    for _ in range(rounds):
        a, b = ([run(made(length, 0.5, quick), random)[0] for _ in range(4)] for quick in (1.0, faster))
        real += ratio(figure(a), figure(b), 0.95, "").verdict is Verdict.REAL
    return real / rounds


@pytest.mark.parametrize("figure", [goodput_of_repeats, p95_of_repeats])
def test_four_repeats_give_few_false_alarms_and_see_a_quarter(figure: Repeats) -> None:
    assert share_of_repeats(figure, 10, 1.0, 120) <= 0.1
    assert share_of_repeats(figure, 30, 1.25, 30) >= 0.9
