"""How full a KV cache will get by what is in it: works grow token by token, and leave at different times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.float64]

_NEVER = 1e15
"""Steps until the end of a work whose end isn't known."""


@dataclass(frozen=True, slots=True)
class WorkForecast:
    """One work. All in tokens.

    Attributes:
        held: what it has in the cache now.
        expected: what it has at its end, on average; no less than `held`.
        margin: how much more that may be.
        ends: whether it grows by a token a step and leaves once it has expected + margin. False: it may take all that
            it is expected to at any time, and stay.
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
        """Until it leaves."""
        return self.growth + self.margin if self.ends else _NEVER


class Forecast:
    """The most tokens that works will hold together from now on, with n of them in O(n log n).

    In a step of decoding each running work grows by one token, and those that are nearly done leave before the others
    are large: the peak of the sum is far under the sum of the peaks. (For outputs known exactly this is the future
    required memory of Gong et al., Past-Future Scheduler, ASPLOS 2025.)

        in(t)   = sum over works with steps >= t of min(held + t, expected) + sqrt(sum over them of margin^2)
        most    = max over t of in(t)

    `in` only falls where a work leaves, so that only those t have to be looked at. Margins add by their squares, as
    deviations of works that know nothing of each other do (Bienaymé, 1853).
    """

    def __init__(self) -> None:
        self._columns: tuple[list[float], ...] = ([], [], [], [])
        self._free: list[int] = []
        self._profile: _Profile | None = None

    def add(self, work: WorkForecast) -> int:
        """A number under which the work is known until `remove`."""
        if not self._free:
            self._free.append(len(self._columns[0]))
            for column in self._columns:
                column.append(0.0)
        slot = self._free.pop()
        self.change(slot, work)
        return slot

    def change(self, slot: int, work: WorkForecast) -> None:
        """The work's outlook is another now."""
        self._set(slot, (work.growth, work.steps, work.expected, work.margin**2))

    def grew(self, slot: int, tokens: int) -> None:
        """A work that ends has come so many steps further. Called for each token of each work."""
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
        """Tokens; 0 without works."""
        return float(self._known.most.max(initial=0.0))

    def most_with(self, work: WorkForecast) -> float:
        """The same, if `work` came now."""
        return self._known.most_with(work)

    @property
    def _known(self) -> _Profile:
        if self._profile is None:
            self._profile = _Profile.of(np.array(self._columns))
        return self._profile


@dataclass(frozen=True)
class _Profile:
    """Works in the order in which they leave; n of them. Sums have n + 1 places: over this one and all after it.

    Attributes:
        steps: (n,) until each leaves.
        expected, squares: sums of what they will have, and of their margins' squares.
        growths: (n,) what each has still to grow, in ascending order.
        growing: sums of that.
    """

    steps: Tokens
    expected: Tokens
    squares: Tokens
    growths: Tokens
    growing: Tokens

    @classmethod
    def of(cls, table: Tokens) -> _Profile:
        """`table`: (4, places) growth, steps, expected and square of the margin."""
        growth, steps, expected, squares = table[:, (table[1] > 0) | (table[2] > 0)]  # the others are free places
        order = np.argsort(steps)
        growths = np.sort(growth)
        return cls(steps[order], _rest(expected[order]), _rest(squares[order]), growths, _rest(growths))

    @cached_property
    def held(self) -> Tokens:
        """(n,) by all together, when each leaves, without margins."""
        return self.held_at(self.steps, self.expected[:-1])

    @cached_property
    def most(self) -> Tokens:
        """(n,) with margins."""
        return self.held + np.sqrt(self.squares[:-1])

    def held_at(self, steps: Tokens, expected: Tokens) -> Tokens:
        """What those will hold after `steps` that are expected to have `expected` in the end."""
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


def _rest(values: Tokens) -> Tokens:
    """(n,) to (n + 1,): the sum of each and all after it; 0 at the end."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
