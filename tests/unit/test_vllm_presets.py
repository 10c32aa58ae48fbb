"""Presets: what each model is asked, how it is found, and that one more is one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from inkgate.engines.vlm.parsers.spotting import spotting_json
from inkgate.engines.vlm.preset import Preset, RetryStep
from inkgate.engines.vlm.presets import find_preset, hunyuanocr, known_presets, paddleocr_vl
from inkgate.errors import InputRejected
from inkgate.model_servers.launch import Launch
from inkgate_client.types import BlockType, Size, TaskKind

EVERY_TASK = set(TaskKind)
PADDLE_TASKS = {TaskKind.TEXT, TaskKind.PARSE, TaskKind.TABLE, TaskKind.FORMULA, TaskKind.CHART}

OWN = """
from inkgate.engines.vlm.presets.paddleocr_vl import V1_6
from dataclasses import replace

PRESETS = (replace(V1_6, name="mine", aliases=(), served_names=("lab/Mine-OCR",)),)
"""


def test_a_preset_is_found_by_its_name_and_by_what_servers_call_the_model() -> None:
    cases = [
        ("hunyuanocr", "hunyuanocr-1.5"),
        ("HunyuanOCR-1.0", "hunyuanocr-1.0"),
        ("tencent/HunyuanOCR", "hunyuanocr-1.5"),
        ("paddleocr-vl", "paddleocr-vl-1.6"),
        ("PaddleOCR-VL-1.6-0.9B", "paddleocr-vl-1.6"),
        ("PaddlePaddle/PaddleOCR-VL", "paddleocr-vl-1.0"),
        ("PaddleOCR-VL-0.9B", "paddleocr-vl-1.0"),
        ("/srv/models/PaddleOCR-VL-1.5-0.9B/", "paddleocr-vl-1.5"),
        ("olmocr", "olmocr-2"),
        ("opendatalab/MinerU2.5-2509-1.2B", "mineru-2.5"),
        ("qwen-vl", "qwen3-vl"),
    ]
    assert [(asked, found) for asked, name in cases if (found := find_preset(asked).name) != name] == []


def test_an_unknown_name_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(
        InputRejected, match=r"'gpt'; there are: deepseek-ocr-2, .*hunyuanocr-1\.0, hunyuanocr-1"
    ) as refused:
        find_preset("gpt")
    assert refused.value.code == "engine_unknown"


def test_no_two_presets_share_a_name() -> None:
    names = [name for preset in known_presets() for name in {known.lower() for known in preset.names}]
    assert len(names) == len(set(names))


def test_a_file_in_a_folder_adds_a_model(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    assert find_preset("mine", tmp_path).served_names == ("lab/Mine-OCR",)
    assert find_preset("lab/mine-ocr", tmp_path).name == "mine"
    assert find_preset("hunyuanocr", tmp_path).name == "hunyuanocr-1.5"
    with pytest.raises(InputRejected):
        find_preset("mine")


def test_ones_own_preset_wins_over_one_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.replace('"mine"', '"paddleocr-vl"'))
    assert find_preset("paddleocr-vl", tmp_path).served_names == ("lab/Mine-OCR",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("PRESETS = 5", "must define PRESETS"),
        ("", "must define PRESETS"),
        ("PRESETS = (1,)", "must define PRESETS"),
        ("1 / 0", "division by zero"),
        ("def", "can't be loaded"),
    ],
)
def test_a_broken_preset_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "broken.py").write_text(content)
    with pytest.raises(ValueError, match=rf"broken\.py.*{message}"):
        find_preset("hunyuanocr", tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no folder of presets at .*missing"):
        known_presets(tmp_path / "missing")


@pytest.mark.parametrize(
    ("preset", "tasks"),
    [
        (hunyuanocr.V1_5, EVERY_TASK),
        (hunyuanocr.V1_0, EVERY_TASK),
        (paddleocr_vl.V1_6, PADDLE_TASKS | {TaskKind.SPOT}),
        (paddleocr_vl.V1_5, PADDLE_TASKS | {TaskKind.SPOT}),
        (paddleocr_vl.V1_0, PADDLE_TASKS),
    ],
)
def test_what_a_model_cannot_do_is_refused_with_what_it_can(preset: Preset, tasks: set[TaskKind]) -> None:
    for kind in tasks:
        assert preset.plan(kind, names=["a"], language="en").prompt
    for kind in EVERY_TASK - tasks:
        with pytest.raises(InputRejected, match=rf"does not support {kind}; it supports: text, parse,") as refused:
            preset.plan(kind)
        assert refused.value.code == "task_unsupported"


def test_a_hunyuan_request_is_that_of_its_own_client() -> None:
    plan = hunyuanocr.V1_5.plan(TaskKind.SPOT)
    assert plan.as_request() == {
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": -1,
        "repetition_penalty": 1.08,
        "skip_special_tokens": True,
        "max_tokens": 4096,
    }
    assert plan.parser is spotting_json
    assert hunyuanocr.V1_5.messages("提取图中的文字。", "data:image/png;base64,AA==") == [
        {"role": "system", "content": ""},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "text", "text": "提取图中的文字。"},
            ],
        },
    ]


def test_the_older_hunyuan_has_its_own_sampling_and_spotting() -> None:
    plan = hunyuanocr.V1_0.plan(TaskKind.SPOT)
    assert plan.prompt == "检测并识别图片中的文字，将文本坐标格式化输出。"
    assert plan.as_request() == {
        "temperature": 0.0,
        "top_p": 0.95,
        "top_k": 1,
        "seed": 1234,
        "repetition_penalty": 1.0,
        "max_tokens": 16384,
    }


def test_a_paddle_request_carries_its_image_limits() -> None:
    pixels = {"min_pixels": 112896, "max_pixels": 1003520}
    plan = paddleocr_vl.V1_6.plan(TaskKind.TABLE)
    assert plan.prompt == "Table Recognition:"
    assert plan.as_request() == {
        "temperature": 0.0,
        "max_completion_tokens": 4096,
        "mm_processor_kwargs": pixels,
    }
    assert plan.sampling.token_limit == 4096
    assert [message["role"] for message in paddleocr_vl.V1_6.messages("OCR:", "data:,")] == ["user"]


def test_paddle_spotting_shows_its_location_tokens_and_takes_larger_images() -> None:
    plan = paddleocr_vl.V1_5.plan(TaskKind.SPOT)
    request = plan.as_request()
    assert request["skip_special_tokens"] is False
    assert request["mm_processor_kwargs"] == {"min_pixels": 112896, "max_pixels": 1605632}
    assert plan.limits.resized(Size(400, 300)) == Size(812, 588)


def test_fields_to_extract_are_named_in_the_prompt() -> None:
    plan = hunyuanocr.V1_5.plan(TaskKind.EXTRACT, names=["name", "driver's\nlicence"])
    assert plan.prompt == "提取图片中的: ['name','driver’s licence'] 的字段内容，并按照 JSON 格式返回。"
    with pytest.raises(InputRejected, match="at least one field") as refused:
        hunyuanocr.V1_5.plan(TaskKind.EXTRACT)
    assert refused.value.code == "options_invalid"


def test_translation_is_into_the_languages_the_model_was_trained_for() -> None:
    assert "翻译为英文" in hunyuanocr.V1_5.plan(TaskKind.TRANSLATE, language="en").prompt
    assert "翻译为中文" in hunyuanocr.V1_0.plan(TaskKind.TRANSLATE, language="zh").prompt
    for language in ("fr", None):
        with pytest.raises(InputRejected, match="only these languages: en, zh"):
            hunyuanocr.V1_5.plan(TaskKind.TRANSLATE, language=language)


def test_prompts_without_a_task_are_reached_by_the_models_own_names() -> None:
    assert paddleocr_vl.V1_6.other_plan("seal").prompt == "Seal Recognition:"
    with pytest.raises(InputRejected, match="no prompt 'seal'; it has: none besides its tasks"):
        paddleocr_vl.V1_0.other_plan("seal")


def test_elements_are_read_by_tasks_of_the_preset_and_figures_are_not_read() -> None:
    elements = paddleocr_vl.V1_6.elements
    assert elements is not None
    of_other_finders = {BlockType.BARCODE, BlockType.CHECKBOX, BlockType.STAMP}
    assert set(BlockType) - set(elements) == {BlockType.FIGURE} | of_other_finders
    assert elements[BlockType.TABLE] is TaskKind.TABLE
    assert hunyuanocr.V1_5.elements is None
    with pytest.raises(ValueError, match="`elements` uses chart, not in"):
        replace(hunyuanocr.V1_5, tasks={}, elements={BlockType.FIGURE: TaskKind.CHART})


def test_charts_and_seals_are_read_by_prompts_of_their_own_where_the_model_has_them() -> None:
    def prompt(preset: Preset, label: str, block_type: BlockType = BlockType.FIGURE) -> str | None:
        plan = preset.element_plan(block_type, label)
        return None if plan is None else plan.prompt

    assert prompt(paddleocr_vl.V1_6, "chart") == prompt(paddleocr_vl.V1_0, "chart") == "Chart Recognition:"
    assert prompt(paddleocr_vl.V1_5, "seal") == "Seal Recognition:"
    assert prompt(paddleocr_vl.V1_0, "seal") is prompt(paddleocr_vl.V1_6, "image") is None
    assert prompt(paddleocr_vl.V1_6, "vertical_text", BlockType.TEXT) == "OCR:"
    assert prompt(hunyuanocr.V1_5, "text", BlockType.TEXT) is None
    with pytest.raises(ValueError, match="`classes` uses seal, not in"):
        replace(hunyuanocr.V1_5, classes={"seal": "seal"})


def test_a_layout_of_the_model_s_own_needs_its_prompt_and_elements_to_read() -> None:
    for wrong in ("nothing", "subtitles"):
        with pytest.raises(ValueError, match="`layout` needs"):
            replace(hunyuanocr.V1_5, layout=wrong)


def test_a_preset_without_names_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        replace(hunyuanocr.V1_5, served_names=())


def test_a_retry_changes_the_plan() -> None:
    plan = hunyuanocr.V1_5.plan(TaskKind.PARSE)
    warm = RetryStep(temperature=0.5).applied(plan)
    small = RetryStep(scale=0.5).applied(plan)
    assert (warm.sampling.temperature, warm.limits) == (0.5, plan.limits)
    assert (small.sampling, small.limits.max_pixels) == (plan.sampling, 1024 * 1024)


def test_launch_arguments_are_those_of_a_command_line() -> None:
    launch = Launch("lab/Mine", ("--trust-remote-code",), max_model_len=2048, gpu_memory_utilization=0.5)
    assert " ".join(launch.arguments()) == (
        "--trust-remote-code --max-model-len 2048 --gpu-memory-utilization 0.5 --max-num-seqs 16"
    )
    assert hunyuanocr.V1_5.launch.arguments()[-6:] == [
        "--max-model-len",
        "131072",
        "--gpu-memory-utilization",
        "0.9",
        "--max-num-seqs",
        "16",
    ]


def test_fewer_pixels_bound_every_task_and_never_go_under_a_model_s_least_or_over_its_most() -> None:
    paddle = find_preset("paddleocr-vl")
    small = paddle.within(500_000)
    assert small.plan(TaskKind.TEXT).limits.max_pixels == 500_000
    assert small.plan(TaskKind.SPOT).limits.max_pixels == 500_000
    assert paddle.within(1).limits.max_pixels == paddle.limits.min_pixels
    assert paddle.within(10**9) == paddle
    assert paddle.within(0) is paddle
