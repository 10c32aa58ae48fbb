"""How many lines a call of a model takes. OpenVINO prepares its kernels anew for each number of lines and each width,
which takes as long as reading a line or two, and keeps them: few numbers keep both small.
"""

from __future__ import annotations

_SIZES = (8, 4, 2, 1)
"""A call costs as much as one short line by itself. Sharing it among four lines gains nearly all that there is to gain,
among more than eight nothing. With 6 and 3 too there would be a third more shapes, and in int8, which has more kernels
for each, they would push each other out: an eighth more processor time (docs/benchmarks.md)."""


def call_sizes(lines: int, most: int) -> list[int]:
    """The sizes of the calls in which `lines` lines are read, the largest first; none is above `most` (at least 1)."""
    sizes: list[int] = []
    while lines > 0:
        sizes.append(next(size for size in _SIZES if size <= min(lines, most)))
        lines -= sizes[-1]
    return sizes


def calls_of(lines: int, most: int) -> list[slice]:
    """The lines of each call, in order: as `call_sizes`."""
    slices: list[slice] = []
    start = 0
    for size in call_sizes(lines, most):
        slices.append(slice(start, start + size))
        start += size
    return slices
