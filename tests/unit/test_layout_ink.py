"""Text outside all regions, found by its ink."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import zxingcpp
from PIL import Image, ImageDraw

from inkgate.layout.regions.ink import ink_notes, likely_writing, merge_boxes, text_outside, writing_outside
from inkgate.page import RgbArray
from inkgate_client.types import BlockType, Box, ReviewReason, Size
from support.layouts import line, region
from support.ppocr import drawn

SIZE = (800, 1000)
LINES = ["First line of the page", "second line of it", "third and last line"]
PAGE = drawn(LINES, SIZE)


def inside(inner: Box, outer: Box) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def test_all_text_is_found_where_there_are_no_regions() -> None:
    found = text_outside(PAGE, [])
    rows, columns = np.nonzero((PAGE < 128).any(axis=2))
    assert len(found) == 3
    for y, x in zip(rows.tolist(), columns.tolist(), strict=True):
        assert any(inside((x, y, x, y), box) for box in found)


def test_text_in_regions_is_not_found_again() -> None:
    assert text_outside(PAGE, [(20, 10, 500, 170)]) == []


def test_the_overlooked_line_alone_is_found() -> None:
    (box,) = text_outside(PAGE, [(20, 10, 500, 115)])
    assert 110 < box[1] < 140
    assert box[3] < 170


def test_empty_paper_rules_pictures_and_specks_are_no_text() -> None:
    paper = np.full((1000, 800, 3), 255, np.uint8)
    assert text_outside(paper, []) == []

    ruled = paper.copy()
    ruled[500:503, 50:750] = 0
    ruled[100:900, 40:43] = 0
    assert text_outside(ruled, []) == []

    picture = paper.copy()
    picture[200:600, 200:600] = np.linspace(0, 255, 400, dtype=np.uint8)[None, :, None]
    assert text_outside(picture, []) == []

    dirty = paper.copy()
    for x, y in ((100, 100), (300, 700), (700, 400)):
        dirty[y : y + 3, x : x + 3] = 0
    assert text_outside(dirty, []) == []


def test_boxes_of_a_large_page_are_in_its_own_pixels() -> None:
    large: RgbArray = drawn(["Large page"], (2400, 3000), font_px=90)
    (box,) = text_outside(large, [])
    rows, columns = np.nonzero((large < 128).any(axis=2))
    assert inside((columns.min(), rows.min(), columns.max(), rows.max()), box)
    assert box[3] < 250


def test_the_end_of_a_regions_lines_widens_it() -> None:
    text = region(BlockType.TEXT, 100, 100, 600, 200)
    (wider,) = merge_boxes([text], [(604, 120, 640, 160)], Size(800, 1000))
    assert wider.box == (100.0, 100.0, 640.0, 200.0)
    assert wider.type is BlockType.TEXT


def test_what_stands_apart_is_a_region_of_its_own() -> None:
    text = region(BlockType.TEXT, 100, 100, 600, 200)
    kept, other = merge_boxes([text], [(100, 400, 300, 430)], Size(800, 1000))
    assert kept == text
    assert (other.type, other.box) == (BlockType.TEXT, (100, 400, 300, 430))


def test_a_region_never_grows_into_another() -> None:
    left, right = region(BlockType.TEXT, 100, 100, 390, 200), region(BlockType.TEXT, 400, 100, 700, 200)
    found = merge_boxes([left, right], [(391, 120, 405, 150)], Size(800, 1000))
    assert found[0] == left


PARAGRAPH = [
    "Goods are delivered within ten days.",
    "Complaints are accepted in writing",
    "until the end of the month.",
]


def sheet(rng: np.random.Generator, *, dark: bool = False, noise: float = 0.0) -> RgbArray:
    """An A4 page at 85 to 140 dpi without ink."""
    height = int(rng.integers(1000, 1600))
    ground = rng.integers(0, 40) if dark else rng.integers(225, 256)
    paper = np.full((height, round(height / 1.414), 3), ground, np.float32)
    if noise:
        paper += rng.normal(0, noise, paper.shape[:2])[:, :, None]
    return np.asarray(paper.clip(0, 255), np.uint8)


def with_text(paper: RgbArray, texts: list[str], px: int, place: tuple[float, float], *, dark: bool) -> RgbArray:
    """Paper with texts of letters `px` high at a place, in shares of what is left of its width and height."""
    ink = drawn(texts, (24 * px, 2 * px * len(texts) + 20), px)
    ink = ink[:, : paper.shape[1] - 4]
    y, x = (int(share * (p - i)) for share, p, i in zip(place[::-1], paper.shape, ink.shape, strict=False))
    page = paper.copy()
    part = page[y : y + ink.shape[0], x : x + ink.shape[1]]
    part[:] = np.maximum(part, 255 - ink) if dark else np.minimum(part, ink)
    return page


def test_a_paragraph_that_was_not_read_is_reported() -> None:
    """Alone on its page and beside a line that was read; black on white and white on black; noisy."""
    missed = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dark, noise = seed % 5 == 4, float(rng.choice([0, 3, 6]))
        px, place = int(rng.integers(14, 40)), (float(rng.uniform(0.05, 0.6)), float(rng.uniform(0.1, 0.95)))
        page = with_text(sheet(rng, dark=dark, noise=noise), PARAGRAPH, px, place, dark=dark)
        page = with_text(page, ["A heading"], 30, (0.1, 0.0), dark=dark)
        heading = line("A heading", 0, 0, page.shape[1], 75)
        for lines in ([], [heading]):
            found = writing_outside(page, 1.0, lines)
            outside = [box for box in found if box[3] > 80] if lines else found
            if not outside:
                missed.append((seed, px, dark, noise, len(lines)))
    assert missed == []


@pytest.mark.parametrize("kind", ["QRCode", "DataMatrix", "Aztec"])
def test_codes_are_no_writing(kind: str) -> None:
    """Of 27 codes of a kind, 4 may be reported: those that touch or fall apart at this resolution."""
    reported = []
    for length in (8, 40, 100):
        code = zxingcpp.create_barcode("7919" * (length // 4), getattr(zxingcpp.BarcodeFormat, kind))
        modules = np.array(code.to_image(scale=8))
        for side in (140, 200, 320):
            for turn in (0, 7, 30):
                page = Image.new("L", (1240, 1754), 255)
                drawn_code = Image.fromarray(modules).resize((side, side), Image.Resampling.LANCZOS)
                page.paste(drawn_code.rotate(turn, expand=True, fillcolor=255), (500, 600))
                if writing_outside(np.asarray(page.convert("RGB")), 1.0, [line("Ticket", 40, 40)]):
                    reported.append((length, side, turn))
    assert len(reported) <= 4, reported


def test_the_corner_of_a_dashed_frame_is_no_writing_and_turned_paragraphs_are() -> None:
    reported = []
    for wide, high, gap, across, down in ((20, 8, 8, 5, 6), (20, 8, 10, 6, 5), (16, 7, 8, 6, 5), (18, 8, 7, 7, 6)):
        framed = Image.new("L", (1000, 800), 255)
        canvas, step = ImageDraw.Draw(framed), wide + gap
        for number in range(across):
            canvas.rectangle((100 + number * step, 500, 99 + number * step + wide, 499 + high), 0)
        for number in range(1, down):
            canvas.rectangle((100, 500 + number * step, 99 + high, 499 + number * step + wide), 0)
        found = writing_outside(np.asarray(framed.convert("RGB")), 1.0, [line("Ticket", 40, 40)])
        reported += [(wide, high, gap)] if found else []
    assert reported == []
    words = "nothing moved but the gulls above it and three boats had come in"
    text = Image.fromarray(drawn([words[at : at + 34] for at in range(12)], (700, 700), 22))
    for turn in (0, 1, -3, 5, 9, 13, 90):
        turned = np.asarray(text.rotate(turn, fillcolor=(255, 255, 255), resample=Image.Resampling.BICUBIC))
        assert writing_outside(turned, 1.0, [line("above", 5, 5)]), turn


def test_a_short_text_beside_others_may_be_writing() -> None:
    missed = []
    for seed, text in enumerate(["PAID", "1,284.50", "450.00", "No 17", "TITLE", "Kopie"] * 4):
        rng = np.random.default_rng(seed)
        px, place = int(rng.integers(14, 60)), (float(rng.uniform(0.05, 0.6)), float(rng.uniform(0.2, 0.9)))
        page = with_text(sheet(rng), [text], px, place, dark=False)
        sure, unsure = likely_writing(page, 1.0, [line("A heading", 0, 0, page.shape[1], 75)])
        if not sure + unsure:
            missed.append((seed, text, px))
    assert missed == []


def test_nothing_is_reported_where_all_is_read_or_nothing_is_written() -> None:
    wrong = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        paper = sheet(rng, noise=float(rng.choice([0, 4, 8])))
        height, width = paper.shape[:2]
        wrong += [(seed, name) for name, page in blank_pages(rng, paper) if writing_outside(page, 1.0, [])]
        read = with_text(paper, PARAGRAPH, 24, (0.3, 0.3), dark=False)
        if writing_outside(read, 2.0, [line("all", 0, 0, 2 * width, 2 * height)]):
            wrong.append((seed, "read"))
    assert wrong == []


def blank_pages(rng: np.random.Generator, paper: RgbArray) -> list[tuple[str, RgbArray]]:
    """Pages on which nothing is written: paper, and the same with what scanners and offices leave on it."""
    height, width = paper.shape[:2]
    border, holes, staple, specks, picture, rules = (paper.copy() for _ in range(6))
    border[: height // 60] = border[:, -width // 50 :] = 30
    for y in (0.35, 0.65):
        cv2.circle(holes, (width // 18, int(y * height)), height // 110, (40, 40, 40), -1)
        cv2.line(staple, (40, int(y * 40)), (110, int(y * 40) + 30), (70, 70, 70), 3)
    for x, y in rng.integers(0, (width - 4, height - 4), (60, 2)):
        specks[y : y + rng.integers(1, 4), x : x + rng.integers(1, 4)] = 60
    texture = cv2.GaussianBlur(rng.normal(0, 60, (height // 2, width // 2)).astype(np.float32), (0, 0), 6) * 6 + 120
    picture[height // 4 : height // 4 + height // 2, width // 4 : width // 4 + width // 2] = texture[:, :, None].clip(
        0, 255
    )
    for y in range(height // 8, height - 20, height // 30):
        rules[y : y + 2, width // 10 : -width // 10] = 0
    names = ("paper", "border", "holes", "staple", "specks", "picture", "rules")
    return list(zip(names, (paper, border, holes, staple, specks, picture, rules), strict=True))


def test_characters_that_were_read_where_nothing_is_written_are_doubted() -> None:
    wrong = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        paper = sheet(rng)
        lines = [line("一", 0, 0, 2 * paper.shape[1], 2 * paper.shape[0])]
        for name, page in blank_pages(rng, paper)[1:4]:
            if ReviewReason.UNCERTAIN_TEXT not in {note.reason for note in ink_notes(page, 2.0, lines)}:
                wrong.append((seed, name))
        letters = with_text(paper, ["17"], int(rng.integers(16, 40)), (0.3, 0.3), dark=False)
        if ink_notes(letters, 2.0, lines):
            wrong.append((seed, "17"))
    assert wrong == []
