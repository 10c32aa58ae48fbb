"""docs/guides/choosing-a-model.md is right: its prompts are sent, its numbers add up, its examples work."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.engines.vllm.preset import Preset
from inkgate.engines.vllm.presets import find_preset, hunyuanocr, known_presets, paddleocr_vl
from inkgate.types import Size, TaskKind

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "choosing-a-model.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def cells(preset: Preset) -> list[str]:
    """What the page has of it in its tables."""
    tasks = [*preset.tasks.values(), *preset.others.values()]
    prompts = [prompt for task in tasks for prompt in (task.prompt, *task.languages.values()) if prompt]
    return [f"| `{text}` |" for text in (preset.name, *prompts)] + [f"| *{name}* |" for name in preset.others]


def test_every_preset_and_each_of_its_prompts_is_documented_as_it_is_sent() -> None:
    assert [(preset.name, cell) for preset in known_presets() for cell in cells(preset) if cell not in PAGE] == []


def test_the_tokens_of_the_page_in_the_documentation_are_right() -> None:
    page = Size(1654, 2339)
    assert hunyuanocr.LIMITS.resized(page) == Size(1664, 2336)
    assert f"= {hunyuanocr.LIMITS.tokens(page)} tokens" in PAGE
    assert paddleocr_vl.LIMITS.resized(page) == Size(840, 1176)
    assert f": {paddleocr_vl.LIMITS.tokens(page)} tokens" in PAGE


def test_the_example_of_another_model_is_a_preset_that_works(tmp_path: Path) -> None:
    (tmp_path / "mineru.py").write_text(EXAMPLES[0], encoding="utf-8")
    preset = find_preset("opendatalab/MinerU2.5-2509-1.2B", tmp_path)
    plan = preset.plan(TaskKind.TABLE)
    assert plan.as_request() == {
        "temperature": 0.0,
        "top_p": 0.01,
        "top_k": 1,
        "presence_penalty": 1.0,
        "frequency_penalty": 0.005,
        "skip_special_tokens": False,
        "max_tokens": 4096,
        "vllm_xargs": {"no_repeat_ngram_size": 100},
        "mm_processor_kwargs": {"min_pixels": 3136, "max_pixels": 1605632},
    }
    answer = plan.parser("<fcel>a<fcel>b<nl>", Size(100, 100))
    assert answer.markdown == "<table><tr><td>a</td><td>b</td></tr></table>"
    assert plan.limits.tokens(Size(1036, 1036)) == 37 * 37
    assert [message["role"] for message in preset.messages(plan.prompt, "data:,")] == ["system", "user"]


def test_the_example_of_a_parser_works() -> None:
    names: dict[str, object] = {}
    exec(EXAMPLES[1], names)  # noqa: S102  # the documentation's own code
    parser = names["upper_case"]
    assert callable(parser)
    assert parser(" read \n", Size(1, 1)).text == "READ"
