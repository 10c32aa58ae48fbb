"""What the curve through the trials says, where others took part of the machine during some of them."""

from __future__ import annotations

import numpy as np
import pytest

from inkgate.bench.tune.surface import Surface

SETTINGS = np.array([[0.0], [0.5], [1.0]])
WORTH = np.array([16.0, 20.0, 18.0])
TAKEN = np.array([0.0, 0.1, 0.3, 0.05, 0.4, 0.45, 0.35, 0.02, 0.2, 0.15, 0.25, 0.1])
"""In twelve trials of the three by turns: the best one is disturbed most."""


def curve(cost: float) -> Surface:
    """Through trials that lost `cost` times the share that others took."""
    tried = np.arange(len(TAKEN)) % 3
    noise = np.array([0.02, -0.01, 0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.02, 0.01, -0.01])
    scores = WORTH[tried] * (1 - cost * TAKEN) * (1 + noise)
    times = np.linspace(0.05, 0.95, len(TAKEN))
    return Surface(SETTINGS[tried], times, scores, TAKEN, 0.3 * TAKEN)


@pytest.mark.parametrize("cost", [0.0, 0.5, 1.0])
def test_what_it_costs_that_others_take_the_machine_is_found_from_the_trials(cost: float) -> None:
    assert curve(cost).at(SETTINGS).mean == pytest.approx(WORTH, rel=0.05)


def test_trials_of_the_same_share_are_compared_as_well_as_undisturbed_ones() -> None:
    tried = np.arange(9) % 3
    times = np.linspace(0.05, 0.95, 9)
    nothing = np.zeros(9)

    def spread(taken: float) -> float:
        shares = np.full(9, taken)
        surface = Surface(SETTINGS[tried], times, WORTH[tried], shares, nothing)
        return surface.at(SETTINGS).difference(1, 0)[1]

    assert spread(0.4) == pytest.approx(spread(0.0), rel=0.05)
