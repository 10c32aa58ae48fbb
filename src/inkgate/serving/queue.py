"""The order in which waiting work goes to the engine. Nothing here waits: see scheduler.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from inkgate.serving.fair import FairSharer, FairShares
from inkgate.serving.heap import LazyHeap
from inkgate.serving.work import Priority, Work

_PATIENCE = 20
"""Ageing times after which work without a deadline, or with a far one, counts as due within its flow."""
_MOVED_AT_ONCE = 64
"""Works that one `pop` lets age at most, so that a burst that comes of age together costs no one turn."""
_LOOKED_AT = 8
_FLOWS_LOOKED_AT = 3
"""Heads that are tried beyond one that doesn't fit: in all, and of one tenant."""
_SHARES = {Priority.INTERACTIVE: 1.0, Priority.NORMAL: 1 / 4, Priority.BATCH: 1 / 16}
"""Part of the tokens of higher classes that a class gets while its work waits. Strict classes had documents wait for as
long as single pages kept an engine busy.
"""

NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


class QueueEntry:
    """Work that waits.

    Attributes:
        since: clock time at which it came.
        number: counts the entries of a queue.
        rank: of the class it is in by now.
        waits: whether it is in the queue still.
        blocked_since: clock time at which it was first and did not fit; None where that wasn't so.
        place: where in the queue it is, or was last.
    """

    __slots__ = ("blocked_since", "number", "place", "rank", "since", "waits", "work")

    place: tuple[_Class, _Tenant, _Flow]

    def __init__(self, work: Work, since: float, number: int) -> None:
        self.work = work
        self.since = since
        self.number = number
        self.rank = work.priority.rank
        self.waits = True
        self.blocked_since: float | None = None


class _Flow(FairSharer):
    __slots__ = ("entries", "tokens")

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.entries: LazyHeap[QueueEntry] = LazyHeap()
        self.tokens = 0


class _Tenant(FairSharer):
    __slots__ = ("flows", "tokens")

    def __init__(self, name: str, weight: float) -> None:
        super().__init__(name, weight)
        self.flows: FairShares[_Flow] = FairShares(_Flow)
        self.tokens = 0


class _Class:
    """Attributes:
    share: see `_SHARES`.
    due: tokens that it may have before higher classes.
    """

    __slots__ = ("due", "share", "tenants", "tokens", "works")

    def __init__(self, weights: Mapping[str, float], share: float) -> None:
        self.share = share
        self.due = 0.0
        self.tenants: FairShares[_Tenant] = FairShares(lambda name: _Tenant(name, weights.get(name, 1.0)))
        self.tokens = 0
        self.works = 0

    @property
    def head(self) -> QueueEntry | None:
        """Whose turn it is."""
        tenant = self.tenants.waiting.first()
        flow = None if tenant is None else tenant.flows.waiting.first()
        return None if flow is None else flow.entries.first()


class WorkQueue:
    """Waiting work, in order; everything O(log n), amortized. `now` is always clock time in seconds.

    The higher class first, but for a share of the tokens that lower ones get while they wait (`_SHARES`); a work that
    has waited `age_s` counts one class up, and again after as long. In a class, tenants share by weight what tokens
    there are; in a tenant, its flows share alike: a document of 200 pages is one flow. In a flow the earliest deadline
    goes first, then who came first.

    Where the first one doesn't fit, smaller ones may go before it, for `overtake_s` from then on; after that nothing
    goes until it does, which takes no longer than what is at the engine. So no size starves.

    Attributes:
        tokens: the sum over all that wait.
    """

    def __init__(
        self,
        age_s: float,
        overtake_s: float,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> None:
        """`weights`: by tenant, over 0; 1 for those not named."""
        self.tokens = 0
        self._age_s = age_s
        self._overtake_s = overtake_s
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
        """How many wait, by the class that they are in by now."""
        return {priority: self._classes[priority.rank].works for priority in Priority}

    def push(self, work: Work, now: float) -> QueueEntry:
        """Puts work in. A deadline that is past is for `expire` to find."""
        self._pushed += 1
        entry = QueueEntry(work, now, self._pushed)
        self._waiting += 1
        self.tokens += work.tokens
        if work.deadline < math.inf:
            self._deadlines.put(entry, work.deadline)
        self._enter(entry)
        return entry

    def pop(self, fits: Callable[[Work], bool], now: float) -> QueueEntry | None:
        """Takes out whose turn it is, and counts it against its tenant and flow; None where none may go now.

        `fits`: whether the engine has room for it now.
        """
        self._age(now)
        head = self._head()
        if head is None or fits(head.work):
            return head and self._taken(head)
        if head.blocked_since is None:
            head.blocked_since = now
        if now - head.blocked_since < self._overtake_s:
            for entry in islice(self._heads(), _LOOKED_AT):
                if entry is not head and fits(entry.work):
                    return self._taken(entry)
        return None

    def remove(self, entry: QueueEntry) -> None:
        """Takes out what nobody waits for any more. Nothing where it is out already."""
        if entry.waits:
            self._leave(entry)
            self._gone(entry)

    def expire(self, now: float) -> list[QueueEntry]:
        """Takes out all whose deadline has come."""
        expired: list[QueueEntry] = []
        while self._deadlines.first_key() <= now and (entry := self._deadlines.first()) is not None:
            self.remove(entry)
            expired.append(entry)
        return expired

    @property
    def is_of_one(self) -> bool:
        """Whether all that waits is of one flow, such as the pages of one document."""
        tenants = [tenant for group in self._classes for tenant in islice(group.tenants.waiting.in_order(), 2)]
        flows = {(tenant.name, flow.name) for tenant in tenants for flow in islice(tenant.flows.waiting.in_order(), 2)}
        return len(flows) == 1

    @property
    def next_deadline(self) -> float:
        """Clock time from which `expire` finds something; infinite where nothing has a deadline."""
        return self._deadlines.first_key()

    def settle(self, entry: QueueEntry, used: int) -> None:
        """Corrects, by what a work that was taken out has really used, what its tenant and flow get next."""
        _, tenant, flow = entry.place
        tenant.owed += used - entry.work.tokens
        flow.owed += used - entry.work.tokens

    def ahead(self, work: Work) -> int:
        """Tokens that would go before `work`, if it came now and nothing else came after.

        The higher classes, as far as its own share leaves them, and the shares of lower ones; then, as all get the same
        before it is served, no more than its tenant gets for each other tenant, and its flow for each other flow of the
        tenant: one work at least, however small this one is. What will come of age meanwhile is left out.
        """
        rank = work.priority.rank
        group = self._classes[rank]
        above = sum(higher.tokens for higher in self._classes[:rank])
        tenant = group.tenants.get(work.tenant)
        weight = self._weights.get(work.tenant, 1.0)
        one = max(work.tokens, round(group.tokens / group.works)) if group.works else work.tokens
        if tenant is None or not tenant.tokens:
            within, weights = 0, group.tenants.weight + weight
        else:
            within, weights = _ahead_in_tenant(tenant, work.flow, one), group.tenants.weight
        fair = (within + one) * weights / weight - one
        own = min(group.tokens, round(fair))
        if above:
            one_above = above / sum(higher.works for higher in self._classes[:rank])
            above = min(above, round((own + work.tokens) / group.share + one_above))
        return above + own + sum(min(lower.tokens, round(lower.share * own)) for lower in self._classes[rank + 1 :])

    def _head(self) -> QueueEntry | None:
        heads = [(group, head) for group in self._classes if (head := group.head) is not None]
        due = (head for group, head in heads if group.due >= head.work.tokens > 0)
        return next(due, heads[0][1] if heads else None)

    def _heads(self) -> Iterator[QueueEntry]:
        for group in self._classes:
            for tenant in group.tenants.waiting.in_order():
                for flow in islice(tenant.flows.waiting.in_order(), _FLOWS_LOOKED_AT):
                    entry = flow.entries.first()
                    if entry is not None:
                        yield entry

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
        tenant = group.tenants.joined(work.tenant)
        flow = tenant.flows.joined(work.flow)
        flow.entries.put(entry, min(work.deadline, entry.since + _PATIENCE * self._age_s), entry.number)
        for holder in (group, tenant, flow):
            holder.tokens += work.tokens
        group.works += 1
        entry.place = (group, tenant, flow)
        if entry.rank:
            self._ageing.put(entry, entry.since + (work.priority.rank - entry.rank + 1) * self._age_s)
        else:
            self._ageing.discard(entry)

    def _taken(self, entry: QueueEntry) -> QueueEntry:
        group, tenant, flow = entry.place
        self._share_out(group, entry.work.tokens)
        group.tenants.served(tenant, entry.work.tokens)
        tenant.flows.served(flow, entry.work.tokens)
        self._leave(entry)
        self._gone(entry)
        return entry

    def _share_out(self, served: _Class, tokens: int) -> None:
        """`served` is given tokens: those below it that wait are due a part of them."""
        below = False
        for group in self._classes:
            if group is served:
                group.due = max(0.0, group.due - tokens)
                below = True
            elif below and group.works:
                group.due += group.share * tokens

    def _leave(self, entry: QueueEntry) -> None:
        """Out of its class."""
        group, tenant, flow = entry.place
        for holder in (group, tenant, flow):
            holder.tokens -= entry.work.tokens
        group.works -= 1
        if not group.works:
            group.due = 0.0
        flow.entries.discard(entry)
        if not flow.entries:
            tenant.flows.left(flow)
        if not tenant.flows.waiting:
            group.tenants.left(tenant)

    def _gone(self, entry: QueueEntry) -> None:
        """Out of the queue."""
        entry.waits = False
        self._waiting -= 1
        self.tokens -= entry.work.tokens
        self._deadlines.discard(entry)
        self._ageing.discard(entry)


def _ahead_in_tenant(tenant: _Tenant, name: str, one: int) -> int:
    flow = tenant.flows.get(name)
    waiting = len(tenant.flows.waiting)
    if flow is None or not flow.tokens:
        return min(tenant.tokens, waiting * one)
    return min(tenant.tokens, waiting * flow.tokens + (waiting - 1) * one)
