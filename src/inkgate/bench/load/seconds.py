"""A load second by second, put together of what its senders tell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from inkgate.bench.load.course import Part
from inkgate.bench.load.plan import Plan
from inkgate.bench.load.results import Second
from inkgate.bench.load.samples import Samples
from inkgate.bench.load.summary import second


class Seconds:
    """The seconds of a load that `senders` put on together. A sender tells a Part at the end of every second, or later
    where it stood still: what ended is counted in the second in which it ended, what was due in the one in which it was
    due.
    """

    def __init__(self, plan: Plan, senders: int, on_second: Callable[[Second], None] | None) -> None:
        """`on_second` hears of every second once all have told of it. What they begin late is not in it yet."""
        self._plan = plan
        self._on_second = on_second
        self._told: list[Second] = []
        self._in_flight = [0] * senders
        self._seconds = [0.0] * senders
        """That each has told of; once it has ended there is nothing more to wait for."""
        self._due: Counter[int] = Counter()
        self._untold = Samples()

    def hear(self, number: int, part: Part) -> None:
        """Sender `number` tells of the next second."""
        self._add(number, part)
        self._seconds[number] += 1
        self._tell()

    def end(self, number: int, rest: Part) -> None:
        """Sender `number` has ended; `rest`: what it has not told yet."""
        self._add(number, rest)
        self._seconds[number] = math.inf
        self._tell()

    def timeline(self, ended_s: float) -> tuple[Second, ...]:
        """All whole seconds, once all have ended, the last after so many seconds. In each is all that was due in it,
        what was begun late too.
        """
        while len(self._told) < int(ended_s):
            self._next()
        return tuple(replace(each, offered=self._due[number]) for number, each in enumerate(self._told))

    def _add(self, number: int, part: Part) -> None:
        self._untold.extend(part.ended)
        self._in_flight[number] = part.in_flight
        self._due.update(part.due)

    def _tell(self) -> None:
        while len(self._told) < min(self._seconds) < math.inf:
            told = self._next()
            if self._on_second is not None:
                self._on_second(told)

    def _next(self) -> Second:
        """The next one, of what was heard until now."""
        number = len(self._told)
        at = float(number + 1)
        heard, self._untold = self._untold.columns(), Samples()
        self._untold.extend(heard.where(heard.ended > at))
        ended = heard.where(heard.ended <= at)
        level, in_flight = self._plan.level_at(at), sum(self._in_flight)
        self._told.append(second(ended, at, level, self._plan.deadline_s, self._due[number], in_flight))
        return self._told[-1]
