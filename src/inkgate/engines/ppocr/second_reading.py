"""Second readings of doubtful lines, from crops without a margin above and below.

The margin shows strokes of the lines above and below where print is tight or crooked; without it letters are enlarged
by three tenths. Of 219 doubtful lines of the development documents (4% of all lines, 2% of their width) 43 are read
better, 11 worse and the others alike if the more confident of the two readings counts. Misread characters of all lines
drop from 901 to 863, of lines lower than 20 pixels from 67 to 60. Small print gains from nothing else that was tried:
see benchmarks/results/2026-11.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.engines.ppocr.crops import (
    MARGIN_ACROSS,
    READING_HEIGHT,
    TALL,
    crop,
    side_lengths,
    with_margin,
)
from inkgate.engines.ppocr.lines import LineCrop, is_legible, part_of
from inkgate.engines.ppocr.recognition import RecognizedText, unspaced
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Box

_ACROSS = 0.0
"""Margin above and below. With 0.025 31 errors less, with -0.05, which cuts into the box, 39; with 0: 43."""
_MAX_LOST = 0.25
"""Share of its characters that the second reading may lack: of a box too low it reads little, with confidence."""
_FAINT, _PAPER, _GRAIN = 0.5, 0.9, 30.0
"""Contrast and paper of faint print, as parts of what they were, and its noise in levels of 255. Coloured noise, or
less of it, reads worse."""
GRAINS = (0, 1)
"""Noises of faint print. What the first leaves out is read with the second."""
_GAP, _END = 1.42, 0.56
"""Distance of two characters between which there may be another, and of the last one from ink that is not its own,
in pitches. Positions are known to a fifth of a pitch."""
_OWN = 0.5
"""Ink this near to a character is its own, in pitches."""
_INK, _MIN_CONTRAST, _MIN_INK = 0.4, 60.0, 0.15
"""Part of the contrast from which a pixel is ink; minimum contrast in levels; minimum length of ink in pitches."""
_APART = 0.42
"""Characters of both readings that are nearer than this are one, in pitches."""
_USUAL_PITCH, _MAX_PITCH = 0.67, 0.85
"""Pitch of a column too short to tell it, and the largest one, in heights of the crop. Where every second character was
skipped, the distances are twice the pitch; where characters are set apart, there is no ink between them."""


def is_doubtful(reading: RecognizedText, min_confidence: float, below: float) -> bool:
    """Whether to read a line twice: it is legible (`min_confidence`), but read with a confidence less than `below`.

    Lines of Han and the like are read once: their characters fill the box, and a tight crop cuts them.
    """
    if not is_legible(reading, min_confidence) or reading.confidence >= below:
        return False
    return 2 * sum(map(unspaced, reading.text)) < len(reading.text)


def tight_crops(rgb: RgbArray, quads: Sequence[FloatArray]) -> list[RgbArray]:
    """The pixels of quads (4, 2), each with a margin at its ends only. The other margin has no part in positions."""
    return [crop(rgb, with_margin(quad, _ACROSS)) for quad in quads]


def replace_worse(
    read: list[tuple[LineCrop, RecognizedText]], at: Sequence[int], again: Sequence[RecognizedText]
) -> None:
    """Puts the second readings `again` of the lines `at` in place of the less confident first ones."""
    for index, second in zip(at, again, strict=True):
        item, first = read[index]
        complete = _letters(second) >= (1 - _MAX_LOST) * _letters(first)
        if complete and second.confidence > first.confidence:
            read[index] = item, second


def _letters(reading: RecognizedText) -> int:
    return sum(character != " " for character in reading.text)


@dataclass(frozen=True, slots=True)
class InkGap:
    """Ink of a line that no character covers: from `left` to `right`, as parts of the line's crop."""

    left: float
    right: float


def is_column(item: LineCrop, reading: RecognizedText) -> bool:
    """Whether a line is a column of vertical text: it runs downwards, in an unspaced script."""
    along = item.quad[1] - item.quad[0]
    (width,), (height,) = side_lengths(item.quad[None])
    downwards = bool(along[1] > 2 * abs(along[0]) and width >= TALL * height)
    return downwards and 2 * sum(map(unspaced, reading.text)) >= len(reading.text) > 0


def gaps_of(item: LineCrop, reading: RecognizedText) -> list[InkGap]:
    """Ink between the characters of a column, or before the first or after the last one."""
    width = item.pixels.shape[1]
    pitch = _pitch(item, reading)
    ink = _inked_columns(item.pixels)
    places = (reading.positions * width).tolist()
    limits = [(-np.inf, places[0]), *pairwise(places), (places[-1], np.inf)]
    gaps = []
    for before, after in limits:
        if after - before < _GAP * pitch:
            continue
        left = max(0, round(before + (_OWN if np.isfinite(after) else _END) * pitch)) if np.isfinite(before) else 0
        right = round(after - (_OWN if np.isfinite(before) else _END) * pitch) if np.isfinite(after) else width
        inked = left + np.flatnonzero(ink[left : max(left, right)])
        if len(inked) >= _MIN_INK * pitch:
            gaps.append(InkGap(float(inked[0]) / width, float(inked[-1] + 1) / width))
    return gaps


def faint(pixels: RgbArray, grain: int) -> RgbArray:
    """A column's crop at the height at which it is read, as faint print with noise `grain`, always the same."""
    height, width = pixels.shape[:2]
    size = (max(1, round(width * READING_HEIGHT / height)), READING_HEIGHT)
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    paper = np.median(small, axis=(0, 1))
    noise = np.random.default_rng(grain).normal(0, _GRAIN, (*small.shape[:2], 1))
    return np.asarray(np.clip(_PAPER * paper + _FAINT * (small - paper) + noise, 0, 255), np.uint8)


def with_gaps_filled(item: LineCrop, first: RecognizedText, second: RecognizedText) -> RecognizedText:
    """The first reading of a column with the characters of the second that stand where the first has none."""
    width = item.pixels.shape[1]
    apart = np.abs(second.positions[:, None] - first.positions[None]).min(axis=1) * width
    new = [at for at, far in enumerate(apart.tolist()) if far > _APART * _pitch(item, first) and second.text[at] != " "]
    if not new:
        return first
    positions = np.concatenate([first.positions, second.positions[new]])
    order = np.argsort(positions, kind="stable")
    text = first.text + "".join(second.text[at] for at in new)
    confidences = np.concatenate([first.confidences, second.confidences[new]])
    return RecognizedText("".join(text[at] for at in order), confidences[order], positions[order])


def boxes_of(read: Sequence[tuple[LineCrop, RecognizedText]], scale: float) -> list[Box]:
    """The boxes of the gaps of all columns, in page pixels. `scale`: page pixels per pixel of the image."""
    boxes = []
    for item, reading in read:
        if is_column(item, reading):
            whole = with_margin(item.quad) * scale
            corners = [np.array(part_of(whole, gap.left, gap.right)) for gap in gaps_of(item, reading)]
            boxes += [(*quad.min(axis=0).tolist(), *quad.max(axis=0).tolist()) for quad in corners]
    return boxes


def _pitch(item: LineCrop, reading: RecognizedText) -> float:
    """The usual distance of a column's characters, in pixels of its crop."""
    height, width = int(item.pixels.shape[0]), int(item.pixels.shape[1])
    if len(reading.positions) < 4:
        return _USUAL_PITCH * height
    return min(float(np.median(np.diff(reading.positions))) * width, _MAX_PITCH * height)


def _inked_columns(pixels: RgbArray) -> NDArray[np.bool_]:
    """Which columns (w,) of a crop have ink, without its margin above and below."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    contrast = np.abs(grey - np.median(grey))
    margin = round(len(grey) * MARGIN_ACROSS / (1 + 2 * MARGIN_ACROSS))
    enough = _INK * max(float(contrast.max()), _MIN_CONTRAST)
    return np.asarray((contrast[margin : len(grey) - margin] > enough).any(axis=0))
