"""The queue: turns at an engine, in worker processes, or in threads. Work waits here and not there, so that it can be
reordered, expired and cancelled.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.serving.limits import Limit
from inkgate.serving.order import FairOrder, QueueEntry, Work
from inkgate.serving.outcomes import HeldUntilDone, WorkOutcome
from inkgate.serving.throughput import Throughput, TokenRate
from inkgate.settings import SchedulingSettings
from inkgate_client.concurrency import loop_time

_SHORT = 0.2
"""A work may always wait this share of its time, even if it will probably miss its deadline. In the simulator, a tenant
that asks for a fifth of the engine's capacity, beside one that asks for all of it, lost 6 to 37 % of its responses
without this; with it 1 to 3 %, and total throughput rose by 2 %."""
_SOONEST_S = 0.001
"""The event loop's clock has a resolution of 1 ms: a timer may fire this much early."""


class Turn(HeldUntilDone):
    """The turn of one work. It ends once its block is left and the work has ended, though its caller may have left
    before.

    Attributes:
        deadline: of the work; its entry has the latest time to begin.
        comes_first: whether its tenant had no other work here when it came.
        began: clock time at which it began; infinite before.
        changed: set when it begins, or can't begin in time.
        tokens_used: set by who does the work, in the unit of its cost, to correct what its tenant is charged; None if
            unknown.
    """

    __slots__ = ("_queue", "began", "changed", "comes_first", "deadline", "entry", "tokens_used")

    def __init__(self, queue: WorkQueue, entry: QueueEntry, deadline: float, *, comes_first: bool = False) -> None:
        super().__init__()
        self._queue = queue
        self.entry = entry
        self.deadline = deadline
        self.comes_first = comes_first
        self.began = math.inf
        self.changed: anyio.Event | None = None
        self.tokens_used: int | None = None

    @property
    def has_begun(self) -> bool:
        return self.began < math.inf

    def begin_work(self) -> None:
        """Begins work, for which the request is charged, too."""
        self.entry.work.charge.begin_work()
        super().begin_work()

    def end_work(self) -> None:
        self.entry.work.charge.end_work()
        super().end_work()

    def _free(self, outcome: WorkOutcome) -> None:
        self._queue.end(self, outcome)


def _nothing() -> None:
    """Does nothing."""


def _patient(turn: Turn) -> int:
    """The tokens of work that nobody waits for."""
    return turn.entry.work.tokens if turn.deadline == math.inf else 0


class WorkQueue:
    """Gives out turns in FairOrder, as many at once as `limit` allows.

    Used from one event loop. It has no task of its own: the end of a work starts the next.

    Attributes:
        started, refused: counts of requests that got a turn, and that were refused one.
    """

    def __init__(
        self,
        limit: Limit,
        settings: SchedulingSettings,
        clock: Callable[[], float] = loop_time,
        *,
        timed: bool = False,
        extra: bool = False,
    ) -> None:
        """`timed`: work costs the milliseconds of its turn, whatever it was estimated at, and waits as long as its
        caller does. Otherwise it costs tokens, and is refused as soon as it can't finish in time.

        `extra`: while all turns are of one tenant, a work of another that has no other work here begins at once, above
        the limit, unless the last such one still runs. It would wait for a whole work of that tenant, such as a
        large page, otherwise.
        """
        self.limit = limit
        self._settings = settings
        self._clock = clock
        self._timed = timed
        self._extra = extra
        self._extra_turn: Turn | None = None
        self._throughput = Throughput(TokenRate(clock))
        self._order = FairOrder(settings.age_s, settings.weights)
        self._turns: dict[QueueEntry, Turn] = {}
        self._patient_tokens = 0
        """Tokens of waiting work without a deadline."""
        self._in_flight: Counter[str] = Counter()
        """Turns in flight by tenant; `_requests` has those that wait, too."""
        self._requests: Counter[str] = Counter()
        self.started = 0
        self.refused = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._on_change: Callable[[], None] = _nothing

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        """`changed` is called whenever work has ended or left, or the limit may have grown. It replaces
        an earlier one.
        """
        self._on_change = changed

    @property
    def in_flight(self) -> int:
        """Number of requests at the engine."""
        return self._in_flight.total()

    @property
    def waiting(self) -> int:
        return len(self._order)

    @property
    def waiting_by_class(self) -> dict[Priority, int]:
        """Number of waiting requests by current class; work that waited long has moved up."""
        return self._order.by_class

    @property
    def longest_wait_s(self) -> float:
        """Longest current wait. O(requests at the engine), since waiting work is kept in order of arrival."""
        since = next((entry.since for entry in self._turns if entry.waits), None)
        return 0.0 if since is None else self._clock() - since

    @property
    def backlog_tokens(self) -> int:
        """Sum over all waiting work."""
        return self._order.tokens

    @asynccontextmanager
    async def turn(self, work: Work) -> AsyncIterator[Turn]:
        """Waits for a turn. It ends when the block is left, and its outcome is reported. A flow may have several.

        Work that goes on if the caller leaves, such as a call in a worker process, gets the turn as its charge.

        Raises:
            Overloaded: "service_full": the queue is full, or the work can't finish by its deadline. Raised as soon as
                that is known.
            InputRejected, EngineFailed: its deadline has passed; see `timeout_error`.
        """
        turn = await self.begin(work)
        error: BaseException | None = None
        try:
            yield turn
        except BaseException as raised:
            error = raised
            raise
        finally:
            turn.leave(error)

    async def begin(self, work: Work) -> Turn:
        """Takes a turn like `turn`, for callers that call `leave` of the turn."""
        try:
            turn = self._join(work)
        except Overloaded:
            self.refused += 1
            raise
        try:
            await self._begun(turn)
        except BaseException as raised:
            if turn.has_begun:
                turn.leave(raised)
            else:
                self._abandon(turn)
            raise
        return turn

    def wake(self) -> None:
        """Starts what fits and expires what is late. To be called when the limit grew."""
        self._go_on()

    def expected_wait_s(self, work: Work) -> float | None:
        """Estimated wait of `work` if it arrived now; None if unknown."""
        begins = self.in_flight < self.limit.value or (self._gives_extra and not self._requests[work.tenant])
        if not self._order and begins:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else (self._order.ahead(work) + work.tokens) / per_s

    @property
    def backlog_s(self) -> float | None:
        """Estimated time to finish all waiting work; None if unknown."""
        if not self._order.tokens:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else self._order.tokens / per_s

    @property
    def queue_s(self) -> float | None:
        """The expected wait: `backlog_s` without work that has no deadline, such as that of jobs, and 0 while all
        waiting work is of one document: it waits for no other.
        """
        tokens = self._order.tokens - self._patient_tokens
        if not tokens or self._order.is_single_flow:
            return 0.0
        per_s = self._throughput.per_s(self._clock())
        return None if per_s is None else tokens / per_s

    def usual_s(self, work: Work) -> float:
        """Mean time at the engine of work of this size; 0 while unknown."""
        return self._throughput.mean_s(work.tokens)

    def retry_after_s(self) -> float:
        """Time to clear the backlog (waiting tokens / tokens a second), within the configured bounds."""
        return min(max(self.backlog_s or 0.0, self._settings.retry_after_s), self._settings.max_retry_after_s)

    def check(self, work: Work) -> None:
        """Raises Overloaded("service_full") if `work` would wait too long."""
        if work.deadline < math.inf:
            self._must_begin_by(work, self._clock())

    def _join(self, work: Work) -> Turn:
        now, deadline = self._clock(), work.deadline
        if not self._timed:
            work = self._in_time(work, now)
        turn = Turn(self, self._order.push(work, now), deadline, comes_first=not self._requests[work.tenant])
        self._requests[work.tenant] += 1
        self._turns[turn.entry] = turn
        self._patient_tokens += _patient(turn)
        self._start_next(now)
        return turn

    def _in_time(self, work: Work, now: float) -> Work:
        """The work, with the latest time to begin as its deadline. Raises as `turn`."""
        if work.deadline <= now:
            raise work.timeout_error("It timed out while waiting for the engine.")
        if self._full(work):
            raise Overloaded(
                "service_full", f"The queue is full: {len(self._order)} pages are waiting.", self.retry_after_s()
            )
        if work.deadline == math.inf:
            return work
        return replace(work, deadline=max(self._must_begin_by(work, now), now + _SOONEST_S))

    def _must_begin_by(self, work: Work, now: float) -> float:
        """Clock time by which the work must start to finish in time.

        Raises:
            Overloaded: it would start later, or wait for more than `wait_share` of its time. A queue as long as the
                deadlines allow would not raise throughput: long work would always be refused, and all other work would
                finish at the last moment. Work that would wait at most `_SHORT` of its time is accepted anyway:
                otherwise one tenant's long pages would cause refusals for tenants that hardly use the engine. While
                the throughput is unknown, a work may wait for `wait_share` of its time: if all waited to their
                deadlines behind slow first requests, all would start too late and the throughput would stay unknown.
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

    async def _begun(self, turn: Turn) -> None:
        if not turn.has_begun:
            turn.changed = anyio.Event()
            await turn.changed.wait()
        if not turn.has_begun:
            self.refused += 1
            detail = "The engine had no free slot in time to finish before the deadline."
            raise Overloaded("service_full", detail, self.retry_after_s())

    def _full(self, work: Work) -> bool:
        bound = self._settings.max_waiting_tokens or math.inf
        too_much = len(self._order) > 0 and self._order.tokens + work.tokens > bound
        return too_much or len(self._order) >= self._settings.max_waiting

    def _start_next(self, now: float) -> None:
        if not self._timed:
            for expired in self._order.expire(now):
                self._changed(expired)
        while (entry := self._next(now)) is not None:
            self._order.take(entry)
            turn = self._turns[entry]
            turn.began = now
            if self.in_flight >= self.limit.value:
                self._extra_turn = turn
            self._in_flight[entry.work.tenant] += 1
            self.started += 1
            self._throughput.started(entry.work.tokens, now)
            self._patient_tokens -= _patient(turn)
            self._changed(entry)
        if not self._timed and self._order.next_deadline < self._alarm_at:
            self._set_alarm(now)

    def _next(self, now: float) -> QueueEntry | None:
        """The work that can begin now."""
        if self.in_flight < self.limit.value:
            return self._order.first(now)
        if not self._gives_extra:
            return None
        (tenant,) = self._in_flight
        entry = self._order.first(now, but=tenant)
        return entry if entry is not None and self._turns[entry].comes_first else None

    @property
    def _gives_extra(self) -> bool:
        """Whether a work that comes first of its tenant may begin above the limit."""
        is_full = self.in_flight == self.limit.value
        return self._extra and self._extra_turn is None and is_full and len(self._in_flight) == 1

    def _set_alarm(self, now: float) -> None:
        # One timer for all waiting work: a cancel scope for each would add a quarter to the cost of a slot. It may fire
        # for work that has left; then it is set again.
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._order.next_deadline
        after_s = max(self._alarm_at - now, _SOONEST_S)
        self._alarm = asyncio.get_running_loop().call_later(after_s, self._ring)

    def _ring(self) -> None:
        self._alarm_at = math.inf
        self.wake()

    def _changed(self, entry: QueueEntry) -> None:
        changed = self._turns[entry].changed
        if changed is not None:
            changed.set()

    def _abandon(self, turn: Turn) -> None:
        """Removes a turn whose caller has left, or that has expired."""
        self._forget(turn)
        self._patient_tokens -= _patient(turn)
        self._order.remove(turn.entry)
        self._go_on()

    def end(self, turn: Turn, outcome: WorkOutcome) -> None:
        """Ends a turn that has begun. Called by it."""
        now, work, began = self._clock(), turn.entry.work, turn.began
        self._forget(turn)
        if turn is self._extra_turn:
            self._extra_turn = None
        self._in_flight[work.tenant] -= 1
        if not self._in_flight[work.tenant]:
            del self._in_flight[work.tenant]
        over = outcome is WorkOutcome.LEFT and now >= turn.deadline
        if over and self._throughput.is_usual(work.tokens, now - began):
            outcome = WorkOutcome.LATE
        self._throughput.ended(work.tokens, began, now, outcome)
        self.limit.ended(outcome, now)
        # Rounded up: requests of less than a millisecond would cost nothing, however many there are.
        used = math.ceil(1000 * (now - began)) if self._timed else turn.tokens_used
        self._order.end(turn.entry, used)
        self._go_on()

    def _forget(self, turn: Turn) -> None:
        del self._turns[turn.entry]
        tenant = turn.entry.work.tenant
        self._requests[tenant] -= 1
        if not self._requests[tenant]:
            del self._requests[tenant]

    def _go_on(self) -> None:
        self._start_next(self._clock())
        self._on_change()
