"""The KV cache as an account: tokens promised to running work never exceed a share of its capacity.

It needs no feedback, so it can't oscillate, and works while the engine's metrics are missing. Forecasts of running work
correct what was promised.
"""

from __future__ import annotations

import math
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


class Charge:
    """Tokens promised to one work until `end`: the expected number and a margin."""

    __slots__ = ("_ended", "_grows", "_ledger", "_start", "_unused", "expected", "held", "margin", "slot")

    def __init__(self, ledger: Ledger, forecast: WorkForecast, slot: int, unused: int) -> None:
        """`unused`: unused tokens of its last block."""
        self._ledger = ledger
        self._ended = False
        self._grows = forecast.ends
        self._start = forecast.held
        self._unused = unused
        self.held = forecast.held
        self.expected = forecast.expected
        self.margin = forecast.margin
        self.slot = slot

    @property
    def forecast(self) -> WorkForecast:
        return WorkForecast(self.held, self.expected, self.margin, ends=self._grows)

    def used(self, tokens_so_far: int) -> None:
        """Sets the tokens in use so far, prompt included. If they exceed the expected number, the margin is used first.

        Work that exceeds both is expected to grow by as much again at any time: with long-tailed lengths, the longer it
        took, the longer the rest.
        """
        held = tokens_so_far + self._unused
        more, beyond = held - self.held, held - self.expected
        if self._ended or more <= 0:
            return
        if self._grows and beyond < 0:
            self.held = held
            self._ledger.grew(self, more)
            return
        before = self.forecast
        self.held = held
        if self._grows and beyond > self.margin:
            self.expected, self.margin = 2 * held - self._start, 0
            self._grows = False
        elif beyond > 0:
            self.expected, self.margin = held, max(0, self.margin - beyond)
        self._ledger.change(self, before)

    def end(self) -> None:
        """Returns the tokens. Idempotent."""
        if not self._ended:
            self._ended = True
            self._ledger.remove(self)


class Ledger:
    """Promises tokens while promised + external <= share * capacity, the new work included.

    The promised tokens are the maximum that all works will hold together at any time (see Forecast). Work that reports
    its progress is charged as it grows, other work with its end from the start. Charging every work with its end would
    leave a third of the cache empty. Used from one event loop.

    Attributes:
        capacity: tokens that the KV cache holds; None if unknown or unbounded. May be set at any time, when the engine
            reports it.
        block: tokens per block. A work holds whole blocks: on average half a block more than it uses.
        share: the most that is promised, as a fraction of the capacity.
        external_tokens: external KV usage, held at the engine by other clients, by its last reading.
    """

    def __init__(self, capacity_tokens: int | None, share: float = 0.85) -> None:
        """`share`: the most that is promised, as a fraction: estimates are a quantile, and some works exceed them."""
        self.capacity = capacity_tokens
        self.block = 1
        self.external_tokens = 0
        self.share = share
        self._forecast = Forecast()
        self._growing = 0
        self._expected = 0
        self._squares = 0
        self._held = 0
        self._held_most = 0

    @property
    def promised(self) -> int:
        """Tokens promised to all works together."""
        return math.ceil(self._forecast.most())

    def fits(self, tokens: int, margin: int = 0, growing: int = 0) -> bool:
        """Whether `tokens` can be promised. `margin` of them are its margin; `growing` of the others are used one by
        one and reported by `Charge.used`.

        A work larger than the capacity fits if nothing else is charged.
        """
        if self.capacity is None or not self._expected:
            return True
        room = self.share * self.capacity - self.external_tokens
        new = self._forecast_of(tokens, margin, growing)
        at_their_ends = self._expected + new.expected + math.isqrt(self._squares + margin**2)
        if at_their_ends <= room or not (self._growing or growing):
            return at_their_ends <= room
        return self._forecast.most_with(new) <= room

    def charge(self, tokens: int, margin: int = 0, growing: int = 0) -> Charge:
        """Promises `tokens` without a check. Call `fits` first, with no await in between."""
        forecast = self._forecast_of(tokens, margin, growing)
        self._count(forecast, 1)
        return Charge(self, forecast, self._forecast.add(forecast), self.block // 2)

    def grew(self, charge: Charge, tokens: int) -> None:
        """Called by a Charge: it holds more of its expected tokens."""
        self._hold(tokens)
        self._forecast.grew(charge.slot, tokens)

    def change(self, charge: Charge, before: WorkForecast) -> None:
        """Called by a Charge: its forecast changed from `before`."""
        forecast = charge.forecast
        self._count(before, -1)
        self._count(forecast, 1)
        self._forecast.change(charge.slot, forecast)

    def remove(self, charge: Charge) -> None:
        """Called by a Charge: it ended."""
        self._count(charge.forecast, -1)
        self._forecast.remove(charge.slot)

    def observe(self, kv_usage: float | None) -> None:
        """Derives the external KV usage from a reading of the engine (0 to 1; None: no reading).

        It is what exceeds the most that our works held since the previous reading, because a reading lags and shows
        works that have ended. Without readings it is 0.
        """
        held = 0.0 if kv_usage is None or self.capacity is None else kv_usage * self.capacity
        self.external_tokens = max(0, round(held) - self._held_most)
        self._held_most = self._held

    def _count(self, work: WorkForecast, times: int) -> None:
        self._growing += times * work.ends
        self._expected += times * work.expected
        self._squares += times * work.margin**2
        self._hold(times * (work.held if work.ends else work.expected + work.margin))

    def _hold(self, tokens: int) -> None:
        self._held += tokens
        self._held_most = max(self._held_most, self._held)

    def _forecast_of(self, tokens: int, margin: int, growing: int) -> WorkForecast:
        expected = tokens - margin + self.block // 2
        return WorkForecast(expected - min(growing, expected), expected, margin, ends=growing > 0)
