import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.text_layer import layer_of, lines_of
from inkgate.page import LineStyle
from inkgate_client.types import Line


def glyph(char: str, x: float, y: float, size: float = 20, angle: float = 0, advance: float = 0.5) -> Glyph:
    """A character with its origin at (x, y): ink from 0.05 em to `advance` - 0.05 em, 0.7 em high."""
    ux, uy = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    corners = [
        (x + u * size * ux - v * size * uy, y + u * size * uy + v * size * ux)
        for u in (0.05, advance - 0.05)
        for v in (-0.7, 0)
    ]
    xs, ys = [p for p, _ in corners], [q for _, q in corners]
    return Glyph(char, min(xs), min(ys), max(xs), max(ys), x, y, ux, uy, size)


def typed(text: str, x: float, y: float, size: float = 20, angle: float = 0, advance: float = 0.5) -> list[Glyph]:
    """`text` set from (x, y) along `angle`, spaces as their own glyphs."""
    made = []
    for number, char in enumerate(text):
        along = number * advance * size
        at = (x + along * math.cos(math.radians(angle)), y + along * math.sin(math.radians(angle)))
        made.append(glyph(char, *at, size, angle, advance))
    return made


def texts(glyphs: list[Glyph]) -> list[str]:
    return [line.text for line in lines_of(glyphs)]


def test_characters_on_a_baseline_are_a_line_of_words() -> None:
    (line,) = lines_of(typed("two words", 100, 50))
    assert line.text == "two words"
    assert [word.text for word in line.words] == ["two", "words"]
    assert line.box == pytest.approx((101, 36, 189, 50))
    assert line.words[1].quad[0] == pytest.approx((141, 36))
    assert line.words[1].quad[2] == pytest.approx((189, 50))
    assert line.confidence == 1.0


def test_a_line_is_bold_if_nearly_all_of_it_is() -> None:
    bold = [item._replace(bold=True) for item in typed("A heading of this part", 100, 50, size=24)]
    run_in = typed("word and text", 100, 150)
    run_in[:4] = [item._replace(bold=True, italic=True) for item in run_in[:4]]
    layer = layer_of([*bold, *run_in])
    assert layer.styles == (LineStyle(24.0, bold=True), LineStyle(20.0))
    assert len(layer.lines) == 2


def test_exponents_do_not_change_a_lines_size() -> None:
    (style,) = layer_of([*typed("energy", 100, 50), *typed("23", 160, 42, size=12)]).styles
    assert style.size == 20.0


def test_the_files_order_of_lines_is_kept() -> None:
    assert texts(typed("below", 0, 80) + typed("above", 0, 50)) == ["below", "above"]


def test_columns_are_lines_of_their_own() -> None:
    assert texts(typed("left", 0, 50) + typed("right", 200, 50)) == ["left", "right"]


def test_a_gap_without_a_space_ends_a_word() -> None:
    assert texts(typed("one", 0, 50) + typed("two", 42, 50)) == ["one two"]


def test_a_new_line_in_the_file_on_the_same_baseline_is_a_space_only_with_a_gap() -> None:
    moved = Glyph("\n", 0, 0, 0, 0, 0, 0, 1, 0, 20)
    assert texts([*typed("one", 0, 50), moved, *typed(",", 30, 50)]) == ["one,"]
    assert texts([*typed("one", 0, 50), moved, *typed("two", 36, 50)]) == ["one two"]


def test_superscripts_stay_in_their_line() -> None:
    assert texts([*typed("mc", 0, 50), glyph("2", 20, 43, 12), *typed(" = E", 26, 50)]) == ["mc2 = E"]


def test_pieces_of_a_line_written_out_of_order_are_joined_from_left_to_right() -> None:
    pieces = typed("end", 98, 50) + typed("other", 0, 90) + typed("start", 0, 50) + typed("mid", 62, 50)
    assert texts(pieces) == ["other", "start mid end"]


def test_bold_by_drawing_twice_is_read_once() -> None:
    once = typed("bold and pull", 0, 50)
    again = [g._replace(left=g.left + 0.6, right=g.right + 0.6, x=g.x + 0.6) for g in once]
    assert texts(once + again) == ["bold and pull"]
    interleaved = [g for pair in zip(once, again, strict=True) for g in pair]
    assert texts(interleaved) == ["bold and pull"]


def test_letters_that_are_really_twice_are_kept() -> None:
    assert texts(typed("illicit hill", 0, 50, advance=0.22)) == ["illicit hill"]


def test_ligatures_are_spelled_out() -> None:
    assert texts(typed("eﬃcient", 0, 50)) == ["efficient"]
    one_glyph = [glyph(char, 10, 50) for char in "ffi"]
    assert texts([*typed("e", 0, 50), *one_glyph, *typed("cient", 20, 50)]) == ["efficient"]


def test_soft_hyphens_are_read_where_they_are_drawn() -> None:
    drawn = typed("compu\xad", 0, 50)
    hidden = [*typed("com", 0, 90), glyph("\xad", 30, 90, advance=0.1), *typed("puter", 30, 90)]
    assert texts(drawn + hidden) == ["compu-", "computer"]


@pytest.mark.parametrize("order", ["before", "after", "much later"])
def test_accents_drawn_over_letters_become_one_character(order: str) -> None:
    accent, letter = glyph("´", 20, 50), glyph("e", 20, 50, advance=0.55)
    rest = typed("ra", 30, 50)
    start = typed("op", 0, 50)
    orders = {
        "before": [*start, accent, letter, *rest],
        "after": [*start, letter, accent, *rest],
        "much later": [*start, letter, *rest, *typed("elsewhere", 0, 200), accent],
    }
    assert texts(orders[order])[0] == "opéra"
    assert "´" not in "".join(texts(orders[order]))


@pytest.mark.parametrize(("angle", "corner"), [(90, (114, 101)), (180, (99, 114)), (270, (86, 99)), (30, (108, 88))])
def test_turned_text_has_its_quad_in_reading_direction(angle: float, corner: tuple[float, float]) -> None:
    (line,) = lines_of(typed("sideways", 100, 100, angle=angle))
    assert line.text == "sideways"
    (x0, y0), (x1, y1), _, (x3, y3) = line.quad
    assert (x0, y0) == pytest.approx(corner, abs=1.5)
    assert math.degrees(math.atan2(y1 - y0, x1 - x0)) % 360 == pytest.approx(angle, abs=1)
    assert math.degrees(math.atan2(y3 - y0, x3 - x0)) % 360 == pytest.approx((angle + 90) % 360, abs=1)


def test_chinese_has_a_word_for_each_character_and_no_spaces_between() -> None:
    (line,) = lines_of(typed("出版 物 OCR服务", 0, 50, advance=1.0))
    assert line.text == "出版 物 OCR服务"
    assert [word.text for word in line.words if len(word.text) == 1] == list("出版物服务")


def test_chinese_set_wide_is_not_torn_apart() -> None:
    spaced = [glyph(char, 28 * number, 50, advance=1.0) for number, char in enumerate("人民共和国")]
    with_spaces = [g for char in spaced for g in (char, Glyph(" ", 0, 0, 0, 0, 0, 0, 1, 0, 20))]
    assert texts(with_spaces) == ["人民共和国"]


def test_vertical_chinese_is_one_line_for_each_column() -> None:
    column = [glyph(char, 300, 50 + 21 * number, advance=1.0) for number, char in enumerate("春眠不觉晓")]
    other = [glyph(char, 270, 50 + 21 * number, advance=1.0) for number, char in enumerate("处处闻啼鸟")]
    assert texts(column + other) == ["春眠不觉晓", "处处闻啼鸟"]


def test_right_to_left_text_stays_in_the_order_of_reading() -> None:
    word = "שלום עולם"
    glyphs = [glyph(char, 200 - 10 * number, 50) for number, char in enumerate(word)]
    (line,) = lines_of(glyphs)
    assert line.text == word
    assert line.box == pytest.approx((121, 36, 209, 50))


def test_characters_that_are_no_text_are_left_out() -> None:
    assert texts(typed("a\x01b\ue123c\ufffd", 0, 50, advance=0.2)) == ["abc"]
    assert texts(typed("\uf0b7 item", 0, 50)) == ["• item"]
    assert texts(typed("\x01\x02", 0, 50)) == []
    assert texts([]) == []


coordinates = st.floats(-2000, 6000)
any_glyph = st.builds(
    glyph,
    st.characters(),
    coordinates,
    coordinates,
    st.floats(0, 300),
    st.sampled_from([0, 0, 0, 90, 180, 270, 17.5]),
)


@given(st.lists(any_glyph, max_size=60))
def test_whatever_a_page_holds_every_line_is_made_of_its_words(glyphs: list[Glyph]) -> None:
    lines = lines_of(glyphs)
    for line in lines:
        assert "".join(word.text for word in line.words) == line.text.replace(" ", "") or holds_spaces(line)
        assert all(math.isfinite(value) for value in line.box)
    assert sum(len(line.text) for line in lines) <= 40 * len(glyphs)


def holds_spaces(line: Line) -> bool:
    """Ligatures of Arabic that are whole phrases, and exotic white space."""
    return any(char.isspace() or unicodedata.category(char)[0] == "Z" for word in line.words for char in word.text)


def test_a_drop_cap_is_a_line_of_its_own_beside_those_it_spans() -> None:
    initial = typed("U", 100, 148, 60)
    first, second = typed("tworzenie grup", 135, 120), typed("w systemie", 135, 148)
    assert texts([*initial, *first, *second]) == ["U", "tworzenie grup", "w systemie"]


def test_a_large_letter_on_the_line_that_it_begins_stays_in_it() -> None:
    assert texts([*typed("U", 100, 148, 60), *typed("tworzenie grup", 135, 148)]) == ["Utworzenie grup"]
