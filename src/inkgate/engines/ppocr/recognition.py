"""Reads a line's text: the PP-OCR recognition model, and the decoding of its output.

The model is trained with connectionist temporal classification (CTC, Graves et al., ICML 2006): one distribution over
the alphabet for each column of 8 pixels, where class 0 is the blank and repeats count once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import READING_HEIGHT, write_pixels
from inkgate.page import RgbArray
from inkgate.runtimes.base import ColumnModel, FloatArray

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x31FF),  # CJK radicals and punctuation, Kana, Bopomofo
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),  # full-width forms
    (0x20000, 0x3FFFF),
)
"""Unicode blocks of scripts that are written without spaces between words."""
_SIZES = (8, 1)
_SIZES_OF_WIDE = (4, 2, 1)
"""Eight lines per call take 20% less time than one by one, four hardly less, unless they are so wide that eight don't
fit. Milliseconds of processor time per line, in calls of 1, 2, 4 and 8 lines: 3.8, 3.5, 3.4, 3.0 at a width of 160, and
13.6, 11.8, 10.8 at 640 (benchmarks/results/2026-11.md).

OpenVINO compiles its kernels for each number of lines and each width, which takes as long as reading a line or two, and
caches them. Even with cached kernels, a call whose shape differs from the previous one takes 3 ms more processor time;
a call of the same shape has little overhead. So few sizes are used, and remaining lines are read one by one, which is
one shape for all of them."""
_MIN_WIDTH = 96
_MIN_WIDTH_STEP = 32
_WIDTHS_AN_OCTAVE = 8
"""Widths are multiples of 32 pixels up to 512 and an eighth of an octave apart beyond: few, so that lines can share a
call. Half of the lines of documents are narrower than 172 pixels: in the development documents 7% of the model's input
is padding (27% with the usual minimum width of 320 and steps of 64). It hardly costs accuracy:
benchmarks/results/2026-11.md."""
_MAX_WIDTH = 4096
_BATCH_WIDTH = 2560
"""Maximum pixels of width per call of the model: bounds its memory (18,710 classes for every 8 pixels). More is no
faster: less than half of this gives all that batching gains."""
_MISSED_SPACE = 0.1
"""Minimum probability of a space to insert it between two letters though the blank was likelier. The model drops spaces
of narrow fonts. F1 of words on 75 development images: 93.8 with 0.1, 93.7 with 0.15, 93.6 with 0.2, 93.4 with 0.3."""


def unspaced(character: str) -> bool:
    """Whether the character's script is written without spaces between words."""
    code = ord(character)
    return any(first <= code <= last for first, last in _UNSPACED)


def call_sizes(lines: int, max_lines: int) -> list[int]:
    """The sizes of the calls for `lines` lines, the largest first; none is above `max_lines` (at least 1)."""
    sizes: list[int] = []
    for size in _SIZES if max_lines >= _SIZES[0] else _SIZES_OF_WIDE:
        if size <= max_lines:
            calls, lines = divmod(lines, size)
            sizes += [size] * calls
    return sizes


def calls_of(lines: int, max_lines: int) -> list[slice]:
    """The lines of each call, in order; sizes as in `call_sizes`."""
    slices: list[slice] = []
    start = 0
    for size in call_sizes(lines, max_lines):
        slices.append(slice(start, start + size))
        start += size
    return slices


@dataclass(frozen=True, slots=True)
class RecognizedText:
    """The text of one line crop.

    Attributes:
        text: n characters, as printed; empty if nothing was read.
        confidences: (n,) float32, of each character.
        positions: (n,) float32, the centre of each character along the crop, 0 at its left and 1 at its right end.
    """

    text: str
    confidences: FloatArray
    positions: FloatArray

    @property
    def confidence(self) -> float:
        """Mean over the characters except spaces; 0 if nothing was read."""
        inked = [c for character, c in zip(self.text, self.confidences.tolist(), strict=True) if character != " "]
        return sum(inked) / len(inked) if inked else 0.0

    @property
    def worth(self) -> float:
        """Score to compare two readings of one line: number of characters times confidence squared.

        Confidence alone misleads: of an upside-down line, the few letters that look like others are read with high
        confidence.
        """
        return sum(character != " " for character in self.text) * self.confidence**2


class TextRecognizer:
    """Reads line crops: a BatchModel from RGB (h, w, 3) uint8 to RecognizedText. Blocking; safe from many threads.

    A crop is padded to a width that depends only on the crop, and all crops of a batch have the same: the text does not
    depend on which lines are batched together.
    """

    def __init__(self, model: ColumnModel) -> None:
        self._model = model
        self._alphabet = np.array(["", *model.metadata["character"].splitlines(), " "])

    def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        """The text of each crop; all have the same padded width. Crops longer than 85:1 are read in pieces."""
        if not items:
            return []
        width = padded_width(items[0])
        if width > _MAX_WIDTH:
            return [self._in_pieces(item) for item in items]
        calls = calls_of(len(items), max(_BATCH_WIDTH // width, 1))
        return [reading for call in calls for reading in self._read(items[call], width)]

    @staticmethod
    def shape_of(item: RgbArray) -> Hashable:
        """The padded width."""
        return padded_width(item)

    @staticmethod
    def cost(item: RgbArray) -> int:
        return padded_width(item) * READING_HEIGHT

    @staticmethod
    def content(item: RgbArray) -> int:
        return _scaled_width(item) * READING_HEIGHT

    def _in_pieces(self, item: RgbArray) -> RecognizedText:
        pieces = pieces_of(item)
        readings = [reading for piece in pieces for reading in self._read([piece], padded_width(piece))]
        return join_pieces(readings, [piece.shape[1] for piece in pieces])

    def _read(self, crops: Sequence[RgbArray], width: int) -> list[RecognizedText]:
        tensor = np.zeros((len(crops), 3, READING_HEIGHT, width), np.float32)
        widths = [_fill(row, crop) for row, crop in zip(tensor, crops, strict=True)]
        columns = self._model.run(tensor)
        labels = self._alphabet[columns.best].tolist()
        columns_px = width / columns.best.shape[1]
        return [
            decode_line(labels[row], columns.probability[row], columns.last[row], columns_px / used)
            for row, used in enumerate(widths)
        ]


def decode_line(labels: list[str], confidences: FloatArray, spaces: FloatArray, column: float) -> RecognizedText:
    """The text of one line from T columns of the model's output.

    Args:
        labels: the most likely character of each column, "" for the blank.
        confidences: (T,) their probabilities.
        spaces: (T,) the probability of a space.
        column: the width of a column as a part of the crop's width.
    """
    runs = [(text, len(list(run))) for text, run in groupby(labels)]
    ends = np.cumsum([length for _, length in runs])
    starts = np.concatenate([[0], ends])[: len(runs)]
    printed = [place for place, (text, _) in enumerate(runs) if text]
    starts, ends = starts[printed], ends[printed]
    characters = [runs[place][0] for place in printed]
    centres = (starts + ends) / 2 * column
    # From each character's last column to the next one's first: the model may have missed a space there.
    missed = [float(spaces[end - 1 : start + 1].max()) for end, start in zip(ends[:-1], starts[1:], strict=True)]
    places = [
        place
        for place, probability in enumerate(missed, start=1)
        if probability > _MISSED_SPACE and _spaceable(characters[place - 1]) and _spaceable(characters[place])
    ]
    between = [(centres[place - 1] + centres[place]) / 2 for place in places]
    return RecognizedText(
        "".join(np.insert(np.array(characters, object), places, " ")),
        np.insert(confidences[starts], places, [missed[place - 1] for place in places]).astype(np.float32),
        np.insert(centres, places, between).clip(0, 1).astype(np.float32),
    )


def _spaceable(character: str) -> bool:
    return not character.isspace() and not unspaced(character)


def pieces_of(crop: RgbArray) -> list[RgbArray]:
    """The crop, cut at its emptiest columns into pieces that fit one call of the model."""
    count = math.ceil(_scaled_width(crop) / _MAX_WIDTH)
    if count == 1:
        return [crop]
    height, width = crop.shape[:2]
    contrast = cv2.blur(crop.std(axis=(0, 2), keepdims=True)[0].astype(np.float32), (1, max(height // 4, 1))).ravel()
    reach = width // (8 * count)
    middles = [width * part // count for part in range(1, count)]
    cuts = [middle - reach + int(contrast[middle - reach : middle + reach + 1].argmin()) for middle in middles]
    return np.split(crop, cuts, axis=1)


def join_pieces(readings: Sequence[RecognizedText], widths: Sequence[int]) -> RecognizedText:
    """The text of a crop from those of its pieces, joined by spaces. `widths`: of the pieces."""
    if len(readings) == 1:
        return readings[0]
    text, confidences, positions, left = "", [np.zeros(0, np.float32)], [np.zeros(0, np.float32)], 0
    for reading, width in zip(readings, widths, strict=True):
        if text and reading.text and _spaceable(text[-1]) and _spaceable(reading.text[0]):
            text += " "
            confidences.append(np.ones(1, np.float32))
            positions.append(np.array([left], np.float32))
        text += reading.text
        confidences.append(reading.confidences)
        positions.append(left + reading.positions * width)
        left += width
    return RecognizedText(text, np.concatenate(confidences), (np.concatenate(positions) / left).astype(np.float32))


def padded_width(crop: RgbArray) -> int:
    """The width in pixels at which a crop is read, after scaling to a height of 48 pixels."""
    width = max(_scaled_width(crop), _MIN_WIDTH)
    octave: int = 1 << ((width - 1).bit_length() - 1)
    step = max(octave // _WIDTHS_AN_OCTAVE, _MIN_WIDTH_STEP)
    return math.ceil(width / step) * step


def _scaled_width(crop: RgbArray) -> int:
    height, width = crop.shape[:2]
    return max(-(-READING_HEIGHT * int(width) // int(height)), 1)


def _fill(row: FloatArray, crop: RgbArray) -> int:
    """Writes a crop into its row (3, 48, W) of a tensor. Returns the crop's width in it."""
    width = _scaled_width(crop)
    shrinks = crop.shape[0] > READING_HEIGHT
    resized = cv2.resize(crop, (width, READING_HEIGHT), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    write_pixels(np.asarray(resized, np.uint8), row)
    return width
