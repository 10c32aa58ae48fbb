"""Counts letters that a page draws as shapes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from inkgate.documents.pdf.objects import FilledShape
from inkgate.types import Size

_SHORTEST = 4
"""Minimum letters in a row. Dots, arrows and cells of drawings form rows too, but seldom as long and varied."""
_SHAPES = 3
"""Minimum different letters among them."""
_GAP = 1.2
"""Maximum distance to the next letter, in heights of the taller one, including spaces between words."""
_BASELINE = 0.05
"""Maximum difference of adjacent letters' bottoms, in heights of the taller one."""
_HEIGHTS = 2.2
"""Maximum height ratio of adjacent letters: capitals next to small letters."""
_LETTER_SEGMENTS = 30
"""Segments per letter in a shape. Outlines of Vera, DejaVu and Times have 9 (l) to 99 (g), most of them 30 to 60."""
_OVERLAPS = 2
"""Maximum letters that a letter overlaps: italics do, and the dots of i and j are within their boxes."""
_MOST = 6000
"""Maximum outlines examined; a full page has 4,000 letters. Comparing all their boxes takes 0.1 s."""
_CHUNK = 256
_WORD_SEGMENTS = 150
_WORD_SIDES = (2.5, 40.0)
"""Minimum and maximum aspect ratio of a word or a line drawn as one shape."""


def outlined_letters(outlines: Sequence[FilledShape], size: Size) -> int:
    """The number of letters that `outlines` draw on a page of `size`: in rows, or as words in one shape."""
    shown = _apart([outline for outline in outlines if _is_shown(outline, size)][:_MOST])
    single = [outline for outline in shown if _width(outline) <= _WORD_SIDES[0] * _height(outline)]
    rows = sum(len(row) for row in _rows(single) if len(row) >= _SHORTEST and _varied(row))
    return rows + sum(_letters_of_word(outline) for outline in shown)


def _is_shown(outline: FilledShape, size: Size) -> bool:
    left, top, right, bottom = outline.box
    return left >= 0 and right <= size.width and top >= 0 and bottom <= size.height


def _apart(outlines: Sequence[FilledShape]) -> list[FilledShape]:
    """Outlines that few others overlap: letters are next to each other, parts of a drawing overlap."""
    if not outlines:
        return []
    boxes = np.array([outline.box for outline in outlines], np.float32)
    left, top, right, bottom = boxes.T
    overlaps = np.zeros(len(boxes), np.int64)
    for start in range(0, len(boxes), _CHUNK):
        part = boxes[start : start + _CHUNK, :, None]
        across = (part[:, 0] < right) & (left < part[:, 2])
        along = (part[:, 1] < bottom) & (top < part[:, 3])
        overlaps[start : start + _CHUNK] = (across & along).sum(axis=1) - 1
    return [outline for outline, count in zip(outlines, overlaps, strict=True) if count <= _OVERLAPS]


def _varied(row: Sequence[FilledShape]) -> bool:
    return len({outline.segments for outline in row}) >= _SHAPES


def _rows(outlines: Sequence[FilledShape]) -> Iterator[list[FilledShape]]:
    """Rows of outlines: each one starts where the previous one ends, with bottoms on one line."""
    open_rows: list[list[FilledShape]] = []
    for outline in sorted(outlines, key=lambda outline: outline.box[0]):
        for row in open_rows:
            if _follows(row[-1], outline):
                row.append(outline)
                break
        else:
            open_rows.append([outline])
        left = outline.box[0]
        done = [row for row in open_rows if left - row[-1].box[2] > _GAP * _HEIGHTS * _height(row[-1])]
        if done:
            yield from done
            open_rows = [row for row in open_rows if not any(row is other for other in done)]
    yield from open_rows


def _follows(before: FilledShape, after: FilledShape) -> bool:
    low, high = sorted((_height(before), _height(after)))
    gap = after.box[0] - before.box[2]
    return (
        high <= _HEIGHTS * low
        and abs(after.box[3] - before.box[3]) <= _BASELINE * high
        and -0.3 * high <= gap <= _GAP * high
    )


def _letters_of_word(outline: FilledShape) -> int:
    narrow, wide = _WORD_SIDES
    ratio = _width(outline) / _height(outline)
    return outline.segments // _LETTER_SEGMENTS if outline.segments >= _WORD_SEGMENTS and narrow < ratio <= wide else 0


def _width(outline: FilledShape) -> float:
    return outline.box[2] - outline.box[0]


def _height(outline: FilledShape) -> float:
    return max(outline.box[3] - outline.box[1], 1e-6)
