"""What a character looks like: the ink of a crop, and a small network that knows shapes.

The recognition model learned from lines of text and guesses what is usual: it reads a lone £ as f, ] as 1 and Å as A
with confidence 0.9 and more. The network (two layers; 20 x 20 grey values and the proportions) knows nothing but
shapes, drawn in 128 faces (training/lone_glyphs.py). Where several characters have the same shape, as I, l and |, its
probability is shared among them. See brief.py for what follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np

from inkgate.page import RgbArray
from inkgate.runtimes import models
from inkgate.runtimes.base import FloatArray

SIDE = 20
"""Pixels of the square into which the ink is scaled."""
_FAINT = 24
"""Least contrast of ink to paper, of 255."""
INK = 0.4
"""Part of the ink's contrast from which a pixel is ink."""
_RULE = 0.75
"""Part of a crop's width or height from which ink at its edge is a rule of a table."""
_SLIVER = 0.1
"""Part of it below which ink at its edge belongs to what stands beside it."""


def ink_of(pixels: RgbArray) -> FloatArray | None:
    """The ink (h, w) in [0, 1] of a crop, without paper around it and rules at its edges. None if there is none."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    paper = float(np.median(grey))
    contrast = np.abs(grey.astype(np.float32) - paper)
    most = float(contrast.max())
    if most < _FAINT:
        return None
    contrast /= most
    height, width = grey.shape
    _, labels, boxes, _ = cv2.connectedComponentsWithStats((contrast > INK).astype(np.uint8))
    kept = [number for number in range(1, len(boxes)) if not _is_rule(boxes[number].tolist(), width, height)]
    if not kept:
        return None
    left, top = boxes[kept, 0].min(), boxes[kept, 1].min()
    right = (boxes[kept, 0] + boxes[kept, 2]).max()
    bottom = (boxes[kept, 1] + boxes[kept, 3]).max()
    if len(kept) < len(boxes) - 1:
        others = np.isin(labels, [number for number in range(1, len(boxes)) if number not in kept])
        contrast[cv2.dilate(others.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0] = 0
    return np.asarray(contrast[top:bottom, left:right], np.float32)


def _is_rule(box: list[int], width: int, height: int) -> bool:
    """Whether a component (left, top, width, height, area) lies at the edge of a crop, or is a speck of it."""
    left, top, across, down, area = box
    if area < 3:
        return True
    edges = left == 0, left + across == width, top == 0, top + down == height
    if (edges[0] and edges[1]) or (edges[2] and edges[3]):
        return True
    flat = (edges[2] or edges[3]) and (across > _RULE * width or down < _SLIVER * height)
    steep = (edges[0] or edges[1]) and (down > _RULE * height or across < _SLIVER * width)
    return flat or steep


def features_of(ink: FloatArray) -> FloatArray:
    """(402,): the ink scaled into a square, and its proportions."""
    height, width = ink.shape
    scale = SIDE / max(height, width)
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    small = cv2.resize(ink, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.zeros((SIDE, SIDE), np.float32)
    left, top = (SIDE - size[0]) // 2, (SIDE - size[1]) // 2
    square[top : top + size[1], left : left + size[0]] = small
    proportion = float(np.log(width / height))
    return np.concatenate([square.ravel(), np.array([proportion, float(ink.mean())], np.float32)])


@cache
def _network() -> tuple[tuple[FloatArray, ...], dict[str, int]]:
    with np.load(models.lone_glyphs()) as file:
        layers = tuple(file[name].astype(np.float32) for name in ("w1", "b1", "w2", "b2"))
        return layers, {character: place for place, character in enumerate(str(file["characters"]))}


def characters() -> dict[str, int]:
    """The characters that the network knows, and their places in its probabilities."""
    return _network()[1]


def probabilities_of(inks: Sequence[FloatArray]) -> FloatArray:
    """Returns for each ink of one character the probability of each of `characters()`: (N, C)."""
    (w1, b1, w2, b2), known = _network()
    if not inks:
        return np.zeros((0, len(known)), np.float32)
    hidden = np.maximum(np.stack([features_of(ink) for ink in inks]) @ w1 + b1, 0)
    scores = hidden @ w2 + b2
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True), np.float32)


@cache
def alphabet() -> tuple[str, ...]:
    """The characters that the network knows, in the order of its probabilities."""
    return tuple(characters())
