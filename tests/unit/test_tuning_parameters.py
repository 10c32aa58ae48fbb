from __future__ import annotations

import pytest

from inkgate.bench.tune.parameters import (
    GPU_MEMORY,
    MAX_NUM_SEQS,
    MAX_PIXELS,
    QUALITY,
    THREADS,
    companions,
    current,
    for_time,
    parameters_of,
    pick,
    with_current,
)
from inkgate.bench.tune.results import Settings, Value
from inkgate.settings import load_settings


def values(engine: str, path: str, cores: int = 8, gpu_gb: float | None = None) -> tuple[Value, ...]:
    return next(
        (each.values for each in parameters_of(engine, cores, gpu_gb, ground_truth=True) if each.path == path), ()
    )


def nested(path: str, value: Value) -> dict[str, object]:
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


@pytest.mark.parametrize("engine", ["vllm", "ppocr"])
def test_every_value_of_every_parameter_is_one_that_the_settings_take(engine: str) -> None:
    for each in parameters_of(engine, 64, 80.0, ground_truth=True):
        assert each.why
        for value in each.values:
            settings = load_settings(None, **nested(each.path, value))  # type: ignore[arg-type]  # nested as documented
            assert current([each], settings, {}) == {each.path: value}


@pytest.mark.parametrize("engine", ["vllm", "ppocr"])
def test_what_is_read_is_not_changed_without_a_ground_truth(engine: str) -> None:
    assert not QUALITY & {each.path for each in parameters_of(engine, 8, 24.0)}
    assert QUALITY & {each.path for each in parameters_of(engine, 8, 24.0, ground_truth=True)}


def test_values_are_bounded_by_the_machine() -> None:
    assert values("ppocr", THREADS, cores=4) == (1, 2, 3, 4)
    assert values("ppocr", THREADS, cores=1) == (), "one value is no parameter"
    assert max(map(float, values("vllm", MAX_NUM_SEQS, gpu_gb=24.0))) == 96
    assert max(map(float, values("vllm", MAX_NUM_SEQS, cores=2))) == 64
    assert values("vllm", GPU_MEMORY) == (), "no GPU"


def test_engine_without_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="transformers"):
        parameters_of("transformers", 8)


def test_parameters_are_picked_by_either_name() -> None:
    found = parameters_of("vllm", 8, 24.0, ground_truth=True)
    assert [each.path for each in pick(found, ["max_pixels", MAX_NUM_SEQS])] == [MAX_PIXELS, MAX_NUM_SEQS]
    with pytest.raises(ValueError, match="no parameter `threads`"):
        pick(found, ["threads"])


def test_more_time_allows_more_parameters() -> None:
    found = parameters_of("vllm", 8, 24.0)
    assert [len(for_time(found, minutes * 60, 45)) for minutes in (5, 15, 25, 90)] == [1, 1, 2, 4]


def test_current_value_is_among_those_tried() -> None:
    found = pick(parameters_of("vllm", 8, 24.0), [MAX_NUM_SEQS])
    assert with_current(found, {MAX_NUM_SEQS: 22})[0].values[8:12] == (20, 22, 24, 32)
    assert with_current(found, {MAX_NUM_SEQS: 16}) == found


def test_value_that_stands_for_another_is_told_or_usual() -> None:
    found = pick(parameters_of("vllm", 8, 24.0), [MAX_NUM_SEQS])
    assert current(found, load_settings(), {}) == {MAX_NUM_SEQS: 16}
    assert current(found, load_settings(), {MAX_NUM_SEQS: 24}) == {MAX_NUM_SEQS: 24}


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
