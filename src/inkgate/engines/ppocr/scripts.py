"""Which script a line is written in: of lines that the engine could not read, to say so by name. Blocking.

A small network, in NumPy, looks at windows of a line, 32 pixels high: at overlapping patches, then at what was found in
them. training/scripts.py trains it and says how well it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import crop, side_lengths
from inkgate.engines.ppocr.lines import in_reading_order
from inkgate.layout.text.surprise import surprise
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Line, ReviewNote, ReviewReason

READ = ("Latin", "Chinese or Japanese")
NAMES = (
    *READ,
    *("Hangul", "Cyrillic", "Greek", "Arabic", "Hebrew", "Thai", "Devanagari", "Bengali", "Tamil", "Gujarati"),
    *("Gurmukhi", "Telugu", "Kannada", "Malayalam", "Sinhala", "Georgian", "Armenian", "Khmer", "Lao", "Burmese"),
    *("Ethiopic", ""),
)
"""The network's classes, in order; the last is no text: drawings, dirt, bar codes."""
HEIGHT, WIDTH = 32, 128
"""Size of a window of a line, in pixels."""
MAX_WINDOWS = 8
"""Maximum windows of a line; more say nothing new."""
CELL, BINS = 8, 8
"""Pixels of a cell and directions of gradients, without their sign, that are summed up in it."""
PATCH = 4
"""Cells of a square patch, which is as high as the line; the next one begins half a patch further right."""
FEATURES = PATCH * PATCH * BINS + (HEIGHT // 2) ** 2
"""Features of a patch: its gradients, and its ink at half the size."""
LAYERS = ((FEATURES, 176), (176, 96), (192, len(NAMES)))
"""Inputs and outputs of the network's layers: two see a patch, the last one the mean and the maximum over a window."""
WEIGHTS = Path(__file__).parent / "scripts.f16"
"""The network's weights: for each layer the matrix (inputs, outputs) and the bias; float16, little-endian."""
MIN_CONTRAST = 12.0
"""Grey levels between paper and ink; with less, nothing is drawn."""
MIN_ROW, MIN_COLUMN = 0.06, 0.3
"""Least ink of a line's first and last row, as a share of the fullest row's, and of its first and last column."""
SURE, ODD = 0.9, 0.5
"""Lines with less confidence, or that look so little like words (layout/text/surprise.py), are doubtful."""
WIDE, DENSE = 4, 0.6
"""Lines at least so many times as wide as high are doubtful, too, with fewer characters than this for each square of
their length: letters that the model doesn't know are often left out, and the marks between them read for sure.
"""
MIN_SHARE, MIN_LINES, MIN_PART = 0.5, 3, 0.5
"""A page is flagged if at least this share of the doubtful lines' area is in one script, of which this share is
certain; and that is as many lines, or of such an area compared with what is legible.
"""
MAX_DOUBTFUL = 60
"""Lines of a page that are looked at, the largest ones."""
MIN_ROW_HEIGHT = 6
"""Pixels of a row of ink that may be a line."""
MIN_PROBABILITY = 0.8
"""A line's script is certain if it is at least so probable."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A line's likeliest script, empty if it is no text; and whether that is certain."""

    name: str = ""
    certain: bool = False


def script_of(pixels: RgbArray) -> Guess:
    """The script of a line, upright or upside down."""
    seen = windows(pixels)
    if not len(seen):
        return Guess()
    probabilities = of_line(likeness(seen))
    best = int(probabilities.argmax())
    return Guess(NAMES[best], bool(probabilities[best] >= MIN_PROBABILITY))


def of_line(seen: FloatArray) -> FloatArray:
    """The probabilities of NAMES for a line, by the `likeness` of its windows (N, 24), which is not independent: they
    count as the root of their number.
    """
    total = seen.mean(axis=0) * np.sqrt(len(seen))
    total = np.exp(total - total.max())
    return np.asarray(total / total.sum(), np.float32)


def windows(pixels: RgbArray) -> FloatArray:
    """Ink from 0 to 1 in the windows of a line (N, HEIGHT, WIDTH); none where nothing is drawn."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    paper, (low, high) = float(np.median(grey)), np.percentile(grey, (1, 99))
    ink = paper - grey if paper - low > high - paper else grey - paper
    contrast = max(paper - low, high - paper)
    if contrast < MIN_CONTRAST:
        return np.zeros((0, HEIGHT, WIDTH), np.float32)
    ink = (ink / contrast).clip(0, 1)
    rows = np.flatnonzero(ink.mean(axis=1) > MIN_ROW * ink.mean(axis=1).max())
    columns = np.flatnonzero(ink.max(axis=0) > MIN_COLUMN)
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    width = max(1, round(ink.shape[1] * (HEIGHT - 4) / ink.shape[0]))
    shrunk = cv2.resize(ink, (min(width, 40 * WIDTH), HEIGHT - 4), interpolation=cv2.INTER_AREA)
    line = np.zeros((HEIGHT, max(WIDTH, shrunk.shape[1] + 4)), np.float32)
    line[2:-2, 2 : 2 + shrunk.shape[1]] = shrunk
    count = -(-line.shape[1] // WIDTH)
    starts = np.linspace(0, line.shape[1] - WIDTH, min(count, MAX_WINDOWS)).round().astype(int)
    return np.stack([line[:, start : start + WIDTH] for start in starts])


def features(seen: FloatArray) -> FloatArray:
    """What the network sees of `windows`: (N, patches, FEATURES)."""
    count = len(seen)
    framed = np.pad(seen, ((0, 0), (1, 1), (1, 1)))
    across, down = framed[:, 1:-1, 2:] - framed[:, 1:-1, :-2], framed[:, 2:, 1:-1] - framed[:, :-2, 1:-1]
    strength = np.hypot(across, down)
    direction = (np.arctan2(down, across) * (BINS / np.pi)).astype(np.int8) % BINS
    rows, columns = HEIGHT // CELL, WIDTH // CELL
    cells = np.empty((count, rows, columns, BINS), np.float32)
    for number in range(BINS):
        part = (strength * (direction == number)).reshape(count, rows, CELL, columns, CELL)
        cells[..., number] = np.sqrt(part.sum(axis=(2, 4)) / CELL)
    ink = seen.reshape(count, HEIGHT // 2, 2, WIDTH // 2, 2).mean(axis=(2, 4))
    found = []
    for start in range(0, columns - PATCH + 1, PATCH // 2):
        pixel = start * CELL // 2
        parts = (cells[:, :, start : start + PATCH], ink[:, :, pixel : pixel + HEIGHT // 2])
        found.append(np.concatenate([part.reshape(count, -1) for part in parts], axis=1))
    return np.stack(found, axis=1)


def likeness(seen: FloatArray) -> FloatArray:
    """Logarithms of the probabilities of NAMES, (N, 24), for `windows`."""
    first, second, (matrix, bias) = network()
    x = features(seen)
    for weights, offset in (first, second):
        x = np.maximum(x @ weights + offset, 0)
    total = np.concatenate([x.mean(axis=1), x.max(axis=1)], axis=1) @ matrix + bias
    total -= total.max(axis=1, keepdims=True)
    return np.asarray(total - np.log(np.exp(total).sum(axis=1, keepdims=True)), np.float32)


@lru_cache(maxsize=1)
def network() -> list[tuple[FloatArray, FloatArray]]:
    """Matrix and bias of each layer."""
    numbers = np.fromfile(WEIGHTS, "<f2").astype(np.float32)
    layers = []
    for inputs, outputs in LAYERS:
        matrix, bias, numbers = np.split(numbers, [inputs * outputs, (inputs + 1) * outputs])
        layers.append((matrix.reshape(inputs, outputs), bias))
    return layers


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A line that was not read, or not for sure: its quad (4, 2), in pixels of the image, and its pixels."""

    quad: FloatArray
    pixels: RgbArray

    @property
    def area(self) -> float:
        return float(cv2.contourArea(np.asarray(self.quad, np.float32)))


def script_notes(
    rgb: RgbArray, scale: float, quads: FloatArray, lines: Sequence[Line], unread: Sequence[ReviewNote]
) -> tuple[ReviewNote, ...]:
    """A note if what was not read, or not for sure, is mostly in one script that the engine does not read.

    Args:
        rgb: the upright page.
        scale: page pixels per pixel of `rgb`.
        quads: all boxes of the page (N, 4, 2), in pixels of `rgb`.
        lines: those of the boxes that were legible, in page pixels.
        unread: notes of ink outside them, in page pixels.
    """
    found = doubtful_lines(rgb, scale, quads, lines, unread)
    if not found:
        return ()
    return judged(found, [script_of(item.pixels) for item in found], _area_of(lines) / scale**2, scale)


def judged(found: Sequence[Doubtful], guesses: Sequence[Guess], area: float, scale: float) -> tuple[ReviewNote, ...]:
    """Returns what `script_notes` returns, by the scripts of the doubtful lines. `area`: of the legible lines, in
    pixels of the image.
    """
    certain: dict[str, float] = {}
    for item, guess in zip(found, guesses, strict=True):
        if guess.certain and guess.name and guess.name not in READ:
            certain[guess.name] = certain.get(guess.name, 0) + item.area
    if not certain:
        return ()
    script = max(certain, key=certain.__getitem__)
    named = [item for item, guess in zip(found, guesses, strict=True) if guess.name == script]
    theirs, doubtful = sum(item.area for item in named), sum(item.area for item in found)
    if theirs < MIN_SHARE * doubtful or certain[script] < MIN_SHARE * theirs:
        return ()
    if len(named) < MIN_LINES and theirs < MIN_PART * area:
        return ()
    corners = np.concatenate([item.quad for item in named]) * scale
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return (ReviewNote(ReviewReason.SCRIPT_UNSUPPORTED, script, (left, top, right, bottom)),)


def doubtful_lines(
    rgb: RgbArray, scale: float, quads: FloatArray, lines: Sequence[Line], unread: Sequence[ReviewNote]
) -> list[Doubtful]:
    """The lines that were doubtful or dropped, and those in ink that was not read; at most MAX_DOUBTFUL."""
    page = np.array([line.quad for line in lines], np.float32).reshape(-1, 4, 2)
    known = page / scale
    sides = zip(*(side.tolist() for side in side_lengths(page)), strict=True)
    doubtful = [
        _upright(quad) for quad, line, size in zip(known, lines, sides, strict=True) if _is_doubtful(line, *size)
    ]
    centres = known.mean(axis=1)
    for quad in in_reading_order(quads) if len(quads) else quads:
        reach = float(np.linalg.norm(quad[3] - quad[0])) / 2
        if not len(centres) or float(np.linalg.norm(centres - quad.mean(axis=0), axis=1).min()) > reach:
            doubtful.append(quad)
    for note in unread:
        if note.box is not None:
            doubtful += _rows(rgb, tuple(side / scale for side in note.box))
    doubtful.sort(key=lambda quad: -cv2.contourArea(np.asarray(quad, np.float32)))
    return [Doubtful(quad, crop(rgb, quad)) for quad in doubtful[:MAX_DOUBTFUL]]


def _rows(rgb: RgbArray, box: Sequence[float]) -> list[FloatArray]:
    """The lines in a box, as quads, by the gaps between them."""
    height, width = rgb.shape[:2]
    left, top = max(0, int(box[0]) - 2), max(0, int(box[1]) - 2)
    right, bottom = min(width, int(box[2]) + 3), min(height, int(box[3]) + 3)
    part = rgb[top:bottom, left:right]
    if min(part.shape[:2]) < MIN_ROW_HEIGHT:
        return []
    grey = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY)
    _, ink = cv2.threshold(grey, 0, 1, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    ink = 1 - ink if ink.mean() > 0.5 else ink
    inked = np.concatenate([[False], ink.sum(axis=1) > 0, [False]])
    changes = np.flatnonzero(inked[1:] != inked[:-1])
    rows = list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))
    highest = max((end - start for start, end in rows), default=0)
    tall = [(start, end) for start, end in rows if end - start >= max(MIN_ROW_HEIGHT, 0.5 * highest)]
    marks = [row for row in rows if row not in tall]
    quads = []
    for start, end in tall:
        reach = 0.3 * (end - start)
        near = [(a, b) for a, b in marks if b >= start - reach and a <= end + reach]
        y, low = top + min([start, *(a for a, _ in near)]) - 1, top + max([end, *(b for _, b in near)]) + 1
        quads.append(np.array([[left, y], [right, y], [right, low], [left, low]], np.float32))
    return quads


def _upright(quad: FloatArray) -> FloatArray:
    """Turns the corners as the page stands: lines that can't be read are often turned, and Hebrew upside down looks
    like Latin.
    """
    return np.roll(quad, 2, axis=0) if quad[0, 0] > quad[1, 0] else quad


def _is_doubtful(line: Line, width: float, height: float) -> bool:
    characters = sum(not character.isspace() for character in line.text)
    gaps = width >= WIDE * height and characters < DENSE * width / max(height, 1e-6)
    return line.confidence < SURE or gaps or surprise(line.text) >= ODD


def _area_of(lines: Sequence[Line]) -> float:
    return sum(cv2.contourArea(np.array(line.quad, np.float32)) for line in lines)
