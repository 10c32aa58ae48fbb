"""docs/guides/choosing-a-model.md is right: its presets are all, its numbers add up, its examples work."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.engines.vlm.presets import find_preset, hunyuanocr, known_presets, paddleocr_vl
from inkgate_client.types import Size, TaskKind

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "choosing-a-model.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_preset_is_in_the_table_with_its_other_names() -> None:
    rows = [f"| `{preset.name}` | {', '.join(f'`{name}`' for name in preset.aliases)}" for preset in known_presets()]
    assert [row for row in rows if row.rstrip() not in PAGE] == []


def test_the_tokens_of_the_page_in_the_documentation_are_right() -> None:
    page = Size(1654, 2339)
    assert hunyuanocr.LIMITS.resized(page) == Size(1664, 2336)
    assert f"= {hunyuanocr.LIMITS.tokens(page)} tokens" in PAGE
    assert paddleocr_vl.LIMITS.resized(page) == Size(840, 1176)
    assert f": {paddleocr_vl.LIMITS.tokens(page)} tokens" in PAGE


def test_the_example_of_another_model_is_a_preset_that_works(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(EXAMPLES[0], encoding="utf-8")
    preset = find_preset("lab/Lab-OCR-1B", tmp_path)
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
