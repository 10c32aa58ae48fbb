"""Which way up pages and lines are: the PP-OCR classifiers of both, and what the recognized text says.

Checks the page classifier's guess against the recognized text, and later corrects it by the lines that were read. The
classifier sees three squares of the page, which may be empty on a sparse one.

Rotating an upright page is far worse than missing a rotated one, so a guess counts only if the lines agree. The line
classifier would be cheaper than the recognition model, but it errs where the page classifier does: in scripts that
neither knows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import READING_HEIGHT, TALL, side_lengths, write_pixels
from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray, Model

_SHORT_SIDE = 256
_CROP = 224
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
"""ImageNet's, as in PaddleClas, which trained the model."""
_CROPS = 3
_LINE_WIDTH = 192
_LINES_A_CALL = 16
SURE = 0.6
"""Minimum confidence of a page's rotation. On the development pages right guesses had 0.79 and more."""
MAX_COMPARED = 6
"""Number of lines that are read both ways up: the longest."""
_READ = 0.7
"""Minimum confidence of a line in this check: below it, the script may be unknown to the model."""
_CLEARLY = 2.0
"""A rotated page must give this many times as much text as the same page upside down. Measured on seven pages, upright
text gave 6 to 60 times as much."""
_WELL, _WELL_LETTERS = 0.8, 4
"""Lines with at least this confidence and this many letters decide a page's rotation."""
_MIN_AGREEING = 0.8
"""Minimum share of these lines, by worth, that must run the same way for the page to be rotated."""
_MIN_SHORT_LINES = 5
"""Number of different short lines from which they can say, all together, that a page without other lines is upside
down."""
_SHORT_CLEARLY = 1.15
"""How many times as much the short lines of such a page must be worth after a rotation by 180 degrees. Thirty drawn
digits, letters, numbers or words of up to three letters in five faces are worth 1.26 to 2.5 times as much upright as
upside down, thirty times the same 7 between 0.99 and 3."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """Degrees clockwise (0, 90, 180, 270) that make a page upright, and the confidence, in [0, 1]."""

    degrees: int
    confidence: float


class PageOrientation:
    """Estimates the rotation of pages: a BatchModel from RGB (H, W, 3) uint8 to Rotation. Blocking; thread-safe.

    Not reliable: the model sees three squares of the page at a few hundred pixels, and errs on receipts and tables.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, items: Sequence[RgbArray]) -> list[Rotation]:
        """The rotation of each page: the classes' probabilities, averaged over the squares."""
        if not items:
            return []
        output = self._model.run(np.concatenate([_squares(item) for item in items]))[0]
        means = output.reshape(len(items), _CROPS, 4).mean(axis=1)
        # The classes are quarter turns by which the page was rotated clockwise; the rest of the circle undoes them.
        return [Rotation(-90 * int(row.argmax()) % 360, float(row.max())) for row in means]

    @staticmethod
    def shape_of(item: RgbArray) -> Hashable:  # noqa: ARG004 - the port asks for each item; here all are alike
        """All pages have the same shape."""
        return (_CROP, _CROP)

    @staticmethod
    def cost(item: RgbArray) -> int:  # noqa: ARG004 - the port asks for each item; here all are alike
        return _CROPS * _CROP * _CROP

    @staticmethod
    def content(item: RgbArray) -> int:  # noqa: ARG004 - as above
        """Returns the same as `cost`: squares are not padded."""
        return _CROPS * _CROP * _CROP


def _squares(rgb: RgbArray) -> FloatArray:
    """Three squares along the longer side, (3, 3, 224, 224) float32, normalized."""
    height, width = rgb.shape[:2]
    scale = _SHORT_SIDE / min(height, width)
    # Of a longer strip only the first 8:1 are used, or its image would be as large as it is long.
    size = (min(round(width * scale), 8 * _SHORT_SIDE), min(round(height * scale), 8 * _SHORT_SIDE))
    rgb = rgb[: max(round(size[1] / scale), 1), : max(round(size[0] / scale), 1)]
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    normal = ((small.astype(np.float32) / 255 - _MEAN) / _DEVIATION).transpose(2, 0, 1)
    slack_y, slack_x = size[1] - _CROP, size[0] - _CROP
    along_y = slack_y >= slack_x
    corners = [
        (round(slack_y * part), slack_x // 2) if along_y else (slack_y // 2, round(slack_x * part))
        for part in (0.2, 0.5, 0.8)
    ]
    return np.stack([normal[:, y : y + _CROP, x : x + _CROP] for y, x in corners])


class LineOrientation:
    """Detects upside-down lines: a BatchModel from RGB crops (h, w, 3) uint8 to the probability of being upside down.
    Blocking; safe from many threads.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, items: Sequence[RgbArray]) -> list[float]:
        """Returns for each crop the probability, in [0, 1], that it is upside down."""
        answers: list[float] = []
        for start in range(0, len(items), _LINES_A_CALL):
            tensor = np.stack([_prepared(item) for item in items[start : start + _LINES_A_CALL]])
            answers.extend(self._model.run(tensor)[0][:, 1].tolist())
        return answers

    @staticmethod
    def shape_of(item: RgbArray) -> Hashable:  # noqa: ARG004 - the port asks for each item; here all are alike
        """All lines have the same shape."""
        return (READING_HEIGHT, _LINE_WIDTH)

    @staticmethod
    def cost(item: RgbArray) -> int:  # noqa: ARG004 - the port asks for each item; here all are alike
        return READING_HEIGHT * _LINE_WIDTH

    @staticmethod
    def content(item: RgbArray) -> int:
        return READING_HEIGHT * _used_width(item)


def _used_width(crop: RgbArray) -> int:
    height, width = crop.shape[:2]
    return min(max(math.ceil(READING_HEIGHT * int(width) / int(height)), 1), _LINE_WIDTH)


def _prepared(crop: RgbArray) -> FloatArray:
    """A crop as (3, 48, 192) float32: its height scaled to 48, its width squeezed or padded to 192."""
    used = _used_width(crop)
    resized = cv2.resize(
        crop,
        (used, READING_HEIGHT),
        interpolation=cv2.INTER_AREA if crop.shape[0] > READING_HEIGHT else cv2.INTER_LINEAR,
    )
    tensor = np.zeros((3, READING_HEIGHT, _LINE_WIDTH), np.float32)
    write_pixels(np.asarray(resized, np.uint8), tensor)
    return tensor


def rotate_page(rgb: RgbArray, degrees: int) -> RgbArray:
    """The page rotated clockwise by 0, 90, 180 or 270 degrees."""
    return np.ascontiguousarray(np.rot90(rgb, -degrees // 90)) if degrees else rgb


def worth_trying(rotation: Rotation) -> bool:
    return rotation.degrees != 0 and rotation.confidence >= SURE


def is_horizontal(quads: FloatArray) -> bool:
    """Whether most of the text, by length, is horizontal. False without text."""
    widths, heights = side_lengths(quads)
    # Boxes about as wide as high give no direction.
    across = float(widths[widths >= TALL * heights].sum())
    along = float(heights[heights >= TALL * widths].sum())
    return across > along


def longest_lines(quads: FloatArray) -> FloatArray:
    """The quads (M, 4, 2), M <= 6, best suited to tell up from down: the longest horizontal ones."""
    widths, heights = side_lengths(quads)
    flat = np.flatnonzero(widths >= TALL * heights)
    return quads[flat[np.argsort(-widths[flat], kind="stable")][:MAX_COMPARED]]


def is_upright(readings: Sequence[RecognizedText], turned: Sequence[RecognizedText]) -> bool:
    """Whether these lines were read, and far better as they are than rotated by 180 degrees."""
    read = sum(one.worth for one in readings if one.confidence >= _READ)
    return read > _CLEARLY * sum(one.worth for one in turned)


def needed_rotation(read: Sequence[tuple[LineCrop, RecognizedText]]) -> int:
    """Degrees clockwise (0, 90, 180, 270) that make most of the text run from left to right; 0 in doubt.

    Lines of scripts that are also written vertically don't count for a page on its side.
    """
    worth = dict.fromkeys((0, 90, 180, 270), 0.0)
    for item, reading in _well_read(read):
        turn = _turn_of(item.quad)
        letters = [character for character in reading.text if character != " "]
        if turn in {90, 270} and 2 * sum(map(unspaced, letters)) >= len(letters):
            turn = 0
        worth[turn] += reading.worth
    best = max(worth, key=lambda turn: worth[turn])
    return best if worth[best] > _MIN_AGREEING * sum(worth.values()) else 0


def _well_read(read: Sequence[tuple[LineCrop, RecognizedText]]) -> list[tuple[LineCrop, RecognizedText]]:
    """The lines that tell which way up a page is."""
    return [
        (item, reading)
        for item, reading in read
        if sum(character != " " for character in reading.text) >= _WELL_LETTERS and reading.confidence >= _WELL
    ]


def against_the_page(read: Sequence[tuple[LineCrop, RecognizedText]], short: Sequence[int]) -> list[int] | None:
    """Returns those of the lines `short` that are upside down if they run as the page's long lines do. None without
    those.
    """
    worth = dict.fromkeys((0, 90, 180, 270), 0.0)
    for item, reading in _well_read(read):
        worth[_turn_of(item.quad)] += reading.worth
    if not any(worth.values()):
        return None
    turns = [(at, _turn_of(read[at][0].quad)) for at in short]
    return [at for at, turn in turns if worth[(turn + 180) % 360] * (1 - _MIN_AGREEING) > worth[turn] * _MIN_AGREEING]


def may_be_upside_down(
    read: Sequence[tuple[LineCrop, RecognizedText]], short: Sequence[int], probabilities: Sequence[float]
) -> bool:
    """Whether a page with short lines only may be upside down: by the line classifier's `probabilities` for them."""
    different = len({read[at][1].text for at in short})
    return different >= _MIN_SHORT_LINES and 2 * sum(probabilities) > len(short)


def is_upside_down(readings: Sequence[RecognizedText], turned: Sequence[RecognizedText]) -> bool:
    """Whether these short lines are all together upside down."""
    return sum(one.worth for one in turned) > _SHORT_CLEARLY * sum(one.worth for one in readings)


def _turn_of(quad: FloatArray) -> int:
    """Degrees clockwise, a multiple of 90, that make a line's quad (4, 2) run from left to right."""
    right, down = (quad[1] - quad[0] + quad[2] - quad[3]).tolist()
    if abs(right) >= abs(down):
        return 0 if right >= 0 else 180
    return 270 if down > 0 else 90


def rotate_quads(quads: FloatArray, degrees: int, width: int, height: int) -> FloatArray:
    """Quads (..., 4, 2) of an image, `width` x `height`, on the image rotated clockwise by 90, 180 or 270 degrees."""
    x, y = quads[..., 0], quads[..., 1]
    moved = {90: (height - y, x), 180: (width - x, height - y), 270: (y, width - x)}[degrees]
    return np.stack(moved, axis=-1).astype(np.float32)
