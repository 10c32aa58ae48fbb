"""Slots at the engine. Work waits here and not in the engine, so that it can be reordered, expired and cancelled."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random, SystemRandom

import anyio

from inkgate.caller import Priority
from inkgate.concurrency import loop_time
from inkgate.errors import Overloaded
from inkgate.serving.limiter import WorkOutcome, outcome_of
from inkgate.serving.limits import Limit
from inkgate.serving.queue import QueueEntry, WorkQueue
from inkgate.serving.throughput import Throughput, TokenRate
from inkgate.serving.work import Work
from inkgate.settings import SchedulingSettings

_JITTER = 0.3
"""Maximum jitter of Retry-After, so that clients refused together don't come back together."""
_SHORT = 0.2
"""A work may always wait this share of its time, even if it will probably miss its deadline. In the simulator, a tenant
that asks for a fifth of the engine's capacity, beside one that asks for all of it, lost 6 to 37 % of its responses
without this; with it 1 to 3 %, and total throughput rose by 2 %."""
_SOONEST_S = 0.001
"""The event loop's clock has a resolution of 1 ms: a timer may fire this much early."""


class Slot:
    """The right of one work to be at the engine.

    Attributes:
        tokens_used: set by who does the work, in the unit of its cost, to correct what its tenant is charged; None if
            unknown.
    """

    __slots__ = ("_reported", "began", "tokens_used", "work")

    def __init__(self, work: Work, began: float) -> None:
        self.work = work
        self.began = began
        self.tokens_used: int | None = None
        self._reported: WorkOutcome | None = None

    def report(self, outcome: WorkOutcome) -> None:
        """Reports the outcome if no exception will show it."""
        self._reported = outcome

    def outcome(self, error: BaseException | None) -> WorkOutcome:
        """How work that raised `error` ended, as Permit has it."""
        return self._reported or outcome_of(error)


class _Waiting:
    """Work without a slot. `deadline`: its own; its entry has the latest time to start."""

    __slots__ = ("changed", "deadline", "entry", "slot")

    def __init__(self, entry: QueueEntry, deadline: float) -> None:
        self.entry = entry
        self.deadline = deadline
        self.slot: Slot | None = None
        self.changed: anyio.Event | None = None


def _nothing() -> None:
    """Does nothing."""


def _patient(waiting: _Waiting) -> int:
    """The tokens of work that nobody waits for."""
    return waiting.entry.work.tokens if waiting.deadline == math.inf else 0


class Scheduler:
    """Gives out slots in the order of WorkQueue, up to `limit`.

    Used from one event loop. It has no task of its own: the end of a work starts the next.

    Attributes:
        started, refused: counts of works that got a slot, and that were refused one.
    """

    def __init__(
        self,
        limit: Limit,
        rate: TokenRate,
        settings: SchedulingSettings,
        clock: Callable[[], float] = loop_time,
        random: Random | None = None,
    ) -> None:
        self.limit = limit
        self._settings = settings
        self._clock = clock
        self._random = random or SystemRandom()
        self._throughput = Throughput(rate)
        self._queue = WorkQueue(settings.age_s, settings.weights)
        self._waiting: dict[QueueEntry, _Waiting] = {}
        self._patient_tokens = 0
        """Of waiting work without a deadline."""
        self._in_flight = 0
        self.started = 0
        self.refused = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._on_change: Callable[[], None] = _nothing

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        """`changed` is called whenever work has ended or left, or the limit may have grown."""
        self._on_change = changed

    @property
    def in_flight(self) -> int:
        """Number of works at the engine."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def waiting_by_class(self) -> dict[Priority, int]:
        """Number of waiting works by current class; work that waited long has moved up."""
        return self._queue.by_class

    @property
    def longest_wait_s(self) -> float:
        """Longest current wait. O(works at the engine), since waiting work is kept in order of arrival."""
        since = next((entry.since for entry in self._waiting if entry.waits), None)
        return 0.0 if since is None else self._clock() - since

    @property
    def backlog_tokens(self) -> int:
        """Sum over all waiting work."""
        return self._queue.tokens

    @asynccontextmanager
    async def slot(self, work: Work) -> AsyncIterator[Slot]:
        """Waits for a slot; leaving frees it and reports the outcome. A flow may hold several.

        Raises:
            Overloaded: "service_full": the queue is full, or the work can't finish by its deadline. Raised as soon as
                that is known.
            InputRejected, EngineFailed: its deadline has passed; see `timeout_error`.
        """
        try:
            waiting = self._join(work)
        except Overloaded:
            self.refused += 1
            raise
        error: BaseException | None = None
        try:
            yield await self._slot_for(waiting)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._leave(waiting, error)

    def wake(self) -> None:
        """Starts what fits and expires what is late. To be called when the limit grew."""
        self._start_next(self._clock())
        self._on_change()

    def expected_wait_s(self, work: Work) -> float | None:
        """Estimated wait of `work` if it arrived now; None if unknown."""
        if not self._queue and self._in_flight < self.limit.value:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else (self._queue.ahead(work) + work.tokens) / per_s

    @property
    def backlog_s(self) -> float | None:
        """Estimated time to finish all waiting work; None if unknown."""
        if not self._queue.tokens:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else self._queue.tokens / per_s

    @property
    def queue_s(self) -> float | None:
        """As `backlog_s`, without work that has no deadline, such as that of jobs, and 0 while all waiting work is of
        one document: it waits for no other.
        """
        tokens = self._queue.tokens - self._patient_tokens
        if not tokens or self._queue.is_single_flow:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else tokens / per_s

    def usual_s(self, work: Work) -> float:
        """Mean time at the engine of work of this size; 0 while unknown."""
        return self._throughput.mean_s(work.tokens)

    def retry_after_s(self) -> float:
        """Time to clear the backlog (waiting tokens / tokens a second) with jitter, within the configured bounds."""
        bounded_s = min(max(self.backlog_s or 0.0, self._settings.retry_after_s), self._settings.retry_after_most_s)
        return bounded_s * (1 + _JITTER * self._random.random())

    def check(self, work: Work) -> None:
        """Raises Overloaded("service_full") if `work` would wait too long."""
        if work.deadline < math.inf:
            self._must_begin_by(work, self._clock())

    def _join(self, work: Work) -> _Waiting:
        now = self._clock()
        if work.deadline <= now:
            raise work.timeout_error("It timed out while waiting for the engine.")
        if self._full(work):
            raise Overloaded(
                "service_full", f"The queue is full: {len(self._queue)} pages are waiting.", self.retry_after_s()
            )
        deadline = work.deadline
        if deadline < math.inf:
            work = replace(work, deadline=max(self._must_begin_by(work, now), now + _SOONEST_S))
        waiting = _Waiting(self._queue.push(work, now), deadline)
        self._waiting[waiting.entry] = waiting
        self._patient_tokens += _patient(waiting)
        self._start_next(now)
        return waiting

    def _must_begin_by(self, work: Work, now: float) -> float:
        """Clock time by which the work must start to finish in time.

        Raises:
            Overloaded: it would start later, or wait for more than `wait_share` of its time. A queue as long as the
                deadlines allow would not raise throughput: long work would always be refused, and all other work would
                finish at the last moment. Work that would wait at most `_SHORT` of its time is accepted anyway:
                otherwise one tenant's long pages would cause refusals for tenants that hardly use the engine. While
                the throughput is unknown, a work may wait for `wait_share` of its time: if all waited to their
                deadlines behind slow first works, all would start too late and the throughput would stay unknown.
        """
        takes_s = self._throughput.residence_s(work.tokens)
        wait_s = self.expected_wait_s(work)
        left_s = max(work.deadline - now - takes_s, _SHORT * min(work.deadline - now, work.patience_s))
        if wait_s and wait_s > min(left_s, self._settings.wait_share * work.patience_s):
            left = f"{work.deadline - now:.1f} s"
            detail = f"The request has {left} left, but would wait {wait_s:.1f} s and then take {takes_s:.1f} s."
            raise Overloaded("service_full", detail, self.retry_after_s())
        if wait_s is None:
            left_s = min(left_s, self._settings.wait_share * work.patience_s)
        return now + left_s

    async def _slot_for(self, waiting: _Waiting) -> Slot:
        if waiting.slot is None:
            waiting.changed = anyio.Event()
            await waiting.changed.wait()
        if waiting.slot is None:
            self.refused += 1
            detail = "The engine had no free slot in time to finish before the deadline."
            raise Overloaded("service_full", detail, self.retry_after_s())
        return waiting.slot

    def _full(self, work: Work) -> bool:
        bound = self._settings.max_waiting_tokens or math.inf
        too_much = len(self._queue) > 0 and self._queue.tokens + work.tokens > bound
        return too_much or len(self._queue) >= self._settings.max_waiting

    def _start_next(self, now: float) -> None:
        for expired in self._queue.expire(now):
            self._changed(expired)
        while self._in_flight < self.limit.value:
            entry = self._queue.pop(now)
            if entry is None:
                break
            self._in_flight += 1
            self.started += 1
            work = entry.work
            self._throughput.started(work.tokens, now)
            self._patient_tokens -= _patient(self._waiting[entry])
            self._waiting[entry].slot = Slot(work, now)
            self._changed(entry)
        if self._queue.next_deadline < self._alarm_at:
            self._set_alarm(now)

    def _set_alarm(self, now: float) -> None:
        # One timer for all waiting work: a cancel scope for each would add a quarter to the cost of a slot. It may fire
        # for work that has left; then it is set again.
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
        slot = waiting.slot
        if slot is None:
            self._patient_tokens -= _patient(waiting)
            self._queue.remove(waiting.entry)
        else:
            self._in_flight -= 1
            outcome = slot.outcome(error)
            over = outcome is WorkOutcome.LEFT and now >= waiting.deadline
            if over and self._throughput.is_usual(slot.work.tokens, now - slot.began):
                outcome = WorkOutcome.LATE
            self._throughput.ended(slot.work.tokens, slot.began, now, outcome)
            self.limit.ended(outcome, now)
            if slot.tokens_used is not None:
                self._queue.settle(waiting.entry, slot.tokens_used)
        self._start_next(now)
        self._on_change()
