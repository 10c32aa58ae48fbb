"""The Universal Scalability Law fitted to throughput (N. J. Gunther, Guerrilla Capacity Planning, 2007, chapter 5).

X(N) = capacity N / (1 + contention (N - 1) + coherency N (N - 1)), of which N / X(N) is linear in a = 1 / capacity,
b = contention / capacity and c = coherency / capacity. The fit takes the sum of squares of relative errors of that line
and keeps b and c from below zero, as waiting for each other can't help.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inkgate.bench.load.results import Usl

LEAST_LEVELS = 4
"""One more than the law has parameters: through three levels it passes always."""
FAR = 100.0
"""A peak at so many times the highest level is what rounding makes of a curve without one."""


def fit(at_once: Sequence[float], per_s: Sequence[float]) -> Usl | None:
    """The law that fits best; None with fewer than four different levels, or where it says no finite capacity.

    `at_once`: requests in flight, 1 or more for the law to mean something; `per_s`: answers a second at each. Levels
    without answers are left out.
    """
    pairs = [(n, x) for n, x in zip(at_once, per_s, strict=True) if n > 0 and x > 0]
    if len({n for n, _ in pairs}) < LEAST_LEVELS:
        return None
    n, x = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
    # each row divided by its own N / X, so that errors are relative; the right side is then 1
    rows = np.column_stack([np.ones_like(n), n - 1, n * (n - 1)]) * (x / n)[:, None]
    a, b, c = _not_negative(rows)
    if a <= 0:
        return None
    contention, coherency = b / a, c / a
    fitted = n / (a + b * (n - 1) + c * n * (n - 1))
    peak = math.sqrt((1 - contention) / coherency) if coherency > 0 and contention < 1 else math.inf
    told = peak if peak <= FAR * n.max() else None
    return Usl(1 / a, contention, coherency, told, _r_squared(x, fitted))


def throughput(law: Usl, at_once: float) -> float:
    """X(`at_once`), answers a second."""
    n = at_once
    return law.capacity * n / (1 + law.contention * (n - 1) + law.coherency * n * (n - 1))


def _not_negative(rows: NDArray[np.float64]) -> tuple[float, float, float]:
    """The least squares of `rows` against 1 with none of the three below zero: the best of all choices of zeros."""
    best, least = (0.0, 0.0, 0.0), math.inf
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0] = 1.0
    for kept in ([0, 1, 2], [0, 1], [0, 2], [0]):
        solution = np.linalg.lstsq(rows[:, kept] / scale[kept], np.ones(len(rows)), rcond=None)[0] / scale[kept]
        if (solution < 0).any():
            continue
        error = float(np.square(rows[:, kept] @ solution - 1).sum())
        if error < least:
            values = dict(zip(kept, solution.tolist(), strict=True))
            best, least = (values.get(0, 0.0), values.get(1, 0.0), values.get(2, 0.0)), error
    return best


def _r_squared(x: NDArray[np.float64], fitted: NDArray[np.float64]) -> float:
    total = float(np.square(x - x.mean()).sum())
    return 1 - float(np.square(x - fitted).sum()) / total if total > 0 else 0.0
