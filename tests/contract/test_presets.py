"""What holds for every preset: its requests, its image sizes, and that its parsers take any output."""

from __future__ import annotations

import json
from collections.abc import Callable

import orjson
import pytest

from inkgate.engines.vlm.parsers.answer import ParsedAnswer, Parser
from inkgate.engines.vlm.parsers.blocks import grounded_markdown, layout_json
from inkgate.engines.vlm.parsers.doctags import doctags
from inkgate.engines.vlm.preset import Preset, PromptPlan
from inkgate.engines.vlm.presets import find_preset, known_presets
from inkgate.errors import InkgateError, InputRejected
from inkgate_client.types import BlockType, Size, TaskKind

PAGE = Size(1654, 2339)
SIZES = (PAGE, Size(40, 30), Size(9000, 120), Size(120, 9000), Size(12_000, 9000), Size(1, 1))

DOTS = json.dumps(
    [
        {"bbox": [140, 56, 700, 84], "category": "Page-header", "text": "A journal"},
        {"bbox": [140, 112, 1400, 168], "category": "Title", "text": "# On ink"},
        {"bbox": [140, 196, 1400, 420], "category": "Text", "text": "Ink *flows*."},
        {"bbox": [140, 448, 1400, 700], "category": "Table", "text": "<table><tr><td>a</td><td>b</td></tr></table>"},
        {"bbox": [140, 728, 1400, 840], "category": "Formula", "text": "E = mc^2"},
        {"bbox": [140, 868, 1400, 1400], "category": "Picture"},
    ]
)
DEEPSEEK = (
    "<|ref|>header<|/ref|><|det|>[[84, 24, 423, 36]]<|/det|>\nA journal\n\n"
    "<|ref|>title<|/ref|><|det|>[[84, 48, 846, 72]]<|/det|>\n# On ink\n\n"
    "<|ref|>text<|/ref|><|det|>[[84, 84, 846, 180]]<|/det|>\nInk *flows*.\n\n"
    "<|ref|>table<|/ref|><|det|>[[84, 192, 846, 300]]<|/det|>\n<table><tr><td>a</td><td>b</td></tr></table>\n\n"
    "<|ref|>equation<|/ref|><|det|>[[84, 312, 846, 360]]<|/det|>\n\\[E = mc^2\\]\n\n"
    "<|ref|>image<|/ref|><|det|>[[84, 372, 846, 600]]<|/det|>\n"
)
DOCTAGS = (
    "<doctag><page_header><loc_42><loc_12><loc_212><loc_18>A journal</page_header>\n"
    "<title><loc_42><loc_24><loc_423><loc_36>On ink</title>\n"
    "<text><loc_42><loc_42><loc_423><loc_90>Ink *flows*.</text>\n"
    "<otsl><loc_42><loc_96><loc_423><loc_150><fcel>a<fcel>b<nl></otsl>\n"
    "<formula><loc_42><loc_156><loc_423><loc_180>E = mc^2</formula>\n"
    "<picture><loc_42><loc_186><loc_423><loc_300><natural_image></picture></doctag><|end_of_text|>"
)
SIX = ["header", "title", "text", "table", "formula", "figure"]
WITH_BLOCKS = {"dots.mocr": DOTS, "dots.ocr": DOTS, "deepseek-ocr-2": DEEPSEEK, "granite-docling": DOCTAGS}
"""A page as each model writes it: a header, a title, text, a table, a formula and a picture."""
PARSED = {
    "olmocr-2": (
        "---\nprimary_language: en\nis_rotation_valid: True\nrotation_correction: 0\nis_table: False\n"
        "is_diagram: False\n---\n# On ink\n\nInk *flows*."
    ),
    "nanonets-ocr2": "# On ink\n\n<watermark>Ink</watermark> *flows*.\n\n<page_number>3</page_number>",
    "lightonocr-2": "# On ink\n\nInk *flows*.",
    "qwen3-vl": "```markdown\n# On ink\n\nInk *flows*.\n```",
    "qwen2.5-vl": "# On ink\n\nInk *flows*.",
    "glm-ocr": "# On ink\n\nInk *flows*.",
    "mineru-2.5": "# On ink\n\nInk *flows*.",
    "hunyuanocr-1.5": "# On ink\n\nInk *flows*.",
    "hunyuanocr-1.0": "# On ink\n\nInk *flows*.",
    "paddleocr-vl-1.6": "# On ink\n\nInk *flows*.",
    "paddleocr-vl-1.5": "# On ink\n\nInk *flows*.",
    "paddleocr-vl-1.0": "# On ink\n\nInk *flows*.",
}
EXTRACTING = ("hunyuanocr-1.5", "hunyuanocr-1.0", "glm-ocr", "qwen3-vl", "qwen2.5-vl")

_PIECES = (
    *('{"bbox": [1, 2, 3, 4], "category": "Text", "text": "', "[[1, 2, 3, 4]]", "<|ref|>", "<|/ref|>", "<|det|>"),
    *("<|/det|>", "<doctag>", "<otsl>", "<fcel>", "<nl>", "<list_item>", "<loc_12>", "<ordered_list>", "<caption>"),
    *("<|box_start|>", "1 2 3 4", "<|box_end|>", "<|ref_start|>text<|ref_end|>", "<|rotate_left|>", "---\n", "```"),
    *("<table>", "<td rowspan=9999>", "<script>alert(1)</script>", '<img src=x onerror="x()">', "$$", "\\[", "|", "\n"),
    *('{"a": ', "[", "]", "}", "\ud800", "\x00", "<page_number>", "</watermark>", "\u202e", "9" * 400, "<", "&lt;"),
)


def plans(preset: Preset) -> list[PromptPlan]:
    """Of every task and every other prompt."""
    languages = {kind: next(iter(task.languages), None) for kind, task in preset.tasks.items()}
    tasks = [preset.plan(kind, ["total", "it's"], languages[kind]) for kind in preset.tasks]
    return [*tasks, *(preset.other_plan(name) for name in preset.others)]


def of_each(check: Callable[[Preset, PromptPlan], str]) -> list[str]:
    """The presets and prompts that fail a check, which returns what is wrong."""
    found = ((preset, plan, check(preset, plan)) for preset in known_presets() for plan in plans(preset))
    return [f"{preset.name}, {plan.prompt[:24]!r}: {wrong}" for preset, plan, wrong in found if wrong]


def test_every_preset_names_its_licence_and_the_model_and_reads_text_and_pages() -> None:
    wrong = [
        preset.name
        for preset in known_presets()
        if not preset.licence
        or not {TaskKind.TEXT, TaskKind.PARSE} <= preset.tasks.keys()
        or not (preset.launch.model or preset.name == "hunyuanocr-1.0")
        or preset.sampling.token_limit is None
    ]
    assert not wrong


def test_every_request_is_json_that_bounds_the_answer() -> None:
    def check(preset: Preset, plan: PromptPlan) -> str:
        body = {"messages": preset.messages(plan.prompt, "data:,"), **plan.as_request()}
        sent = orjson.loads(orjson.dumps(body))
        user = sent["messages"][-1]["content"]
        if "{fields" in orjson.dumps(sent).decode():
            return "a placeholder is sent"
        if [part["type"] for part in user].count("image_url") != 1 or any(part.get("text") == "" for part in user):
            return f"content {user}"
        length = preset.launch.max_model_len
        return "" if length is None or _fits(plan, length) else "too long"

    assert of_each(check) == []


def _fits(plan: PromptPlan, length: int) -> bool:
    """A page's image, the prompt and the longest answer fit into the model's context."""
    answer = plan.sampling.token_limit or 0
    return plan.limits.tokens(PAGE) + len(plan.prompt) // 2 + answer <= length


def test_every_image_stays_within_its_limits_and_costs_tokens() -> None:
    def check(preset: Preset, plan: PromptPlan) -> str:
        for size in SIZES:
            try:
                seen, tokens = plan.limits.resized(size), plan.limits.tokens(size)
            except InputRejected as refused:
                if refused.code != "image_too_narrow":
                    return refused.code
                continue
            if seen.pixels > 1.1 * plan.limits.max_pixels or not 0 < tokens < 30_000:
                return f"{size} becomes {seen}, {tokens} tokens"
        return ""

    assert of_each(check) == []


def test_a_page_in_blocks_has_types_places_and_contents() -> None:
    for name, output in WITH_BLOCKS.items():
        preset = find_preset(name)
        plan = preset.plan(TaskKind.PARSE)
        seen = plan.limits.resized(PAGE) if plan.in_seen_pixels else PAGE
        answer = plan.parser(output, seen).scaled(seen, PAGE)
        assert [str(block.type) for block in answer.blocks] == SIX, name
        assert [block.text for block in answer.blocks] == ["A journal", "On ink", "Ink flows.", "a\tb", "E = mc^2", ""]
        assert [block.level for block in answer.blocks] == [None, 1, None, None, None, None], name
        assert answer.blocks[1].markdown == "# On ink"
        assert answer.blocks[3].markdown == "<table><tr><td>a</td><td>b</td></tr></table>"
        left, top, right, bottom = answer.blocks[2].box
        assert abs(left - 140) < 8, name
        assert abs(right - 1400) < 20, name
        assert 0 < top < bottom < PAGE.height
        cut = plan.parser(output[: len(output) // 2], seen)
        assert [str(block.type) for block in cut.blocks[:2]] == SIX[:2], name


PART_WITHOUT_A_PLACE = [
    (doctags, "<doctag><text><loc_9><loc_9><loc_99><loc_40>placed</text><text><loc_9><loc_9>lost</text></doctag>"),
    (
        layout_json,
        '[{"bbox": [9, 9, 99, 40], "category": "", "text": "placed"}, {"bbox": [], "category": "", "text": "lost"}]',
    ),
    (grounded_markdown, "lost<|ref|>text<|/ref|><|det|>[[9, 9, 99, 40]]<|/det|>placed"),
]


@pytest.mark.parametrize(("parser", "output"), PART_WITHOUT_A_PLACE, ids=lambda each: getattr(each, "__name__", ""))
def test_text_without_a_usable_place_is_a_block_of_the_page(parser: Parser, output: str) -> None:
    answer = parser(output, Size(200, 100))
    assert [(block.text, block.box) for block in answer.blocks][1:] == [("lost", (0, 0, 200, 100))]
    assert answer.text == answer.markdown == "placed\n\nlost"
    alone = parser(output.replace("99", "9"), Size(200, 100))
    assert (alone.blocks, sorted((alone.markdown or "").split("\n\n"))) == ((), ["lost", "placed"])


def test_a_page_in_markdown_is_without_what_the_model_adds() -> None:
    presets = {preset.name for preset in known_presets()}
    assert presets == set(PARSED) | set(WITH_BLOCKS)
    for name, output in PARSED.items():
        answer = find_preset(name).plan(TaskKind.PARSE).parser(output, PAGE)
        assert (answer.markdown, answer.text) == ("# On ink\n\nInk *flows*.", "On ink\n\nInk flows."), name


def test_fields_are_asked_for_by_name_in_a_schema_and_checked_after() -> None:
    for name in EXTRACTING:
        plan = find_preset(name).plan(TaskKind.EXTRACT, ["total", "buyer's\nname"])
        assert plan.answer is not None
        assert "buyer’s name" in plan.prompt, name
        schema = json.loads(json.dumps(plan.answer.response_format))["json_schema"]["schema"]
        assert schema["required"] == ["total", "buyer’s name"]
        fields = plan.parser('Here: {"total": "3.50", "buyer’s name": ["x"], "more": 1}', PAGE).fields
        assert fields is not None
        assert plan.answer.checked(fields) == {"total": "3.50", "buyer's\nname": None}
    others = [preset.name for preset in known_presets() if TaskKind.EXTRACT in preset.tasks]
    assert sorted(others) == sorted(EXTRACTING)


def test_mineru_finds_blocks_by_itself_and_tells_how_they_are_turned() -> None:
    preset = find_preset("mineru")
    plan = preset.other_plan(preset.layout)
    answer = plan.parser(
        "<|box_start|>100 100 900 200<|box_end|><|ref_start|>title<|ref_end|><|rotate_up|>\n"
        "<|box_start|>100 250 900 400<|box_end|><|ref_start|>text<|ref_end|><|rotate_right|>txt_contd_tgt\n"
        "<|box_start|>100 450 900 600<|box_end|><|ref_start|>table<|ref_end|>\n"
        "<|box_start|>100 450 900 600<|box_end|><|ref_start|>list<|ref_end|><|rotate_up|>\n"
        "<|box_start|>100 650 5000 800<|box_end|><|ref_start|>text<|ref_end|><|rotate_up|>\n"
        "<|box_start|>100 650 900 800<|box_end|><|ref_start|>unknown<|ref_end|><|rotate_up|>\n"
        "<|box_start|>100 65",
        Size(1000, 2000),
    )
    found = [(str(block.type), block.rotation, block.box) for block in answer.blocks]
    assert found == [
        ("title", 0, (100, 200, 900, 400)),
        ("text", 270, (100, 500, 900, 800)),
        ("table", 0, (100, 900, 900, 1200)),
        ("figure", 0, (100, 1300, 900, 1600)),
    ]
    assert plan.limits.resized(PAGE) == Size(1036, 1036)
    assert plan.limits.tokens(PAGE) == 37 * 37


def hostile() -> list[str]:
    """Outputs that no page has: every piece repeated, and one beside another."""
    repeated = [piece * (8_000 // len(piece)) for piece in _PIECES]
    nested = ['{"a": [' * 4000, "<otsl><caption>" * 2000, "<|ref|>a<|/ref|><|det|>" * 1500, "<list_item>x" * 2500]
    pairs = [f"{a}{b}x{a}{b}" for a in _PIECES[::2] for b in _PIECES[1::2]]
    return [*repeated, *nested, *pairs, "", " \n", DOTS * 200, DEEPSEEK * 200, DOCTAGS * 200]


def test_no_output_breaks_a_parser_or_makes_markup_active() -> None:
    parsers = {(preset.name, plan.parser): plan for preset in known_presets() for plan in plans(preset)}
    unique = {plan.parser: name for (name, _), plan in parsers.items()}
    wrong: list[str] = []
    outputs = hostile()
    for parser, name in unique.items():
        for output in outputs:
            try:
                answer = parser(output, PAGE)
            except InkgateError as error:
                if error.code != "engine_output_invalid":
                    wrong.append(f"{name}: {error.code}")
                continue
            wrong += [f"{name}: {said} for {output[:40]!r}" for said in harm(answer)]
    assert not wrong


def harm(answer: ParsedAnswer) -> list[str]:
    """What is wrong with an answer, whatever the output was."""
    shown = "".join([answer.markdown or "", *(block.markdown for block in answer.blocks)]).lower()
    found = [f"active markup {tag}" for tag in ("<script", "<img", "onerror=") if _active(shown, tag)]
    if len(answer.blocks) > 1000:
        found.append("too many blocks")
    for block in answer.blocks:
        left, top, right, bottom = block.box
        if not (0 <= left < right <= PAGE.width and 0 <= top < bottom <= PAGE.height):
            found.append(f"box {block.box}")
        if block.type is BlockType.FIGURE and block.text:
            found.append("text of a figure")
    return found


def _active(shown: str, tag: str) -> bool:
    """Whether a tag stands in Markdown where it is neither escaped nor code nor a formula."""
    return tag in shown and not tag.startswith("on") and "`" not in shown and "$" not in shown and "\\[" not in shown
