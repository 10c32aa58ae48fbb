"""Vertical Chinese and Japanese: a column is one line, with its punctuation, numbers and Latin words."""

from itertools import product

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.text_layer import lines_of
from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import PageEvidence, Region
from inkgate_client.types import BlockType, Line, Size

NEW_LINE = Glyph("\n", 0, 0, 0, 0, 0, 0, 1, 0, 20)
SPACE = NEW_LINE._replace(text=" ")
CORNER, TOP, BOTTOM, MIDDLE = set("。、，"), set("」』）》"), set("「『（《"), set("：")


def column(text: str, x: float, top: float, size: float, *, moved: bool) -> list[Glyph]:
    """`text` from top to bottom, each character in its square. ASCII digits stand side by side, Latin words on their
    side. `moved`: the file moves to each character.
    """
    glyphs: list[Glyph] = []
    y, at = top, 0
    while at < len(text):
        char = text[at]
        end = at + 1
        if char.isascii():
            while end < len(text) and text[end].isascii():
                end += 1
            glyphs += (
                _across(text[at:end], x, y, size) if text[at:end].isdigit() else _on_side(text[at:end], x, y, size)
            )
            y += size if text[at:end].isdigit() else 0.5 * size * (end - at)
        else:
            left, upper, right, lower = _ink(char)
            box = (x + left * size, y + upper * size, x + right * size, y + lower * size)
            glyphs.append(Glyph(char, *box, x, y + 0.9 * size, 1, 0, size))
            y += size
        if moved:
            glyphs.append(NEW_LINE)
        at = end
    return [*glyphs, NEW_LINE]


def _ink(char: str) -> tuple[float, float, float, float]:
    """The part of its square that a character covers."""
    if char in CORNER:
        return (0.65, 0.1, 0.9, 0.35)
    if char in TOP:
        return (0.1, 0.05, 0.9, 0.4)
    if char in BOTTOM:
        return (0.1, 0.6, 0.9, 0.95)
    return (0.45, 0.05, 0.55, 0.95) if char == "ー" else (0.1, 0.05, 0.9, 0.95)


def _across(digits: str, x: float, y: float, size: float) -> list[Glyph]:
    return [
        Glyph(char, x + (0.5 * n + 0.05) * size, y + 0.15 * size, x + (0.5 * n + 0.45) * size, y + 0.85 * size,
              x + 0.5 * n * size, y + 0.85 * size, 1, 0, size)
        for n, char in enumerate(digits)
    ]  # fmt: skip


def _on_side(word: str, x: float, y: float, size: float) -> list[Glyph]:
    return [
        SPACE
        if char == " "
        else Glyph(char, x + 0.2 * size, y + (0.5 * n + 0.05) * size, x + 0.9 * size, y + (0.5 * n + 0.45) * size,
                   x + 0.2 * size, y + 0.5 * n * size, 0, 1, size)
        for n, char in enumerate(word)
    ]  # fmt: skip


TEXTS = """内容を確認いたしましたのでお返しします。
ご不明な点がございましたら、担当の田中まで。
コーヒーとケーキを食べました。
「こんにちは」と彼は言った、そして笑った。
令和12年10月31日（火）に開催します。
弊社のOCR Serviceをご利用ください。
第3回会議の議事録（案）を送ります。
春眠不觉晓，处处闻啼鸟。
《静夜思》：床前明月光，疑是地上霜。""".splitlines()


def test_a_column_is_one_line_with_all_that_stands_in_it() -> None:
    wrong = []
    for size, pitch, moved in product((12.0, 20.0, 33.0), (1.3, 1.7, 2.5), (False, True)):
        glyphs = [
            glyph
            for n, text in enumerate(TEXTS)
            for glyph in column(text, 1400 - pitch * size * n, 100, size, moved=moved)
        ]
        found = [line.text for line in lines_of(glyphs)]
        if found != TEXTS:
            wrong.append((size, pitch, moved, found))
    assert not wrong


def test_readings_beside_a_column_are_lines_of_their_own() -> None:
    glyphs = column("漢字を読みます。", 500, 100, 20, moved=False) + column("かんじ", 521, 102, 10, moved=False)
    assert [line.text for line in lines_of(glyphs)] == ["漢字を読みます。", "かんじ"]


def test_a_level_title_is_not_part_of_the_column_below_it() -> None:
    title = [
        Glyph(char, 480 + 30 * n, 50, 508 + 30 * n, 78, 480 + 30 * n, 76, 1, 0, 30) for n, char in enumerate("お知らせ")
    ]
    glyphs = [*title, NEW_LINE, *column("担当の田中です。", 500, 100, 20, moved=False)]
    assert [line.text for line in lines_of(glyphs)] == ["お知らせ", "担当の田中です。"]


def test_forms_for_vertical_text_are_the_usual_characters() -> None:
    forms, usual = (
        "︒︑︐︓︔︕︖︗︘︙︱︲︵︶︷︸︹︺︻︼︽︾︿﹀﹁﹂﹃﹄﹇﹈",
        "。、,:;!?〖〗…—–(){}〔〕【】《》〈〉「」『』[]",
    )
    glyphs = [Glyph(char, 22 * n, 30, 22 * n + 20, 50, 22 * n, 50, 1, 0, 20) for n, char in enumerate(forms)]
    assert "".join(line.text for line in lines_of(glyphs)).replace(" ", "") == usual


def _standing(text: str, x: float, top: float) -> Line:
    bottom = top + 30 * len(text)
    return Line(text, ((x, top), (x + 28, top), (x + 28, bottom), (x, bottom)), 1.0)


def test_a_title_above_vertical_columns_comes_first_and_is_not_left_out() -> None:
    wrong = []
    columns = [_standing(text, 900 - 50 * n, 300) for n, text in enumerate(TEXTS)]
    for left, kind in product((100.0, 400.0, 820.0), (BlockType.HEADER, BlockType.TITLE, BlockType.TEXT)):
        box = (left, 150.0, left + 250, 190.0)
        title = Line("会議のお知らせ", ((left, 150), (left + 250, 150), (left + 250, 190), (left, 190)), 1.0)
        read = arrange([*columns, title], Size(1000, 1400), PageEvidence(regions=[Region(kind, box, 0.8)]))
        first = read.markdown.split("\n")[0].lstrip("# ")
        if first != title.text or read.left_out:
            wrong.append((left, kind, read.markdown[:60], read.left_out))
    assert not wrong
