"""Lone characters and pairs, given what the recognition model reads and how they look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from inkgate.engines.ppocr.brief import disambiguated
from inkgate.engines.ppocr.glyphs import characters, ink_of
from inkgate.engines.ppocr.lines import LineCrop, crops_of
from inkgate.engines.ppocr.recognition import RecognizedText
from support.ppocr import faces

LEGIBLE = 0.5
DOUBTFUL = 0.9
SIZES = (18, 40)
WORDS = ("Paper delivered", "Monday, in the hall", "Order number")


def reading(text: str, confidence: float = 0.99) -> RecognizedText:
    places = (np.arange(len(text), dtype=np.float32) + 0.5) / max(len(text), 1)
    return RecognizedText(text, np.full(len(text), confidence, np.float32), (0.2 + 0.6 * places).astype(np.float32))


def drawn(texts: Sequence[str], font: ImageFont.FreeTypeFont, *, aligned: bool = False) -> list[LineCrop]:
    """The texts below each other, in boxes as tight as detection makes them."""
    step = round(2.2 * font.size)
    image = Image.new("RGB", (round(font.size * (14 + len(texts))), step * (len(texts) + 1)), "white")
    pen = ImageDraw.Draw(image)
    boxes = []
    for row, text in enumerate(texts):
        place = (40 if aligned else 40 + row * font.size), (row + 1) * step
        pen.text(place, text, "black", font, anchor="ls")
        box = pen.textbbox(place, text, font, anchor="ls")
        margin = round(0.12 * font.size)
        x0, y0, x1, y1 = box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin
        boxes.append([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    flat = np.array([[[0, 0], [60, 0], [60, 20], [0, 20]]] * 3, np.float32)
    return crops_of(np.asarray(image, np.uint8), np.concatenate([np.array(boxes, np.float32), flat]))[: len(texts)]


def disambiguated_alone(pairs: Sequence[tuple[str, str]], font: ImageFont.FreeTypeFont) -> list[RecognizedText]:
    """The readings of texts, printed and as read, scattered on a page with three lines of print of their size."""
    crops = drawn([*(printed for printed, _ in pairs), *WORDS], font)
    read = [reading(text) for text in (*(text for _, text in pairs), *WORDS)]
    return [one for _, one in disambiguated(list(zip(crops, read, strict=True)), LEGIBLE)][: len(pairs)]


def silently_wrong(pairs: Sequence[tuple[str, str]], sizes: Sequence[int]) -> list[tuple[str, str, str]]:
    return [
        (name, printed, found.text)
        for name, font in fonts(sizes)
        for (printed, _), found in zip(pairs, disambiguated_alone(pairs, font), strict=True)
        if found.text != printed and min(found.confidences) >= DOUBTFUL and is_in(printed, name)
    ]


def is_in(printed: str, name: str) -> bool:
    """Whether a face has the characters: Pillow's has little more than ASCII, and draws boxes for the rest."""
    return printed.isascii() or not name.startswith("Pillow")


def fonts(sizes: Sequence[int]) -> Iterator[tuple[str, ImageFont.FreeTypeFont]]:
    for size in sizes:
        yield from ((f"{name} {size}", font) for name, font in faces(size).items())


MISREAD = {
    "½": ("1½2", "1½", "12"),
    "¼": ("14",),
    "£": ("f", "E"),
    "—": ("一", "二"),
    "–": ("一",),
    "-": ("一",),
    "]": ("1",),
    "|": ("1", "l"),
    "\\": ("1",),
    "I": ("1",),
    "l": ("1", "I"),
    "O": ("0",),
    "o": ("0", "O"),
    "°": ("0", "o"),
    "²": ("2",),
    "³": ("3",),
    "c": ("C",),
    "s": ("S",),
    "v": ("V",),
    "x": ("X",),
    "z": ("Z",),
    "×": ("X",),
    "®": ("R",),
    "©": ("C",),
    "Æ": ("E", "AE"),
    "Ð": ("D",),
    "þ": ("p",),
    "Ñ": ("N",),
    "Å": ("A",),
    "Û": ("0",),
    "=": ("二",),
    "¥": ("夫",),
    '"': ("II",),
    "¶": ("π",),
    "+": ("十",),
}


def test_what_is_misread_alone_is_set_right_or_doubtful() -> None:
    assert silently_wrong([(printed, read) for printed, reads in MISREAD.items() for read in reads], SIZES) == []


def test_most_signs_that_are_misread_are_set_right() -> None:
    signs = {"£": "f", "½": "1½2", "—": "一", "]": "1", "®": "R", "=": "二", "¥": "夫", '"': "II", "¶": "π", "Æ": "E"}
    right = [
        found.text == printed
        for name, font in fonts(SIZES)
        for printed, found in zip(signs, disambiguated_alone(list(signs.items()), font), strict=True)
        if is_in(printed, name)
    ]
    assert np.mean(right) > 0.7


def test_characters_that_only_they_look_like_keep_their_confidence() -> None:
    plain = "23456789ABDEFGHKLMNQRTYbdhmnru%&$€@"
    doubtful = [
        (name, found.text)
        for name, font in fonts(SIZES)
        for found in disambiguated_alone(list(zip(plain, plain, strict=True)), font)
        if found.confidence < DOUBTFUL
    ]
    assert len(doubtful) < 0.03 * len(plain) * len(list(fonts(SIZES))), doubtful


def test_a_one_in_a_column_of_numbers_is_as_sure_as_it_was_read() -> None:
    texts = ["2", "1", "5", "0", "36", "1", "4", *WORDS]
    doubtful = []
    for name, font in fonts(SIZES):
        read = zip(drawn(texts, font, aligned=True), map(reading, texts), strict=True)
        doubtful += [(name, one.text) for _, one in disambiguated(list(read), LEGIBLE) if one.confidence < DOUBTFUL]
    assert doubtful == []


def test_pairs_are_compared_by_size_and_shape() -> None:
    misread = {"3o": "30", "9l": "91", "²9": "29", "5°": "50", "2£": "2f", "c3": "C3", "8v": "8V"}
    assert silently_wrong(list(misread.items()), (28, 60)) == []
    right = ("25", "B7", "4m", "x7", "7x", "36", "kg", "5%", "A4", "of", "to", "on", "is", "14", "12", "34", "AE")
    doubtful = [
        (name, found.text)
        for name, font in fonts((28, 60))
        for found in disambiguated_alone(list(zip(right, right, strict=True)), font)
        if min(found.confidences) < DOUBTFUL
    ]
    assert len(doubtful) < 0.05 * len(right) * 12, doubtful


def test_what_was_legible_stays_so_and_longer_lines_stay_as_they_are() -> None:
    font = faces(28)["DejaVuSans"]
    texts = ["l", "O", "7:30", "I am", "~"]
    lines = list(zip(drawn(texts, font), map(reading, ["1", "0", "7:30", "I am", "2"]), strict=True))
    found = [one for _, one in disambiguated(lines, LEGIBLE)]
    assert all(one.confidence >= LEGIBLE for one in found)
    assert found[2:4] == [lines[2][1], lines[3][1]]


def test_on_a_page_in_chinese_only_the_stroke_that_may_be_a_dash_is_doubtful() -> None:
    font = faces(28)["DejaVuSans"]
    crops = drawn(["=", "—", "B", "Monday"], font)
    read = [reading(text) for text in ("二", "一", "B", "合同专用章")]
    found = [one for _, one in disambiguated(list(zip(crops, read, strict=True)), LEGIBLE)]
    assert [one.text for one in found] == ["二", "一", "B", "合同专用章"]
    assert [one.confidence >= DOUBTFUL for one in found] == [True, False, True, True]


def test_rules_of_a_table_and_paper_are_no_ink() -> None:
    font = faces(40)["DejaVuSans"]
    (item,) = drawn(["7"], font)
    ruled = item.pixels.copy()
    for edge in (np.s_[:2], np.s_[-2:], np.s_[:, :2], np.s_[:, -2:]):
        ruled[edge] = 0
    plain, inside = ink_of(item.pixels), ink_of(ruled)
    assert plain is not None
    assert inside is not None
    assert np.abs(np.subtract(plain.shape, inside.shape)).max() <= 2
    assert ink_of(np.full((48, 60, 3), 250, np.uint8)) is None


def test_the_network_knows_ascii_and_latin_1() -> None:
    expected = {chr(code) for code in (*range(33, 127), *range(0xA1, 0x100)) if code != 0xAD} | set("€–—•")
    assert expected <= set(characters())
