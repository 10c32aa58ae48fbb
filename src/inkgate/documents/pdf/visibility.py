"""Which characters of a page its ink shows. Blocking, in worker processes only.

A character is visible if the page looks different without it. That covers whatever can hide text, with no list of
causes: layers that are off, boxes, pictures and annotations drawn over it, its background's colour, transparency,
clipping. So the page is rendered in grey, coarsely, with its text and without it. Characters for which that proves
nothing (no difference in their box, a part of one, or text over text) are looked at again, closely, in colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.geometry import POINTS_PER_INCH
from inkgate.documents.pdf.ink import CLOSE_DPI, PageInk, Sheet, SlowPage, inactive, pixel_scale
from inkgate.documents.pdf.pdfium import Handle, PdfiumPage
from inkgate_client.types import Size

MAX_CLOSE_PIXELS = 4_000_000
MIN_CONTRAST = 20.0
"""Least difference to the background, in grey levels of 255: 8 % grey on white, a contrast of 1.2 : 1 by WCAG's
formula. Tints of forms have 10 % and more; text meant to be unseen has 6 % and less."""
LARGE_CONTRAST, LARGE_POINTS = 10.0, 24.0
"""The same for characters of this height, as people see them in paler grey. Real watermarks have 16 and 19."""
_PROOF = 24
"""Difference in grey levels that proves ink in the first look."""
_TRACE = 8.0
"""Difference in grey levels of ink that is partly covered or thin."""
MIN_SHARE = 0.3
"""Least share of a character's ink that shows: of covered text, slivers stay."""
MIN_SHARE_CROSSED = 0.2
"""The same for text over text, which share edges."""
_OVERLAP = 0.1
"""Share of a character's box from which another one on it may be what its ink shows."""
_TWICE = 0.3
"""Equal characters within this distance, in their longer sides, are one, drawn twice for bold or shadow."""
_MAX_TURNS = 4
"""Most groups of overlapping text that are told apart."""
_CHUNK = 100
_MAX_PAIRS = 300_000
"""Most pairs of overlapping characters. A map has 3,000, a page of text drawn many times 280,000; more come of fonts
whose characters claim the whole page.
"""
_ENOUGH_PIXELS = 3000
"""Pixels of a character that are looked at; of larger ones, each second or third. Fonts may claim the whole page."""
_BAND_GAP, _MAX_BANDS = 20.0, 8
_MANY_OBJECTS = 2000
"""Text objects from which each view takes long, however small it is."""
_MAX_BOX_PIXELS = 16_000_000
"""Most pixels of the boxes of a page's characters, for the first look. Usual pages have 100,000."""
_PART = 1 << 15
"""The approximate number of them that are looked at together."""
_MIN_SAME, _APART, _AROUND = 0.8, 0.5, 0.25
_USUAL = 0.75
_MOSTLY = 0.6
_BACKDROP = (255, 0, 255)
"""Colour behind text that is drawn alone: text of any usual colour stands out from it."""
_WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)

_Mask = NDArray[np.bool_]
_Indices = NDArray[np.int64]
_Slices = tuple[slice, slice]
_NONE = np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class DrawnText:
    """The characters that a page draws.

    Attributes:
        boxes: around their ink, (N, 4) in page pixels: left, top, right, bottom.
        owners: (N,) indices of their text objects in `handles`.
        texts: N codes of characters.
        handles: pdfium's text objects, each with those that draw the same in the same place.
    """

    boxes: NDArray[np.float64]
    owners: _Indices
    texts: Sequence[int]
    handles: Sequence[Sequence[Handle]]


def visible(sheet: Sheet, text: DrawnText, ink: PageInk, others: Sequence[Handle]) -> tuple[_Mask, _Mask]:
    """Returns for each character whether the page's ink shows it, and whether its text has ink there at all: (N,) bool.

    `others` are the page's objects but text.

    Raises:
        MemoryError: there is not enough.
        SlowPage: that would take too long.
    """
    if not text.texts:
        return np.empty(0, np.bool_), np.empty(0, np.bool_)
    height, width = ink.with_text.shape
    edges = _pixel_edges(text.boxes * ink.scale, width, height)
    corner, end = edges[:, :2].min(axis=0), edges[:, 2:].max(axis=0)
    part = np.s_[corner[1] : end[1], corner[0] : end[0]]
    edges -= np.tile(corner, 2)
    doubtful = ~_proven(ink.with_text[part], ink.without_text[part], edges, text.owners)
    meeting, twice = _overlapping(text, _crowded(text.boxes, edges, text.owners))
    text = _joined(text, meeting, twice)
    pairs = meeting[~twice & (text.owners[meeting[:, 0]] != text.owners[meeting[:, 1]])]
    doubtful[pairs.ravel()] = True
    sharp = _sharply_shown(sheet, text, ink, np.setdiff1d(np.flatnonzero(doubtful), pairs))
    doubtful[sharp] = False
    shown, inked = np.ones(len(edges), np.bool_), np.ones(len(edges), np.bool_)
    most = _MAX_BANDS if len(text.handles) < _MANY_OBJECTS else 1
    for some in _bands(text.boxes, np.flatnonzero(doubtful), most):
        shown[some], inked[some] = _looked_at_closely(sheet, text, some, pairs, others)
    in_hidden = np.isin(text.owners, text.owners[~shown & inked])
    for some in _bands(
        text.boxes, np.flatnonzero(~doubtful & in_hidden), most
    ):  # a neighbour's ink may be in their box
        shown[some], inked[some] = _looked_at_closely(sheet, text, some, pairs, others)
    doubtful[sharp] = doubtful[meeting.ravel()] = True
    _follow_most(shown, inked, text.owners, np.flatnonzero(doubtful))
    return shown, inked


def _joined(text: DrawnText, meeting: _Indices, twice: _Mask) -> DrawnText:
    """The text with those objects as one that draw the same characters in the same places."""
    if not twice.any():
        return text
    count = len(text.handles)
    owners = text.owners[meeting]
    again = np.unique(np.stack([meeting[twice, 0], owners[twice, 1]]), axis=1)
    keys, times = np.unique(text.owners[again[0]] * count + again[1], return_counts=True)
    own = np.bincount(text.owners, minlength=count)[keys // count]
    differ = np.isin(keys, owners[~twice, 0] * count + owners[~twice, 1])
    first = np.arange(count)
    for key in keys[(times == own) | ((2 * times >= own) & ~differ)].tolist():
        old, new = sorted((_root(first, key // count), _root(first, key % count)), reverse=True)
        first[old] = new
    roots = [_root(first, owner) for owner in range(count)]
    handles: list[list[Handle]] = [[] for _ in roots]
    for root, same in zip(roots, text.handles, strict=True):
        handles[root].extend(same)
    return replace(text, owners=np.array(roots)[text.owners], handles=handles)


def _root(first: _Indices, owner: int) -> int:
    """The object that stands for `owner`, by the `first` of each that is not yet the last."""
    while (before := int(first[owner])) != owner:
        first[owner] = owner = int(first[before])
    return owner


def _pixel_edges(boxes: NDArray[np.float64], width: int, height: int) -> _Indices:
    """Boxes as whole pixels, at least one, within the page: (N, 4). Rounded, so that a neighbour's ink stays out."""
    limits = np.array([width, height])
    edges = np.rint(np.clip(boxes, 0, np.tile(limits, 2))).astype(np.int64)
    middle = np.clip((boxes[:, :2] + boxes[:, 2:]) / 2, 0, limits - 1).astype(np.int64)
    thin = edges[:, 2:] <= edges[:, :2]
    return np.concatenate([np.where(thin, middle, edges[:, :2]), np.where(thin, middle + 1, edges[:, 2:])], axis=1)


def _proven(shown: NDArray[np.uint8], bare: NDArray[np.uint8], edges: _Indices, owners: _Indices) -> _Mask:
    """Whether the text changes pixels in two thirds of the height of boxes, and of their width, and in half of the
    boxes of its object clearly. (N,) bool.

    Raises:
        SlowPage: the boxes have too many pixels.
    """
    change = np.maximum(shown, bare)
    change -= np.minimum(shown, bare)
    left, top, right, bottom = edges.T
    pixels = np.cumsum((right - left) * (bottom - top))
    if pixels[-1] > _MAX_BOX_PIXELS:
        raise SlowPage
    cuts = np.flatnonzero(np.diff(pixels // _PART)) + 1
    parts = [_changed(change, part) for part in np.split(edges, cuts)]
    rows, columns, clear = (np.concatenate(found, axis=-1) for found in zip(*parts, strict=True))
    proven: _Mask = (np.bincount(owners, clear) * 2 >= np.bincount(owners))[owners]
    for inked, length in ((rows.sum(axis=0), bottom - top), (columns.sum(axis=0), right - left)):
        proven &= (inked >= 2) | ((inked == 1) & (length <= 3))
    return proven


def _changed(change: NDArray[np.uint8], edges: _Indices) -> tuple[_Mask, _Mask, _Mask]:
    """Which thirds of boxes have a change, of their height and of their width: (3, N) each. And which boxes have a
    clear one: (N,).
    """
    left, top, right, bottom = edges.T
    wide, high = right - left, bottom - top
    count = len(edges)
    rows, columns = (np.zeros(3 * count, np.bool_) for _ in range(2))
    clear = np.zeros(count, np.bool_)
    box_of_row = np.repeat(np.arange(count), high)
    down = np.arange(len(box_of_row)) - (np.cumsum(high) - high)[box_of_row]
    length = wide[box_of_row]
    start = np.cumsum(length) - length
    row = np.repeat(np.arange(len(box_of_row)), length)
    place = ((top[box_of_row] + down) * change.shape[1] + left[box_of_row] - start)[row]
    place += np.arange(len(row))
    found = change.reshape(-1)[place]
    inked = np.flatnonzero(found >= _TRACE)
    row = row[inked]
    box, across = box_of_row[row], inked - start[row]
    rows[(down[row] * 3 + 2) // high[box] * count + box] = True
    columns[(across * 3 + 2) // wide[box] * count + box] = True
    clear[box[found[inked] >= _PROOF]] = True
    return rows.reshape(3, count), columns.reshape(3, count), clear


def _sharply_shown(sheet: Sheet, text: DrawnText, ink: PageInk, numbers: _Indices) -> _Indices:
    """Returns those of `numbers`, which nothing overlaps, that are clear on the sharper page.

    Where the ground around them is of one grey, the coarse page tells what it is like without the text. Only for others
    is the sharper page rendered without it.

    Raises:
        MemoryError: there is not enough.
    """
    if not numbers.size:
        return numbers
    shown = []
    bare: NDArray[np.uint8] | None = None
    scale, (height, width) = sheet.sharp.scale, sheet.sharp.grey.shape
    sharp = _pixel_edges(text.boxes[numbers] * scale, width, height)
    for number, box, (left, top, right, bottom) in zip(
        numbers.tolist(), (text.boxes[numbers] * ink.scale).tolist(), sharp.tolist(), strict=True
    ):
        at = np.s_[top:bottom, left:right]
        ground = ink.without_text[
            max(math.floor(box[1]) - 1, 0) : max(math.ceil(box[3]) + 1, 0),
            max(math.floor(box[0]) - 1, 0) : max(math.ceil(box[2]) + 1, 0),
        ]
        if ground.size and ground.min() == ground.max():
            under = ground[:1, :1]
        else:
            if bare is None:
                with inactive(chain.from_iterable(text.handles)):
                    bare = sheet.grey(scale).grey
            under = bare[at]
        character = sheet.sharp.grey[at]
        change = np.maximum(character, under) - np.minimum(character, under)
        peak = int(change.max(initial=0))
        if peak >= _PROOF and _is_spread(change >= max(_TRACE, peak / 4)):
            shown.append(number)
    return np.array(shown, np.int64)


def _crowded(boxes: NDArray[np.float64], edges: _Indices, owners: _Indices) -> _Indices:
    """Indices of characters that those of other objects may overlap. `edges` are their boxes in whole pixels."""
    met = _met(boxes, owners)
    near = np.flatnonzero(met[owners])
    if not near.size:
        return near
    edges = edges[near]
    corner = edges[:, :2].min(axis=0)
    left, top, right, bottom = (edges - np.tile(corner, 2)).T
    count = np.zeros((bottom.max() + 1, right.max() + 1), np.int32)
    for rows, columns, step in ((top, left, 1), (bottom, left, -1), (top, right, -1), (bottom, right, 1)):
        np.add.at(count, (rows, columns), step)
    _accumulate(count)
    sums = np.zeros_like(count)
    sums[1:, 1:] = count[:-1, :-1] > 1
    _accumulate(sums)
    shared = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    found: _Indices = near[shared > _OVERLAP * (right - left) * (bottom - top)]
    return found


def _met(boxes: NDArray[np.float64], owners: _Indices) -> _Mask:
    """Returns for each text object whether the box of another one's characters meets that of its own."""
    low, high = np.full((owners.max() + 1, 2), np.inf), np.full((owners.max() + 1, 2), -np.inf)
    np.minimum.at(low, owners, boxes[:, :2])
    np.maximum.at(high, owners, boxes[:, 2:])
    met = np.zeros(len(low), np.bool_)
    order = np.argsort(low[:, 1])
    for start in range(0, len(order), _CHUNK):
        part = order[start : start + _CHUNK]
        near = np.flatnonzero((low[:, 1] < high[part, 1].max()) & (high[:, 1] > low[part, 1].min()))
        meets = np.ones((len(part), len(near)), np.bool_)
        for axis in range(2):
            meets &= (low[part, axis, None] < high[near, axis]) & (low[near, axis] < high[part, axis, None])
        met[part] = meets.sum(axis=1) > (high[part] > low[part]).all(axis=1)  # more than itself
    return met


def _accumulate(image: NDArray[np.int32]) -> None:
    """Sums up along columns and rows. Adding rows takes half the time of numpy's cumsum along columns."""
    for row in range(1, len(image)):
        image[row] += image[row - 1]
    np.cumsum(image, axis=1, out=image)


def _overlapping(text: DrawnText, crowded: _Indices) -> tuple[_Indices, _Mask]:
    """Pairs of characters of different text objects, one on the other: (P, 2). And which are the same, drawn twice."""
    if not crowded.size:
        return _NONE, np.empty(0, np.bool_)
    left, top, right, bottom = text.boxes.T
    area = np.maximum((right - left) * (bottom - top), 1e-9)
    found, count = [_NONE], 0
    crowded = crowded[np.argsort(top[crowded])]
    for start in range(0, len(crowded), _CHUNK):
        part = crowded[start : start + _CHUNK]
        near = np.flatnonzero((top < bottom[part].max()) & (bottom > top[part].min()))
        across = np.minimum(right[part, None], right[near]) - np.maximum(left[part, None], left[near])
        along = np.minimum(bottom[part, None], bottom[near]) - np.maximum(top[part, None], top[near])
        shared = np.maximum(across, 0) * np.maximum(along, 0)
        meets = shared > _OVERLAP * np.minimum(area[part, None], area[near])
        rows, columns = np.nonzero(meets & (text.owners[part, None] != text.owners[near]))
        found.append(np.stack([part[rows], near[columns]], axis=1))
        count += len(rows)
        if count > _MAX_PAIRS:
            break
    pairs = np.concatenate(found)
    codes = np.array(text.texts)[pairs]
    same = codes[:, 0] == codes[:, 1]
    a, b = pairs.T
    reach = _TWICE * np.maximum(right - left, bottom - top)[a]
    close = (np.abs(left[a] - left[b]) <= reach) & (np.abs(top[a] - top[b]) <= reach)
    return pairs, same & close


def _follow_most(shown: _Mask, inked: _Mask, owners: _Indices, doubtful: _Indices) -> None:
    """Hides doubtful characters of texts that are mostly hidden: a full stop that fits into one of another text."""
    hidden = np.bincount(owners, ~shown & inked) > _MOSTLY * np.bincount(owners, inked)
    shown[doubtful[hidden[owners[doubtful]]]] = False


def _bands(boxes: NDArray[np.float64], numbers: _Indices, most: int) -> list[_Indices]:
    """Splits `numbers` into at most `most` parts whose boxes are far apart: a few small views are cheaper than a large
    one.
    """
    if not numbers.size:
        return []
    order = numbers[np.argsort(boxes[numbers, 1])]
    reached = np.maximum.accumulate(boxes[order, 3])
    cuts = np.flatnonzero(boxes[order[1:], 1] - reached[:-1] > _BAND_GAP) + 1
    return np.split(order, cuts) if len(cuts) < most else [order]


def _looked_at_closely(
    sheet: Sheet, text: DrawnText, suspects: _Indices, pairs: _Indices, others: Sequence[Handle]
) -> tuple[_Mask, _Mask]:
    """Returns for each of `suspects` whether it is visible, and whether it has ink at all. `pairs` are on each
    other.
    """
    boxes = text.boxes[suspects]
    view = _View.of(sheet, np.concatenate([boxes[:, :2].min(axis=0) - 2, boxes[:, 2:].max(axis=0) + 2]))
    large = (boxes[:, 3] - boxes[:, 1]) / sheet.dpi * POINTS_PER_INCH >= LARGE_POINTS
    contrast = np.where(large, LARGE_CONTRAST, MIN_CONTRAST).tolist()
    crossed = np.isin(suspects, pairs)
    turns = _turns(text.owners, suspects, pairs[np.isin(pairs, suspects).any(axis=1)])
    shown, inked = np.zeros(len(suspects), np.bool_), np.ones(len(suspects), np.bool_)
    whole = view.render()
    for turn in range(int(turns.max()) + 1):
        members = np.flatnonzero(turns == turn)
        owners = set(text.owners[suspects[members]].tolist())
        with inactive(handle for owner in owners for handle in text.handles[owner]):
            pictures = _Pictures(whole, view.render(), whole)
        places = {member: view.slices(boxes[member]) for member in members.tolist()}
        for member, at in places.items():
            shown[member] = not crossed[member] and pictures.is_clear(at, contrast[member])
        unsure = members[~shown[members]].tolist()
        if not unsure:
            continue
        rest = (handle for number, same in enumerate(text.handles) if number not in owners for handle in same)
        with inactive(rest), inactive(others):
            pictures = replace(pictures, alone=view.render(_BACKDROP))
        for member in unsure:
            at, least = places[member], contrast[member]
            inked[member] = pictures.has_ink(at)
            shown[member] = pictures.share(at, least) >= (MIN_SHARE_CROSSED if crossed[member] else MIN_SHARE) or (
                bool(crossed[member]) and pictures.is_part(at, view.slices(boxes[member], _AROUND), least)
            )
    return shown, inked


@dataclass(frozen=True, slots=True)
class _Pictures:
    """A part of a page in RGB: the `whole`, `without` some of its text, and that text `alone` on `_BACKDROP`."""

    whole: NDArray[np.uint8]
    without: NDArray[np.uint8]
    alone: NDArray[np.uint8]

    def is_clear(self, at: _Slices, contrast: float) -> bool:
        """Whether the text changes the page clearly there, in most of the height and width."""
        change = _distance(self.whole[at], self.without[at])
        peak = float(change.max())
        return peak >= contrast and _is_spread(change >= max(_TRACE, peak / 4))

    def has_ink(self, at: _Slices) -> bool:
        """Whether the text draws something there."""
        return float(_distance(self.alone[at], np.array(_BACKDROP, np.uint8)).max()) >= _TRACE

    def share(self, at: _Slices, contrast: float) -> float:
        """The share of the text's own ink there where it changes the page clearly."""
        inked, change = self._inked(at), _distance(self.whole[at], self.without[at])
        if change.max() < contrast or not inked.any():
            return 0.0
        least = max(_TRACE, float(np.quantile(change[inked], _USUAL)) / 4)
        return float((change[inked] >= least).mean())

    def is_part(self, at: _Slices, wide: _Slices, contrast: float) -> bool:
        """Whether the page has the text's colour where the text has ink, and another one `wide` around it: text on it
        has the same colour, as joined letters of Arabic, whose parts alone change nothing.
        """
        inked, around = self._inked(at), ~self._inked(wide)
        if not inked.any() or not around.any():
            return False
        colour = np.median(self.alone[at][inked], axis=0).astype(np.uint8)
        same, apart = _distance(self.whole[at], colour) < contrast, _distance(self.whole[wide], colour) >= contrast
        return bool(same[inked].mean() >= _MIN_SAME and apart[around].mean() >= _APART)

    def _inked(self, at: _Slices) -> _Mask:
        """Returns where the text has ink, by its picture on `_BACKDROP`."""
        apart = _distance(self.alone[at], np.array(_BACKDROP, np.uint8))
        inked: _Mask = apart >= max(1.0, float(apart.max()) / 2)
        return inked


def _is_spread(mask: _Mask) -> bool:
    """Whether two thirds of a mask's height have a pixel, and two of its width."""
    for axis in range(2):
        line = np.asarray(mask.any(axis=axis))
        if len(line) > 3 and sum(part.any() for part in np.array_split(line, 3)) < 2:
            return False
    return True


def _turns(owners: _Indices, suspects: _Indices, pairs: _Indices) -> _Indices:
    """Returns for each of `suspects` the turn in which its text object is left out: others than those that it
    overlaps.
    """
    meets: dict[int, set[int]] = {}
    for a, b in np.unique(owners[pairs], axis=0).tolist():
        meets.setdefault(a, set()).add(b)
        meets.setdefault(b, set()).add(a)
    turns: dict[int, int] = {}
    for owner in sorted({int(owner) for owner in owners[suspects]}):
        taken = {turns[other] for other in meets.get(owner, ()) if other in turns}
        turns[owner] = next((turn for turn in range(_MAX_TURNS) if turn not in taken), _MAX_TURNS - 1)
    return np.array([turns[int(owner)] for owner in owners[suspects]], np.int64)


def _distance(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.float32]:
    """How different two pictures look, in grey levels. Colours of equal brightness differ too."""
    difference: NDArray[np.float32] = np.abs(a.astype(np.int16) - b).astype(np.float32) @ _WEIGHTS
    return difference


@dataclass(frozen=True, slots=True)
class _View:
    """A part of `page`, close up: the page has `whole` pixels, `across` and `along` for each page pixel, of which the
    part has (`height`, `width`) from `left` and `top` on.
    """

    page: PdfiumPage
    left: int
    top: int
    width: int
    height: int
    across: float
    along: float
    whole: Size

    @classmethod
    def of(cls, sheet: Sheet, box: NDArray[np.float64]) -> _View:
        """A view of `box` on the page, in its pixels."""
        size = sheet.size
        box = np.clip(box, 0, [size.width, size.height] * 2)
        area = max(float((box[2] - box[0]) * (box[3] - box[1])), 1.0)
        scale = min(pixel_scale(size, sheet.dpi, CLOSE_DPI), (MAX_CLOSE_PIXELS / area) ** 0.5)
        whole = Size(max(1, round(size.width * scale)), max(1, round(size.height * scale)))
        across, along = whole.width / size.width, whole.height / size.height
        left, top = math.floor(box[0] * across), math.floor(box[1] * along)
        width, height = math.ceil(box[2] * across) - left, math.ceil(box[3] * along) - top
        return cls(sheet.page, left, top, max(1, width), max(1, height), across, along, whole)

    def render(self, backdrop: tuple[int, int, int] | None = None) -> NDArray[np.uint8]:
        """The part in RGB, (height, width, 3); on a `backdrop`, without annotations."""
        picture = np.empty((self.height, self.width, 3), np.uint8)
        picture[:] = backdrop or 255
        self.page.draw(picture, (self.left, self.top), self.whole, annotations=backdrop is None)
        return picture

    def slices(self, box: NDArray[np.float64], around: float = 0.0) -> tuple[slice, slice]:
        """Returns where the box is in the part, in page pixels: at least a pixel, with `around` added, in sides of the
        box.
        """
        left, top, right, bottom = box + around * max(box[2] - box[0], box[3] - box[1]) * np.array([-1, -1, 1, 1])
        x0 = min(max(math.floor(left * self.across) - self.left, 0), self.width - 1)
        y0 = min(max(math.floor(top * self.along) - self.top, 0), self.height - 1)
        x1 = min(max(math.ceil(right * self.across) - self.left, x0 + 1), self.width)
        y1 = min(max(math.ceil(bottom * self.along) - self.top, y0 + 1), self.height)
        step = max(1, math.isqrt((y1 - y0) * (x1 - x0) // _ENOUGH_PIXELS))
        return slice(y0, y1, step), slice(x0, x1, step)
