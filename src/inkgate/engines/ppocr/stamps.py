"""Reads stamps: the text along their border is unrolled to a line. What is printed under a stamp is read without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.engines.ppocr.crops import crop, with_margin
from inkgate.engines.ppocr.lines import LineCrop
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.layout.regions.stamps import StampArea
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate_client.types import Block, BlockType, Stamp

HEIGHT: Final = 48
"""Height of the line that the text along a border is unrolled to, in pixels: that of the model's input."""
_INNERMOST: Final = 0.42
"""Share of the radius inside which no text runs along the border."""
_BETWEEN, _FADED = 0.12, 0.3
"""Share of the directions with ink that ends the border, and that ends the text, the latter as share of its most."""
_MAX_BORDER: Final = 14
"""Steps, of 60 from the edge to _INNERMOST, in which the border ends."""
_BELOW, _BESIDE = 0.04, 0.34
"""Shares of the circle from below: where a row of text shows that reaches into the band, and within which it ends."""
_MIN_GAP: Final = 6
"""Pixels of the unrolled line between that row and the text along the border."""
_MIN_CONFIDENCE: Final = 0.55
_CERTAIN: Final = 0.97
"""Lines under a stamp that are read with this confidence are not read again."""


@dataclass(frozen=True, slots=True)
class StampParts:
    """The images of a stamp that have a line of text each, top to bottom, black on white."""

    area: StampArea
    images: tuple[RgbArray, ...]


def parts_of(rgb: RgbArray, area: StampArea) -> StampParts:
    """The lines of a stamp: of round and oval ones the text along the border, then the rows inside. Blocking."""
    height, width = rgb.shape[:2]
    left, top = max(0, int(area.box[0])), max(0, int(area.box[1]))
    right, bottom = min(width, round(area.box[2])), min(height, round(area.box[3]))
    ink = _ink(rgb[top:bottom, left:right], area.colour)
    if min(ink.shape) < 16:
        return StampParts(area, ())
    if area.shape == "rectangle":
        edge = max(3, round(0.1 * min(ink.shape)))
        return StampParts(area, tuple(_rows(ink[edge:-edge, edge:-edge])))
    outer, inner = _band(ink)
    line, inside = _unrolled(ink, outer, inner)
    return StampParts(area, tuple(image for image in (line, *_rows(inside)) if image.size))


def _ink(rgb: RgbArray, colour: str) -> FloatArray:
    """How much ink of the stamp's colour there is, from 0 to 1: none in black print."""
    red, green, blue = (rgb[:, :, channel].astype(np.float32) for channel in range(3))
    excess = red - (green + blue) / 2 if colour == "red" else blue - (red + green) / 2
    most = max(40.0, float(np.percentile(excess, 99)))
    return np.clip(excess / most, 0, 1).astype(np.float32)


def _directions(shape: tuple[int, ...], steps: int) -> FloatArray:
    """Directions, clockwise from below, in equal steps along an ellipse that fills the box; beyond 2 pi at the end."""
    fine = np.pi / 2 + np.linspace(0, 2 * np.pi, 721)
    x, y = shape[1] / 2 * np.cos(fine), shape[0] / 2 * np.sin(fine)
    length = np.concatenate(([0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))))
    return np.interp(np.linspace(0, length[-1], steps, endpoint=False), length, fine).astype(np.float32)


def _polar(ink: FloatArray, shares: FloatArray, steps: int) -> FloatArray:
    """The ink by distance from the border (rows; shares of the shorter radius) and direction (columns, as
    `_directions`).
    """
    height, width = ink.shape
    angles = _directions(ink.shape, steps)
    gaps = (1 - shares[:, None]) * min(height, width) / 2
    x = (width - 1) / 2 + (width / 2 - gaps) * np.cos(angles)[None]
    y = (height - 1) / 2 + (height / 2 - gaps) * np.sin(angles)[None]
    return np.asarray(cv2.remap(ink, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR), np.float32)


def _band(ink: FloatArray) -> tuple[float, float]:
    """Outer and inner share of the radius between which the text along the border stands."""
    shares = np.linspace(1.0, _INNERMOST, 60, dtype=np.float32)
    covered = (_polar(ink, shares, 360) > 0.4).mean(axis=1)
    at = border = int(np.argmax(covered[:20]))
    while at < border + _MAX_BORDER and covered[at] > _BETWEEN:
        at += 1
    if covered[at] > _BETWEEN:  # the letters touch the border
        at = border + int(np.argmin(covered[border : border + _MAX_BORDER]))
    outer = at
    covered[: outer + 1] = 0
    usual = np.convolve(covered, np.ones(5) / 5, mode="same")
    top = outer + int(np.argmax(usual[outer : outer + 20]))
    at = top
    while at < len(shares) - 1 and usual[at] > _FADED * usual[top]:
        at += 1
    return float(shares[outer]), float(shares[min(at + 1, len(shares) - 1)])


def _unrolled(ink: FloatArray, outer: float, inner: float) -> tuple[RgbArray, FloatArray]:
    """The text between two shares of the radius as a line, and the ink without it."""
    radius = (ink.shape[0] + ink.shape[1]) / 4
    tall = max(1.0, (outer - inner) * radius)
    steps = max(HEIGHT, round(2 * np.pi * radius * (outer + inner) / 2 * HEIGHT / tall))
    strip = _polar(ink, np.linspace(outer, inner, HEIGHT, dtype=np.float32), steps)
    filled = np.asarray((strip > 0.4).any(axis=0), np.bool_)
    if not filled.any():
        return np.zeros((0, 0, 3), np.uint8), _inside(ink, outer, inner, (0.0, 0.0))
    start, end = _span(filled)
    line = np.roll(strip, -start, axis=1)[:, : max(1, end - start)]
    rest = _inside(ink, outer, inner, (start / steps, end / steps))
    return _on_paper(np.pad(line, ((4, 4), (HEIGHT // 3, HEIGHT // 3)))), rest


def _span(filled: NDArray[np.bool_]) -> tuple[int, int]:
    """Returns where the text along the border begins and ends, clockwise from below; the end may be beyond the whole.

    What stands below, between two gaps, is a row of text that reaches into the band.
    """
    steps = len(filled)
    near, side = round(_BELOW * steps), round(_BESIDE * steps)
    if filled[:near].any() or filled[-near:].any():
        (begun, first), (from_end, last) = _largest_gap(~filled[:side]), _largest_gap(~filled[::-1][:side])
        if min(first, last) >= _MIN_GAP:
            return begun + first, steps - from_end - last
    start, gap = _largest_gap(~np.concatenate((filled, filled)))
    start = (start + gap) % steps
    return start, start + steps - gap


def _largest_gap(free: NDArray[np.bool_]) -> tuple[int, int]:
    """Start and length of the longest run of `free` places."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], free.astype(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    at = int(np.argmax(lengths))
    return int(edges[::2][at]), int(lengths[at])


def _inside(ink: FloatArray, outer: float, inner: float, span: tuple[float, float]) -> FloatArray:
    """The ink without the border and the text along it. `span`: of that text, as shares of the way around."""
    height, width = ink.shape
    y, x = np.ogrid[:height, :width]
    across, down = x - (width - 1) / 2, y - (height - 1) / 2
    relative = np.maximum(np.hypot(across / (width / 2), down / (height / 2)), 1e-6)
    gap = np.hypot(across, down) * (1 / relative - 1)
    share = 1 - gap / (min(height, width) / 2)
    directions = _directions(ink.shape, 720)
    angle = (np.arctan2(down / height, across / width) - np.pi / 2) % (2 * np.pi) + np.pi / 2
    way = np.searchsorted(directions, angle) / 720
    within = (way - span[0]) % 1.0 <= span[1] - span[0]
    return np.where(share < np.where(within, inner, outer), ink, 0).astype(np.float32)


def _rows(ink: FloatArray) -> list[RgbArray]:
    """The rows of text in a part, top to bottom; not more than four."""
    filled = (ink > 0.4).sum(axis=1) > 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], filled.astype(np.int8), [0]))))
    rows = []
    for top, bottom in zip(edges[::2], edges[1::2], strict=True):
        columns = np.flatnonzero((ink[top:bottom] > 0.4).any(axis=0))
        wide = columns[-1] + 1 - columns[0] if len(columns) else 0
        if bottom - top < 8 or wide < 1.5 * (bottom - top):
            continue  # specks, and the star
        row = ink[top:bottom, columns[0] : columns[-1] + 1]
        margin = max(2, (bottom - top) // 6)
        padded = np.pad(row, ((margin, margin), (2 * margin, 2 * margin)))
        size = (max(1, round(padded.shape[1] * HEIGHT / padded.shape[0])), HEIGHT)
        rows.append(_on_paper(np.asarray(cv2.resize(padded, size, interpolation=cv2.INTER_LINEAR), np.float32)))
    return rows[:4]


def _on_paper(ink: FloatArray) -> RgbArray:
    grey = (255 - 255 * ink).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def block_of(parts: StampParts, read: Sequence[RecognizedText], scale: float) -> Block:
    """The stamp as a block, in pixels of the page. `read`: its lines."""
    legible = [each for each in read if any(map(str.isalnum, each.text)) and each.confidence >= _MIN_CONFIDENCE]
    length = sum(len(each.text) for each in legible)
    confidence = sum(each.confidence * len(each.text) for each in legible) / length if length else None
    text = "\n".join(each.text.strip() for each in legible)
    left, top, right, bottom = (side * scale for side in parts.area.box)
    stamp = Stamp(text, parts.area.shape, parts.area.colour, confidence)
    return Block(BlockType.STAMP, (left, top, right, bottom), (), "", "", stamp=stamp)


def without_ink(rgb: RgbArray, areas: Sequence[StampArea]) -> RgbArray:
    """The page without the ink of these stamps: its own colour is as bright as paper in the channel of that colour."""
    clean = rgb.copy()
    for area in areas:
        left, top, right, bottom = (max(0, round(side)) for side in area.box)
        channel = clean[top:bottom, left:right, 0 if area.colour == "red" else 2]
        clean[top:bottom, left:right] = channel[:, :, None]
    return clean


def lines_under(read: Sequence[tuple[LineCrop, RecognizedText]], areas: Sequence[StampArea]) -> list[int]:
    """Numbers of the lines that stand under a stamp and were not read with certainty."""
    return [
        at
        for at, (item, reading) in enumerate(read)
        if reading.confidence < _CERTAIN and any(_meet(item.quad, area) for area in areas)
    ]


def crops_of(rgb: RgbArray, quads: Sequence[FloatArray]) -> list[RgbArray]:
    """The pixels of lines, with their margin."""
    return [crop(rgb, with_margin(quad)) for quad in quads]


def _meet(quad: FloatArray, area: StampArea) -> bool:
    (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
    return bool(left < area.box[2] and right > area.box[0] and top < area.box[3] and bottom > area.box[1])
