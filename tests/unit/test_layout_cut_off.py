"""Lines that the edge of an image cuts, and what is none of these."""

from __future__ import annotations

import random
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from inkgate.layout.regions.cut_off import cut_off
from inkgate.page import RgbArray
from inkgate_client.types import Box

WORDS = ("The", "tenant", "shall", "pay", "1,284.50", "EUR", "on", "each", "first", "day", "of", "month", "repair")
MARGIN = 60
SIZES = (14, 20, 28, 44)


def page(draw: random.Random, size: int) -> tuple[RgbArray, list[Box]]:
    """A page of text, and the boxes of its lines, as a detector gives them."""
    width, height = 900, 700
    image = Image.new("RGB", (width, height), draw.choice([(255, 255, 255), (235, 230, 215), (210, 215, 220)]))
    canvas, font, boxes = ImageDraw.Draw(image), ImageFont.load_default(size), []
    for top in range(MARGIN, height - MARGIN - size, round(size * 1.6)):
        text = ""
        for _ in range(int(1.6 * (width - 2 * MARGIN) / size / 5)):
            text = f"{text} {draw.choice(WORDS)}".strip()
        canvas.text((MARGIN, top), text, draw.choice([(0, 0, 0), (40, 40, 90)]), font)
        left, upper, right, lower = canvas.textbbox((MARGIN, top), text, font)
        boxes.append((left - 3.0, upper - size / 6, right + 3.0, lower + size / 6))
    return np.array(image), boxes


def cropped(rgb: RgbArray, boxes: list[Box], window: tuple[int, int, int, int]) -> tuple[RgbArray, list[Box]]:
    x0, y0, x1, y1 = window
    moved = [
        (max(left, x0) - x0, max(top, y0) - y0, min(right, x1) - x0, min(bottom, y1) - y0)
        for left, top, right, bottom in boxes
    ]
    kept = [box for box in moved if box[2] - box[0] > 5 and box[3] - box[1] > 5]
    return np.ascontiguousarray(rgb[y0:y1, x0:x1]), [(float(a), float(b), float(c), float(d)) for a, b, c, d in kept]


def windows(boxes: list[Box], size: int, draw: random.Random) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """A page's crops that cut a line in half at one edge."""
    _, top, _, bottom = boxes[len(boxes) // 2]
    middle = round((top + bottom) / 2 + draw.uniform(-0.1, 0.1) * size)
    yield "upper", (0, middle, 900, 700)
    yield "lower", (0, 0, 900, middle)
    yield "left", (MARGIN + round(draw.uniform(1, 4) * size), 0, 900, 700)
    yield "right", (0, 0, round(min(box[2] for box in boxes) - draw.uniform(1, 4) * size), 700)


def test_pages_that_an_edge_cuts_are_flagged_at_that_edge_and_whole_ones_are_not() -> None:
    draw, missed, wrong, tried = random.Random(3), [], [], 0
    for size in SIZES * 2:
        rgb, boxes = page(draw, size)
        if cut_off(rgb, boxes):
            wrong.append(("whole", size))
        for edge, window in windows(boxes, size, draw):
            part, lines = cropped(rgb, boxes, window)
            height, width = part.shape[:2]
            found = cut_off(part, lines)
            tried += 1
            if not found:
                missed.append((edge, size))
            at = {"upper": [box[1] for box in found], "lower": [height - box[3] for box in found],
                  "left": [box[0] for box in found], "right": [width - box[2] for box in found]}[edge]  # fmt: skip
            wrong += [(edge, size) for distance in at if abs(distance) > 2]
    assert wrong == []
    assert len(missed) <= 0.15 * tried, missed


def _frame(rgb: RgbArray) -> None:
    cv2.rectangle(rgb, (0, 0), (899, 699), (0, 0, 0), 6)


def _table(rgb: RgbArray) -> None:
    for x in range(0, 900, 75):
        cv2.line(rgb, (x, 0), (x, 699), (0, 0, 0), 2)
    for y in range(0, 700, 40):
        cv2.line(rgb, (0, y), (899, y), (0, 0, 0), 2)


def _shadow(rgb: RgbArray) -> None:
    for y in range(40):
        rgb[y] = np.minimum(rgb[y], 40 + 5 * y)
        rgb[:, y] = np.minimum(rgb[:, y], 30 + 5 * y)


def _dust(rgb: RgbArray) -> None:
    draw = np.random.default_rng(1)
    for x, y in zip(draw.integers(0, 900, 400), draw.integers(0, 700, 400), strict=True):
        cv2.circle(rgb, (int(x), int(y)), 1, (30, 30, 30), -1)


def _holes(rgb: RgbArray) -> None:
    for y in range(60, 700, 120):
        cv2.circle(rgb, (0, y), 14, (20, 20, 20), -1)


def _picture(rgb: RgbArray) -> None:
    noise = np.random.default_rng(2).integers(0, 256, (175, 225, 3)).astype(np.uint8)
    rgb[:350, :450] = cv2.resize(noise, (450, 350), interpolation=cv2.INTER_LINEAR)


def _desk(rgb: RgbArray) -> None:
    noise = np.random.default_rng(3).integers(40, 160, (700, 900, 3)).astype(np.uint8)
    rgb[:50], rgb[650:], rgb[:, :50], rgb[:, 850:] = noise[:50], noise[650:], noise[:, :50], noise[:, 850:]


def _comb(rgb: RgbArray) -> None:
    for x in range(10, 890, 50):
        cv2.line(rgb, (x, 0), (x, 120), (0, 0, 0), 3)


def _border(rgb: RgbArray) -> None:
    rgb[:4], rgb[-4:] = 0, 0
    rgb[:, :4], rgb[:, -4:] = 0, 0


@pytest.mark.parametrize("paint", [_frame, _table, _shadow, _dust, _holes, _picture, _desk, _comb, _border])
def test_what_is_at_the_edge_and_no_text_is_not_flagged(paint: object) -> None:
    assert callable(paint)
    draw, wrong = random.Random(4), []
    for size in SIZES[1:3]:
        rgb, boxes = page(draw, size)
        paint(rgb)
        if found := cut_off(rgb, boxes):
            wrong.append((size, found))
    assert wrong == []


def test_text_that_begins_at_the_edge_and_pages_without_lines_are_not_flagged() -> None:
    draw = random.Random(5)
    for size in SIZES:
        rgb, boxes = page(draw, size)
        left, top = round(min(box[0] for box in boxes)) + 3, round(boxes[0][1] + size / 6)
        part, lines = cropped(rgb, boxes, (left - 2, top - 2, 900, 700))
        assert cut_off(part, lines) == []
        assert cut_off(rgb, []) == []
    assert cut_off(np.zeros((3, 3, 3), np.uint8), [(0.0, 0.0, 3.0, 3.0)]) == []
