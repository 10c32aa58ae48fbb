"""Lines of scripts that the engine does not read are named; drawn with DejaVu, which the network did not learn from."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from inkgate.engines.ppocr.scripts import MIN_LINES, READ, Doubtful, Guess, judged, script_notes, script_of
from inkgate.page import RgbArray
from inkgate_client.types import Line, ReviewNote, ReviewReason

TEXTS = {
    "Latin": ("All human beings are born free", "Gesamtbetrag inkl. MwSt. 1.284,50 EUR", "INVOICE No. 2024-117"),
    "Cyrillic": ("Все люди рождаются свободными", "Итого к оплате: 12 500 рублей", "Они наделены разумом и совестью"),
    "Greek": ("Όλοι οι άνθρωποι γεννιούνται", "ελεύθεροι και ίσοι στην αξιοπρέπεια", "τα δικαιώματα του ανθρώπου"),
    "Hebrew": ("כל בני אדם נולדו בני חורין", "ושווים בערכם ובזכויותיהם", "כולם חוננו בתבונה ובמצפון"),
    "Arabic": ("يولد جميع الناس أحرارا متساوين", "في الكرامة والحقوق", "وقد وهبوا عقلا وضميرا"),
    "Armenian": ("Բոլոր մարդիկ ծնվում են ազատ", "ու հավասար իրենց արժանապատվությամբ"),
}
FACES, SIZES = ("DejaVuSans", "DejaVuSans-Bold"), (16, 24, 40)


def drawn(text: str, face: str = "DejaVuSans", size: int = 24) -> RgbArray:
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        pytest.skip("matplotlib, whose fonts are used, is not installed")
    path = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / f"{face}.ttf"
    font = ImageFont.truetype(path, size)
    left, top, right, bottom = (int(side) for side in font.getbbox(text))
    page = Image.new("RGB", (right - left + 8, bottom - top + 8), "white")
    ImageDraw.Draw(page).text((4 - left, 4 - top), text, fill="black", font=font)
    return np.asarray(page)


def test_the_script_of_lines_is_named() -> None:
    cases = [
        (name, text, face, size) for name, texts in TEXTS.items() for text, face, size in product(texts, FACES, SIZES)
    ]
    found = [script_of(drawn(text, face, size)) for _, text, face, size in cases]
    guesses = list(zip(cases, found, strict=True))
    wrong = [(case, guess.name) for case, guess in guesses if guess.name != case[0]]
    assert not [case for case, guess in guesses if guess.certain and guess.name != case[0]]
    assert len(wrong) <= 0.05 * len(cases), wrong


def test_light_ink_on_dark_paper_and_lines_upside_down_are_named() -> None:
    line = drawn(TEXTS["Cyrillic"][0])
    variants = {"inverse": 255 - line, "turned": line[::-1, ::-1], "grey": line // 3 + 100}
    failed = [name for name, pixels in variants.items() if script_of(np.ascontiguousarray(pixels)).name != "Cyrillic"]
    assert not failed


def test_where_nothing_is_written_no_script_is_named() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (30, 200, 3), dtype=np.uint8)
    bars = np.repeat(rng.integers(0, 2, (1, 200, 1), dtype=np.uint8) * 255, 30, axis=0).repeat(3, axis=2)
    blank = np.full((30, 200, 3), 255, np.uint8)
    pixel = np.zeros((1, 1, 3), np.uint8)
    assert [script_of(part).name for part in (noise, bars, blank, pixel)] == [""] * 4


def page_of(texts: list[str], confidence: float = 0.5) -> tuple[RgbArray, list[Line]]:
    page = np.full((60 * len(texts) + 40, 800, 3), 255, np.uint8)
    lines = []
    for number, text in enumerate(texts):
        pixels = drawn(text)
        high, wide = pixels.shape[:2]
        y = 20 + 60 * number
        page[y : y + high, 20 : 20 + wide] = pixels
        quad = ((20.0, float(y)), (20.0 + wide, float(y)), (20.0 + wide, float(y + high)), (20.0, float(y + high)))
        lines.append(Line("nonsense", quad, confidence, ()))
    return page, lines


def quads_of(lines: list[Line]) -> np.ndarray:
    return np.array([line.quad for line in lines], np.float32).reshape(-1, 4, 2)


@pytest.mark.parametrize("name", ["Cyrillic", "Hebrew", "Arabic"])
def test_a_page_is_flagged_whether_its_lines_were_doubtful_dropped_or_not_found(name: str) -> None:
    page, lines = page_of(list(TEXTS[name]))
    quads = quads_of(lines)
    ink = ReviewNote(ReviewReason.INK_WITHOUT_TEXT, box=(15, 15, 790, float(page.shape[0] - 20)))
    found = [
        script_notes(page, 2.0, quads, [_times(line, 2.0) for line in lines], ()),
        script_notes(page, 1.0, quads, [], ()),
        script_notes(page, 1.0, quads[:0], [], [ink]),
    ]
    assert [[(note.reason, note.detail) for note in notes] for notes in found] == [
        [(ReviewReason.SCRIPT_UNSUPPORTED, name)]
    ] * 3
    box = found[0][0].box
    assert box is not None
    assert box[0] == 40
    assert box[1] == 40


def _times(line: Line, factor: float) -> Line:
    corners = [(x * factor, y * factor) for x, y in line.quad]
    return Line(line.text, (corners[0], corners[1], corners[2], corners[3]), line.confidence, ())


def test_three_lines_of_a_page_in_another_script_are_flagged() -> None:
    latin = list(TEXTS["Latin"] * 4)
    page, lines = page_of([*latin, *TEXTS["Cyrillic"]])
    known = [Line(text, line.quad, 0.99, ()) for text, line in zip(latin, lines[:-3], strict=True)]
    (note,) = script_notes(page, 1.0, quads_of(lines), [*known, *lines[-3:]], ())
    assert note.detail == "Cyrillic"
    assert note.box is not None
    assert note.box[1] == lines[-3].quad[0][1]


def test_a_line_of_which_only_the_marks_were_read_is_doubtful() -> None:
    page, lines = page_of(list(TEXTS["Cyrillic"]))
    sure = [Line(": «», .", line.quad, 0.99, ()) for line in lines]
    assert [note.detail for note in script_notes(page, 1.0, quads_of(lines), sure, ())] == ["Cyrillic"]


def test_doubtful_latin_is_not_flagged() -> None:
    page, lines = page_of(list(TEXTS["Latin"]))
    assert script_notes(page, 1.0, quads_of(lines), lines, ()) == ()


def test_one_odd_line_among_many_is_not_flagged() -> None:
    square = np.array([[0, 0], [100, 0], [100, 20], [0, 20]], np.float32)
    pixels = np.zeros((1, 1, 3), np.uint8)
    lines = [Doubtful(square, pixels)] * (MIN_LINES + 2)
    other, read = Guess("Hangul", certain=True), Guess(READ[0], certain=True)
    assert judged(lines, [other, *[read] * (MIN_LINES + 1)], 0, 1) == ()
    assert judged(lines[:1], [other], 20_000, 1) == ()
    assert judged(lines[:1], [other], 0, 1) != ()
