"""Turns at the engine: work waits here, where it can be reordered, expired and cancelled, and not in the engine."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random, SystemRandom
from typing import Protocol

import anyio

from inkgate.concurrency import loop_time
from inkgate.errors import Overloaded
from inkgate.serving.limiter import WorkOutcome, outcome_of
from inkgate.serving.limits import Limit
from inkgate.serving.queue import QueueEntry, WorkQueue
from inkgate.serving.throughput import Throughput, ThroughputRate
from inkgate.serving.work import Priority, Work
from inkgate.settings import SchedulingSettings

_JITTER = 0.3
"""Part by which Retry-After is lengthened at most, so that those refused together don't come back together."""
_SHORT = 0.2
"""Part of the time that a work has, for which it may wait though it will probably not be done in time. Without it a
tenant that asks for a fifth of what an engine bears, beside one that asks for all, lost 6 to 37 % of its answers in the
simulator; now 1 to 3 %, and 2 % more is answered in all."""
_SOONEST_S = 0.001
"""The event loop's clock goes by milliseconds: a timer may ring that much too early."""


class CapacityCharge(Protocol):
    """Tokens promised to one work."""

    def used(self, tokens_so_far: int) -> None:
        """Raises it to what is used, where that is more."""
        ...

    def end(self) -> None: ...


class CapacityLedger(Protocol):
    """What of the engine's capacity is promised."""

    def fits(self, tokens: int, margin: int = 0, growing: int = 0) -> bool:
        """Whether so much more may be promised. True where nothing is promised."""
        ...

    def charge(self, tokens: int, margin: int = 0, growing: int = 0) -> CapacityCharge: ...


class Slot:
    """The right of one work to be at the engine."""

    __slots__ = ("_charge", "_reported", "_tokens_used", "began", "work")

    def __init__(self, work: Work, charge: CapacityCharge, began: float) -> None:
        self.work = work
        self.began = began
        self._charge = charge
        self._tokens_used: int | None = None
        self._reported: WorkOutcome | None = None

    @property
    def tokens_used(self) -> int | None:
        """As said last; None where nothing was said."""
        return self._tokens_used

    def used(self, tokens_so_far: int) -> None:
        """Says what the work has taken by now, in the unit of its cost: more than estimated raises the charge."""
        self._tokens_used = tokens_so_far
        self._charge.used(tokens_so_far)

    def report(self, outcome: WorkOutcome) -> None:
        """Says how it ended where no exception will."""
        self._reported = outcome

    def end(self, error: BaseException | None) -> WorkOutcome:
        """Gives the tokens back; how it ended, judged as a Permit does. The scheduler calls it."""
        self._charge.end()
        return self._reported or outcome_of(error)


class _Waiting:
    """Work that has no turn yet. `deadline`: its own; its entry has the moment by which it has to begin."""

    __slots__ = ("changed", "deadline", "entry", "turn")

    def __init__(self, entry: QueueEntry, deadline: float) -> None:
        self.entry = entry
        self.deadline = deadline
        self.turn: Slot | None = None
        self.changed: anyio.Event | None = None


class Scheduler:
    """Gives turns, in the order of WorkQueue, while there is a place (`limit`) and there are tokens (`ledger`).

    Used from one event loop. It has no task of its own: what ends starts what comes next.
    """

    def __init__(
        self,
        limit: Limit,
        ledger: CapacityLedger,
        rate: ThroughputRate,
        settings: SchedulingSettings,
        clock: Callable[[], float] = loop_time,
        random: Random | None = None,
    ) -> None:
        self.limit = limit
        self._ledger = ledger
        self._settings = settings
        self._clock = clock
        self._random = random or SystemRandom()
        self._throughput = Throughput(rate)
        self._queue = WorkQueue(settings.age_s, settings.overtake_s, settings.weights)
        self._waiting: dict[QueueEntry, _Waiting] = {}
        self._in_flight = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf

    @property
    def in_flight(self) -> int:
        """Works at the engine."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def waiting_by_class(self) -> dict[Priority, int]:
        """By the class that they are in by now: who has waited for long counts as more urgent."""
        return self._queue.by_class

    @property
    def longest_wait_s(self) -> float:
        """Of who waits now. O(works at the engine): those that wait are kept in the order in which they came."""
        since = next((entry.since for entry in self._waiting if entry.waits), None)
        return 0.0 if since is None else self._clock() - since

    @property
    def backlog_tokens(self) -> int:
        """Of all that wait."""
        return self._queue.tokens

    @asynccontextmanager
    async def turn(self, work: Work) -> AsyncIterator[Slot]:
        """Waits for a turn; leaving gives it back and reports how it ended. A flow may hold several.

        Raises:
            Overloaded: "service_full": too many wait, or it would not be done by its deadline: at once where that is
                known then, else as soon as it is.
            InputRejected, EngineFailed: its deadline is past; see `time_over`.
        """
        waiting = self._join(work)
        error: BaseException | None = None
        try:
            yield await self._turn_of(waiting)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._leave(waiting, error)

    def wake(self) -> None:
        """Starts what may start, and expires what is too late: to be called where the limit or the ledger grew."""
        self._start_next(self._clock())

    def expected_wait_s(self, work: Work) -> float | None:
        """How long `work` would wait if it came now; None where that isn't known."""
        if not self._queue and self._in_flight < self.limit.value and self._fits(work):
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else (self._queue.ahead(work) + work.tokens) / per_s

    @property
    def backlog_s(self) -> float | None:
        """How long all that waits will take; None where that isn't known."""
        if not self._queue.tokens:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else self._queue.tokens / per_s

    @property
    def queue_s(self) -> float | None:
        """As `backlog_s`; 0 while only one document waits: who is alone waits for nobody."""
        return 0.0 if self._queue.is_of_one else self.backlog_s

    def retry_after_s(self) -> float:
        """When to come back: tokens that wait / tokens a second, lengthened at random."""
        bounded_s = min(max(self.backlog_s or 0.0, self._settings.retry_after_s), self._settings.retry_after_most_s)
        return bounded_s * (1 + _JITTER * self._random.random())

    def check(self, work: Work) -> None:
        """Raises Overloaded("service_full") where `work`, if it came now, would wait too long."""
        if work.deadline < math.inf:
            self._must_begin_by(work, self._clock())

    def _join(self, work: Work) -> _Waiting:
        now = self._clock()
        if work.deadline <= now:
            raise work.time_over("Its time ran out while it waited for the engine.")
        if self._full(work):
            raise Overloaded("service_full", f"{len(self._queue)} pages wait already.", self.retry_after_s())
        deadline = work.deadline
        if deadline < math.inf:
            work = replace(work, deadline=max(self._must_begin_by(work, now), now + _SOONEST_S))
        waiting = _Waiting(self._queue.push(work, now), deadline)
        self._waiting[waiting.entry] = waiting
        self._start_next(now)
        return waiting

    def _must_begin_by(self, work: Work, now: float) -> float:
        """The moment by which it has to begin so as to be done in time.

        Raises:
            Overloaded: it would begin later than that, or wait for more than its share (`wait_share`) of the time it
                has in all. A queue that is as long as all patience serves nobody sooner and nobody more; but who needs
                the engine for long would be refused all the time, and everybody else be answered in the last moment.
                Who would wait for `_SHORT` of it at most is let in, however long that may take: otherwise somebody who
                fills the engine with long pages would have those refused who hardly use it. While nothing is known of
                the engine, its share is what it may wait: were all to wait for as long as they can, behind first works
                that are slow, all would be begun too late, none would end well, and nothing would ever be known.
        """
        takes_s = self._throughput.residence_s(work.tokens)
        wait_s = self.expected_wait_s(work)
        left_s = max(work.deadline - now - takes_s, _SHORT * min(work.deadline - now, work.patience_s))
        if wait_s and wait_s > min(left_s, self._settings.wait_share * work.patience_s):
            detail = f"It would wait {wait_s:.1f} s and take {takes_s:.1f} s, and has {work.deadline - now:.1f} s."
            raise Overloaded("service_full", detail, self.retry_after_s())
        if wait_s is None:
            left_s = min(left_s, self._settings.wait_share * work.patience_s)
        return now + left_s

    async def _turn_of(self, waiting: _Waiting) -> Slot:
        if waiting.turn is None:
            waiting.changed = anyio.Event()
            await waiting.changed.wait()
        if waiting.turn is None:
            detail = "Its turn did not come while it could still be done in time."
            raise Overloaded("service_full", detail, self.retry_after_s())
        return waiting.turn

    def _full(self, work: Work) -> bool:
        bound = self._settings.max_waiting_tokens or math.inf
        too_much = len(self._queue) > 0 and self._queue.tokens + work.tokens > bound
        return too_much or len(self._queue) >= self._settings.max_waiting

    def _fits(self, work: Work) -> bool:
        return self._ledger.fits(work.tokens, work.margin, work.growing)

    def _start_next(self, now: float) -> None:
        for expired in self._queue.expire(now):
            self._changed(expired)
        while self._in_flight < self.limit.value:
            entry = self._queue.pop(self._fits, now)
            if entry is None:
                break
            self._in_flight += 1
            work = entry.work
            self._throughput.started(work.tokens, now)
            self._waiting[entry].turn = Slot(work, self._ledger.charge(work.tokens, work.margin, work.growing), now)
            self._changed(entry)
        if self._queue.next_deadline < self._alarm_at:
            self._set_alarm(now)

    def _set_alarm(self, now: float) -> None:
        # One timer for all that wait, where a cancel scope for each would cost a quarter of the whole turn. It may
        # ring for one who is gone by then, and is set anew.
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._queue.next_deadline
        after_s = max(self._alarm_at - now, _SOONEST_S)
        self._alarm = asyncio.get_running_loop().call_later(after_s, self._ring)

    def _ring(self) -> None:
        self._alarm_at = math.inf
        self.wake()

    def _changed(self, entry: QueueEntry) -> None:
        changed = self._waiting[entry].changed
        if changed is not None:
            changed.set()

    def _leave(self, waiting: _Waiting, error: BaseException | None) -> None:
        now = self._clock()
        del self._waiting[waiting.entry]
        turn = waiting.turn
        if turn is None:
            self._queue.remove(waiting.entry)
        else:
            self._in_flight -= 1
            outcome = turn.end(error)
            over = outcome is WorkOutcome.LEFT and now >= waiting.deadline
            if over and self._throughput.is_usual(turn.work.tokens, now - turn.began):
                outcome = WorkOutcome.LATE
            self._throughput.ended(turn.work.tokens, turn.began, now, outcome)
            self.limit.ended(outcome, now)
            if turn.tokens_used is not None:
                self._queue.settle(waiting.entry, turn.tokens_used)
        self._start_next(now)
