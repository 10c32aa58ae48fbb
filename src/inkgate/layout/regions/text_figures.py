"""Figures that are none: forms, letterheads and boxes of text that the layout model takes for figures.

What the model calls a figure is one if it shows something beside text. So its pixels are looked at: what is left
without its words and drawn lines. Labels of a chart are no text.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import measure
from inkgate.layout.regions.figure_text import is_label_text
from inkgate.layout.regions.figures import OF_FIGURE
from inkgate.page import RgbArray
from inkgate_client.coordinates import holds_middle
from inkgate_client.types import BlockType, Box, Line

MIN_WORDS = 8
"""A region with fewer words may be a logo or a photograph with a sign."""
MAX_PICTURE = 0.16
"""Maximum share of a text's region with other ink: shaded cells, a logo. On 151 generated documents, 107
regions that are text have at most 0.15, and photographs 0.3 to 0.9.
"""
NEAR = 3.0
"""A figure's caption is at most this far above or below it, in heights of the caption's line."""
_SIDE = 800
"""Longest side of the page on which ink is sought, in pixels."""
_CONTRAST = 40
"""Ink differs from the paper by this much, of 255."""
_THICK = 3
"""Drawn lines are thinner than this, in these pixels."""
_MARGIN = 0.3
"""Ink this near to a line of text, in its heights, belongs to it: underlines, and what a detector left out."""
MaskArray = NDArray[np.uint8]


def without_text(regions: Sequence[Region], rgb: RgbArray, scale: float, lines: Sequence[Line]) -> list[Region]:
    """The regions without those figures that are text. Blocking; pure.

    Args:
        regions: in pixels of the page.
        rgb: its pixels.
        scale: page pixels per pixel of `rgb`.
        lines: of the page, where their ink is, in page pixels.
    """
    doubtful = [region for region in regions if region.type is BlockType.FIGURE]
    held = {id(region): [line for line in lines if holds_middle(region.box, line.box)] for region in doubtful}
    doubtful = [region for region in doubtful if _may_be_text(region, held[id(region)], lines)]
    if not doubtful:
        return list(regions)
    ink, factor = _other_ink(rgb, scale, lines)
    dropped = {id(region) for region in doubtful if _share(ink, region.box, factor) <= MAX_PICTURE}
    return [region for region in regions if id(region) not in dropped]


def _may_be_text(region: Region, held: Sequence[Line], lines: Sequence[Line]) -> bool:
    words = sum(max(len(line.words), len(line.text.split())) for line in held)
    if region.label or words < MIN_WORDS or any(_is_caption_of(region, line) for line in lines):
        return False
    return not is_label_text(measure(held).pieces, region, has_caption=False)


def _is_caption_of(region: Region, line: Line) -> bool:
    """Whether the line begins a numbered caption at the region's upper or lower edge: it may be a drawing."""
    left, top, right, bottom = line.box
    reach = NEAR * (bottom - top)
    is_across = left < region.box[2] and right > region.box[0]
    is_near = any(edge - reach <= (top + bottom) / 2 <= edge + reach for edge in (region.box[1], region.box[3]))
    return is_across and is_near and bool(OF_FIGURE.match(line.text))


def _other_ink(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> tuple[MaskArray, float]:
    """The page's ink without lines of text and drawn lines: (H, W), and its pixels per page pixel."""
    height, width = rgb.shape[:2]
    shrink = min(1.0, _SIDE / max(height, width))
    size = (max(1, round(width * shrink)), max(1, round(height * shrink)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    seen = np.cumsum([cv2.calcHist([small], [channel], None, [256], [0, 256]).ravel() for channel in range(3)], axis=1)
    half = size[0] * size[1] / 2
    paper = ((seen < half).sum(axis=1) + (seen <= half).sum(axis=1)) // 2  # the median
    ink = (cv2.inRange(small, paper - _CONTRAST, paper + _CONTRAST) == 0).astype(np.uint8)
    factor = shrink / scale
    for line in lines:
        left, top, right, bottom = line.box
        margin = _MARGIN * (bottom - top)
        a, b, c, d = (side * factor for side in (left - margin, top - margin, right + margin, bottom + margin))
        ink[max(int(b), 0) : max(int(np.ceil(d)), 0), max(int(a), 0) : max(int(np.ceil(c)), 0)] = 0
    return np.asarray(cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((_THICK, _THICK), np.uint8)), np.uint8), factor


def _share(ink: MaskArray, box: Box, factor: float) -> float:
    left, top, right, bottom = (max(round(side * factor), 0) for side in box)
    part = ink[top:bottom, left:right]
    return float(part.mean()) if part.size else 0.0
