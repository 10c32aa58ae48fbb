"""How long a process that ended is not started again."""

from __future__ import annotations

from itertools import pairwise

from inkgate.supervision import Pauses


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Pauses(first_s=0.25, max_s=30.0, stable_s=60.0)
    taken = [0.0, *(pauses.after(1.0) for _ in range(12))]
    assert taken[1:4] == [0.25, 0.5, 1.0]
    assert taken[-1] == 30.0
    assert all(one <= other for one, other in pairwise(taken))


def after_sixteen() -> Pauses:
    pauses = Pauses(first_s=0.25, max_s=30.0, stable_s=60.0)
    while pauses.after(1.0) < 16.0:
        pass
    return pauses


def test_after_one_that_lived_long_they_begin_anew() -> None:
    assert after_sixteen().after(60.0) == 0.25
    assert after_sixteen().after(59.9) == 30.0


def test_pauses_grow_to_a_limit_and_begin_anew_after_good_service() -> None:
    pauses = Pauses(first_s=1, max_s=5, stable_s=300)
    assert [pauses.after(served_s=10) for _ in range(5)] == [1, 2, 4, 5, 5]
    assert [pauses.after(served_s) for served_s in (300, 0)] == [1, 2]
