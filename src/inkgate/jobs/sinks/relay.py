"""Delivers what is in the outbox: at least once, with retries, and dead letters in the end.

A failed delivery is tried again after the pauses that Standard Webhooks recommends. Deliveries are taken under a lease,
so those of a process that died are delivered by another one.

Deliveries wait in the outbox, by receiver and tenant, until there is a slot for them: waiting is no attempt.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, Protocol, Self

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate.errors import InkgateError, InputRejected, Overloaded
from inkgate.jobs.job import Delivery, Job
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever, Sink
from inkgate.jobs.store import DeliveryLane, Due
from inkgate.serving.breaker import Breaker, BreakerSettings, BreakerState
from inkgate_client.codec import encodable
from inkgate_client.concurrency import single_error
from inkgate_client.types import Document, DocumentResult, DocumentStatus

log = structlog.get_logger(__name__)

PAUSES_S = (5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0)
"""Pauses after the first failure, the second, ...: seven attempts in 18 hours."""
_JITTER = 0.2
_MAX_ERROR = 500
_MAX_ENDPOINTS = 1000


class Outbox(Protocol):
    """Deliveries that wait: the job store."""

    async def due_lanes(self) -> Sequence[DeliveryLane]:
        """The lanes with a delivery that is due."""
        ...

    async def take_due(self, room: Mapping[DeliveryLane, int], lease_s: float) -> Sequence[Due]:
        """Returns up to this many deliveries of each lane, to make now; they are due again after `lease_s` if nobody
        reports their end.
        """
        ...

    async def delivered(self, due: Due) -> None: ...

    async def later(self, due: Due, after_s: float, error: str) -> None: ...

    async def put_back(self, due: Due, after_s: float) -> None:
        """The delivery was not tried; it is due after this many seconds."""
        ...

    async def dead(self, due: Due, error: str) -> None: ...


class DeliveryOutcome(StrEnum):
    DELIVERED = "delivered"
    RETRIED = "retried"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """Bounds of the relay. Times in seconds.

    Attributes:
        taken: deliveries at once. One tenant has at most as many as are left free.
        at_once: of these, to one sink, or of one tenant to one host.
        lease_s: until another process takes them.
        limit_s: time limit of a delivery, shorter than the lease.
        poll_s: how often it looks for what other processes added.
        grace_s: time to end deliveries at shutdown.
        breaker: a receiver that fails or is slow gets no deliveries for a while.
    """

    taken: int = 128
    at_once: int = 8
    lease_s: float = 300.0
    limit_s: float = 240.0
    poll_s: float = 1.0
    grace_s: float = 5.0
    breaker: BreakerSettings = BreakerSettings(min_calls=5, target_s=8.0, open_s=5.0, max_open_s=120.0, good=1)


@dataclass(frozen=True, slots=True)
class RelayLoads:
    """What sinks may load of a job beside its result: its fields as published, if it has some, and what it read."""

    fields: Callable[[Job], Awaitable[Mapping[str, Any] | None]]
    original: Callable[[Job], Awaitable[Document]]


class Relay:
    """Delivers what is due. `run` is a background task; entering and leaving it enters and leaves the sinks.

    Attributes:
        outcomes: number of attempts by sink and outcome.
    """

    def __init__(
        self,
        outbox: Outbox,
        sinks: Mapping[str, Sink],
        load: Callable[[Job], Awaitable[DocumentResult]],
        settings: RelaySettings | None = None,
        jitter: Callable[[], float] = random.random,
        also: RelayLoads | None = None,
    ) -> None:
        """`load`: the document of an ended job. `jitter`: random numbers in [0, 1). `also`: what else a job has."""
        self._also = also
        self.outcomes: Counter[tuple[str, DeliveryOutcome]] = Counter()
        self._outbox = outbox
        self._sinks = sinks
        self._load = load
        self._settings = settings or RelaySettings()
        self._jitter = jitter
        self._endpoints = _Endpoints(self._settings)
        self._taken: Counter[DeliveryLane] = Counter()
        self._full = False
        self._changed = anyio.Event()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for sink in self._sinks.values():
                await stack.enter_async_context(sink)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    def wake(self) -> None:
        """Makes it look for deliveries now. Called on its event loop."""
        self._changed.set()

    async def run(self) -> None:
        """Delivers until cancelled. Deliveries that were begun are then given `grace_s` to end; another process takes
        over those that don't. While the database is unavailable, it waits.
        """
        with single_error():
            await self._run()

    async def _run(self) -> None:
        deliveries = _Deliveries()
        async with anyio.create_task_group() as group:
            # Not group.start: cancelled, it waits for `_run_group`, which then waits for the `ended` that is set below.
            group.start_soon(self._run_group, deliveries)
            try:
                await deliveries.begun.wait()
                while True:
                    self._changed = anyio.Event()
                    if not await self._take(deliveries.group):
                        with anyio.move_on_after(self._settings.poll_s):
                            await self._changed.wait()
            finally:
                deliveries.scope.deadline = anyio.current_time() + self._settings.grace_s
                deliveries.ended.set()

    async def _run_group(self, deliveries: _Deliveries) -> None:
        """A task group that outlives the cancellation of `run` for a while."""
        with deliveries.scope:
            async with deliveries.group:
                deliveries.begun.set()
                await deliveries.ended.wait()

    async def _take(self, group: TaskGroup) -> bool:
        """Begins deliveries. Returns whether there may be more that have a slot."""
        try:
            room = self._room(await self._outbox.due_lanes())
            due = await self._outbox.take_due(room, self._settings.lease_s) if room else ()
        except Overloaded:  # the database is unavailable
            return False
        for one in due:
            lane = DeliveryLane.of(one.sink, one.job.tenant, one.job.webhook)
            self._taken[lane] += 1
            group.start_soon(self._handle, one, lane)
        return bool(due) and self._full

    def _room(self, lanes: Sequence[DeliveryLane]) -> dict[DeliveryLane, int]:
        """How many deliveries of each lane may begin. They get slots one by one, those of the tenant first that has the
        fewest.
        """
        settings = self._settings
        of_tenant, of_slots = Counter[str](), Counter[DeliveryLane]()
        for lane, count in self._taken.items():
            of_tenant[lane.tenant] += count
            of_slots[_slots_of(lane)] += count
        free = settings.taken - self._taken.total()
        room: dict[DeliveryLane, int] = {}
        waiting = [(of_tenant[lane.tenant], self._jitter(), lane) for lane in lanes]
        heapify(waiting)
        self._full = False
        while waiting and free:
            _, tie, lane = heappop(waiting)
            slots = _slots_of(lane)
            most = min(settings.at_once, self._endpoints.room(lane, settings.at_once))
            if of_tenant[lane.tenant] >= free or of_slots[slots] >= most:
                self._full = True
                continue
            of_tenant[lane.tenant] += 1
            of_slots[slots] += 1
            room[lane] = room.get(lane, 0) + 1
            free -= 1
            heappush(waiting, (of_tenant[lane.tenant], tie, lane))
        self._full = self._full or bool(waiting)
        return room

    async def _handle(self, due: Due, lane: DeliveryLane) -> None:
        try:
            # Without an entry in the outbox when the time is over: the lease is, too, and another process takes it.
            with anyio.move_on_after(self._settings.limit_s) as scope:
                await self._deliver(due, lane)
            if scope.cancelled_caught:
                log.warning("delivery_timed_out", sink=due.sink, delivery=due.id)
        except Exception as error:  # noqa: BLE001 - of one delivery: its lease runs out, and it is delivered again
            log.warning("delivery_not_noted", sink=due.sink, delivery=due.id, error=type(error).__name__)
        finally:
            self._taken[lane] -= 1
            if self._full and self._taken[lane] <= self._settings.at_once // 2:  # not at each: it is a query
                self._changed.set()
            if not self._taken[lane]:
                del self._taken[lane]

    async def _deliver(self, due: Due, lane: DeliveryLane) -> None:
        try:
            await self._attempt(due, lane)
        except _NotTried as error:
            await self._outbox.put_back(due, error.after_s)
        except DeliverNever as error:
            await self._dead(due, str(error))
        except DeliverLater as error:
            await self._later(due, str(error), error.retry_after_s or 0.0)
        else:
            await self._outbox.delivered(due)
            self._count(due, DeliveryOutcome.DELIVERED)

    async def _attempt(self, due: Due, lane: DeliveryLane) -> None:
        """Raises DeliverLater, DeliverNever or _NotTried if it was not delivered, and nothing else."""
        sink = self._sinks.get(due.sink)
        if sink is None:
            raise DeliverLater(f"there is no sink `{due.sink}` in the settings")
        if not due.job.state.ended:
            raise DeliverLater("the job was retried meanwhile and has not ended yet")
        delivery = Delivery(due.id, due.sink, due.job, due.attempt, partial(self._document, due.job))
        if self._also is not None:
            fields, original = partial(self._also.fields, due.job), partial(self._also.original, due.job)
            delivery = replace(delivery, fields=fields, original=original)
        never: DeliverNever | None = None
        try:
            async with self._endpoints.use(lane):
                try:
                    await sink.deliver(delivery)
                except DeliverNever as error:  # says nothing against the receiver
                    never = error
        except (DeliverLater, _NotTried):
            raise
        except Overloaded as error:
            raise DeliverLater(error.detail, error.retry_after_s) from error
        except InputRejected as error:  # the document is no longer kept
            raise DeliverNever(error.detail) from error
        except Exception as error:
            log.exception("delivery_failed", sink=due.sink, delivery=due.id, job=due.job.id)
            reason = error.detail if isinstance(error, InkgateError) else type(error).__name__
            raise DeliverLater(f"unexpected error: {reason}") from error
        if never is not None:
            raise never

    async def _document(self, job: Job) -> DocumentResult:
        if not job.saved:
            raise LookupError
        document = await self._load(job)
        if document.status is DocumentStatus.FAILED:
            raise LookupError
        return document

    async def _later(self, due: Due, reason: str, retry_after_s: float) -> None:
        if due.attempt > len(PAUSES_S):
            await self._dead(due, f"{reason} ({due.attempt} attempts)")
            return
        pause_s = max(retry_after_s, PAUSES_S[due.attempt - 1] * (1.0 + _JITTER * self._jitter()))
        await self._outbox.later(due, pause_s, _storable(reason))
        self._count(due, DeliveryOutcome.RETRIED)
        log.info("delivery_retried", sink=due.sink, delivery=due.id, attempt=due.attempt, pause_s=pause_s, why=reason)

    async def _dead(self, due: Due, reason: str) -> None:
        await self._outbox.dead(due, _storable(reason))
        self._count(due, DeliveryOutcome.DEAD)
        # Not why: a table's reason quotes the value that does not fit. `inkgate jobs show` has it.
        log.error("delivery_dead", sink=due.sink, delivery=due.id, job=due.job.id)

    def _count(self, due: Due, outcome: DeliveryOutcome) -> None:
        self.outcomes[due.sink, outcome] += 1


def _storable(reason: str) -> str:
    """Text that every database takes: reasons may quote values of documents."""
    return encodable(reason[:_MAX_ERROR]).replace("\0", "\ufffd")


class _Deliveries:
    """The task group of deliveries, from `begun` until `ended` is set and they have ended, or `scope` is over."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope(shield=True)
        self.group = anyio.create_task_group()
        self.begun = anyio.Event()
        self.ended = anyio.Event()


class _NotTried(Exception):
    """The receiver gets no deliveries for `after_s`."""

    def __init__(self, after_s: float) -> None:
        super().__init__()
        self.after_s = after_s


def _slots_of(lane: DeliveryLane) -> DeliveryLane:
    """Stands for what shares slots and a breaker: all lanes of a sink, but only one of webhooks."""
    return lane if lane.is_webhook else DeliveryLane(lane.endpoint, "")


class _Endpoints:
    """The breakers of receivers: each sink, and each host of the jobs' own webhooks, by tenant."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._known: OrderedDict[DeliveryLane, Breaker] = OrderedDict()

    def room(self, lane: DeliveryLane, at_once: int) -> int:
        """How many deliveries the receiver may get at once."""
        breaker = self._known.get(_slots_of(lane))
        if breaker is None or breaker.state is BreakerState.CLOSED:
            return at_once
        return 0 if breaker.state is BreakerState.OPEN else self._settings.breaker.probes

    @asynccontextmanager
    async def use(self, lane: DeliveryLane) -> AsyncIterator[None]:
        """Context of one delivery.

        Raises:
            _NotTried: deliveries to this receiver failed, so it gets none for a while.
        """
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._breaker(_slots_of(lane)).guard(timed_out=lambda: True))
            except Overloaded as error:
                raise _NotTried(error.retry_after_s) from error
            yield

    def _breaker(self, receiver: DeliveryLane) -> Breaker:
        settings = self._settings.breaker
        if not receiver.is_webhook:  # large documents take long; the sink is nobody else's
            settings = replace(settings, target_s=None)
        if receiver not in self._known:
            self._known[receiver] = Breaker(receiver.endpoint, settings)
            if len(self._known) > _MAX_ENDPOINTS:
                self._known.popitem(last=False)
        self._known.move_to_end(receiver)
        return self._known[receiver]
