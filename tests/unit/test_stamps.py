"""Stamps: found by their border and colour, unrolled to lines, and removed from what they cover."""

from __future__ import annotations

import cv2
import numpy as np

from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.stamps import block_of, parts_of, without_ink
from inkgate.layout.regions.stamps import StampArea, find_stamps
from inkgate.page import RgbArray
from inkgate_client.types import BlockType

RED, BLUE, BLACK = (205, 35, 45), (40, 60, 185), (25, 25, 25)


def paper() -> RgbArray:
    page = np.full((1400, 1000, 3), 250, np.uint8)
    for row in range(20):
        cv2.putText(page, "black print of the page", (80, 80 + 60 * row), cv2.FONT_HERSHEY_SIMPLEX, 1.2, BLACK, 2)
    return page


def ring_of_dots(page: RgbArray, radius: int = 130) -> None:
    """A round stamp at (500, 700), with dots along its border instead of letters, from the left over the top."""
    cv2.circle(page, (500, 700), radius, RED, 5)
    for at in range(9):
        angle = np.pi * (1 + at / 8)
        place = (round(500 + (radius - 30) * np.cos(angle)), round(700 + (radius - 30) * np.sin(angle)))
        cv2.circle(page, place, 8 + at, RED, -1)


def test_borders_of_coloured_ink_are_stamps_and_nothing_else_is() -> None:
    page = paper()
    ring_of_dots(page)
    cv2.rectangle(page, (600, 1100), (850, 1200), BLUE, 5)
    cv2.ellipse(page, (250, 1200), (160, 100), 0, 0, 360, BLUE, 5)
    assert [(area.shape, area.colour) for area in find_stamps(page)] == [
        ("round", "red"),
        ("oval", "blue"),
        ("rectangle", "blue"),
    ]
    (left, top, right, bottom), *_ = (area.box for area in find_stamps(page))
    assert max(abs(left - 368), abs(top - 568), abs(right - 632), abs(bottom - 832)) < 8
    other = paper()
    cv2.rectangle(other, (100, 100), (400, 400), RED, -1)  # filled
    cv2.putText(other, "RED TEXT", (200, 800), cv2.FONT_HERSHEY_SIMPLEX, 3, RED, 8)
    cv2.rectangle(other, (30, 900), (970, 1380), RED, 3)  # a frame of half the page
    cv2.circle(other, (800, 250), 110, BLACK, 5)
    assert find_stamps(other) == []
    assert find_stamps(np.random.default_rng(1).integers(0, 255, (300, 200, 3), dtype=np.uint8)) == []


def test_the_text_along_the_border_is_one_line_from_left_to_right() -> None:
    page = paper()
    ring_of_dots(page)
    (area,) = find_stamps(page)
    line, *_ = parts_of(page, area).images
    ink = (line[:, :, 0] < 128).any(axis=0).astype(np.int8)
    edges = np.flatnonzero(np.diff(ink))
    widths = (edges[1::2] - edges[::2]).tolist()
    assert len(widths) == 9
    assert widths == sorted(widths)  # the dots grow clockwise


def test_what_a_stamp_covers_is_left_without_its_ink() -> None:
    page = paper()
    ring_of_dots(page)
    clean = without_ink(page, find_stamps(page))
    covered = clean[560:840, 360:640].astype(int)
    assert np.abs(covered[:, :, 0] - covered[:, :, 1]).max() == 0
    untouched = paper()
    assert ((clean < 128).any(2) != (untouched < 128).any(2)).mean() < 0.001


def test_a_stamp_is_a_block_with_the_lines_that_are_legible() -> None:
    parts = parts_of(paper(), StampArea((10, 10, 12, 12), "round", "red"))
    assert list(parts.images) == []
    read = [
        RecognizedText(text, np.full(len(text), confidence, np.float32), np.zeros(len(text), np.float32))
        for text, confidence in (("ACME Ltd", 0.9), ("★", 0.9), ("smudge", 0.2), ("PAID", 0.8))
    ]
    block = block_of(parts, read, 2.0)
    assert (block.type, block.box) == (BlockType.STAMP, (20, 20, 24, 24))
    stamp = block.stamp
    assert stamp is not None
    assert (stamp.text, stamp.shape, stamp.colour) == ("ACME Ltd\nPAID", "round", "red")
    assert block_of(parts, [], 1.0).stamp is not None
