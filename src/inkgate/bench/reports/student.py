"""Quantiles of Student's t, so that no package of statistics is needed for one function."""

from __future__ import annotations

import math

import numpy as np

_STEPS = 1_001


def t_quantile(share: float, freedom: float) -> float:
    """The value below which Student's t with `freedom` degrees lies with the probability `share`.

    By bisection on the distribution function, which is integrated by Simpson's rule in the angle whose tangent is
    t / sqrt(freedom): there the density is a power of the cosine, smooth and bounded. Exact to 5 digits.

    Raises:
        ValueError: `share` is not from 0.5 up to, and without, 1, or `freedom` is less than 1.
    """
    if not 0.5 <= share < 1:
        raise ValueError(f"a share of {share} is not between 0.5 and 1")
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom are fewer than one")
    low, high = 0.0, math.pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _below(angle: float, freedom: float) -> float:
    densities = np.cos(np.linspace(0.0, angle, _STEPS)) ** (freedom - 1)
    weights = np.ones(_STEPS)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    area = float(weights @ densities) * angle / (_STEPS - 1) / 3
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return 0.5 + area * math.exp(log_scale) / math.sqrt(math.pi)
