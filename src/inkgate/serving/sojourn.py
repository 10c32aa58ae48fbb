"""Fair order without taking turns: who would be done first if all shared evenly comes first, and comes whole."""

from __future__ import annotations

from heapq import heappop, heappush


class FairSojourn:
    """The Fair Sojourn Protocol (Friedman, Henderson: Fairness and Efficiency in Web Server Protocols, 2003).

    A machine is imagined on which all who are there are served at once, at the same rate each. Served one after the
    other in the order in which they would leave it, nobody is done later than there (but for work that can't be
    interrupted), and most are done sooner: ten lines overtake three thousand, and of two like pages the first is done
    in half the time. Work is in any unit. What is abandoned counts as served, so that both machines have done the same.
    """

    __slots__ = ("_ends", "_now")

    def __init__(self) -> None:
        self._now = 0.0
        self._ends: list[float] = []

    @property
    def left(self) -> float:
        """Work that the imagined machine has yet to do."""
        return sum(self._ends) - self._now * len(self._ends)

    def join(self, work: float) -> float:
        """When somebody who comes now with so much work would leave: the least such tag is served first."""
        end = self._now + work
        heappush(self._ends, end)
        return end

    def served(self, work: float) -> None:
        """So much of what is there was done, or is not wanted any more."""
        ends = self._ends
        while ends:
            until_next = (ends[0] - self._now) * len(ends)
            if until_next > work:
                self._now += work / len(ends)
                return
            work -= until_next
            self._now = heappop(ends)
