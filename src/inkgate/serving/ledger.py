"""The KV cache as an account: what is promised to works at the engine never passes a share of what there is.

It needs no feedback, so it can't oscillate, and goes on working while the engine's metrics are gone.
"""

from __future__ import annotations


class Charge:
    """Tokens promised to one work, until `end`."""

    def __init__(self, ledger: Ledger, tokens: int) -> None:
        self._ledger = ledger
        self.tokens = tokens
        self._ended = False

    def used(self, tokens_so_far: int) -> None:
        """Raises the charge to what the work has taken by now, where its estimate was too low. Prompt included."""
        more = tokens_so_far - self.tokens
        if more > 0 and not self._ended:
            self.tokens = tokens_so_far
            self._ledger.promise(more)

    def end(self) -> None:
        """Gives the tokens back. Twice is as good as once."""
        if not self._ended:
            self._ended = True
            self._ledger.promise(-self.tokens)


class Ledger:
    """Promises tokens while promised + foreign + new <= share * capacity.

    Used from one event loop.

    Attributes:
        capacity: tokens that the KV cache holds; None where it isn't known, or nothing is to be bounded. May be set
            at any time, when the engine says it.
        promised: the sum of all charges.
        foreign: tokens that others than us hold at the engine, as far as its last reading showed.
    """

    def __init__(self, capacity_tokens: int | None, share: float = 0.85) -> None:
        """`share` of the capacity is promised at most: estimates are a high quantile, and some will be passed."""
        self.capacity = capacity_tokens
        self.promised = 0
        self.foreign = 0
        self._share = share
        self._peak = 0

    def fits(self, tokens: int) -> bool:
        """Whether `tokens` more may be promised. A work larger than the whole fits where nothing else is charged."""
        if self.capacity is None or not self.promised:
            return True
        return self.promised + self.foreign + tokens <= self._share * self.capacity

    def charge(self, tokens: int) -> Charge:
        """Promises `tokens`, whether they fit or not: asking comes first, and there is nothing between."""
        self.promise(tokens)
        return Charge(self, tokens)

    def promise(self, tokens: int) -> None:
        """Changes the sum, for a Charge."""
        self.promised += tokens
        self._peak = max(self._peak, self.promised)

    def seen(self, kv_usage: float | None) -> None:
        """Learns from a reading of the engine (0 to 1; None: there is none) what others hold of its KV cache.

        That is what is more than we had promised at any time since the reading before: a reading lags, and shows
        works of ours that have ended. Without readings nothing is held against anybody.
        """
        held = 0.0 if kv_usage is None or self.capacity is None else kv_usage * self.capacity
        self.foreign = max(0, round(held) - self._peak)
        self._peak = self.promised
