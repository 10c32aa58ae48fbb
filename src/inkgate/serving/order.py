"""The order in which work gets its turn. Nothing here waits: see queue.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Self

from inkgate.caller import NO_CHARGE, Caller, Priority, timeout_error
from inkgate.errors import InkgateError
from inkgate.serving.fair import FairSharer, FairShares, LazyHeap
from inkgate_client.concurrency import Charge

_PATIENCE = 20
"""Work without a deadline, or with a late one, is ordered in its flow as if due after this many ageing times."""
_DECAY = 0.9
"""Weight of the requests of a class that have ended before, relative to the last one."""
_MOVED_AT_ONCE = 64
"""Maximum number of requests that one `pop` promotes, so that a burst of ageing work does not delay one call."""
_SHARES = {Priority.INTERACTIVE: 1.0, Priority.NORMAL: 1 / 4, Priority.BATCH: 1 / 16}
"""Tokens that a class gets for each token of a higher class while its work waits. With strict priorities, documents
waited as long as single pages kept the engine busy.
"""

NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Work:
    """What takes a turn, such as a page at an engine or a call in a worker process.

    Attributes:
        tokens: its cost, in KV tokens or another unit of what its turn is of.
        tenant: such as an API key; tenants share by cost.
        flow: its document or request, within the tenant.
        priority: its class.
        deadline: clock time in seconds after which it is useless; math.inf if there is none.
        patience_s: seconds from the arrival of its request to the deadline.
        deadline_given: whether the client set the deadline; else it is the service's.
        charge: what its request is charged for.
    """

    tokens: int
    tenant: str = ""
    flow: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float = math.inf
    patience_s: float = math.inf
    deadline_given: bool = False
    charge: Charge = field(default=NO_CHARGE, compare=False, repr=False)

    def timeout_error(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `timeout_error`."""
        return timeout_error(detail, given=self.deadline_given)

    @classmethod
    def of_pixels(cls, pixels: int, caller: Caller) -> Self:
        """The reading of a page or a part of it on behalf of `caller`. It costs its pixels, in thousands: the time and
        memory of its rendering and reading grow with them.
        """
        return cls.for_caller(caller, pixels // 1000)

    @classmethod
    def for_caller(cls, caller: Caller, tokens: int) -> Self:
        """Work on behalf of `caller`. It costs 1 at least."""
        return cls(
            max(1, tokens),
            caller.tenant,
            caller.flow,
            caller.priority,
            caller.deadline,
            caller.patience_s,
            caller.deadline_given,
            caller.charge,
        )


class QueueEntry:
    """Work in the queue.

    Attributes:
        since: clock time of arrival.
        number: sequence number in its queue.
        rank: of its current class.
        waits: whether it is still in the queue.
        place: its class, tenant and flow; kept when it leaves the queue.
        charged: tokens of its class's share that it took, if it left the queue before work of higher classes.
    """

    __slots__ = ("charged", "number", "place", "rank", "since", "waits", "work")

    place: tuple[_Class, _Tenant, _Flow]

    def __init__(self, work: Work, since: float, number: int) -> None:
        self.work = work
        self.since = since
        self.number = number
        self.rank = work.priority.rank
        self.waits = True
        self.charged: float | None = None


class _Flow(FairSharer):
    __slots__ = ("entries", "tokens")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.entries: LazyHeap[QueueEntry] = LazyHeap()
        self.tokens = 0

    @property
    def next_tokens(self) -> int:
        entry = self.entries.first()
        return 0 if entry is None else entry.work.tokens


class _Tenant(FairSharer):
    __slots__ = ("flows", "tokens")

    def __init__(self, name: str, weight: float) -> None:
        super().__init__(name, weight)
        self.flows: FairShares[_Flow] = FairShares(_Flow)
        self.tokens = 0

    @property
    def first(self) -> QueueEntry | None:
        """The group's next entry."""
        flow = self.flows.waiting.first()
        return None if flow is None else flow.entries.first()

    @property
    def next_tokens(self) -> int:
        entry = self.first
        return 0 if entry is None else entry.work.tokens


class _Class:
    """Attributes:
    share: see `_SHARES`.
    due: tokens that it may use before higher classes; negative if it has used more.
    estimated, used: sums over its last requests that have ended, in tokens.
    """

    __slots__ = ("due", "estimated", "requests", "share", "tenants", "tokens", "used")

    def __init__(self, weights: Mapping[str, float], share: float) -> None:
        self.share = share
        self.due = self.estimated = self.used = 0.0
        self.tenants: FairShares[_Tenant] = FairShares(lambda name: _Tenant(name, weights.get(name, 1.0)))
        self.tokens = 0
        self.requests = 0

    def usual(self, tokens: int) -> float:
        """What work that is estimated at `tokens` uses, going by the last requests of the class."""
        return tokens * self.used / self.estimated if self.estimated else tokens

    @property
    def head(self) -> QueueEntry | None:
        """The next entry."""
        tenant = self.tenants.waiting.first()
        return None if tenant is None else tenant.first


class FairOrder:
    """Waiting work, in order. All operations are O(log n) amortized. `now` is clock time in seconds.

    Higher classes go first, except for the share of tokens of lower classes (`_SHARES`). Work moves up one class for
    each `age_s` that it waits, unless it has no deadline: nobody waits for it, such as for a job's, and its class's
    share is enough. In a class, tenants share tokens by weight; in a tenant, flows share equally (a
    document is one flow); of requests that come together, the lightest goes first (FairShares). In a flow, the earliest
    deadline goes first, then first in, first out.

    Attributes:
        tokens: sum over all waiting work.
    """

    def __init__(self, age_s: float, weights: Mapping[str, float] = NO_WEIGHTS) -> None:
        """`weights`: by tenant, above 0; 1 for others."""
        self.tokens = 0
        self._age_s = age_s
        self._weights = weights
        self._classes = [_Class(weights, _SHARES[priority]) for priority in Priority]
        self._deadlines: LazyHeap[QueueEntry] = LazyHeap()
        self._ageing: LazyHeap[QueueEntry] = LazyHeap()
        self._waiting = 0
        self._pushed = 0

    def __len__(self) -> int:
        return self._waiting

    @property
    def by_class(self) -> dict[Priority, int]:
        """Number of waiting requests in each class; aged work counts in its current class."""
        return {priority: self._classes[priority.rank].requests for priority in Priority}

    def push(self, work: Work, now: float) -> QueueEntry:
        """Adds work. If its deadline has passed, the next `expire` removes it."""
        self._pushed += 1
        entry = QueueEntry(work, now, self._pushed)
        self._waiting += 1
        self.tokens += work.tokens
        if work.deadline < math.inf:
            self._deadlines.put(entry, work.deadline)
        self._enter(entry)
        return entry

    def first(self, now: float, but: str | None = None) -> QueueEntry | None:
        """The next entry; None if none waits. `but`: if it is of this tenant, the next of another one in its class."""
        self._age(now)
        head = self._head()
        if head is None or head.work.tenant != but:
            return head
        group, first, _ = head.place
        tenants = islice(group.tenants.waiting.in_order(), 2)
        return next((tenant.first for tenant in tenants if tenant is not first), None)

    def remove(self, entry: QueueEntry) -> None:
        """Removes an entry that was abandoned. Does nothing if it has left the queue."""
        if entry.waits:
            self._leave(entry)
            self._forget(entry)

    def expire(self, now: float) -> list[QueueEntry]:
        """Removes and returns all entries whose deadline has passed."""
        expired: list[QueueEntry] = []
        while self._deadlines.first_key() <= now and (entry := self._deadlines.first()) is not None:
            self.remove(entry)
            expired.append(entry)
        return expired

    @property
    def is_single_flow(self) -> bool:
        """Whether all waiting work belongs to one flow, such as the pages of one document."""
        tenants = [tenant for group in self._classes for tenant in islice(group.tenants.waiting.in_order(), 2)]
        flows = {(tenant.name, flow.name) for tenant in tenants for flow in islice(tenant.flows.waiting.in_order(), 2)}
        return len(flows) == 1

    @property
    def next_deadline(self) -> float:
        """Clock time of the earliest deadline; infinite without deadlines."""
        return self._deadlines.first_key()

    def end(self, entry: QueueEntry, used: int | None = None) -> None:
        """Marks the end of a work that was popped. Its class, tenant and flow are charged the tokens that it `used`, in
        place of its own, and waiting lower classes get their shares of them.
        """
        group, tenant, flow = entry.place
        tokens = entry.work.tokens
        used = tokens if used is None else used
        group.estimated = _DECAY * group.estimated + tokens
        group.used = _DECAY * group.used + used
        if entry.charged is not None:
            group.due -= used - entry.charged
        for lower in self._classes[entry.rank + 1 :]:
            if lower.requests:
                lower.due += lower.share * used
        tenant.flows.end(flow, tokens, used)
        group.tenants.end(tenant, tokens, used)

    def ahead(self, work: Work) -> int:
        """Tokens that would go before `work` if it arrived now and nothing arrived later.

        The sum of: higher classes, as far as this class's share allows; the shares of lower classes; other tenants,
        each with at most the tokens that its own tenant uses until then, and other flows of its tenant likewise. Ageing
        during the wait is not considered.
        """
        rank = work.priority.rank
        group = self._classes[rank]
        above = sum(higher.tokens for higher in self._classes[:rank])
        tenant = group.tenants.get(work.tenant)
        weight = self._weights.get(work.tenant, 1.0)
        if tenant is None or not tenant.tokens:
            within, weights = 0, group.tenants.weight + weight
        else:
            within, weights = _ahead_in_tenant(tenant, work), group.tenants.weight
        fair = (within + work.tokens) * weights / weight - work.tokens
        own = min(group.tokens, round(fair))
        if above:
            one_above = above / sum(higher.requests for higher in self._classes[:rank])
            above = min(above, round((own + work.tokens) / group.share + one_above))
        return above + own + sum(min(lower.tokens, round(lower.share * own)) for lower in self._classes[rank + 1 :])

    def _head(self) -> QueueEntry | None:
        heads = [(group, head) for group in self._classes if (head := group.head) is not None]
        due = (head for group, head in heads if head.work.tokens and group.due >= group.usual(head.work.tokens))
        return next(due, heads[0][1] if heads else None)

    def _age(self, now: float) -> None:
        for _ in range(_MOVED_AT_ONCE):
            if self._ageing.first_key() > now or (entry := self._ageing.first()) is None:
                return
            self._leave(entry)
            entry.rank -= 1
            self._enter(entry)

    def _enter(self, entry: QueueEntry) -> None:
        work = entry.work
        group = self._classes[entry.rank]
        tenant = group.tenants.join(work.tenant)
        flow = tenant.flows.join(work.flow)
        flow.entries.put(entry, min(work.deadline, entry.since + _PATIENCE * self._age_s), entry.number)
        for holder in (group, tenant, flow):
            holder.tokens += work.tokens
        group.requests += 1
        tenant.flows.update(flow)
        group.tenants.update(tenant)
        entry.place = (group, tenant, flow)
        if entry.rank and work.deadline < math.inf:
            self._ageing.put(entry, entry.since + (work.priority.rank - entry.rank + 1) * self._age_s)
        else:
            self._ageing.discard(entry)

    def take(self, entry: QueueEntry) -> QueueEntry:
        """Removes and returns an entry of `first`, and charges its tenant and flow. Its work ends with `end`."""
        group, tenant, flow = entry.place
        usual = group.usual(entry.work.tokens)
        entry.charged = usual if any(higher.requests for higher in self._classes[: entry.rank]) else None
        group.due = max(0.0, group.due - usual)
        group.tenants.serve(tenant, entry.work.tokens)
        tenant.flows.serve(flow, entry.work.tokens)
        self._leave(entry)
        self._forget(entry)
        return entry

    def _leave(self, entry: QueueEntry) -> None:
        """Removes it from its class."""
        group, tenant, flow = entry.place
        for holder in (group, tenant, flow):
            holder.tokens -= entry.work.tokens
        group.requests -= 1
        if not group.requests:
            group.due = min(group.due, 0.0)
        flow.entries.discard(entry)
        if flow.entries:
            tenant.flows.update(flow)
        else:
            tenant.flows.leave(flow)
        if tenant.flows.waiting:
            group.tenants.update(tenant)
        else:
            group.tenants.leave(tenant)

    def _forget(self, entry: QueueEntry) -> None:
        """Removes it from the queue."""
        entry.waits = False
        self._waiting -= 1
        self.tokens -= entry.work.tokens
        self._deadlines.discard(entry)
        self._ageing.discard(entry)


def _ahead_in_tenant(tenant: _Tenant, work: Work) -> int:
    flow = tenant.flows.get(work.flow)
    waiting = len(tenant.flows.waiting)
    if flow is None or not flow.tokens:
        return min(tenant.tokens, waiting * work.tokens)
    return min(tenant.tokens, waiting * flow.tokens + (waiting - 1) * work.tokens)
