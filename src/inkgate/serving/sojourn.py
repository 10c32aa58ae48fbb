"""Fair order without time slicing: serves whole works in the order in which processor sharing would finish them."""

from __future__ import annotations

from heapq import heappop, heappush


class FairSojourn:
    """The Fair Sojourn Protocol (Friedman, Henderson: Fairness and Efficiency in Web Server Protocols, 2003).

    A simulated machine serves all works at once, at the same rate (processor sharing). The real machine serves them one
    after the other, in the order in which they finish in the simulation. None finishes later than there (except behind
    work that can't be interrupted), and most finish sooner: ten lines overtake three thousand, and of two equal pages
    the first takes half the time. Work is in any unit. Abandoned work counts as served, to keep both in step.
    """

    __slots__ = ("_ends", "_now")

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: list[float] = []

    @property
    def left(self) -> float:
        """Work that the simulated machine has left."""
        return sum(self._ends) - self._now * len(self._ends)

    def join(self, work: float) -> float:
        """Adds `work` and returns its tag, its virtual finish time: the smallest tag is served first."""
        end = self._now + work
        heappush(self._ends, end)
        return end

    def served(self, work: float) -> None:
        """Advances the simulation by `work` that was done or abandoned."""
        ends = self._ends
        while ends:
            until_next = (ends[0] - self._now) * len(ends)
            if until_next > work:
                self._now += work / len(ends)
                return
            work -= until_next
            self._now = heappop(ends)
