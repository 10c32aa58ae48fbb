"""Admission: bounds documents in flight before their bodies are read, and shares the room between tenants."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import anyio

from inkgate.concurrency import loop_time
from inkgate.errors import Overloaded
from inkgate.serving.limiter import ANYBODY, Arrival, Permit, WorkOutcome
from inkgate.serving.work import Work
from inkgate.settings import AdmissionSettings

_REMEMBERED = 10_000
"""Maximum number of refused tenants that are remembered; the oldest are forgotten first."""


class Backlog(Protocol):
    """The queue in front of the engine: a Scheduler."""

    @property
    def waiting(self) -> int: ...

    @property
    def backlog_tokens(self) -> int: ...

    def check(self, work: Work) -> None:
        """Raises Overloaded if `work` would wait too long."""
        ...

    def retry_after_s(self) -> float: ...


@dataclass(slots=True)
class _HeldSlot:
    documents: int = 0
    body_bytes: int = 0


class AdmissionPermit(Permit):
    """The slot of one document in flight and its body."""

    def __init__(self, limiter: AdmissionLimiter, tenant: str, body_bytes: int, since: float) -> None:
        """`since`: clock time of admission."""
        super().__init__(self._give_back)
        self.tenant = tenant
        self.since = since
        self._limiter = limiter
        self._body_bytes = body_bytes
        self._receiving: anyio.CancelScope | None = None
        self._turned_out = False

    def holds(self, body_bytes: int) -> None:
        """See Permit."""
        self._limiter.change(self.tenant, 0, body_bytes - self._body_bytes)
        self._body_bytes = body_bytes

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """See Permit."""
        self._limiter.arriving[self] = None
        try:
            with anyio.CancelScope() as self._receiving:
                yield
        finally:
            self._limiter.arriving.pop(self, None)
        if self._turned_out:
            detail = "The body arrived too slowly, and a tenant with fewer documents needed the slot."
            raise Overloaded("share_exceeded", detail, self._limiter.retry_after_s())

    def turn_out(self) -> None:
        """Evicts the document: frees its slot at once and cancels `receiving`."""
        self._limiter.arriving.pop(self)
        self._give_back(WorkOutcome.REJECTED)
        self._turned_out = True
        self._limiter.refused["share_exceeded"] += 1
        if self._receiving is not None:
            self._receiving.cancel()

    def _give_back(self, outcome: WorkOutcome) -> None:
        if not self._turned_out:
            self._limiter.change(self.tenant, -1, -self._body_bytes)
            self._limiter.ended[outcome] += 1


class AdmissionLimiter:
    """Admits documents while there is room for them and their bodies and they can finish in time.

    A tenant's share is the larger of its shares of documents and of bytes (dominant resource fairness, Ghodsi et al.
    2011). A single tenant may use all room. While other tenants hold documents or were refused within `remember_s`, a
    tenant over its equal share (1 / tenants) is refused with 429 once only the reserve is left; the reserve is for
    tenants under their share. A tenant's first document never exceeds its share. Everything else that does not fit is
    refused with 503.

    Slow uploads (slow loris) can't block others: if a tenant under its share finds no room, uploads that have taken
    longer than `body_patience_s` are evicted, oldest first, from tenants over their share.

    Used from one event loop. Amortized O(1); eviction is O(documents).

    Attributes:
        documents, body_bytes: in flight.
        arriving: permits whose bodies have not fully arrived, oldest first.
        ended: counts of how documents ended.
        refused: counts of refused and evicted documents by error code.
        max_bytes: limit on the bodies in flight.
    """

    def __init__(
        self,
        max_documents: int | Callable[[], int],
        settings: AdmissionSettings,
        backlog: Backlog,
        clock: Callable[[], float] = loop_time,
    ) -> None:
        """`max_documents`: in flight; a function if it changes."""
        self.documents = 0
        self.body_bytes = 0
        self.ended: Counter[WorkOutcome] = Counter()
        self.refused: Counter[str] = Counter()
        self.arriving: dict[AdmissionPermit, None] = {}
        self._max_documents = max_documents
        self.max_bytes = int(settings.max_bytes_mb * 1e6)
        self._settings = settings
        self._backlog = backlog
        self._clock = clock
        self._held: dict[str, _HeldSlot] = {}
        self._refused: OrderedDict[str, float] = OrderedDict()

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        """See Limiter. The slot is taken from here on: enter the permit, or the slot is lost.

        Raises:
            Overloaded: "share_exceeded": its tenant has its share, and others are there; "service_full": there is no
                room, or it would wait past its deadline.
        """
        try:
            return self._admitted(arrival, self._clock())
        except Overloaded as error:
            self.refused[error.code] += not arrival.waits
            raise

    @property
    def max_documents(self) -> int:
        """Maximum documents in flight now."""
        most = self._max_documents
        return most if isinstance(most, int) else most()

    @property
    def tenants(self) -> int:
        """Tenants with documents in flight."""
        return len(self._held)

    def _admitted(self, arrival: Arrival, now: float) -> Permit:
        self._forget(now)
        part = self._part(self.documents + 1, self.body_bytes + arrival.body_bytes)
        if part > 1 - self._settings.reserve and self.documents:
            self._check_share(arrival)
        if part > 1 and self.documents and not self._make_room(arrival, now):
            self._remember(arrival.tenant, now)
            raise Overloaded("service_full", self._fullness(), self._backlog.retry_after_s())
        self._check_deadline(arrival, now)
        self._refused.pop(arrival.tenant, None)
        permit = AdmissionPermit(self, arrival.tenant, arrival.body_bytes, now)
        self.change(arrival.tenant, 1, arrival.body_bytes)
        return permit

    def _fullness(self) -> str:
        """Which limit is reached: documents or bytes."""
        if self.documents >= self.max_documents:
            return f"The service is full: {self.documents} documents are in flight."
        held, most = self.body_bytes / 1e6, self.max_bytes / 1e6
        return f"The service is full: documents in flight have {held:.1f} of {most:.0f} MB."

    def change(self, tenant: str, documents: int, body_bytes: int) -> None:
        """Adds to what a tenant holds (negative: frees). Called by its permits."""
        held = self._held.setdefault(tenant, _HeldSlot())
        held.documents += documents
        held.body_bytes += body_bytes
        self.documents += documents
        self.body_bytes += body_bytes
        if not held.documents:
            del self._held[tenant]

    def retry_after_s(self) -> float:
        """Seconds after which a refused client may retry."""
        return self._backlog.retry_after_s()

    def _make_room(self, arrival: Arrival, now: float) -> bool:
        """Evicts slow uploads for a tenant under its share. Returns whether there is room now."""
        own = self._held.get(arrival.tenant, _HeldSlot())
        share = 1 / (len(self._held) + (arrival.tenant not in self._held))
        if self._part(own.documents + 1, own.body_bytes + arrival.body_bytes) > share:
            return False
        for permit in tuple(self.arriving):
            if now - permit.since < self._settings.body_patience_s:
                break
            held = self._held[permit.tenant]
            if self._part(held.documents, held.body_bytes) > share:
                permit.turn_out()
                if self._part(self.documents + 1, self.body_bytes + arrival.body_bytes) <= 1:
                    return True
        return False

    def _part(self, documents: int, body_bytes: int) -> float:
        return max(documents / self.max_documents, body_bytes / self.max_bytes)

    def _check_share(self, arrival: Arrival) -> None:
        held = self._held.get(arrival.tenant)
        if held is None:
            return
        tenants = len(self._held) + len(self._refused)
        if tenants > 1 and self._part(held.documents + 1, held.body_bytes + arrival.body_bytes) > 1 / tenants:
            raise Overloaded(
                "share_exceeded",
                f"You have {held.documents} documents in flight, and {tenants - 1} other tenants share the service.",
                self._backlog.retry_after_s(),
            )

    def _check_deadline(self, arrival: Arrival, now: float) -> None:
        if arrival.deadline == math.inf or not self._backlog.waiting:
            return
        usual = self._backlog.backlog_tokens // self._backlog.waiting
        patience_s = arrival.deadline - now
        self._backlog.check(Work(usual, arrival.tenant, "", arrival.priority, arrival.deadline, patience_s))

    def _remember(self, tenant: str, now: float) -> None:
        if tenant not in self._held:
            self._refused[tenant] = now + self._settings.remember_s
            self._refused.move_to_end(tenant)
        if len(self._refused) > _REMEMBERED:
            self._refused.popitem(last=False)

    def _forget(self, now: float) -> None:
        while self._refused and next(iter(self._refused.values())) <= now:
            self._refused.popitem(last=False)
