"""Whether fewer works at once would have more of them done by their deadlines."""

from __future__ import annotations

_MANY = 0.2
"""Part of the works, averaged over about 20, that may be ended by their deadlines before anything is done about it."""
_FULL = 0.8
"""Part of the usual throughput from which on an engine counts as full."""
_RISES, _FALLS = 1 / 2, 1 / 8
"""How much of a higher and of a lower reading goes into what is usual."""
_FORGETS = 0.002
"""The same of a lower one that doesn't tell what the engine can: with little to do, or after works were made fewer."""


class LateWork:
    """The part of the works that their deadlines ended at the engine, and whether it is for their number.

    An engine that is full divides its time among all that are there: with half as many each is done in half the time,
    and as many are done. An engine that is not full does each as fast as it can: what is late there is late with any
    number at once, for it is long, or its deadline short. Full is an engine while it brings as many tokens as usual.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self._usual = 0.0

    def ended(self, *, late: bool) -> None:
        """A work has ended: by its deadline, or otherwise."""
        self.share += (late - self.share) / 20

    def read(self, tokens_per_s: float, *, busy: bool) -> None:
        """The engine's throughput since the last change; `busy`: it had half of the works that it may have, or more."""
        falls = _FALLS if busy and self.is_low else _FORGETS
        self._usual += (tokens_per_s - self._usual) * (_RISES if tokens_per_s > self._usual else falls)

    @property
    def is_low(self) -> bool:
        """Whether hardly any are late."""
        return self.share < _MANY / 2

    def calls_for_fewer(self, tokens_per_s: float) -> bool:
        """Whether many are late, and the engine is full at this throughput."""
        return self.share > _MANY and self._full(tokens_per_s)

    def allows_more(self, tokens_per_s: float) -> bool:
        """Whether hardly any are late, or those that are would be in any case."""
        return self.is_low or not self._full(tokens_per_s)

    def _full(self, tokens_per_s: float) -> bool:
        return tokens_per_s > 0 and tokens_per_s >= _FULL * self._usual
