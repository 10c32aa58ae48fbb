"""Text with coordinates in each model's format: complete, irregular and cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.vlm.parsers.answer import ParsedAnswer, Parser
from inkgate.engines.vlm.parsers.spotting import spotting_hunyuan, spotting_json, spotting_paddle
from inkgate.errors import EngineFailed
from inkgate_client.types import Size

PAGE = Size(2000, 500)
QUAD = ((200.0, 50.0), (600.0, 50.0), (600.0, 100.0), (200.0, 100.0))
"""100..300 by 100..200 on the grid."""
JSON = '[{"box": [100, 100, 300, 200], "text": "Größe: 5 {m}"}, {"box": [0, 500, 1000, 1000], "text": "文字"}]'
LOCATIONS = "<|LOC_100|><|LOC_100|><|LOC_300|><|LOC_100|><|LOC_300|><|LOC_200|><|LOC_100|><|LOC_200|>"


def test_json_boxes_become_quads_in_pixels() -> None:
    answer = spotting_json(JSON, PAGE)
    assert answer.text == "Größe: 5 {m}\n文字"
    assert answer.lines[0].quad == QUAD
    assert answer.lines[1].quad == ((0.0, 250.0), (2000.0, 250.0), (2000.0, 500.0), (0.0, 500.0))
    assert JSON[answer.lines[1].start : answer.lines[1].end] == '{"box": [0, 500, 1000, 1000], "text": "文字"}'
    assert answer.lines[0].as_line(0.5).confidence == 0.5


@pytest.mark.parametrize(
    "output",
    [
        f"```json\n{JSON}\n```",
        f"Here it is: {JSON} I hope this helps.",
        JSON[:-20],
        JSON.replace("[100, 100, 300, 200]", "[300, 200, 100, 100]"),
        '[{"box": [1, 2], "text": "short"}, {"text": "no box"}, 5, {"box": [1, 2, 3, "4"], "text": "no"},' + JSON[1:],
        '[{"box": [NaN, 2, 3, 4], "text": "no"}, {"box": [1, 2, 3, 4], "text": "  "}, ' + JSON[1:],
    ],
)
def test_json_that_is_fenced_or_cut_off_or_partly_wrong_gives_what_is_right(output: str) -> None:
    lines = spotting_json(output, PAGE).lines
    assert (lines[0].text, lines[0].quad) == ("Größe: 5 {m}", QUAD)


@pytest.mark.parametrize("output", ["", "  \n", "[]", "```json\n[]\n```", '[{"box": [1, 2'])
def test_json_without_lines_is_a_blank_page(output: str) -> None:
    answer = spotting_json(output, PAGE)
    assert (answer.text, answer.lines) == ("", ())


def test_json_that_nests_without_end_gives_what_came_before() -> None:
    assert [line.text for line in spotting_json(JSON + '[{"a":' * 20_000, PAGE).lines] == ["Größe: 5 {m}", "文字"]


def test_an_answer_that_is_no_json_at_all_is_an_error() -> None:
    with pytest.raises(EngineFailed, match="JSON array") as failed:
        spotting_json("I can't see any text.", PAGE)
    assert failed.value.code == "engine_output_invalid"


def test_half_a_character_escaped_in_json_does_not_come_through() -> None:
    answer = spotting_json(r'[{"box": [0, 0, 1, 1], "text": "a\ud800b"}]', PAGE)
    assert answer.text.encode() == b"a?b"


def test_places_past_the_grid_come_to_the_edge_of_the_page() -> None:
    line = spotting_json('[{"box": [-20, 0, 1200, 1e9], "text": "wide"}]', PAGE).lines[0]
    assert line.quad == ((0.0, 0.0), (2000.0, 0.0), (2000.0, 500.0), (0.0, 500.0))


@pytest.mark.parametrize(
    "output",
    [
        "Dose (2 a day)(100,100),(300,200)文字(0,500),(1000,1000)",
        "Dose (2 a day)(100, 100), (300, 200)\n文字( 0,500),(1000,1000)\n",
        "<ref>Dose (2 a day)</ref><quad>(100,100),(300,200)</quad><ref>文字</ref><quad>(0,500),(1000,1000)</quad>",
    ],
)
def test_hunyuan_places_become_quads_in_pixels(output: str) -> None:
    answer = spotting_hunyuan(output, PAGE)
    assert answer.text == "Dose (2 a day)\n文字"
    assert [line.text for line in answer.lines] == ["Dose (2 a day)", "文字"]
    assert answer.lines[0].quad == QUAD
    assert "Dose (2 a day)" in output[answer.lines[0].start : answer.lines[0].end]


def test_hunyuan_text_whose_place_was_cut_off_is_text_without_a_line() -> None:
    answer = spotting_hunyuan("one(100,100),(300,200)two", PAGE)
    assert (answer.text, [line.text for line in answer.lines]) == ("one\ntwo", ["one"])


@pytest.mark.parametrize(
    "output",
    [
        f"Hello{LOCATIONS}World{LOCATIONS}",
        f"Hello{LOCATIONS}\nWorld {LOCATIONS}\n",
        (
            f"<|TEXT_START|>Hello<|TEXT_END|><|LOC_BEGIN|>{LOCATIONS}<|LOC_END|>"
            f"<|TEXT_START|>World<|TEXT_END|><|LOC_BEGIN|>{LOCATIONS}<|LOC_END|>"
        ),
        f"Hello{LOCATIONS}<|LOC_7|>World{LOCATIONS}",
    ],
)
def test_paddle_locations_become_quads_in_pixels(output: str) -> None:
    answer = spotting_paddle(output, PAGE)
    assert answer.text == "Hello\nWorld"
    assert [(line.text, line.quad) for line in answer.lines] == [("Hello", QUAD), ("World", QUAD)]
    assert "World" in output[answer.lines[1].start : answer.lines[1].end]


def test_paddle_text_with_too_few_locations_is_text_without_a_line() -> None:
    answer = spotting_paddle(f"one{LOCATIONS}two<|LOC_1|><|LOC_2|>three<|LOC_", PAGE)
    assert (answer.text, [line.text for line in answer.lines]) == ("one\ntwo\nthree<|LOC_", ["one"])


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "1e999", "NaN", "-Infinity", "true"])
def test_a_corner_that_is_no_place_drops_the_line_only(number: str) -> None:
    output = f'[{{"box": [1, 2, 3, {number}], "text": "a"}}, {{"box": [1, 2, 30, 40], "text": "b"}}]'
    assert [line.text for line in spotting_json(output, PAGE).lines][-1] == "b"


pieces = st.sampled_from(
    ["[", "]", "{", "}", '"box":', "[1,2,3,4]", '"text":"a"', ",", "(1,2)", "(3,4)", "<|LOC_5|>", "<|TEXT_START|>", "Ω"]
)
outputs = st.text() | st.lists(pieces).map("".join)


def read(parser: Parser, output: str) -> ParsedAnswer | None:
    """The answer, or None for the one error that a parser may raise."""
    try:
        return parser(output, PAGE)
    except EngineFailed as failed:
        if failed.code != "engine_output_invalid":
            raise
        return None


@pytest.mark.parametrize("parser", [spotting_json, spotting_hunyuan, spotting_paddle])
@given(output=outputs)
def test_any_output_gives_lines_on_the_page_or_the_named_error(parser: Parser, output: str) -> None:
    answer = read(parser, output)
    for line in answer.lines if answer else ():
        assert all(0 <= x <= PAGE.width and 0 <= y <= PAGE.height for x, y in line.quad)
        assert 0 <= line.start < line.end <= len(output)
        assert answer is not None
        assert line.text in answer.text
