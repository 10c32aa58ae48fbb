"""The order and the memory of requests that wait for admission. Nothing here waits: see admission.py, which has no room
for it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import anyio

from inkgate.caller import Priority
from inkgate.serving.permits import Arrival, Permit

_WAITING_BYTES = 20_000
"""Memory of a request that waits, without its body: its connection and its task."""
_UNREAD_BYTES = 100_000
"""Maximum part of a body that its connection holds before anybody reads it (90 KB measured with 1,000 bodies of 1 MB).
The rest stays with the client."""
_EARLY_SHARE = 0.25
"""Share of the memory for waiting requests in which bodies are received early."""
_PER_LOWER = 4
"""A class goes next after this many admissions of the class above; batch work after 16 of both. As in order.py."""


class WaitingRequest:
    """A request that waits for room. `permit` is set before `admitted`."""

    __slots__ = ("admitted", "arrival", "held_bytes", "permit")

    def __init__(self, arrival: Arrival) -> None:
        """A body of unknown size counts as large."""
        self.arrival = arrival
        self.held_bytes = _WAITING_BYTES + min(arrival.body_bytes or _UNREAD_BYTES, _UNREAD_BYTES)
        self.admitted = anyio.Event()
        self.permit: Permit | None = None


@dataclass(slots=True, eq=False)
class _Class:
    """The waiting requests of a class by tenant, each in order of arrival. The first tenant is next.

    Attributes:
        passed: admissions of higher classes since the last of this one, while requests of it waited.
    """

    tenants: OrderedDict[str, OrderedDict[WaitingRequest, None]] = field(default_factory=OrderedDict)
    passed: int = 0


class WaitingLine:
    """Requests that wait for admission. Higher classes go first, but each lower one gets a share; within a class,
    tenants take turns, and within a tenant the first to arrive goes first.

    Attributes:
        requests: number of waiting requests by tenant.
        held_bytes: memory that waiting requests are charged.
        early_bytes: memory for bodies that are received while their requests wait.
    """

    def __init__(self, max_bytes: int, reserve: float) -> None:
        """`max_bytes`: memory of all that wait. `reserve`: the last share of it, closed to tenants over theirs."""
        self.requests: Counter[str] = Counter()
        self.held_bytes = 0
        self._waiting = 0
        self.early_bytes = int(_EARLY_SHARE * max_bytes)
        self._max_bytes = max_bytes - self.early_bytes
        self._reserve = reserve
        self._bytes: Counter[str] = Counter()
        self._classes = {priority: _Class() for priority in Priority}

    def __len__(self) -> int:
        return self._waiting

    def has_room(self, request: WaitingRequest) -> bool:
        """Whether there is memory for `request`, and its tenant may have it: equal shares, and one for a newcomer."""
        in_all = self.held_bytes + request.held_bytes
        own = self._bytes[request.arrival.tenant] + request.held_bytes
        share = self._max_bytes / (1 + len(self.requests))
        return in_all <= self._max_bytes and (in_all <= (1 - self._reserve) * self._max_bytes or own <= share)

    def join(self, request: WaitingRequest) -> None:
        """Adds `request` as the last of its tenant in its class."""
        tenant = request.arrival.tenant
        self._classes[request.arrival.priority].tenants.setdefault(tenant, OrderedDict())[request] = None
        self._count(tenant, 1, request.held_bytes)

    def leave(self, request: WaitingRequest) -> None:
        """Removes `request`."""
        tenant, tenants = request.arrival.tenant, self._classes[request.arrival.priority].tenants
        del tenants[tenant][request]
        if not tenants[tenant]:
            del tenants[tenant]
        self._count(tenant, -1, -request.held_bytes)

    def in_turn(self) -> Iterator[WaitingRequest]:
        """The first request of each tenant, in the order of admission. The line must not change meanwhile."""
        due = [group for rank, group in enumerate(self._classes.values()) if group.passed >= _PER_LOWER**rank]
        for group in (*due, *(group for group in self._classes.values() if group not in due)):
            for requests in group.tenants.values():
                yield next(iter(requests))

    def admit(self, request: WaitingRequest) -> None:
        """Removes `request`, whose turn it was: the next turn is another tenant's."""
        admitted = request.arrival.priority
        self._classes[admitted].tenants.move_to_end(request.arrival.tenant)
        self.leave(request)
        for priority, group in self._classes.items():
            if priority is admitted or not group.tenants:
                group.passed = 0
            elif priority.rank > admitted.rank:
                group.passed += 1

    def defer(self, request: WaitingRequest) -> None:
        """Puts the tenant of `request` behind the others of its class."""
        self._classes[request.arrival.priority].tenants.move_to_end(request.arrival.tenant)

    def _count(self, tenant: str, requests: int, held_bytes: int) -> None:
        self.requests[tenant] += requests
        self._bytes[tenant] += held_bytes
        self.held_bytes += held_bytes
        self._waiting += requests
        if not self.requests[tenant]:
            del self.requests[tenant], self._bytes[tenant]
