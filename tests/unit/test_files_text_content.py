"""Invisible text of a PDF page, and the font without shapes."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace

from inkgate.documents.files.glyphless import CharacterCodes, font_file
from inkgate.documents.files.text_content import page_content
from inkgate_client.types import Line, PageResult, Quad, Word


def _box(left: float, top: float, right: float, bottom: float) -> Quad:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def _page(*lines: Line) -> PageResult:
    return PageResult(0, 1000, 800, lines=lines, text="\n".join(line.text for line in lines))


def _operators(page: PageResult) -> str:
    content = page_content(page, CharacterCodes())
    assert content is not None
    return zlib.decompress(content.content).decode()


def _shown(operators: str) -> list[str]:
    return [bytes.fromhex(text).decode("utf-16-be") for text in re.findall(r"<([0-9a-f]+)> Tj", operators)]


TWO_WORDS = Line(
    "Ink gate",
    _box(100, 50, 300, 90),
    1.0,
    (Word("Ink", _box(100, 50, 160, 90), 1.0), Word("gate", _box(200, 50, 300, 90), 1.0)),
)


def test_words_stand_at_their_places_with_a_space_between() -> None:
    operators = _operators(_page(TWO_WORDS))
    assert "3 Tr" in operators  # invisible
    assert "1.00000 0.00000 0.00000 -1.00000 100.00 90.00 Tm" in operators
    assert re.findall(r"(\S+) 0 Td", operators) == ["0.00", "100.00"]
    assert _shown(operators) == ["Ink", " ", "gate"]
    assert operators.split().index("100.00") >= 0  # 3 glyphs of 20 px in 60 px: not stretched


def test_characters_of_chinese_leave_no_gap_that_would_become_a_space() -> None:
    words = (Word("你", _box(0, 0, 20, 40), 1.0), Word("好", _box(60, 0, 100, 40), 1.0))
    operators = _operators(_page(Line("你好", _box(0, 0, 100, 40), 1.0, words)))
    assert _shown(operators) == ["你", "好"]
    assert "300.00 Tz" in operators  # half an em, 20 px wide, stretched to the next character


def test_vertical_text_runs_down() -> None:
    words = (Word("雪", _box(500, 100, 540, 140), 1.0), Word("望", _box(500, 150, 540, 190), 1.0))
    operators = _operators(_page(Line("雪望", _box(500, 100, 540, 190), 1.0, words)))
    assert "0.00000 1.00000 1.00000 0.00000 500.00 100.00 Tm" in operators.replace("-0.00000", "0.00000")


def test_text_from_right_to_left_starts_at_the_right() -> None:
    words = (Word("שלום", _box(200, 0, 300, 40), 1.0), Word("עולם", _box(80, 0, 180, 40), 1.0))
    operators = _operators(_page(Line("שלום עולם", _box(80, 0, 300, 40), 1.0, words)))
    assert "-1.00000" in operators
    assert "300.00 40.00 Tm" in operators
    assert _shown(operators) == ["שלום", " ", "עולם"]


def test_a_page_turned_to_be_read_has_its_text_where_it_was_sent() -> None:
    upright = _page(TWO_WORDS)
    operators = _operators(replace(upright, rotation=90))  # sent: 800 x 1000, text running up
    assert "0.00000 -1.00000 -1.00000" in operators.replace("-0.00000", "0.00000")


def test_text_without_positions_is_spread_over_its_page() -> None:
    operators = _operators(PageResult(0, 100, 90, text="one\ntwo\nthree"))
    assert re.findall(r"(\S+) Tf", operators) == ["30.00"] * 3
    assert re.findall(r"(\S+) Tm", operators) == ["30.00", "60.00", "89.95"]  # not on the edge


def test_tilted_words_are_marked_as_one_piece() -> None:
    def tilted(left: float) -> Quad:
        return (
            (left, 50 - left / 20),
            (left + 100, 45 - left / 20),
            (left + 100, 85 - left / 20),
            (left, 90 - left / 20),
        )

    words = (Word("Ink", tilted(0), 1.0), Word("gate", tilted(140), 1.0))
    operators = _operators(_page(Line("Ink gate", ((0, 50), (240, 38), (240, 78), (0, 90)), 1.0, words)))
    assert operators.count("BDC") == operators.count("EMC") == 2
    assert f"/Span <</ActualText <feff{'Ink'.encode('utf-16-be').hex()}>>> BDC" in operators
    assert "BDC" not in _operators(_page(TWO_WORDS))


def test_pages_with_a_text_layer_or_without_text_get_none() -> None:
    page = _page(TWO_WORDS)
    assert page_content(replace(page, source="text_layer"), CharacterCodes()) is None
    assert page_content(PageResult(0), CharacterCodes()) is None


def test_characters_beyond_two_bytes_have_codes_of_their_own() -> None:
    codes = CharacterCodes()
    assert codes.encode("a𠀀𠀁𠀀") == bytes.fromhex("0061d800d801d800")
    cmap = codes.to_unicode().decode()
    assert "<D800> <D840DC00>" in cmap
    assert "<4E00> <4EFF> <4E00>" in cmap
    assert all(int(count) <= 100 for count in re.findall(r"(\d+) begin", cmap))


def test_font_is_whole() -> None:
    font = font_file()
    words = [int.from_bytes(font[i : i + 4], "big") for i in range(0, len(font), 4)]
    assert sum(words) % 2**32 == 0xB1B0AFBA  # TrueType: checkSumAdjustment
