"""How long a worker that ended is not replaced."""

from __future__ import annotations

from itertools import pairwise

from inkgate.engines.workers.pool import PoolSettings

SETTINGS = PoolSettings((), (), pause_s=0.25, most_pause_s=30.0, stable_s=60.0)


def test_pauses_double_up_to_the_longest() -> None:
    pauses = [0.0]
    for _ in range(12):
        pauses.append(SETTINGS.pause_after(1.0, pauses[-1]))
    assert pauses[1:4] == [0.25, 0.5, 1.0]
    assert pauses[-1] == 30.0
    assert all(one <= other for one, other in pairwise(pauses))


def test_after_a_worker_that_lived_long_they_begin_anew() -> None:
    assert SETTINGS.pause_after(60.0, 16.0) == 0.25
    assert SETTINGS.pause_after(59.9, 16.0) == 30.0
