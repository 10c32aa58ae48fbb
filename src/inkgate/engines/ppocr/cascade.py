"""Reads lines with a quick recognizer, and the words that it may misread with a careful one.

Doubtful words are cut out of the line's crop in the gaps between words, so that no character is cut or read twice. A
line goes to the careful recognizer whole where that is hardly more work, where a gap is not clear, or where the
careful reading of a part does not fit its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Protocol

import cv2
import numpy as np

from inkgate.engines.ppocr.crops import MARGIN_ACROSS, READING_HEIGHT
from inkgate.engines.ppocr.doubt import Doubts
from inkgate.engines.ppocr.recognition import RecognizedText, padded_width, unspaced
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray, IntArray
from inkgate_client.concurrency import Threads

LIMIT = 0.04
"""Probability of being misread from which a word is read again."""
_MIN_WIDTH = 96
"""Minimum width of a part in pixels at the height of 48: the model pads narrower ones to it."""
_MIN_GAP = 3
"""Minimum width of a gap between words, in the same pixels. The usual one is 8 to 12."""
_INK = 0.3
"""Part of the line's contrast from which a column has ink."""
_PAPER, _PAPER_COLUMNS = 90, 256
"""Percentile of a row's levels that is paper, if the ink is dark, and the number of columns that it is taken from."""
_WORTHWHILE = 0.75
"""Maximum width of a line's parts, as a part of the line's own, for which they are read instead of the line."""
_CALL_WIDTH = 12
"""What each part costs beyond its pixels, as pixels of width: cutting it out, and calls with fewer lines."""
_AWAY = 0.5
"""Distance, as a part of the height, at which the first or last character of both readings is not the same one."""


class LineReader(Protocol):
    """Reads line crops, RGB (h, w, 3) uint8."""

    async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        """The text of each crop, in order."""
        ...


@dataclass(frozen=True, slots=True)
class LinePart:
    """Adjacent words of a line.

    Attributes:
        start, end: its characters in the line's reading.
        left, right: its columns in the line's crop.
    """

    start: int
    end: int
    left: int
    right: int

    def cut(self, crop: RgbArray) -> RgbArray:
        return np.ascontiguousarray(crop[:, self.left : self.right])


@dataclass(frozen=True, slots=True)
class _Plan:
    """The lines to read again whole, and the parts of other lines, each with the line's index."""

    whole: list[int]
    parts: list[tuple[int, LinePart]]


@dataclass(frozen=True, slots=True)
class Cascade:
    """A LineReader."""

    quick: LineReader
    careful: LineReader
    doubts: Doubts
    threads: Threads
    limit: float = LIMIT

    async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        """The text of each crop, in order. Raises what the two readers raise."""
        readings = await self.quick.predict(items)
        plan = await self.threads.run(self._plan, items, readings)
        cuts = [part.cut(items[line]) for line, part in plan.parts]
        again = await self.careful.predict([*(items[line] for line in plan.whole), *cuts])
        for line, reading in zip(plan.whole, again, strict=False):
            readings[line] = reading
        parts = again[len(plan.whole) :]
        misfits = _put_in(readings, items, plan.parts, parts)
        for line, reading in zip(misfits, await self.careful.predict([items[line] for line in misfits]), strict=True):
            readings[line] = reading
        return readings

    def _plan(self, items: Sequence[RgbArray], readings: Sequence[RecognizedText]) -> _Plan:
        words, doubts = self.doubts(readings, items)
        doubtful = doubts >= self.limit
        bounds = np.searchsorted(words.lines, np.arange(len(readings) + 1))
        whole: list[int] = []
        parts: list[tuple[int, LinePart]] = []
        for line, (first, last) in enumerate(pairwise(bounds.tolist())):
            if first == last or any(map(unspaced, readings[line].text)):
                whole.append(line)
                continue
            here = doubtful[first:last]
            if not here.any():
                continue
            spans = list(zip(words.starts[first:last].tolist(), words.ends[first:last].tolist(), strict=True))
            found = parts_of(items[line], readings[line], spans, here.tolist())
            if found is None:
                whole.append(line)
            else:
                parts += [(line, part) for part in found]
        return _Plan(whole, parts)


def parts_of(
    crop: RgbArray, reading: RecognizedText, spans: Sequence[tuple[int, int]], doubtful: Sequence[bool]
) -> list[LinePart] | None:
    """The parts of a line that hold its doubtful words, from left to right. None: the line should be read whole.

    Args:
        crop: the line's pixels.
        reading: the line's.
        spans: start and end of each word in the reading.
        doubtful: whether each word is; at least one.
    """
    scale = crop.shape[0] / READING_HEIGHT
    if _too_much([end - start for start, end in spans], doubtful):
        return None
    edges = _edges(crop, reading, spans)
    width = crop.shape[1]
    groups = _groups(edges, doubtful, _MIN_WIDTH * scale)
    parts = [
        LinePart(spans[first][0], spans[last][1], round(edges[first] or 0), round(edges[last + 1] or width))
        for first, last in groups
    ]
    cost = sum(padded_width(crop[:, part.left : part.right]) + _CALL_WIDTH for part in parts)
    return parts if cost <= _WORTHWHILE * padded_width(crop) else None


def _too_much(sizes: Sequence[int], doubtful: Sequence[bool]) -> bool:
    """Whether the doubtful words alone are too large a part of the line."""
    return sum(size for size, doubt in zip(sizes, doubtful, strict=True) if doubt) > _WORTHWHILE * sum(sizes)


def _groups(edges: Sequence[float | None], doubtful: Sequence[bool], min_width: float) -> list[tuple[int, int]]:
    """First and last word of each part: doubtful words, with neighbours up to clear gaps and `min_width`."""
    groups: list[tuple[int, int]] = []
    runs = [(doubt, [at for at, _ in run]) for doubt, run in groupby(enumerate(doubtful), key=itemgetter(1))]
    for first, last in [_widened(edges, run[0], run[-1], min_width) for doubt, run in runs if doubt]:
        begun, ended = first, last
        while groups and begun <= groups[-1][1] + 1:
            before = groups.pop()
            begun, ended = min(before[0], begun), max(before[1], ended)
        groups.append((begun, ended))
    return groups


def _widened(edges: Sequence[float | None], first: int, last: int, min_width: float) -> tuple[int, int]:
    """The words from `first` to `last` with as many neighbours as clear gaps and `min_width` ask for."""
    while True:
        left, right = edges[first], edges[last + 1]
        if left is None:
            first -= 1
        elif right is None:
            last += 1
        elif right - left >= min_width or (first == 0 and last == len(edges) - 2):
            return first, last
        elif first > 0 and (last == len(edges) - 2 or _size(edges, first - 1) < _size(edges, last + 1)):
            first -= 1
        else:
            last += 1


def _size(edges: Sequence[float | None], word: int) -> float:
    """The width of a word with clear gaps on both sides, else infinite."""
    left, right = edges[word], edges[word + 1]
    return np.inf if left is None or right is None else right - left


def _edges(crop: RgbArray, reading: RecognizedText, spans: Sequence[tuple[int, int]]) -> list[float | None]:
    """The columns of the crop between its words, and its ends. None: no gap is clear there."""
    width = crop.shape[1]
    places = reading.positions * width
    before = np.array([places[end - 1] for _, end in spans[:-1]])
    after = np.array([places[start] for start, _ in spans[1:]])
    starts, ends = _empty_runs(crop)
    if not len(before) or not len(starts):
        return [0.0, *([None] * len(before)), float(width)]
    left = np.maximum(starts[None], before[:, None])
    right = np.minimum(ends[None], after[:, None])
    best = (right - left).argmax(axis=1)
    rows = np.arange(len(before))
    left, right = left[rows, best], right[rows, best]
    clear = right - left >= _MIN_GAP * crop.shape[0] / READING_HEIGHT
    middles = ((left + right) / 2).tolist()
    return [
        0.0,
        *(middle if is_clear else None for middle, is_clear in zip(middles, clear.tolist(), strict=True)),
        float(width),
    ]


def _empty_runs(crop: RgbArray) -> tuple[IntArray, IntArray]:
    """Start and end of each run of columns without ink."""
    grey = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)
    margin = round(len(grey) * MARGIN_ACROSS / (1 + 2 * MARGIN_ACROSS))
    grey = grey[margin : len(grey) - margin].astype(np.float32)
    # Against the paper of each row: rules above and below the text, and shadows across the line, are no ink.
    few = grey[:, :: max(1, grey.shape[1] // _PAPER_COLUMNS)]
    usual = float(np.median(few))
    dark_ink = usual - float(few.min()) >= float(few.max()) - usual
    paper = np.percentile(few, _PAPER if dark_ink else 100 - _PAPER, axis=1, keepdims=True)
    contrast = np.abs(grey - paper).max(axis=0)
    quiet = np.concatenate([[False], contrast < _INK * np.percentile(contrast, 95), [False]])
    changes = np.flatnonzero(quiet[1:] != quiet[:-1]).astype(np.int32)
    return changes[::2], changes[1::2]


def _put_in(
    readings: list[RecognizedText],
    items: Sequence[RgbArray],
    parts: Sequence[tuple[int, LinePart]],
    again: Sequence[RecognizedText],
) -> list[int]:
    """Puts the careful readings of parts in place of the quick ones. Returns the lines where one does not fit."""
    misfits: dict[int, None] = {}
    # From right to left, so that the characters before a part keep their indices.
    for (line, part), reading in reversed(list(zip(parts, again, strict=True))):
        if line in misfits:
            continue
        merged = with_part(readings[line], part, reading, items[line].shape[:2])
        if merged is None:
            misfits[line] = None
        else:
            readings[line] = merged
    return list(misfits)


def with_part(
    line: RecognizedText, part: LinePart, reading: RecognizedText, size: tuple[int, int]
) -> RecognizedText | None:
    """A line's reading with the reading of a part of it in place of the part's characters.

    None: their first or last characters are not at the same places. `size`: height and width of the line's crop.
    """
    height, width = size
    inner = reading.text.strip()
    if not inner:
        return None
    skipped = reading.text.index(inner)
    kept = slice(skipped, skipped + len(inner))
    places = ((part.left + reading.positions[kept] * (part.right - part.left)) / width).astype(np.float32)
    ends = line.positions[[part.start, part.end - 1]]
    if np.abs(places[[0, -1]] - ends).max() * width > _AWAY * height:
        return None
    return replace(
        line,
        text=line.text[: part.start] + inner + line.text[part.end :],
        confidences=_spliced(line.confidences, part, reading.confidences[kept]),
        positions=_spliced(line.positions, part, places),
    )


def _spliced(values: FloatArray, part: LinePart, new: FloatArray) -> FloatArray:
    return np.concatenate([values[: part.start], new, values[part.end :]])
