from __future__ import annotations

import pytest

from inkgate.settings import load_settings
from inkgate_bench.tune.parameters import (
    GPU_MEMORY,
    MAX_NUM_SEQS,
    QUALITY,
    THREADS,
    companions,
    current_value,
    for_time,
    ppocr_parameters,
    search_scope,
    vllm_parameters,
    with_value,
)
from inkgate_bench.tune.results import Parameter, Settings, Value


def vllm(cores: int = 8, gpu_gb: float | None = 24.0) -> list[Parameter]:
    return vllm_parameters(cores, gpu_gb, 500_000, 4_000_000)


def values(found: list[Parameter], path: str) -> tuple[Value, ...]:
    return next((each.values for each in found if each.path == path), ())


def nested(path: str, value: Value) -> dict[str, object]:
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


@pytest.mark.parametrize("found", [vllm(64, 80.0), ppocr_parameters(64)])
def test_every_value_of_every_parameter_is_one_that_the_settings_take(found: list[Parameter]) -> None:
    for each in found:
        assert each.why
        for value in each.values:
            settings = load_settings(None, **nested(each.path, value))  # type: ignore[arg-type]  # nested as documented
            assert current_value(each, settings, {}) == value


@pytest.mark.parametrize("engine", ["paddleocr-vl", "ppocr"])
def test_what_is_read_is_not_changed_without_a_ground_truth(engine: str) -> None:
    tree = load_settings(None, engine={"name": engine})
    assert not QUALITY & {each.path for each in search_scope(tree, ground_truth=False).parameters}
    assert QUALITY & {each.path for each in search_scope(tree, ground_truth=True).parameters}


def test_values_are_bounded_by_the_machine() -> None:
    assert values(ppocr_parameters(4), THREADS) == (1, 2, 3, 4)
    assert max(map(float, values(vllm(gpu_gb=24.0), MAX_NUM_SEQS))) == 96
    assert max(map(float, values(vllm(2, None), MAX_NUM_SEQS))) == 64
    assert values(vllm(gpu_gb=None), GPU_MEMORY) == (), "no GPU"


def test_more_time_allows_more_parameters() -> None:
    found = [each for each in vllm() if each.path not in QUALITY]
    assert [len(for_time(found, minutes * 60, 45)) for minutes in (5, 15, 25, 90)] == [1, 1, 2, 4]


def test_current_value_is_among_those_tried() -> None:
    (found,) = (each for each in vllm() if each.path == MAX_NUM_SEQS)
    assert with_value(found, 22).values[8:12] == (20, 22, 24, 32)
    assert with_value(found, 16) == found


def test_value_that_stands_for_another_is_that_of_the_preset_or_the_highest() -> None:
    (found,) = (each for each in vllm() if each.path == MAX_NUM_SEQS)
    assert current_value(found, load_settings(), {MAX_NUM_SEQS: 24}) == 24
    assert current_value(found, load_settings(), {}) == 96


@pytest.mark.parametrize(
    ("seats", "needed"),
    [
        (8, {}),
        (16, {"engine.vllm.concurrent_pages": 32}),
        (48, {"engine.vllm.concurrent_pages": 96, "limits.max_in_flight": 192}),
    ],
)
def test_as_many_pages_are_let_to_the_model_as_it_has_seats(seats: int, needed: Settings) -> None:
    assert companions({MAX_NUM_SEQS: seats}) == needed
