"""The KV cache as an account: what is promised to works at the engine never passes a share of what there is.

It needs no feedback, so it can't oscillate, and goes on working while the engine's metrics are gone.
"""

from __future__ import annotations

import math


class Charge:
    """Tokens promised to one work, until `end`: those it is expected to take, and a margin."""

    __slots__ = ("_ended", "_ledger", "expected", "margin")

    def __init__(self, ledger: Ledger, expected: int, margin: int) -> None:
        self._ledger = ledger
        self.expected = expected
        self.margin = margin
        self._ended = False

    def used(self, tokens_so_far: int) -> None:
        """Raises what is expected to what the work has taken by now, where that is more: first at the cost of the
        margin, for that is what it was there for. Prompt included.
        """
        more = tokens_so_far - self.expected
        if more > 0 and not self._ended:
            margin = max(0, self.margin - more)
            self._ledger.promise(more, margin**2 - self.margin**2)
            self.expected, self.margin = tokens_so_far, margin

    def end(self) -> None:
        """Gives the tokens back. Twice is as good as once."""
        if not self._ended:
            self._ended = True
            self._ledger.promise(-self.expected, -(self.margin**2))


class Ledger:
    """Promises tokens while promised + foreign <= share * capacity, the new work included.

        promised = sum of expected tokens + sqrt(sum of margin^2)

    Each work alone would stay under its expected tokens and its margin in 95 % of all cases, say. That all of them come
    near it at once is as good as impossible: deviations of works that know nothing of each other add by their squares
    (Bienaymé, 1853). The sum of all high estimates would leave half of the cache empty. Used from one event loop.

    Attributes:
        capacity: tokens that the KV cache holds; None where it isn't known, or nothing is to be bounded. May be set
            at any time, when the engine says it.
        foreign: tokens that others than us hold at the engine, as far as its last reading showed.
    """

    def __init__(self, capacity_tokens: int | None, share: float = 0.85) -> None:
        """`share` of the capacity is promised at most: estimates are a high quantile, and some will be passed."""
        self.capacity = capacity_tokens
        self.foreign = 0
        self._expected = 0
        self._squares = 0
        self._share = share
        self._peak = 0

    @property
    def promised(self) -> int:
        """Tokens, to all works together."""
        return self._expected + math.isqrt(self._squares)

    def fits(self, tokens: int, margin: int = 0) -> bool:
        """Whether a work of `tokens`, `margin` of them being its margin, may be promised them.

        A work larger than the whole fits where nothing else is charged.
        """
        if self.capacity is None or not self._expected:
            return True
        promised = self._expected + tokens - margin + math.isqrt(self._squares + margin**2)
        return promised + self.foreign <= self._share * self.capacity

    def charge(self, tokens: int, margin: int = 0) -> Charge:
        """Promises `tokens`, whether they fit or not: asking comes first, and there is nothing between."""
        self.promise(tokens - margin, margin**2)
        return Charge(self, tokens - margin, margin)

    def promise(self, expected: int, squares: int) -> None:
        """Changes the sums, for a Charge."""
        self._expected += expected
        self._squares += squares
        self._peak = max(self._peak, self.promised)

    def seen(self, kv_usage: float | None) -> None:
        """Learns from a reading of the engine (0 to 1; None: there is none) what others hold of its KV cache.

        That is what is more than we had promised at any time since the reading before: a reading lags, and shows
        works of ours that have ended. Without readings nothing is held against anybody.
        """
        held = 0.0 if kv_usage is None or self.capacity is None else kv_usage * self.capacity
        self.foreign = max(0, round(held) - self._peak)
        self._peak = self.promised
