"""Groups lines by the gaps between them, for pages without blocks.

Linear in the lines except for one vectorised comparison with the earlier groups, so that drawings with thousands of
labels are fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.types import Box, Line

_CLOSE = 0.75
"""Largest gap between two lines of a group, as a share of the lower line's height."""
_APART = 0.2
"""Largest share of the smaller box that two groups may have in common."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of lines: the index of the first one on the page, and the box around all of them."""

    start: int
    lines: tuple[Line, ...]
    box: Box


def stand_together(lines: Mapping[int, Line]) -> list[Group]:
    """Groups of line indexes; a new group begins where a line does not continue the group before it."""
    runs: list[list[Line]] = []
    starts: list[int] = []
    before = -2
    box = last = (0.0, 0.0, 0.0, 0.0)
    for index, line in lines.items():
        here = line.box
        if index == before + 1 and _continues(box, last, here):
            runs[-1].append(line)
            box = _around([box, here])
        else:
            runs.append([line])
            starts.append(index)
            box = here
        before, last = index, here
    return [_group(start, run) for start, run in zip(starts, runs, strict=True)]


def untangle(groups: Sequence[Group]) -> list[Group]:
    """The groups in order, with overlapping ones merged together with all groups between them."""
    apart: list[Group] = []
    boxes = np.empty((len(groups), 4))
    for group in groups:
        merged = group
        while (overlapped := _overlapping(boxes[: len(apart)], merged.box)).size:
            first = int(overlapped[0])
            merged = _merge([*apart[first:], merged])
            del apart[first:]
        boxes[len(apart)] = merged.box
        apart.append(merged)
    return apart


def _continues(group: Box, last: Box, line: Box) -> bool:
    """Whether the line is next to the group's last line, or close below it and under the group."""
    left, top, right, bottom = line
    _, last_top, _, last_bottom = last
    if last_top < (top + bottom) / 2 < last_bottom:
        return True
    under = left < group[2] and group[0] < right
    close = top - last_bottom < _CLOSE * min(bottom - top, last_bottom - last_top)
    return under and close and bottom > last_bottom


def _overlapping(boxes: NDArray[np.float64], box: Box) -> NDArray[np.intp]:
    """Which of `boxes`, (N, 4), overlap `box` by more than the limit."""
    left, top, right, bottom = box
    across = np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)
    down = np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    smaller = np.minimum(areas, (right - left) * (bottom - top))
    return np.flatnonzero(across.clip(0) * down.clip(0) > _APART * smaller)


def _merge(groups: Sequence[Group]) -> Group:
    lines = tuple(line for group in groups for line in group.lines)
    return Group(groups[0].start, lines, _around(group.box for group in groups))


def _group(start: int, lines: Sequence[Line]) -> Group:
    return Group(start, tuple(lines), _around(line.box for line in lines))


def _around(boxes: Iterable[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))
