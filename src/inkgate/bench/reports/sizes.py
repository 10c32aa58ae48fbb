"""Percentiles of latencies that were counted by size, second by second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkgate.bench.load.results import SIZES_AN_OCTAVE, Second
from inkgate.bench.reports.blocks import Numbers


def counted(seconds: Sequence[Second]) -> tuple[Numbers, int]:
    """Counts (seconds, classes), and the class of the first column. (seconds, 0) and 0 where no sizes were kept."""
    pairs = [pair for second in seconds for pair in second.sizes]
    if not pairs:
        return np.zeros((len(seconds), 0)), 0
    first, last = min(k for k, _ in pairs), max(k for k, _ in pairs)
    counts = np.zeros((len(seconds), last - first + 1))
    for row, second in zip(counts, seconds, strict=True):
        for k, many in second.sizes:
            row[k - first] += many
    return counts, first


def quantiles(counts: Numbers, first: int, share: float) -> Numbers:
    """The latency in seconds below which `share` of the answers lie, for each row of `counts`; nan where none are.

    Inside a class latencies are taken as spread evenly over its logarithm.
    """
    running = np.cumsum(counts, axis=1)
    wanted = share * running[:, -1]
    column = np.minimum((running < wanted[:, None]).sum(axis=1), counts.shape[1] - 1)
    rows = np.arange(len(counts))
    inside = counts[rows, column]
    before = running[rows, column] - inside
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.where(inside > 0, (wanted - before) / inside, np.nan)
    return np.asarray(2 ** ((first + column + part) / SIZES_AN_OCTAVE) / 1000, dtype=np.float64)


def beyond(counts: Numbers, first: int, latency_s: float) -> Numbers:
    """Of each second, how many answers were slower than `latency_s`, as far as classes can tell."""
    edges = 2 ** ((first + np.arange(counts.shape[1]) + 0.5) / SIZES_AN_OCTAVE) / 1000
    return np.asarray(counts[:, edges > latency_s].sum(axis=1), dtype=np.float64)
