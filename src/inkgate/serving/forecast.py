"""Forecasts the peak use of a KV cache: running work grows token by token and leaves at different times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.float64]

_NEVER = 1e15
"""Steps of a work with unknown end."""


@dataclass(frozen=True, slots=True)
class WorkForecast:
    """The forecast of one work, in tokens.

    Attributes:
        held: tokens in the cache now.
        expected: mean at its end; at least `held`.
        margin: how much more it may need.
        ends: True: it grows by one token per step and leaves at expected + margin. False: it may take all expected
            tokens at any time, and stays.
    """

    held: int
    expected: int
    margin: int = 0
    ends: bool = False

    @property
    def growth(self) -> int:
        return self.expected - self.held if self.ends else 0

    @property
    def steps(self) -> float:
        """Steps until it leaves."""
        return self.growth + self.margin if self.ends else _NEVER


class Forecast:
    """The maximum number of tokens that all works will hold together from now on. O(n log n) for n works.

    Each decoding step adds one token to each running work, and works that are nearly done leave before the others are
    large: the peak of the sum is far below the sum of the peaks. (With exactly known outputs this is the future
    required memory of Gong et al., Past-Future Scheduler, ASPLOS 2025.)

        in(t)   = sum over works with steps >= t of min(held + t, expected) + sqrt(sum over them of margin^2)
        most    = max over t of in(t)

    `in` falls only where a work leaves, so only those t are evaluated. Margins add by their squares, as the variances
    of independent works do (Bienaymé, 1853).
    """

    def __init__(self) -> None:
        self._columns: tuple[list[float], ...] = ([], [], [], [])
        self._free: list[int] = []
        self._profile: _Profile | None = None

    def add(self, work: WorkForecast) -> int:
        """Adds a work; returns its number for `change`, `grew` and `remove`."""
        if not self._free:
            self._free.append(len(self._columns[0]))
            for column in self._columns:
                column.append(0.0)
        slot = self._free.pop()
        self.change(slot, work)
        return slot

    def change(self, slot: int, work: WorkForecast) -> None:
        """Replaces the forecast of a work."""
        self._set(slot, (work.growth, work.steps, work.expected, work.margin**2))

    def grew(self, slot: int, tokens: int) -> None:
        """Advances a work that ends by some steps. Called for each token of each work."""
        growth, steps, _, _ = self._columns
        growth[slot] -= tokens
        steps[slot] -= tokens
        self._profile = None

    def remove(self, slot: int) -> None:
        self._set(slot, (0.0, 0.0, 0.0, 0.0))
        self._free.append(slot)

    def _set(self, slot: int, values: tuple[float, ...]) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column[slot] = value
        self._profile = None

    def most(self) -> float:
        """The maximum in tokens; 0 without works."""
        return float(self._known.most.max(initial=0.0))

    def most_with(self, work: WorkForecast) -> float:
        """The maximum if `work` were added now."""
        return self._known.most_with(work)

    @property
    def _known(self) -> _Profile:
        if self._profile is None:
            self._profile = _Profile.of(np.array(self._columns))
        return self._profile


@dataclass(frozen=True)
class _Profile:
    """n works in the order in which they leave. Sums have n + 1 entries: over a work and all after it.

    Attributes:
        steps: (n,) steps until each leaves.
        expected, squares: sums of expected tokens and of squared margins.
        growths: (n,) remaining growth of each, ascending.
        growing: sums of it.
    """

    steps: Tokens
    expected: Tokens
    squares: Tokens
    growths: Tokens
    growing: Tokens

    @classmethod
    def of(cls, table: Tokens) -> _Profile:
        """`table`: (4, places) growth, steps, expected and square of the margin."""
        growth, steps, expected, squares = table[:, (table[1] > 0) | (table[2] > 0)]  # skips free entries
        order = np.argsort(steps)
        growths = np.sort(growth)
        return cls(
            steps[order], _suffix_sums(expected[order]), _suffix_sums(squares[order]), growths, _suffix_sums(growths)
        )

    @cached_property
    def held(self) -> Tokens:
        """(n,) tokens of all works when each leaves, without margins."""
        return self.held_at(self.steps, self.expected[:-1])

    @cached_property
    def most(self) -> Tokens:
        """(n,) tokens of all works when each leaves, with margins."""
        return self.held + np.sqrt(self.squares[:-1])

    def held_at(self, steps: Tokens, expected: Tokens) -> Tokens:
        """Tokens after `steps` of works that will have `expected` in the end."""
        first = np.searchsorted(self.growths, steps, side="right")
        return expected - (self.growing[first] - steps * (len(self.growths) - first))

    def most_with(self, work: WorkForecast) -> float:
        """See Forecast."""
        together = np.where(
            self.steps <= work.steps,
            self.held
            + np.minimum(work.expected - work.growth + self.steps, work.expected)
            + np.sqrt(self.squares[:-1] + work.margin**2),
            self.most,
        )
        last = np.searchsorted(self.steps, work.steps, side="left")
        at_its_end = self.held_at(np.array([work.steps]), self.expected[last])
        then = float(at_its_end[0]) + work.expected + float(np.sqrt(self.squares[last] + work.margin**2))
        return max(then, float(together.max(initial=0.0)))


def _suffix_sums(values: Tokens) -> Tokens:
    """(n,) to (n + 1,): suffix sums; the last is 0."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
