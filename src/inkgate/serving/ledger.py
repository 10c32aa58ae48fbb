"""The KV cache as an account: what is promised to works at the engine never passes a share of what there is.

It needs no feedback, so it can't oscillate, and goes on working while the engine's metrics are gone.
"""

from __future__ import annotations

import math

from inkgate.serving.forecast import Forecast, WorkForecast


class Charge:
    """Tokens promised to one work, until `end`: those it is expected to take, and a margin."""

    __slots__ = ("_ended", "_grows", "_ledger", "_start", "_unused", "expected", "held", "margin", "slot")

    def __init__(self, ledger: Ledger, outlook: WorkForecast, slot: int, unused: int) -> None:
        """`unused`: what it has of its last block without using it."""
        self._ledger = ledger
        self._ended = False
        self._grows = outlook.ends
        self._start = outlook.held
        self._unused = unused
        self.held = outlook.held
        self.expected = outlook.expected
        self.margin = outlook.margin
        self.slot = slot

    @property
    def outlook(self) -> WorkForecast:
        return WorkForecast(self.held, self.expected, self.margin, ends=self._grows)

    def used(self, tokens_so_far: int) -> None:
        """Raises what is held to what the work has taken by now, prompt included; and what is expected, where that is
        less: first at the cost of the margin, for that is what it was there for. One that grows beyond both is expected
        to grow by as much again, at any time, and to stay: with a long tail of lengths, what is to come is the longer
        the longer it took.
        """
        held = tokens_so_far + self._unused
        more, beyond = held - self.held, held - self.expected
        if self._ended or more <= 0:
            return
        if self._grows and beyond < 0:
            self.held = held
            self._ledger.grew(self, more)
            return
        before = self.outlook
        self.held = held
        if self._grows and beyond > self.margin:
            self.expected, self.margin = 2 * held - self._start, 0
            self._grows = False
        elif beyond > 0:
            self.expected, self.margin = held, max(0, self.margin - beyond)
        self._ledger.change(self, before)

    def end(self) -> None:
        """Gives the tokens back. Twice is as good as once."""
        if not self._ended:
            self._ended = True
            self._ledger.remove(self)


class Ledger:
    """Promises tokens while promised + foreign <= share * capacity, the new work included.

    What is promised is the most that all works will hold together at any time (see Forecast), and no less than that:
    a work that tells how far it is is not charged with its end before it gets there, and one that doesn't is. The sum
    of all ends would leave a third of the cache empty. Used from one event loop.

    Attributes:
        capacity: tokens that the KV cache holds; None where it isn't known, or nothing is to be bounded. May be set
            at any time, when the engine says it.
        block: tokens of one of its blocks, of which a work has whole ones: half of one more than it uses, on average.
        foreign: tokens that are held at the engine beside what our works are known to hold, as far as its last reading
            showed: others'.
    """

    def __init__(self, capacity_tokens: int | None, share: float = 0.85) -> None:
        """`share` of the capacity is promised at most: estimates are a high quantile, and some will be passed."""
        self.capacity = capacity_tokens
        self.block = 1
        self.foreign = 0
        self._share = share
        self._forecast = Forecast()
        self._growing = 0
        self._expected = 0
        self._squares = 0
        self._held = 0
        self._held_most = 0

    @property
    def promised(self) -> int:
        """Tokens, to all works together."""
        return math.ceil(self._forecast.most())

    def fits(self, tokens: int, margin: int = 0, growing: int = 0) -> bool:
        """Whether a work of `tokens` may be promised them; `margin` of them are its margin, and `growing` of the others
        come one by one, and are told of (`Charge.used`).

        A work larger than the whole fits where nothing else is charged.
        """
        if self.capacity is None or not self._expected:
            return True
        room = self._share * self.capacity - self.foreign
        new = self._outlook(tokens, margin, growing)
        at_their_ends = self._expected + new.expected + math.isqrt(self._squares + margin**2)
        if at_their_ends <= room or not (self._growing or growing):
            return at_their_ends <= room
        return self._forecast.most_with(new) <= room

    def charge(self, tokens: int, margin: int = 0, growing: int = 0) -> Charge:
        """Promises `tokens`, whether they fit or not: asking comes first, and there is nothing between."""
        outlook = self._outlook(tokens, margin, growing)
        self._count(outlook, 1)
        return Charge(self, outlook, self._forecast.add(outlook), self.block // 2)

    def grew(self, charge: Charge, tokens: int) -> None:
        """For a Charge: it holds so many more, of those that are expected."""
        self._hold(tokens)
        self._forecast.grew(charge.slot, tokens)

    def change(self, charge: Charge, before: WorkForecast) -> None:
        """For a Charge: its outlook was `before`."""
        outlook = charge.outlook
        self._count(before, -1)
        self._count(outlook, 1)
        self._forecast.change(charge.slot, outlook)

    def remove(self, charge: Charge) -> None:
        """For a Charge: it has ended."""
        self._count(charge.outlook, -1)
        self._forecast.remove(charge.slot)

    def seen(self, kv_usage: float | None) -> None:
        """Learns from a reading of the engine (0 to 1; None: there is none) what is held there beside our works.

        That is what is more than they held at any time since the reading before: a reading lags, and shows works of
        ours that have ended. Without readings nothing is held against anybody.
        """
        held = 0.0 if kv_usage is None or self.capacity is None else kv_usage * self.capacity
        self.foreign = max(0, round(held) - self._held_most)
        self._held_most = self._held

    def _count(self, work: WorkForecast, times: int) -> None:
        self._growing += times * work.ends
        self._expected += times * work.expected
        self._squares += times * work.margin**2
        self._hold(times * (work.held if work.ends else work.expected + work.margin))

    def _hold(self, tokens: int) -> None:
        self._held += tokens
        self._held_most = max(self._held_most, self._held)

    def _outlook(self, tokens: int, margin: int, growing: int) -> WorkForecast:
        expected = tokens - margin + self.block // 2
        return WorkForecast(expected - min(growing, expected), expected, margin, ends=growing > 0)
