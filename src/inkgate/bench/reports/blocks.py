"""Seconds of a run drawn again in blocks: how far a figure would vary from run to run, though seconds hang together.

A queue makes neighbouring seconds alike, so that drawing seconds one by one would show too little variation. Drawn in
blocks, what hangs together stays together (the circular block bootstrap; Politis and Romano 1992).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_QUIET = 2.0
"""c of Politis and White: autocorrelations within so many standard errors of 0 count as 0."""
_IN_A_ROW = 5
"""K_N of the same: so many in a row."""


def block_length(series: Numbers) -> int:
    """How many seconds belong together, from 1 to a third of the series.

    The automatic choice of Politis and White (2004) for the circular block bootstrap, as corrected by Patton, Politis
    and White (2009). `series` is what the figure is the mean of, second by second; names are the paper's.
    """
    n = len(series)
    most = max(1, min(math.ceil(3 * math.sqrt(n)), n // 3))
    deviations = series - series.mean()
    variance = float(deviations @ deviations) / n
    if n < 2 * _IN_A_ROW or variance <= 0:
        return 1
    lags = min(n - 1, most + _IN_A_ROW)
    covariances = np.array([float(deviations[: n - k] @ deviations[k:]) / n for k in range(lags + 1)])
    m = _quiet_after(covariances / variance, n)
    reach = max(1, min(2 * m, lags))
    k = np.arange(1, reach + 1)
    window = np.minimum(1.0, 2 * (1 - k / reach))  # the flat-top window: 1 up to half of its width, then down to 0
    g = 2 * float(np.sum(window * k * covariances[1 : reach + 1]))
    spectrum = float(covariances[0] + 2 * np.sum(window * covariances[1 : reach + 1]))
    if spectrum <= 0:
        return most
    length = math.ceil(math.cbrt(n * 2 * g * g / (4 / 3 * spectrum * spectrum)))
    return max(1, min(most, length))


def _quiet_after(correlations: Numbers, n: int) -> int:
    """m: the last lag before the first five in a row that can't be told from 0."""
    bound = _QUIET * math.sqrt(math.log10(n) / n)
    small = np.abs(correlations[1:]) < bound
    for lag in range(len(small) - _IN_A_ROW + 1):
        if small[lag : lag + _IN_A_ROW].all():
            return max(1, lag)
    return len(small)


def memory(series: Numbers) -> float:
    """How alike neighbouring seconds are: the first autocorrelation, 0 to 0.99, its bias in short series undone.

    The bias, -(1 + 4 rho) / n, is that of Marriott and Pope (1954).
    """
    n = len(series)
    deviations = series - series.mean()
    variance = float(deviations @ deviations)
    if variance <= 0:
        return 0.0
    seen = float(deviations[:-1] @ deviations[1:]) / variance
    return min(0.99, max(0.0, seen + (1 + 4 * seen) / n)) if seen > 0 else 0.0


def drawn(seconds: int, length: int, draws: int, random: np.random.Generator) -> Numbers:
    """How often each second was drawn, (draws, seconds): whole blocks around a circle, cut to the run's length."""
    blocks = math.ceil(seconds / length)
    starts = random.integers(0, seconds, size=(draws, blocks, 1))
    picked = ((starts + np.arange(length)) % seconds).reshape(draws, -1)[:, :seconds]
    flat = picked + np.arange(draws)[:, None] * seconds
    return np.bincount(flat.ravel(), minlength=draws * seconds).reshape(draws, seconds).astype(np.float64)
