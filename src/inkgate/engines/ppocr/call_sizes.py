"""How many lines share a call of a model.

OpenVINO compiles its kernels for each number of lines and each width, which takes as long as reading a line or two, and
caches them. Even with cached kernels, a call whose shape differs from the previous one takes 3 ms more processor time;
a call of the same shape has little overhead. So few sizes are used, and remaining lines are read one by one, which is
one shape for all of them.
"""

from __future__ import annotations

_SIZES = (8, 1)
_SIZES_OF_WIDE = (4, 2, 1)
"""Eight lines per call take 20% less time than one by one, four hardly less, unless they are so wide that eight don't
fit. Milliseconds of processor time per line, in calls of 1, 2, 4 and 8 lines: 3.8, 3.5, 3.4, 3.0 at a width of 160, and
13.6, 11.8, 10.8 at 640 (docs/contributing/benchmarks.md)."""


def call_sizes(lines: int, most: int) -> list[int]:
    """The sizes of the calls for `lines` lines, the largest first; none is above `most` (at least 1)."""
    sizes: list[int] = []
    for size in _SIZES if most >= _SIZES[0] else _SIZES_OF_WIDE:
        if size <= most:
            calls, lines = divmod(lines, size)
            sizes += [size] * calls
    return sizes


def calls_of(lines: int, most: int) -> list[slice]:
    """The lines of each call, in order; sizes as in `call_sizes`."""
    slices: list[slice] = []
    start = 0
    for size in call_sizes(lines, most):
        slices.append(slice(start, start + size))
        start += size
    return slices
