"""In fair order no work ends later than with equal sharing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.fair import FairSojourn


def test_the_small_is_before_the_large_that_has_hardly_begun_and_not_before_one_nearly_done() -> None:
    order = FairSojourn()
    large = order.join(1000)
    order.serve(100)
    early = order.join(10)
    order.serve(880)
    late = order.join(500)
    assert early < large < late


def test_those_who_came_together_share() -> None:
    order = FairSojourn()
    assert [order.join(work) for work in (10, 20, 30)] == [10, 20, 30]
    order.serve(30)
    assert order.join(1) == 11
    order.serve(31)
    assert order.join(1) == pytest.approx(31), "all of it is done"


def completions(works: list[tuple[int, int]], fair: bool) -> list[float]:
    """When each of the works (arrival, size) is done at one unit of work a second: in the order of FairSojourn, or all
    served at once.
    """
    order, done = FairSojourn(), [0.0] * len(works)
    left: dict[int, float] = {}
    tags: dict[int, float] = {}
    now, nth = 0.0, 0
    while nth < len(works) or left:
        while nth < len(works) and works[nth][0] <= now:
            tags[nth], left[nth] = order.join(works[nth][1]), float(works[nth][1])
            nth += 1
        if not left:
            now = works[nth][0]
            continue
        sharing = [min(left, key=lambda one: (tags[one], one))] if fair else list(left)
        step = min(left[one] for one in sharing) * len(sharing)
        step = min(step, works[nth][0] - now) if nth < len(works) else step
        order.serve(step)
        now += step
        for one in sharing:
            left[one] -= step / len(sharing)
            if left[one] < 1e-6:
                done[one] = now
                del left[one]
    return done


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30)), min_size=1, max_size=12))
def test_nobody_is_done_later_than_if_all_had_been_served_at_once(works: list[tuple[int, int]]) -> None:
    works = sorted(works)
    for ours, shared in zip(completions(works, fair=True), completions(works, fair=False), strict=True):
        assert ours <= shared + 1e-3
