"""How far a load test has come: what is on its way, what has ended, and whether all that counts has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from inkgate.bench.load.plan import Plan
from inkgate.bench.load.samples import Columns, Outcome, Sample, Samples


@dataclass(frozen=True, slots=True)
class Part:
    """What has `ended` in a while, how many requests were `due` then, by the second that they were due in (0 is the
    first), and how many were on their way at its end.
    """

    ended: Columns
    due: Mapping[int, int]
    in_flight: int


class Course:
    """Counts requests from the moment they are due to their end. `now`: seconds from the beginning."""

    def __init__(self, plan: Plan, now: Callable[[], float]) -> None:
        self.plan = plan
        self.now = now
        self.samples = Samples()
        self.in_flight = 0
        self.over = anyio.Event()
        """All requests of the window have ended, and no more will be due in it."""
        self.begins_s = plan.warming_s
        self.ends_s = plan.warming_s + plan.window_s
        self.stopped = False
        """It ended before all that."""
        self._closed = False
        self._next = math.inf
        self._counted_on_way = 0
        self._due: Counter[int] = Counter()
        self._told = 0

    def comes(self, due: float) -> None:
        """The next request is due then; `math.inf`: none is known. What is due before the window's end is waited for,
        however late it is sent: where this process stood still, it is to be late, not missing.
        """
        self._next = due
        self._look()

    def begin(self, due: float) -> None:
        """A request is due and about to be sent."""
        self._due[int(due)] += 1
        self.in_flight += 1
        self._counted_on_way += self._counts(due)

    def end(self, due: float, sample: Sample) -> None:
        """The request that was due then has ended so."""
        self.in_flight -= 1
        self._counted_on_way -= self._counts(due)
        self.samples.add(sample)
        self._look()

    def unsent(self, due: float) -> None:
        """A request was due while too many were on their way."""
        self._due[int(due)] += 1
        kind = f"not sent: {self.plan.max_in_flight} on their way"
        self.samples.add(Sample(due, due, self.now(), Outcome.UNSENT, kind))

    def close(self) -> None:
        """No more requests will be due in the window, but for the one that comes next."""
        self._closed = True
        self._look()

    def stop(self) -> None:
        """It ends now."""
        self.stopped = not self.over.is_set()
        self.over.set()

    def _counts(self, due: float) -> bool:
        return self.begins_s <= due < self.ends_s

    def _look(self) -> None:
        if self._closed and not self._counted_on_way and self._next >= self.ends_s:
            self.over.set()

    def part(self) -> Part:
        """What has happened since this was last asked."""
        part = Part(self.samples.columns(self._told), self._due, self.in_flight)
        self._told += len(part.ended)
        self._due = Counter()
        return part
