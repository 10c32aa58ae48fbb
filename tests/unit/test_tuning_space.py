from __future__ import annotations

import numpy as np
import pytest

from inkgate.bench.tune.results import Parameter, Settings
from inkgate.bench.tune.space import MOST_CANDIDATES, Space

SPACE = Space(
    [Parameter("seqs", (1, 4, 16, 64), ""), Parameter("share", (0.0, 0.5), ""), Parameter("kind", ("", "fp8"), "")]
)


def test_keys_and_settings_are_the_same_thing() -> None:
    settings: Settings = {"seqs": 16, "share": 0.5, "kind": "fp8"}
    assert SPACE.key(settings) == (2, 1, 1)
    assert SPACE.settings((2, 1, 1)) == settings


def test_one_and_true_are_different_values() -> None:
    assert Space([Parameter("a", (1, 2), "")]).key({"a": 1.0}) == (0,)
    with pytest.raises(KeyError):
        Space([Parameter("a", (1, 2), "")]).key({"a": True})


def test_numbers_are_spaced_by_their_logarithm() -> None:
    points = SPACE.points([(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)])
    assert points == pytest.approx(np.array([[0, 0, 0], [1 / 3, 0, 0], [2 / 3, 1, 1], [1, 1, 1]]))


def test_weight_is_of_numbers_alone() -> None:
    assert SPACE.weight((3, 0, 0)) == SPACE.weight((3, 0, 1)) == 1
    assert SPACE.weight((0, 1, 0)) == 1


def test_more_is_at_least_as_much_on_every_dial() -> None:
    assert SPACE.at_least((2, 1, 0), (2, 0, 0))
    assert not SPACE.at_least((3, 0, 0), (2, 1, 0))
    assert not SPACE.at_least((3, 1, 1), (2, 1, 0)), "another kind is not comparable"
    assert SPACE.at_least((0, 1, 1), (3, 0, 0), {"share"})


def test_neighbours_differ_on_one_dial() -> None:
    assert set(SPACE.neighbours((0, 0, 0))) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    assert set(SPACE.neighbours((1, 0, 0), 2)) == {(0, 0, 0), (2, 0, 0), (3, 0, 0), (1, 1, 0), (1, 0, 1)}


def test_spread_covers_the_space_and_begins_alike() -> None:
    space = Space([Parameter("seqs", tuple(2**power for power in range(10)), "")])
    five = space.spread(5, seed=3)
    assert len(set(five)) == 5
    assert space.spread(8, seed=3)[:5] == five
    gaps = np.diff(sorted(index for (index,) in five))
    assert max(gaps) <= 4
    assert len(space.spread(50, seed=3)) == 10, "no more than there are"


def test_large_space_is_looked_at_around_what_is_good() -> None:
    space = Space([Parameter(name, tuple(range(1, 21)), "") for name in "abc"])
    candidates = space.candidates([(9, 9, 9)], seed=1)
    assert len(set(candidates)) == len(candidates) == MOST_CANDIDATES
    assert {(9, 9, 9), (9, 9, 11), (8, 9, 9)} <= set(candidates)
    assert len(SPACE.candidates([], seed=1)) == SPACE.size == 16
