from __future__ import annotations

import pytest

from inkgate_bench.tune.results import Parameter, Settings
from inkgate_bench.tune.space import ParameterSpace

SPACE = ParameterSpace(
    [Parameter("seqs", (1, 4, 16, 64), ""), Parameter("share", (0.0, 0.5), ""), Parameter("kind", ("", "fp8"), "")]
)


def along(values: tuple[float, ...], start: float) -> list[float]:
    """The octaves of one parameter from `start`."""
    space = ParameterSpace([Parameter("a", values, "")])
    key = space.key({"a": start})
    return [float(space.settings(each)["a"]) for each in space.octaves(key, 0, key)]


def test_keys_and_settings_are_the_same_thing() -> None:
    settings: Settings = {"seqs": 16, "share": 0.5, "kind": "fp8"}
    assert SPACE.key(settings) == (2, 1, 1)
    assert SPACE.settings((2, 1, 1)) == settings


def test_one_and_true_are_different_values() -> None:
    space = ParameterSpace([Parameter("a", (1, 2), "")])
    assert space.key({"a": 1.0}) == (0,)
    with pytest.raises(KeyError):
        space.key({"a": True})


def test_weight_is_of_numbers_alone_by_their_logarithm() -> None:
    assert SPACE.weight((3, 0, 0)) == SPACE.weight((3, 0, 1)) == 1
    assert SPACE.weight((0, 1, 0)) == 1
    assert SPACE.weight((1, 0, 0)) == pytest.approx(1 / 3)


def test_more_is_at_least_as_much_of_every_parameter() -> None:
    assert SPACE.at_least((2, 1, 0), (2, 0, 0))
    assert not SPACE.at_least((3, 0, 0), (2, 1, 0))
    assert not SPACE.at_least((3, 1, 1), (2, 1, 0)), "another kind is not comparable"
    assert SPACE.at_least((0, 1, 1), (3, 0, 0), {"share"})


def test_octaves_are_powers_of_two_of_the_current_value_and_the_ends() -> None:
    values = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96)
    assert along(values, 16) == [1, 2, 4, 8, 16, 32, 64, 96]
    assert along(values, 12) == [1, 2, 3, 6, 12, 24, 48, 96]


def test_a_short_range_has_its_ends_and_kinds_have_all() -> None:
    assert along((0.7, 0.8, 0.85, 0.9, 0.95), 0.85) == [0.7, 0.85, 0.95]
    assert SPACE.octaves((0, 0, 0), 2, (0, 0, 0)) == [(0, 0, 0), (0, 0, 1)]


def test_the_middle_is_halfway_between_logarithms() -> None:
    space = ParameterSpace([Parameter("a", (1, 2, 4, 6, 8, 16), "")])
    assert space.middle((0,), (5,), 0) == (2,)
    assert space.middle((5,), (2,), 0) == (4,)
    assert space.middle((2,), (3,), 0) is None
