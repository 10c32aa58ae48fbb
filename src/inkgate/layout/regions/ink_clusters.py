"""Clusters of ink outside all lines of a page, with what tells writing from dirt and pictures: for the detector, which
looks at them again, and for layout/regions/ink.py, which reports what remains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.page import RgbArray
from inkgate_client.types import Box

Mask = NDArray[np.uint8]
Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

_LONGEST_SIDE = 1600
"""Pages are shrunk to this size: letters of 8 points on A4 are then 8 pixels high."""
_NEIGHBOURHOOD = 41
"""Ink is darker than the mean of this many pixels around (Bradley and Roth's threshold); on a dark ground, lighter."""
_MIN_CONTRAST, _NOISE = 12.0, 5.0
"""Minimum contrast of ink: by how many levels of 255, and by how many times the noise of the page."""
_NOISY, _SMOOTHED = 1.0, 0.4
"""Pages with more noise, in levels, are smoothed, which leaves this share of it."""
_DARK = 100
"""Ground darker than this carries light ink."""
_MIN_SIDE, _MIN_AREA = 5, 7
"""Smaller blobs, in pixels, are dirt."""
_MAX_SIDE = 0.2
"""Blobs longer than this share of the page are rules, frames, shadows and pictures."""
_FLAT, _FLATTEST, _UPRIGHT, _UPRIGHT_SIDE = 8, 16, 20, 40
"""Blobs more than so many times as wide as high are rules: from the first on if they are as full as dashes, since in
small print a word may be one blob. So are blobs so many times as high as wide, and higher than so many pixels."""
_SOLID, _SOLID_SIDE = 0.8, 12
"""Blobs that fill more of their box and are no narrower than so many pixels are punched holes, bullets and squares."""
_DASH, _DASH_FILL = 1.5, 0.6
"""Blobs so many times as wide as high that fill more than this share of their box may be dashes."""
_SPARSE = 0.06
"""Blobs that fill less of their box are scratches and frames."""
_OWN = 0.3
"""A blob belongs to a line if this share of its ink is in the line's box, which is grown by the same share."""
_JOINED = 1.5
"""Letters are no more times as wide as high."""
_BAR = 4
"""Blobs more than so many times as high as wide are bars; among letters, few are."""
_AROUND = 0.4
"""The ground of a cluster is seen this far around it, in its letters."""
_STRAIGHT, _FULL = 0.15, 0.9
"""A stroke's spread across, as a share of its spread along it: less than of any 1 with a serif or a flag. And the share
of its extent that it fills: more than of a word whose letters touch."""
_REACH = 1.3
"""Blobs nearer to each other than this, in sides of the larger one, are one cluster."""
_MAX_RATIO, _MAX_ALIGNED_RATIO, _ALIGNED = 4.0, 2.5, 0.45
"""Blobs of one cluster differ by no more than this in size; those of a row by no more than that, and overlap by this
share of the smaller one across the row."""
_MANY, _LINES = 10, 2.5
"""Least blobs, and least side in letters, of what may be a code."""
_TURNS = tuple(range(-16, 18, 2))
"""Degrees by which text may be turned. Rows of a code have no gaps at any angle."""
_GAP, _GAPS, _EDGES = 0.2, 0.06, 0.08
"""Ink in the gap between two lines, as a share of the mean; least part of all rows that is in gaps, and part at either
end that doesn't count."""
_MAX_BLOBS, _MAX_NEIGHBOURS = 4000, 400
"""Maximum blobs that are looked at, and maximum between two of one cluster from left to right: a page of dense text has
3,000 to 4,000."""


@dataclass(frozen=True, slots=True)
class InkCluster:
    """Ink that stands close together. Lengths are in pixels of the image.

    Attributes:
        box: around it.
        size: of its larger blobs: of its letters, if it is writing.
        blobs: how many.
        letters: how many letters these may be: in some scripts a blob is a word.
        paper: spread of the grey levels between its strokes: how uneven its ground is.
        contrast: of its strokes with the ground, in grey levels.
        fill: share of ink in the box.
        even: share of the blobs that are about as large as `size`.
        aligned: share of the blobs that have a neighbour of their size in the same row or column.
        bars, dashes: shares of the blobs that are narrow and high, and flat and full.
        stroke: width of its strokes, as a share of `size`.
        straight: it is one or two straight strokes, such as staples.
        rows: whether it has rows or columns with gaps between them, as lines of text have and codes (QR) don't; True of
            few or little ink.
    """

    box: Box
    size: float
    blobs: int
    letters: float
    paper: float
    contrast: float
    fill: float
    even: float
    aligned: float
    bars: float
    dashes: float
    stroke: float
    straight: bool
    rows: bool = True


def clusters_outside(rgb: RgbArray, quads: Floats) -> list[InkCluster]:
    """Clusters of ink outside the lines `quads` (N, 4, 2) of a page (H, W, 3) uint8, in no order. Blocking; pure.

    Rules, dashes, frames, solid marks, dirt and whatever the page's edge cuts are left out.
    Takes about 20 ms of processor time for a page whose ink is all
    in lines.
    """
    grey, factor = _shrunk(rgb)
    ink = _ink(grey)
    blobs, labels = _blobs(ink, _mask_of(quads / factor, grey.shape))
    if not len(blobs):
        return []
    owners, aligned = _owners(blobs)
    view = _Grey(grey, ink, labels, factor)
    return [view.cluster(blobs[owners == owner], aligned[owners == owner]) for owner in np.unique(owners)]


def _shrunk(rgb: RgbArray) -> tuple[Mask, float]:
    """The page in grey, and how many of its pixels are one of that, from 1.0 on."""
    height, width = rgb.shape[:2]
    factor = max(1.0, max(height, width) / _LONGEST_SIDE)
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    if factor > 1:
        size = (max(1, round(width / factor)), max(1, round(height / factor)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return np.asarray(grey, np.uint8), factor


def _ink(grey: Mask) -> Mask:
    """1 where there is ink, 0 elsewhere."""
    around = cv2.blur(grey, (_NEIGHBOURHOOD, _NEIGHBOURHOOD), borderType=cv2.BORDER_REPLICATE)
    smooth = cv2.GaussianBlur(grey, (3, 3), 0)
    differences = cv2.absdiff(grey, smooth)[::5, ::5]
    noise = 1.48 * float(np.median(differences))  # of normally distributed noise, from its median
    if noise > _NOISY:
        grey, noise = np.asarray(smooth, np.uint8), noise * _SMOOTHED
    least = max(_MIN_CONTRAST, _NOISE * noise)
    ink = np.asarray(cv2.subtract(around, grey)) > least
    dark = np.asarray(around) < _DARK
    if dark.any():
        ink = np.where(dark, np.asarray(cv2.subtract(grey, around)) > least, ink)
    return ink.astype(np.uint8)


def _mask_of(quads: Floats, shape: tuple[int, ...]) -> Mask:
    """1 inside the quads, which are grown a little, 0 elsewhere."""
    mask = np.zeros(shape[:2], np.uint8)
    for quad in quads:
        across, down = quad[1] - quad[0], quad[3] - quad[0]
        width, height = max(float(np.linalg.norm(across)), 1e-6), max(float(np.linalg.norm(down)), 1e-6)
        margin = _OWN * min(width, height) + 2
        across, down = across / width * margin, down / height * margin
        grown = quad + np.stack([-across - down, across - down, across + down, down - across])
        cv2.fillConvexPoly(mask, np.round(grown).astype(np.int32), 1)
    return mask


def _blobs(ink: Mask, taken: Mask) -> tuple[Floats, Labels]:
    """Left, top, right, bottom, area and label (N, 6) of the blobs outside the mask that may be letters, left to right;
    and the label of each pixel.
    """
    # OpenCV's default algorithm takes more than twice the time.
    count, labels, stats, _ = cv2.connectedComponentsWithStatsWithAlgorithm(ink, 8, cv2.CV_32S, cv2.CCL_GRANA)
    if count < 2:
        return np.zeros((0, 6), np.float32), np.asarray(labels, np.int32)
    left, top, wide, high, area = stats.T
    inside = area - np.bincount(labels[ink > taken], minlength=count)  # few pixels are outside
    longer, shorter = np.maximum(wide, high), np.minimum(wide, high)
    selected = (
        (longer >= _MIN_SIDE) & (area >= _MIN_AREA) & (longer <= _MAX_SIDE * max(ink.shape)) & (inside < _OWN * area)
    )
    selected &= (wide <= _FLATTEST * high) & ((high <= _UPRIGHT * wide) | (high <= _UPRIGHT_SIDE))
    selected &= (area <= _SOLID * wide * high) | (shorter <= _SOLID_SIDE)
    selected &= (area <= _DASH_FILL * wide * high) | (wide < _FLAT * high)
    selected &= area > _SPARSE * wide * high
    selected &= (left > 0) & (top > 0) & (left + wide < ink.shape[1]) & (top + high < ink.shape[0])
    selected[0] = False
    found = np.stack([left, top, left + wide, top + high, area, np.arange(count)], axis=1)[selected].astype(np.float32)
    if len(found) > _MAX_BLOBS:
        found = found[np.argsort(-found[:, 4], kind="stable")[:_MAX_BLOBS]]
    return found[np.argsort(found[:, 0], kind="stable")], np.asarray(labels, np.int32)


def _owners(blobs: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns for each blob the number of its cluster, and whether it has a neighbour in the same row or column."""
    aligned = np.zeros(len(blobs), np.bool_)
    firsts, seconds = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first, second, in_line in _neighbours(blobs):
        firsts.append(first)
        seconds.append(second)
        aligned[first[in_line]] = aligned[second[in_line]] = True
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    owners = np.arange(len(blobs))
    while True:
        least = np.minimum(owners[first], owners[second])
        joined = owners.copy()
        np.minimum.at(joined, first, least)
        np.minimum.at(joined, second, least)
        joined = joined[joined]
        if (joined == owners).all():
            return owners, aligned
        owners = joined


def _sizes(blobs: Floats) -> Floats:
    """The longer side of each blob, at most 1.5 times its height: joined letters are as large as they are high."""
    wide, high = blobs[:, 2] - blobs[:, 0], blobs[:, 3] - blobs[:, 1]
    return np.asarray(np.maximum(high, np.minimum(wide, _JOINED * high)), np.float32)


def _neighbours(blobs: Floats) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Pairs of neighbours (their indexes), and whether each pair is of one row or column."""
    left, top, right, bottom = blobs[:, :4].T
    wide, high = right - left, bottom - top
    sides = _sizes(blobs)
    for step in range(1, min(len(blobs), _MAX_NEIGHBOURS)):
        a, b = slice(None, -step), slice(step, None)
        larger, smaller = np.maximum(sides[a], sides[b]), np.minimum(sides[a], sides[b])
        across = np.minimum(right[a], right[b]) - np.maximum(left[a], left[b])
        down = np.minimum(bottom[a], bottom[b]) - np.maximum(top[a], top[b])
        near = (np.minimum(across, down) >= -_REACH * larger) & (larger <= _MAX_RATIO * smaller)
        first = np.flatnonzero(near)
        second = first + step
        row = down[near] >= _ALIGNED * np.minimum(high[first], high[second])
        column = across[near] >= _ALIGNED * np.minimum(wide[first], wide[second])
        yield first, second, (row | column) & (larger[near] <= _MAX_ALIGNED_RATIO * smaller[near])


@dataclass(frozen=True, slots=True)
class _Grey:
    """A page in grey, its ink, the labels of its blobs, and how many pixels of the page are one of these."""

    grey: Mask
    ink: Mask
    labels: Labels
    factor: float

    def cluster(self, blobs: Floats, aligned: NDArray[np.bool_]) -> InkCluster:
        """What is known of some blobs (N, 6)."""
        left, top = (int(side) for side in blobs[:, :2].min(axis=0))
        right, bottom = (int(side) for side in blobs[:, 2:4].max(axis=0))
        sides, wide, high = _sizes(blobs), blobs[:, 2] - blobs[:, 0], blobs[:, 3] - blobs[:, 1]
        size = float(np.percentile(sides, 75)) if len(blobs) > 2 else float(sides.max())
        ink, square = self.ink[top:bottom, left:right], np.ones((3, 3), np.uint8)
        strokes = self.grey[top:bottom, left:right][ink > 0]
        margin = 2 + int(_AROUND * size)
        around = np.s_[max(0, top - margin) : bottom + margin, max(0, left - margin) : right + margin]
        ground = self.grey[around][cv2.dilate(self.ink[around], square) == 0]
        edge = int(ink.sum()) - int(cv2.erode(ink, square, borderValue=0).sum())
        darkest, middle, lightest = np.percentile(ground, (10, 50, 90)) if len(ground) else (0.0, 0.0, 255.0)
        bars = high > _BAR * wide
        dashes = (wide > _DASH * high) & (blobs[:, 4] > _DASH_FILL * wide * high)
        return InkCluster(
            box=(left * self.factor, top * self.factor, right * self.factor, bottom * self.factor),
            size=size * self.factor,
            blobs=len(blobs),
            letters=float(np.maximum(1.0, wide / high).sum()),
            paper=float(lightest - darkest),
            contrast=abs(float(middle) - float(np.percentile(strokes, 30 if middle > _DARK else 70))),
            fill=float(blobs[:, 4].sum()) / max(1, ink.size),
            even=float(((sides >= 0.4 * size) & (sides <= 1.7 * size)).mean()),
            aligned=float(aligned.mean()),
            bars=float(bars.mean()),
            dashes=float(dashes.mean()),
            stroke=2 * float(ink.sum()) / max(1, edge) / size,
            straight=len(blobs) <= 2 and all(map(self._is_straight, blobs)),
            rows=len(blobs) < _MANY or min(ink.shape) < _LINES * size or _has_rows(ink),
        )

    def _is_straight(self, blob: Floats) -> bool:
        """Whether a blob (6,) is a straight stroke, whatever its direction: by the moments of its ink."""
        left, top, right, bottom, _, label = (int(value) for value in blob)
        places = np.argwhere(self.labels[top:bottom, left:right] == label).astype(np.float64)
        across, along = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(places.T)), 1 / 12))
        full = len(places) / (12 * across * along)  # 1 for a rectangle in any direction
        return bool(across < _STRAIGHT * along and full > _FULL)


def _has_rows(ink: Mask) -> bool:
    """Whether the ink has rows or columns with gaps between them, at some angle."""
    high, wide = ink.shape
    middle = (wide / 2, high / 2)
    for turn in _TURNS:
        level = cv2.warpAffine(ink * 255, cv2.getRotationMatrix2D(middle, turn, 1.0), (wide, high))
        for axis, across in ((1, wide), (0, high)):
            edge = round(_EDGES * across) + 1
            inner = level[:, edge:-edge] if axis else level[edge:-edge]
            profile = inner.mean(axis=axis)
            margin = round((_EDGES + abs(np.sin(np.radians(turn))) / 2) * len(profile))
            profile = profile[margin : len(profile) - margin]
            if len(profile) and (profile < _GAP * profile.mean()).mean() > _GAPS:
                return True
    return False


def quads_of(boxes: Sequence[Box]) -> Floats:
    """The boxes as quads (N, 4, 2), clockwise from the top left."""
    corners = [((left, top), (right, top), (right, bottom), (left, bottom)) for left, top, right, bottom in boxes]
    return np.array(corners, np.float32).reshape(-1, 4, 2)
