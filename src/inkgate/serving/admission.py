"""Admission: bounds documents in flight before their bodies are read, and shares the room between tenants.

Requests that wait here don't take turns in a WorkQueue: they wait for two amounts at once, documents and bytes, of
which tenants may hold a share, and which slow uploads may lose again. A turn is one of a number, and is not taken away.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import anyio

from inkgate.errors import Overloaded
from inkgate.serving.degradation import Degradation
from inkgate.serving.line import WaitingLine, WaitingRequest
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.permits import ANYBODY, Arrival, Permit
from inkgate.serving.throughput import TokenRate
from inkgate.settings import AdmissionSettings
from inkgate_client.concurrency import loop_time

_REMEMBERED = 10_000
"""Maximum number of refused tenants that are remembered; the oldest are forgotten first."""
_TRIES = 32
"""Maximum number of waiting tenants that one event may try in vain. The next event tries others. A try takes up to 10
µs, and the end of a page is an event."""
_SOONEST_S = 0.05
"""Minimum time to the next attempt that is made because of time alone."""
_RESPONSE_SHARE = 0.1
"""Minimum share of its time that a request keeps for its response when it waits."""
_RESIDENCE = 1.5
"""How many times the usual residence it keeps. If all waited until their time is nearly over, none would be in time."""
_USUAL_SLOT_S = 0.1
"""Time between two freed slots until it has been measured."""


class Backlog(Protocol):
    """The queue in which new pages wait: a WorkQueue, or a choice of two."""

    @property
    def waiting(self) -> int: ...

    @property
    def backlog_tokens(self) -> int: ...

    def check(self, work: Work) -> None:
        """Raises Overloaded if `work` would wait too long."""
        ...

    def retry_after_s(self) -> float: ...

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        """`changed` is called whenever a new work could wait less than before."""
        ...


@dataclass(slots=True)
class _TenantUse:
    """What a tenant holds."""

    documents: int = 0
    body_bytes: int = 0


class AdmissionLimiter:
    """Admits documents while there is room for them and their bodies and they can finish in time.

    A tenant's share is the larger of its shares of documents and of bytes (dominant resource fairness, Ghodsi et al.
    2011). A single tenant may use all room. While other tenants hold documents, wait, or were refused within
    `remember_s`, a tenant over its equal share (1 / tenants) is refused with 429 once only the reserve is left; the
    reserve is for tenants under their share. A tenant's first document never exceeds its share. Everything else that
    does not fit is refused with 503, or waits.

    A body without a Content-Length is charged as it grows, by the same rules.

    Slow uploads (slow loris) can't block others: if a tenant under its share finds no room, uploads that have taken
    longer than `body_patience_s` are evicted, oldest first, from tenants over their share: as many as are needed, and
    none if that would not be enough.

    Requests that may wait do so before their bodies are read, in a WaitingLine. They leave the reserve to requests that
    don't wait, which would be refused for as long as the line lasts otherwise. Nothing polls: whatever may make room
    calls `wake`, which admits them. One timer serves what passes with time: refused tenants that are forgotten, uploads
    that become slow, degradation that ends.

    Used from one event loop. Amortized O(1); eviction is O(documents).

    Attributes:
        documents, body_bytes: in flight.
        tenants: number of tenants with documents in flight.
        line: the requests that wait.
        arriving: permits whose bodies have not fully arrived, oldest first.
        ended: counts of how documents ended.
        refused: counts of refused and evicted documents by error code.
        max_bytes: limit on the bodies in flight.
        what: the name of what is admitted, for errors.
    """

    def __init__(
        self,
        max_documents: int | Callable[[], int],
        settings: AdmissionSettings,
        backlog: Backlog,
        degradation: Degradation | None = None,
        clock: Callable[[], float] = loop_time,
        relay_backlog: Backlog | None = None,
    ) -> None:
        """`max_documents`: in flight; a function if it changes, and `wake` is called when it grows.

        `backlog`: of pages. `relay_backlog`: of what relayed requests wait for; by default, that of pages.
        `degradation`: refuses batch work at its highest level.
        """
        self.documents = 0
        self.body_bytes = 0
        self.tenants = 0
        self.line = WaitingLine(int(settings.waiting_mb * 1e6), settings.reserve)
        self.ended: Counter[WorkOutcome] = Counter()
        self.refused: Counter[str] = Counter()
        self.arriving: dict[Permit, None] = {}
        self._max_documents = max_documents
        self.what = "documents in flight"
        self.max_bytes = int(settings.max_bytes_mb * 1e6)
        self._settings = settings
        self._backlog = backlog
        self._relay_backlog = relay_backlog or backlog
        self._degradation = degradation
        self._clock = clock
        self._uses: dict[str, _TenantUse] = {}
        self._slots = TokenRate(clock)
        self._refused_at = -math.inf
        """When a request that does not wait was refused."""
        self._refused: OrderedDict[str, float] = OrderedDict()
        self._busy = False
        self._alarm: asyncio.TimerHandle | None = None
        backlog.call_when_changed(self.wake)

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        """A permit, to be entered with `async with`. The slot is taken from here on.

        Raises:
            Overloaded: "share_exceeded": its tenant has its share, and others are there; "service_full": there is no
                room, or it would wait past its deadline. It says when to retry.
        """
        try:
            return self._counted(arrival)
        except Overloaded:
            self._refused_at = self._clock()
            raise

    async def wait(
        self,
        arrival: Arrival,
        wait_s: float,
        watched: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> Permit:
        """Admits a request like `admit`, but waits for room up to `wait_s` seconds, and as long as its deadline leaves
        time for the response, if there is memory for it. `watched`: context around the wait, which may end it.

        Raises:
            Overloaded: as `admit`.
            Exception: raised by `watched`.
        """
        if not wait_s:
            return self.admit(arrival)
        waiting = WaitingRequest(arrival)
        if not self.line.has_room(waiting):
            return self._counted(arrival)
        now = self._clock()
        if arrival.tenant not in self.line.requests and self._may_have_room(now):
            try:
                return self._admitted(arrival, now)
            except Overloaded:
                pass  # it waits
        self._join(waiting, now)
        try:
            async with watched():
                with anyio.CancelScope(deadline=min(now + wait_s, self._latest(arrival, now))):
                    await waiting.admitted.wait()
        except BaseException:
            if waiting.permit is not None:  # admitted, and then abandoned
                async with waiting.permit:
                    raise
            raise
        finally:
            self._leave(waiting)
        return waiting.permit or self._counted(arrival)

    def _latest(self, arrival: Arrival, now: float) -> float:
        """Clock time until which a request may wait."""
        residence_s = self.documents / (self._slots.per_s or math.inf)
        return arrival.deadline - max(_RESPONSE_SHARE * (arrival.deadline - now), _RESIDENCE * residence_s)

    @property
    def max_documents(self) -> int:
        """Maximum documents in flight now."""
        most = self._max_documents
        return most if isinstance(most, int) else most()

    def retry_after_s(self) -> float:
        """Seconds after which a refused client may retry."""
        return self._backlog.retry_after_s()

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        return len(self.line)

    def slot_s(self) -> float:
        """Expected time between two slots that become free for the same tenant."""
        per_s = self._slots.per_s
        return max(1, self.tenants) * (1 / per_s if per_s else _USUAL_SLOT_S)

    def change(self, tenant: str, documents: int, body_bytes: int) -> None:
        """Adds to what a tenant holds (negative: frees, and admits who waits). Called by its permits."""
        use = self._uses.setdefault(tenant, _TenantUse())
        self.tenants -= use.documents > 0
        use.documents += documents
        use.body_bytes += body_bytes
        self.tenants += use.documents > 0
        self.documents += documents
        self.body_bytes += body_bytes
        self._forget_unused(tenant)
        if documents < 0 or body_bytes < 0:
            self.wake()

    def begin_body(self, permit: Permit) -> None:
        """The body of `permit` arrives from now on. Called by the permit."""
        self.arriving[permit] = None

    def end_body(self, permit: Permit) -> None:
        """The body of `permit` has arrived, or no longer does. Called by the permit."""
        self.arriving.pop(permit, None)

    def end_document(self, tenant: str, body_bytes: int, outcome: WorkOutcome) -> None:
        """Counts how a document of `tenant` ended, and frees its slot and these bytes. Called by its permit."""
        self.ended[outcome] += 1
        self._slots.finished(1)
        self.change(tenant, -1, -body_bytes)

    def grow(self, permit: Permit, body_bytes: int) -> None:
        """Raises the charge of `permit`, if there is room.

        Raises:
            Overloaded: as `admit`; it counts as refused.
        """
        more = body_bytes - permit.body_bytes
        try:
            slow = self._in_the_way(permit.tenant, 0, more, self._clock())
        except Overloaded as error:
            permit.report(WorkOutcome.REJECTED)
            self.refused[error.code] += 1
            raise
        permit.set_held_bytes(body_bytes)
        self._evict(slow)

    def wake(self) -> None:
        """Admits those who wait and now have room. To be called when there may be more room than before."""
        if not self.line or self._busy:
            return
        now = self._clock()
        self._busy = True
        try:
            self._admit_waiting(now)
        finally:
            self._busy = False
        self._set_alarm(now)

    def _counted(self, arrival: Arrival) -> Permit:
        """A permit. Raises Overloaded as `admit`, and counts it."""
        try:
            return self._admitted(arrival, self._clock())
        except Overloaded as error:
            self.refused[error.code] += 1
            raise

    def _admitted(self, arrival: Arrival, now: float) -> Permit:
        self._forget(now)
        if self._degradation is not None:
            self._degradation.check(arrival.priority)
        slow = self._in_the_way(arrival.tenant, 1, arrival.body_bytes, now)
        self._check_deadline(arrival, now)
        self._refused.pop(arrival.tenant, None)
        permit = Permit(self, arrival, now)
        self._slots.started()
        # The slot is taken before room is made for it, which nobody who waits may take instead.
        self.change(arrival.tenant, 1, arrival.body_bytes)
        self._evict(slow)
        return permit

    def _in_the_way(self, tenant: str, documents: int, body_bytes: int, now: float) -> list[Permit]:
        """Uploads to evict so that `tenant` may hold so much more; none if there is room.

        Raises:
            Overloaded: it may not hold that.
        """
        if self.documents + documents == 1:
            return []  # a body that is larger than all room is received alone
        part = self._part(self.documents + documents, self.body_bytes + body_bytes)
        if part > 1 - self._settings.reserve:
            self._check_share(tenant, documents, body_bytes)
        if part <= 1:
            return []
        slow = self._slow_uploads(tenant, documents, body_bytes, now)
        if not slow:
            self._remember(tenant, now)
            raise Overloaded("service_full", self._fullness(), self._backlog.retry_after_s())
        return slow

    def _fullness(self) -> str:
        """Which limit is reached: documents or bytes."""
        if self.documents >= self.max_documents:
            return f"The service is full: it has {self.documents} {self.what}."
        held, most = self.body_bytes / 1e6, self.max_bytes / 1e6
        return f"The service is full: {self.what} have {held:.1f} of {most:.0f} MB."

    def _slow_uploads(self, tenant: str, documents: int, body_bytes: int, now: float) -> list[Permit]:
        """The slow uploads whose eviction makes room for a tenant under its share; none if that is not enough."""
        own = self._uses.get(tenant, _TenantUse())
        share = 1 / (self.tenants + (own.documents == 0))
        if self._part(own.documents + documents, own.body_bytes + body_bytes) > share:
            return []
        documents, body_bytes = self.documents + documents, self.body_bytes + body_bytes
        left: dict[str, tuple[int, int]] = {}
        chosen: list[Permit] = []
        for permit in self.arriving:
            if now - permit.since < self._settings.body_patience_s or self._part(documents, body_bytes) <= 1:
                break
            use = self._uses[permit.tenant]
            held = left.get(permit.tenant, (use.documents, use.body_bytes))
            if self._part(*held) > share:
                left[permit.tenant] = held[0] - 1, held[1] - permit.body_bytes
                documents, body_bytes = documents - 1, body_bytes - permit.body_bytes
                chosen.append(permit)
        if self._part(documents, body_bytes) > 1:
            return []
        needed = []
        for permit in reversed(chosen):  # one large upload can make the small ones before it needless
            if self._part(documents + 1, body_bytes + permit.body_bytes) <= 1:
                documents, body_bytes = documents + 1, body_bytes + permit.body_bytes
            else:
                needed.append(permit)
        return needed

    def _evict(self, slow: list[Permit]) -> None:
        for permit in slow:
            self.refused["share_exceeded"] += 1
            permit.evict()

    def _part(self, documents: int, body_bytes: int) -> float:
        return max(documents / self.max_documents, body_bytes / self.max_bytes)

    def _check_share(self, tenant: str, documents: int, body_bytes: int) -> None:
        use = self._uses.get(tenant)
        if use is None or use.documents + documents == 1:
            return
        tenants = len(self._uses) + len(self._refused)
        if tenants > 1 and self._part(use.documents + documents, use.body_bytes + body_bytes) > 1 / tenants:
            raise Overloaded(
                "share_exceeded",
                f"You have {use.documents} {self.what}, and {tenants - 1} other tenants share the service.",
                self._backlog.retry_after_s(),
            )

    def _check_deadline(self, arrival: Arrival, now: float) -> None:
        backlog = self._relay_backlog if arrival.relayed else self._backlog
        if arrival.deadline == math.inf or not backlog.waiting:
            return
        usual = backlog.backlog_tokens // backlog.waiting
        patience_s = arrival.deadline - now
        backlog.check(Work(usual, arrival.tenant, "", arrival.priority, arrival.deadline, patience_s))

    def _remember(self, tenant: str, now: float) -> None:
        if tenant not in self._uses:
            self._refused[tenant] = now + self._settings.remember_s
            self._refused.move_to_end(tenant)
        if len(self._refused) > _REMEMBERED:
            self._refused.popitem(last=False)

    def _forget(self, now: float) -> None:
        while self._refused and next(iter(self._refused.values())) <= now:
            self._refused.popitem(last=False)

    def _forget_unused(self, tenant: str) -> None:
        use = self._uses[tenant]
        if not use.documents and not use.body_bytes and tenant not in self.line.requests:
            del self._uses[tenant]

    # -- requests that wait

    def _join(self, waiting: WaitingRequest, now: float) -> None:
        tenant = waiting.arrival.tenant
        self._uses.setdefault(tenant, _TenantUse())
        self.line.join(waiting)
        self._refused.pop(tenant, None)  # it counts as active as long as it waits
        self._set_alarm(now)

    def _leave(self, waiting: WaitingRequest) -> None:
        if waiting.permit is None:
            self.line.leave(waiting)
            self._forget_unused(waiting.arrival.tenant)
            self.wake()  # the next one of its tenant may fit where it did not

    def _admit_waiting(self, now: float) -> None:
        tries = _TRIES
        while tries and self._may_have_room(now):
            refused: list[WaitingRequest] = []
            for waiting in islice(self.line.in_turn(), tries):
                try:
                    waiting.permit = self._admitted(waiting.arrival, now)
                except Overloaded:
                    refused.append(waiting)
                    continue
                self.line.admit(waiting)
                waiting.admitted.set()
                break
            else:
                if len(refused) == tries:  # the next event tries others
                    for waiting in refused:
                        self.line.defer(waiting)
                return
            tries -= len(refused)

    def _may_have_room(self, now: float) -> bool:
        """Whether a try can succeed, as far as that is known without one. Who may wait leaves the reserve, and at
        least one slot once a request that does not wait was refused.
        """
        oldest = next(iter(self.arriving), None)
        is_slow = oldest is not None and now - oldest.since >= self._settings.body_patience_s
        most = self.max_documents
        reserved = max(int(self._settings.reserve * most), now - self._refused_at < self._settings.remember_s)
        return is_slow or self.documents < max(1, most - reserved)

    def _set_alarm(self, now: float) -> None:
        """Sets the timer for the next time at which there may be room although nothing happens."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._forget(now)
        at = min((time for time in self._next_times(now) if time > now), default=math.inf)
        if self.line and at < math.inf:
            self._alarm = asyncio.get_running_loop().call_later(max(at - now, _SOONEST_S), self.wake)

    def _next_times(self, now: float) -> Iterator[float]:
        yield from islice(self._refused.values(), 1)
        yield self._refused_at + self._settings.remember_s
        slow_at = (permit.since + self._settings.body_patience_s for permit in self.arriving)
        yield next((time for time in slow_at if time > now), math.inf)
        if self._degradation is not None:
            yield self._degradation.falls_at
