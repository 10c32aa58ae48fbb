"""Finds text by its ink: outside all regions, because a layout model misses some and only text in a region is read; and
outside all lines that were read, because such text must not be lost in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import Region
from inkgate.layout.regions.ink_clusters import InkCluster, clusters_outside
from inkgate.page import RgbArray
from inkgate_client.types import BlockType, Box, Line, ReviewNote, ReviewReason, Size

Mask = NDArray[np.uint8]

LONGEST_SIDE = 1000
"""Pages are shrunk to this size; letters are then blobs of a few pixels."""
NEIGHBOURHOOD, CONTRAST = 31, 25
"""Ink is darker than the mean of this many pixels around by this many levels of 255 (Bradley and Roth's threshold)."""
MARGIN = 4
"""Ink this near to a region, in pixels, belongs to it."""
LETTER_GAP, ROW_GAP = 21, 13
"""Ink nearer to each other than this, in pixels, is one block."""
MIN_READABLE_WIDTH, MIN_READABLE_HEIGHT = 16, 7
"""Smaller blocks, in pixels, contain nothing readable."""
MIN_READABLE_LETTERS = 3
"""Blocks of fewer separate blobs of ink are marks, rules or dirt."""
MAX_INK = 0.5
"""Blocks with a larger share of ink are pictures."""
LARGEST_LETTER = 0.15
"""A blob longer than this share of the page is a rule, a frame or a shadow, not a letter."""
MAX_BLOCKS = 40
BESIDE = 0.03
"""A box this near to a region, in shares of the page's width, may be the end of its lines."""
OVERHANG = 0.3
"""Share of a box's height that may extend above or below the region it belongs to."""
OVERLOOKED = 0.3
"""Confidence of a region found here: less than of any from a layout model."""
MIN_LETTERS = 8
"""Minimum letters beside text that was read: fewer are not reported as writing, but are a logo, a page number, a
scribble."""
MIN_WRITING_CONTRAST, MAX_WRITING_PAPER, MIN_CONTRAST_TO_PAPER = 30.0, 45.0, 1.5
"""Writing has this contrast in grey levels, its paper no larger spread, and more contrast than spread; photographs
don't have that."""
MIN_WRITING_FILL, MAX_WRITING_FILL = 0.05, 0.6
MIN_EVEN, MIN_ALIGNED = 0.4, 0.6
"""Shares of a cluster's blobs that are of one size and stand in rows; those of drawings don't."""
MIN_BARS, MAX_STRIPS = 5, 0.7
"""At most this share of blobs, of so many and more, is narrow and high as in bar codes; and at most this share is flat
and full as in rows of dashes. Alone, these may be words in small print whose letters touch.
"""
MIN_DASHES, MAX_FRAME_FILL, MAX_LETTERS_SHARE, MIN_FRAME_SIDE = 0.4, 0.1, 0.3, 3
"""Corners of dashed frames: share of blobs that are dashes, share of ink in the box, share of it that squares of the
blobs' size cover, and its shorter side in blobs. Words in small print are dashes, too, but fill their box."""
MAX_STROKE, MAX_LONE_STROKE = 0.45, 0.36
"""Widest stroke as a share of the letter; dots and dirt are all stroke."""
MIN_SIDE = 0.6
"""Shortest side of a cluster as a share of its letters' size."""
MAX_MARKS = 3
"""Characters of a page that may be marks."""
MIN_HEIGHT = 0.005
"""Letters on a page without text are reported from this size on, and beside text what is as high as this, in shares of
the page's longer side: digits of 6 points on A4."""
WRITING_GAP = 1.5
"""Clusters nearer to each other than this, in letters, are one region."""


def text_outside(pixels: RgbArray, boxes: Sequence[Box]) -> list[Box]:
    """Blocks of likely text outside all `boxes`, top to bottom, in pixels of the image. Blocking; pure."""
    height, width = pixels.shape[:2]
    factor = max(1.0, max(height, width) / LONGEST_SIDE)
    size = (max(1, round(width / factor)), max(1, round(height / factor)))
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    if factor > 1:
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    letters = _letters(_ink(grey.astype(np.uint8, copy=False)))
    for left, top, right, bottom in boxes:
        x, y = max(0, int(left / factor) - MARGIN), max(0, int(top / factor) - MARGIN)
        letters[y : int(bottom / factor) + MARGIN + 1, x : int(right / factor) + MARGIN + 1] = 0
    found = [_scaled(box, factor, width, height) for box in _blocks(letters)]
    return sorted(found, key=lambda box: (box[1], box[0]))


def writing_outside(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> list[Box]:
    """Regions outside all lines that look like writing, top to bottom, in page pixels. Blocking; pure.

    Args:
        rgb: the upright page, (H, W, 3) uint8.
        scale: page pixels per pixel of `rgb`.
        lines: all that was read or is explained otherwise, in page pixels. On a page without any, one letter is
            writing; beside others, MIN_LETTERS and more are.
    """
    return likely_writing(rgb, scale, lines)[0]


def likely_writing(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> tuple[list[Box], list[Box]]:
    """The regions of `writing_outside`, and those of fewer letters, such as a sum or a stamp, which may be something
    else.
    """
    quads = np.array([line.quad for line in lines], np.float32).reshape(-1, 4, 2) / scale
    clusters = clusters_outside(rgb, quads)
    found = writing_among(clusters, max(rgb.shape[:2]), alone=not lines)
    known = {id(cluster) for cluster in found}
    short = [
        cluster for cluster in writing_among(clusters, max(rgb.shape[:2]), alone=not lines, least=MIN_READABLE_LETTERS)
        if id(cluster) not in known
    ]  # fmt: skip
    sure, unsure = (
        sorted((_times(region.box, scale) for region in cluster_regions(part)), key=lambda box: (box[1], box[0]))
        for part in (found, short)
    )
    return sure, unsure


def ink_notes(rgb: RgbArray, scale: float, lines: Sequence[Line]) -> tuple[ReviewNote, ...]:
    """A note for each region of `writing_outside`; and one if a few characters were read where nothing is written: of
    staples, punched holes, photographs.
    """
    unread = tuple(ReviewNote(ReviewReason.INK_WITHOUT_TEXT, box=box) for box in writing_outside(rgb, scale, lines))
    if is_little(lines) and not writing_outside(rgb, scale, []):
        return (*unread, ReviewNote(ReviewReason.UNCERTAIN_TEXT, "it may be a mark, not text"))
    return unread


def is_little(lines: Sequence[Line]) -> bool:
    """Whether so little was read on a page that it may be no text."""
    return 0 < sum(len(line.text) for line in lines) <= MAX_MARKS


def writing_among(
    clusters: Sequence[InkCluster], longest_side: int, *, alone: bool, least: int = MIN_LETTERS
) -> list[InkCluster]:
    """Returns those of the clusters of a page that look like writing of `least` letters. `alone`: single
    letters, too.
    """
    lowest = MIN_HEIGHT * longest_side
    found = [cluster for cluster in clusters if _is_writing(cluster, alone=alone, least=least)]
    return [cluster for cluster in found if (cluster.size if alone else _shorter_side(cluster.box)) >= lowest]


def _is_writing(cluster: InkCluster, *, alone: bool, least: int) -> bool:
    if cluster.paper > MAX_WRITING_PAPER or cluster.fill < MIN_WRITING_FILL:
        return False
    if cluster.contrast < max(MIN_WRITING_CONTRAST, MIN_CONTRAST_TO_PAPER * cluster.paper):
        return False
    if alone and cluster.blobs < MIN_READABLE_LETTERS:
        return not cluster.straight and cluster.stroke <= MAX_LONE_STROKE
    striped = cluster.blobs >= MIN_BARS and cluster.bars > MAX_STRIPS
    striped |= not alone and cluster.dashes > MAX_STRIPS
    if (
        striped
        or _is_frame(cluster)
        or not cluster.rows
        or cluster.fill > MAX_WRITING_FILL
        or not (alone or cluster.letters >= least)
    ):
        return False
    of_letters = cluster.stroke <= MAX_STROKE and _shorter_side(cluster.box) >= MIN_SIDE * cluster.size
    return of_letters and cluster.even >= MIN_EVEN and cluster.aligned >= MIN_ALIGNED


def _is_frame(cluster: InkCluster) -> bool:
    """Whether the blobs are dashes on two sides of a box that is empty otherwise."""
    left, top, right, bottom = cluster.box
    covered = cluster.blobs * cluster.size**2 / max((right - left) * (bottom - top), 1.0)
    large = _shorter_side(cluster.box) >= MIN_FRAME_SIDE * cluster.size
    sparse = cluster.fill < MAX_FRAME_FILL and covered < MAX_LETTERS_SHARE
    return large and sparse and cluster.dashes > MIN_DASHES


def _shorter_side(box: Box) -> float:
    return min(box[2] - box[0], box[3] - box[1])


@dataclass(frozen=True, slots=True)
class InkRegion:
    """Clusters that nearly touch: a line or a paragraph. `size`: of its largest letters; lengths as of the clusters."""

    box: Box
    size: float
    letters: float


def cluster_regions(clusters: Sequence[InkCluster]) -> list[InkRegion]:
    """The clusters, those that nearly touch as one, in no order."""
    open_regions = [InkRegion(cluster.box, cluster.size, cluster.letters) for cluster in clusters]
    found: list[InkRegion] = []
    while open_regions:
        region = open_regions.pop()
        for i, other in enumerate(found):
            size = max(region.size, other.size)
            reach = WRITING_GAP * size
            left, top, right, bottom = region.box
            if _meet((left - reach, top - reach, right + reach, bottom + reach), other.box):
                del found[i]
                open_regions.append(InkRegion(_united(region.box, other.box), size, region.letters + other.letters))
                break
        else:
            found.append(region)
    return found


def _times(box: Box, factor: float) -> Box:
    left, top, right, bottom = box
    return (left * factor, top * factor, right * factor, bottom * factor)


def merge_boxes(regions: Sequence[Region], boxes: Sequence[Box], size: Size) -> list[Region]:
    """The regions and the boxes, which become regions of text with low confidence.

    A box beside a region, within its height, is the end of its lines: then the region is extended by it instead, unless
    it would overlap another one.
    """
    found = list(regions)
    reach = BESIDE * size.width
    for box in boxes:
        for i, region in enumerate(found):
            wider = _united(region.box, box)
            taller = (wider[3] - wider[1]) - (region.box[3] - region.box[1])
            far = (wider[2] - wider[0]) - (region.box[2] - region.box[0]) > reach + box[2] - box[0]
            others = [other.box for other in found if other is not region and other.type is not BlockType.FIGURE]
            if far or taller > OVERHANG * (box[3] - box[1]) or any(_meet(wider, other) for other in others):
                continue
            found[i] = replace(region, box=wider)
            break
        else:
            found.append(Region(BlockType.TEXT, box, OVERLOOKED))
    return found


def _united(a: Box, b: Box) -> Box:
    return (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _ink(grey: Mask) -> Mask:
    """1 where there is ink, 0 elsewhere."""
    ink = cv2.adaptiveThreshold(grey, 1, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, NEIGHBOURHOOD, CONTRAST)
    return np.asarray(ink, np.uint8)


def _letters(ink: Mask) -> Mask:
    """The blobs of ink that may be letters, as uint8: 255 where there is one. Each has its own number."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    longest = LARGEST_LETTER * max(ink.shape)
    sides = np.maximum(stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT])
    selected = (sides <= longest) & (stats[:, cv2.CC_STAT_AREA] > 1)
    selected[0] = False
    return np.where(selected[labels], np.uint8(255), np.uint8(0)).astype(np.uint8)


def _blocks(letters: Mask) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of the blocks that have enough letters, the largest ones."""
    near = cv2.dilate(letters, cv2.getStructuringElement(cv2.MORPH_RECT, (LETTER_GAP, ROW_GAP)))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(np.asarray(near, np.uint8), connectivity=8)
    _, _, blobs, centres = cv2.connectedComponentsWithStats(letters, connectivity=8)
    places = centres[1:].round().astype(int)
    owners = labels[places[:, 1].clip(0, labels.shape[0] - 1), places[:, 0].clip(0, labels.shape[1] - 1)]
    blob_count = np.bincount(owners, minlength=count)
    ink = np.bincount(owners, weights=blobs[1:, cv2.CC_STAT_AREA].astype(float), minlength=count)
    found = []
    for number in range(1, count):
        left, top, wide, high = (int(value) for value in stats[number, :4])
        # The box of the letters themselves, without the effect of dilation.
        left, top = left + LETTER_GAP // 2, top + ROW_GAP // 2
        wide, high = wide - LETTER_GAP + 1, high - ROW_GAP + 1
        readable = (
            wide >= MIN_READABLE_WIDTH and high >= MIN_READABLE_HEIGHT and blob_count[number] >= MIN_READABLE_LETTERS
        )
        if readable and ink[number] <= MAX_INK * wide * high:
            found.append((left, top, left + wide, top + high))
    return sorted(found, key=lambda box: (box[0] - box[2]) * (box[3] - box[1]))[:MAX_BLOCKS]


def _scaled(box: tuple[int, int, int, int], factor: float, width: int, height: int) -> Box:
    left, top, right, bottom = (value * factor for value in box)
    return (
        max(0.0, left - factor),
        max(0.0, top - factor),
        min(float(width), right + factor),
        min(height, bottom + factor),
    )
