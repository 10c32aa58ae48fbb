import random
import string
import unicodedata
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from inkgate.documents.pdf.fonts import FontDoubts
from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.ink import PageInk
from inkgate.documents.pdf.objects import FilledShape, Image, PageObjects
from inkgate.documents.pdf.trust import (
    Judgement,
    TextTrust,
    image_resolution,
    judge,
    other_writing,
    outlined_letters,
)
from inkgate.documents.pdf.written import garbled_script, looks_written
from inkgate.page import TextLayer
from inkgate_client.types import Box, Size
from support.pdf_writer import LOREM

PAGE = Size(1000, 1000)
BLANK = np.full((1000, 1000), 255, np.uint8)

SENTENCES = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki.",
    "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hoá",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью",
    "ar": "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "zh-Hant": "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
}

OTHER = {
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и "
    "должны поступать в отношении друг друга в духе братства",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і "
    "повинні діяти у відношенні один до одного в дусі братерства",
    "bg": "Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест и следва "
    "да се отнасят помежду си в дух на братство",
    "sr": "Сва људска бића рађају се слободна и једнака у достојанству и правима. Она су обдарена разумом и свешћу и "
    "треба једни према другима да поступају у духу братства",
    "mn": "Хүн бүр төрж мэндлэхэд эрх чөлөөтэй, адилхан нэр төртэй, ижил эрхтэй байдаг. Оюун ухаан, нандин чанар "
    "заяасан хүн гэгч өөр хоорондоо ахан дүүгийн үзэл санаагаар харьцах учиртай",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με "
    "λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης",
}
"""The first article of the declaration of human rights."""


def typed(text: str, x: float = 100, y: float = 100, size: float = 20) -> list[Glyph]:
    return [
        Glyph(char, x + 10 * n + 1, y - 14, x + 10 * n + 9, y, x + 10 * n, y, 1.0, 0.0, size)
        for n, char in enumerate(text)
    ]


def page_of_text(top: float = 100) -> list[Glyph]:
    return [glyph for row, line in enumerate(LOREM) for glyph in typed(line, y=top + 30 * row)]


def judged(
    glyphs: list[Glyph],
    *images: Box,
    outlines: list[FilledShape] | None = None,
    bare: NDArray[np.uint8] | None = None,
) -> Judgement:
    """The judgement of a page with these characters. `bare`: the rendered page without its text, 1 pixel a pixel."""
    pictures = [Image(box, 200, order) for order, box in enumerate(images)]
    ink = None if bare is None else PageInk(bare, bare, 1.0)
    return judge(glyphs, FontDoubts.of(glyphs, None), PageObjects(pictures, outlines or []), PAGE, ink)


def verdict(glyphs: list[Glyph], *images: Box, outlines: list[FilledShape] | None = None) -> TextTrust:
    return judged(glyphs, *images, outlines=outlines).verdict


def layer_of_page(glyphs: list[Glyph]) -> TextLayer:
    layer = judged(glyphs, bare=BLANK).layer
    assert layer is not None
    return layer


def outlined(text: str, x: float, y: float, size: float = 20) -> Iterator[FilledShape]:
    """A shape for each letter of `text`: as many strokes as its place in the alphabet says."""
    for number, char in enumerate(text):
        if char != " ":
            left = x + number * size * 0.6
            yield FilledShape((left, y - 0.7 * size, left + 0.5 * size, y), 20 + ord(char.lower()) % 32)


def test_a_page_of_text_is_trusted() -> None:
    assert verdict(page_of_text()) is TextTrust.TRUSTED


def test_hardly_any_text_is_trusted_only_if_the_page_shows_nothing_else() -> None:
    assert verdict(typed("Page 12")) is TextTrust.FEW
    assert judged(typed("Page 12"), bare=BLANK).verdict is TextTrust.TRUSTED
    assert verdict([]) is TextTrust.EMPTY
    assert judged([], bare=BLANK).verdict is TextTrust.EMPTY


def test_a_line_with_an_unmapped_letter_inside_a_word_is_read_from_the_pixels() -> None:
    for gap in ("\ufffd", "\ue011"):
        glyphs = typed("all is well", y=100) + typed(f"con{gap}dential", y=140) + typed("so be it", y=180)
        layer = layer_of_page(glyphs)
        assert [line.text for line in layer.lines] == ["all is well", "so be it"]
        ((_, top, _, bottom),) = layer.unread
        assert top < 140 <= bottom + 1
    assert verdict([glyph._replace(text="\ufffd") for glyph in page_of_text()]) is TextTrust.UNMAPPED


def test_letters_that_pdfium_guessed_are_compared_with_the_pixels() -> None:
    guessed = [glyph._replace(mapped=False, font=3) for glyph in page_of_text()]
    layer = layer_of_page([*guessed, *typed("all is well", y=400)])
    assert [line.text for line in layer.lines] == ["all is well"]
    assert [line.text for line in layer.doubtful] == list(LOREM)
    assert layer.suspects == ("",) * len(LOREM)
    # Of a font that maps its other letters, pdfium's guess is worth nothing.
    some = [glyph._replace(mapped=glyph.text != "e") for glyph in page_of_text()]
    assert len(layer_of_page([*some, *typed("all is still", y=400)]).unread) == len(LOREM)


def test_a_word_or_a_line_without_any_mapping_is_read_from_the_pixels() -> None:
    word = typed("the total is \ue001\ue002\ue003\ue004")
    assert len(layer_of_page(typed("all is well", y=200) + word).unread) == 1
    number = typed("\ue001")
    assert len(layer_of_page(typed("all is well", y=200) + number).unread) == 1


def test_a_lone_unmapped_character_as_high_as_a_digit_is_read_from_the_pixels() -> None:
    row = typed("lamp \ue001 12.50")
    assert len(layer_of_page(typed("all is well", y=200) + row).unread) == 1
    low = [glyph._replace(top=glyph.y - 6) if glyph.text == "\ue001" else glyph for glyph in row]
    assert [line.text for line in layer_of_page(low).lines] == ["lamp 12.50"]


def test_a_few_symbols_do_no_harm() -> None:
    bullets = [glyph for row in range(4) for glyph in typed("\uf0b7 " + LOREM[row], y=100 + 30 * row)]
    assert verdict(bullets) is TextTrust.TRUSTED
    unknown = [
        glyph if glyph.x > 100 else glyph._replace(mapped=False, top=glyph.y - 8)
        for row in range(4)
        for glyph in typed("x " + LOREM[row], y=100 + 30 * row)
    ]
    assert [line.text for line in layer_of_page(unknown).lines] == list(LOREM)


def test_signs_without_letters_are_compared_with_the_pixels_but_leaders_are_left_out() -> None:
    assert verdict(typed('"#$%&()*+,/:;<=>?@[]^{|}~')) is TextTrust.GARBLED
    assert verdict(typed("Contents" + "." * 60 + "12")) is TextTrust.TRUSTED


def test_lines_of_the_one_font_that_makes_no_language_are_compared_with_the_pixels() -> None:
    shift = str.maketrans(string.ascii_lowercase, string.ascii_lowercase[7:] + string.ascii_lowercase[:7])
    garbled = [
        glyph._replace(font=2)
        for row, line in enumerate(LOREM)
        for glyph in typed(line.lower().translate(shift), y=400 + 30 * row)
    ]
    layer = layer_of_page([*page_of_text(), *garbled])
    assert [line.text for line in layer.lines] == list(LOREM)
    assert len(layer.doubtful) == len(LOREM)


def test_every_language_looks_written() -> None:
    assert [language for language in SENTENCES if not looks_written(SENTENCES[language] * 2)] == []


@pytest.mark.parametrize("shift", [1, 3, 7, 17, 25])
def test_shifted_letters_do_not(shift: int) -> None:
    letters = string.ascii_lowercase
    table = str.maketrans(letters, letters[shift:] + letters[:shift])
    assert not looks_written(SENTENCES["en"].lower().translate(table) * 2)


def test_other_scripts_read_as_latin_do_not_look_written() -> None:
    mojibake = SENTENCES["ru"].encode("cp1251").decode("latin-1")
    assert not looks_written(mojibake)


def test_shifted_or_shuffled_letters_of_cyrillic_and_greek_are_named_and_no_language_is() -> None:
    missed, wrong = [], []
    for name, language, first, count in (("Cyrillic", "ru", 0x430, 32), ("Greek", "el", 0x3B1, 25)):
        letters = [chr(first + number) for number in range(count)]
        text = unaccented(OTHER[language].casefold())
        wrong += [language] if garbled_script(OTHER[language]) else []
        tables = [dict(zip(letters, letters[by:] + letters[:by], strict=True)) for by in (1, 2, 7, 9)]
        missed += [(name, by) for by, table in enumerate(tables) if garbled_script(map_of(table, text)) != name]
    wrong += [language for language, text in (SENTENCES | OTHER).items() if garbled_script(text * 2)]
    assert (missed, wrong) == ([], [])


def unaccented(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFD", char)[0] if char > "\u0370" and char < "\u0400" else char for char in text
    )


def map_of(table: dict[str, str], text: str) -> str:
    return "".join(table.get(char, char) for char in text)


def test_characters_at_random_do_not_look_like_chinese() -> None:
    chance = random.Random(5)
    assert not looks_written([chr(chance.randint(0x4E00, 0x9FA5)) for _ in range(60)])
    swapped = "Multicolor Black and Pure Cyan".encode("utf-16-le").decode("utf-16-be")
    assert not looks_written(swapped)


def test_scripts_mixed_within_words_do_not_look_written() -> None:
    mixed = "".join(f"{a}{b}" for a, b in zip("собакакошкамышь" * 6, "ὀδυσσεὺςτροία" * 6, strict=False))
    assert not looks_written(mixed)


def test_too_few_letters_say_nothing() -> None:
    assert looks_written("xkqz vwjx")
    assert looks_written("")


def test_a_scan_is_read_by_ocr_whatever_lies_on_it() -> None:
    assert verdict(page_of_text(), (0, 0, 1000, 1000)) is TextTrust.SCAN
    strips: list[Box] = [(0, 50.0 * n, 1000, 50.0 * n + 50) for n in range(20)]
    assert verdict(page_of_text(), *strips) is TextTrust.SCAN


def test_images_without_text_on_them_are_read_by_ocr_when_large() -> None:
    assert verdict(page_of_text(), (0, 500, 1000, 900)) is TextTrust.IMAGES
    assert verdict(page_of_text(), (0, 500, 300, 700)) is TextTrust.TRUSTED


def test_images_behind_text_are_its_background() -> None:
    glyphs = [glyph for row in range(28) for glyph in typed(LOREM[row % 4] * 2, y=100 + 30 * row)]
    assert verdict(glyphs, (90, 80, 900, 930)) is TextTrust.TRUSTED


def test_a_title_in_outlines_is_read_by_ocr_and_a_logo_is_not_worth_it() -> None:
    few = typed("written by somebody whose name is known")
    assert verdict(few, outlines=list(outlined("Understanding the Harbour", 100, 300))) is TextTrust.OUTLINES
    assert verdict(page_of_text() * 3, outlines=list(outlined("Harbour Ltd", 100, 300))) is TextTrust.TRUSTED


def test_other_writing_on_the_page_is_looked_at_and_rules_are_not() -> None:
    bare = BLANK.copy()
    bare[600:604, 50:950] = bare[640:644, 50:950] = bare[600:640, 50:53] = bare[600:640, 947:950] = 0  # a box
    assert judged(page_of_text(), bare=bare).verdict is TextTrust.TRUSTED
    chance = np.random.default_rng(5)
    for row in range(3):
        bare[700 + 24 * row : 715 + 24 * row, 100:500] = np.where(chance.random((15, 400)) < 0.3, 0, 255)
    found = judged(page_of_text(), bare=bare)
    assert found.verdict is TextTrust.PARTLY
    assert found.layer is not None
    ((left, top, right, bottom),) = found.layer.pictures
    assert left <= 104
    assert top <= 704
    assert right >= 496
    assert bottom >= 760
    assert other_writing(bare, 1.0, [(90, 690, 510, 790)]) == []


def test_every_one_of_many_small_pictures_is_looked_at_and_upright_strips_are() -> None:
    chance = np.random.default_rng(6)
    bare = BLANK.copy()
    boxes = [(60 + 240 * (at % 4), 40 + 80 * (at // 4), 160, 20) for at in range(40)] + [(960, 100, 16, 200)]
    for left, top, width, height in boxes:
        bare[top : top + height, left : left + width] = np.where(chance.random((height, width)) < 0.3, 0, 255)
    found = other_writing(bare, 1.0, [])
    lost = [
        box for box in boxes
        if not any(a <= box[0] + 8 and b <= box[1] + 8 and c >= box[0] + box[2] - 8 and d >= box[1] + box[3] - 8
                   for a, b, c, d in found)
    ]  # fmt: skip
    assert lost == []


def test_outlines_are_letters_only_in_rows_of_different_shapes() -> None:
    assert outlined_letters(list(outlined("understanding", 100, 100)), PAGE) == len("understanding")
    dots = [FilledShape((100.0 + 15 * n, 90, 110.0 + 15 * n, 100), 13) for n in range(50)]
    assert outlined_letters(dots, PAGE) == 0
    chance = random.Random(3)
    cells = []
    for _ in range(900):
        x, y, side = chance.uniform(0, 300), chance.uniform(0, 300), chance.uniform(10, 40)
        cells.append(FilledShape((x, y, x + side, y + side), chance.randint(10, 60)))
    assert outlined_letters(cells, PAGE) < 12
    assert outlined_letters(list(outlined("beside the page", 1200, 100)), PAGE) == 0
    assert outlined_letters([], PAGE) == 0


def test_a_line_in_one_shape_counts_as_its_letters() -> None:
    assert outlined_letters([FilledShape((100, 100, 400, 130), 900)], PAGE) == 30


def test_only_a_page_that_is_all_scan_has_a_resolution() -> None:
    whole = Image((0, 0, 1000, 1000), 150, 0)
    assert image_resolution(PageObjects([whole, Image((0, 0, 900, 900), 300, 1)]), PAGE) == 300
    assert image_resolution(PageObjects([Image((0, 0, 500, 500), 150, 0)]), PAGE) is None
    assert image_resolution(PageObjects([whole], text_order={1: 2}), PAGE) is None
    assert image_resolution(PageObjects([whole], others=1), PAGE) is None
    assert image_resolution(PageObjects(), PAGE) is None
