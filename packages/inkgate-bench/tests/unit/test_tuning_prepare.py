"""From settings to what is searched, and where it stands now."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkgate.settings import Settings, load_settings
from inkgate_bench.tune import parameters as known
from inkgate_bench.tune.parameters import NothingToTune, preset_of, search_scope

PRESETS = Path(__file__).parents[4] / "tests" / "models" / "presets"


def tree(engine: str = "paddleocr-vl", **vllm: object) -> Settings:
    return load_settings(None, engine={"name": engine, "vllm": vllm})


def test_what_the_settings_leave_to_the_preset_is_as_the_preset_has_it() -> None:
    ready = search_scope(tree(), ground_truth=True)
    assert ready.engine == "vllm"
    assert ready.current[known.MAX_NUM_SEQS] == 16
    assert ready.current[known.BATCHED_TOKENS] == 16384
    assert ready.current[known.MAX_PIXELS] == 1_003_520
    assert ready.limits.model_pixels == 1_003_520


def test_what_the_settings_say_is_what_is_in_use() -> None:
    ready = search_scope(tree(max_pixels=600_000, managed={"max_num_seqs": 5}), ground_truth=True)
    assert ready.current[known.MAX_NUM_SEQS] == 5
    assert ready.current[known.MAX_PIXELS] == 600_000
    assert ready.limits.model_pixels == 600_000
    (seats,) = (parameter for parameter in ready.parameters if parameter.path == known.MAX_NUM_SEQS)
    assert 5 in seats.values


def test_images_are_searched_up_to_what_the_model_takes_and_only_with_a_ground_truth() -> None:
    (pixels,) = (
        parameter
        for parameter in search_scope(tree(), ground_truth=True).parameters
        if parameter.path == known.MAX_PIXELS
    )
    assert max(float(value) for value in pixels.values) == 1_003_520
    assert known.MAX_PIXELS not in search_scope(tree(), ground_truth=False).current


def test_the_embedded_engine_s_own_choices_are_where_its_parameters_stand() -> None:
    ready = search_scope(load_settings(None), ground_truth=True)
    assert ready.engine == "ppocr"
    assert ready.current[known.CONCURRENT_PAGES] == 2
    assert ready.current[known.PRECISION] in {"int8", "bf16", "f32"}
    assert ready.limits.model_pixels is None
    assert ready.limits.max_in_flight == 64


def test_parameters_can_be_named() -> None:
    ready = search_scope(tree(), ground_truth=False, names=("max_num_seqs",))
    assert list(ready.current) == [known.MAX_NUM_SEQS]
    with pytest.raises(ValueError, match="no parameter `max_num_seqss`"):
        search_scope(tree(), ground_truth=False, names=("max_num_seqss",))


def test_values_can_be_named_and_the_one_in_use_is_among_them() -> None:
    (parameter,) = search_scope(tree(), ground_truth=False, names=("max_num_seqs=32/8",)).parameters
    assert parameter.values == (8, 16, 32)
    with pytest.raises(ValueError, match="not '8/many'"):
        search_scope(tree(), ground_truth=False, names=("max_num_seqs=8/many",))


def test_a_preset_of_one_s_own_is_found() -> None:
    ready = search_scope(tree("vllm", preset="tiny-paddleocr-vl", preset_folder=str(PRESETS)), ground_truth=False)
    assert ready.limits.model_pixels == 28 * 28 * 256


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (tree("transformers"), "one page at a time"),
        (tree(urls=("http://127.0.0.1:8000/v1",)), "can't restart"),
    ],
)
def test_what_can_not_be_started_otherwise_is_refused(settings: Settings, said: str) -> None:
    with pytest.raises(NothingToTune, match=said):
        preset_of(settings)


def test_a_model_that_nobody_knows_is_refused() -> None:
    with pytest.raises(NothingToTune, match="no model"):
        search_scope(tree("nix-vl"), ground_truth=False)
