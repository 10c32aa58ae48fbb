"""Requests that wait for room instead of being refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from benchmarks.simulate.clock import VirtualLoop
from inkgate.api.http.leaving import EarlyBodies, EarlyBody
from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.degradation import Degradation
from inkgate.serving.order import Work
from inkgate.serving.outcomes import CallerLeft
from inkgate.serving.permits import Arrival
from inkgate.settings import AdmissionSettings, DegradationSettings
from support.fixed_limiter import EmptyBacklog, FixedLimiter
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


class WaitingRoomBench:
    """A limiter with one slot, for which requests wait."""

    def __init__(self, most: int = 10) -> None:
        self.limiter = FixedLimiter(1, waiting_chats=most)
        self.came_in: list[str] = []
        self.go = anyio.Event()

    async def opens(self) -> None:
        self.go.set()

    async def enters(self, name: str, wait_s: float = 60.0, tenant: str = "a") -> None:
        async with await self.limiter.wait(Arrival(tenant), wait_s):
            self.came_in.append(name)
            await self.go.wait()


async def test_who_waits_gets_room_in_the_order_of_arrival() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(door.enters, name)
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.12)
        assert (door.came_in, door.limiter.waiting) == (["a"], 4)
        door.go.set()
    assert door.came_in == list("abcde")
    assert (door.limiter.waiting, door.limiter._uses, door.limiter.in_flight) == (0, {}, 0)


async def test_who_does_not_wait_is_refused_at_once_and_who_waits_when_the_time_is_over() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "a")
        await anyio.wait_all_tasks_blocked()
        for wait_s in (0.0, 0.1):
            with pytest.raises(Overloaded, match="service_full"):
                await door.enters("b", wait_s)
        with pytest.raises(Overloaded, match="service_full"):
            deadline = anyio.current_time() + 0.05
            await door.limiter.wait(Arrival("a", deadline=deadline), 1e9)
        door.go.set()
    assert not door.limiter._uses


async def test_no_more_wait_than_may() -> None:
    door = WaitingRoomBench(most=2)
    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(door.enters, name)
            await anyio.lowlevel.checkpoint()
        with pytest.raises(Overloaded):
            await door.enters("d")
        door.go.set()
    assert door.came_in == list("abc")


async def test_a_tenant_does_not_wait_behind_the_row_of_another() -> None:
    door = WaitingRoomBench(most=100)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(door.enters, f"many {number}")
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(door.enters, "one", 60.0, "b")
        await anyio.sleep(0.12)
        door.go.set()
    assert door.came_in.index("one") < 50


async def test_who_leaves_while_waiting_makes_room_for_the_next() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "a")
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(0.08):
            await door.enters("left")
        assert door.limiter.waiting == 0
        tasks.start_soon(door.enters, "b")
        door.go.set()
    assert door.came_in == ["a", "b"]


async def test_who_leaves_when_its_turn_has_come_leaves_its_place_too() -> None:
    door = WaitingRoomBench()

    @asynccontextmanager
    async def leaves_at_its_turn() -> AsyncIterator[None]:
        yield
        raise CallerLeft

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "a")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(door.opens)
        with pytest.raises(CallerLeft):
            await door.limiter.wait(Arrival("a"), 60.0, leaves_at_its_turn)
    assert (door.limiter.in_flight, door.limiter.waiting) == (0, 0)


async def test_two_thousand_waiting_tenants_wake_nothing_while_nothing_changes() -> None:
    limiter = FixedLimiter(64)
    for number in range(64):
        limiter.admit(Arrival(f"holds {number}"))
    async with anyio.create_task_group() as tasks:
        for number in range(2000):
            tasks.start_soon(limiter.wait, Arrival(f"waits {number}", body_bytes=1000), 3600.0)
        await anyio.wait_all_tasks_blocked()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        assert limiter.waiting == 2000
        before = loop.rounds
        await anyio.sleep(600)
        assert loop.rounds - before <= 2  # those of this sleep
        tasks.cancel_scope.cancel()
    assert limiter.waiting == 0


class ChangingBacklog(EmptyBacklog):
    """A queue that is too long for everybody until `clear` is called."""

    waiting = 1

    def check(self, work: Work) -> None:
        if self.waiting:
            raise Overloaded("service_full", "It would wait too long.", 2.0)

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def clear(self) -> None:
        self.waiting = 0
        self._changed()


async def test_whoever_waits_is_admitted_when_the_queue_of_the_engine_is_shorter() -> None:
    backlog = ChangingBacklog()
    limiter = AdmissionLimiter(10, AdmissionSettings(), backlog)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.wait, Arrival("a", deadline=60.0), 50.0)
        await anyio.sleep(10)
        assert (limiter.waiting, limiter.documents) == (1, 0)
        backlog.clear()
        await anyio.lowlevel.checkpoint()
        assert (limiter.waiting, limiter.documents) == (0, 1)


async def test_whoever_waits_is_admitted_when_the_limit_is_raised() -> None:
    most = 1
    limiter = AdmissionLimiter(lambda: most, AdmissionSettings(), EmptyBacklog())
    limiter.admit(Arrival("a"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.wait, Arrival("b"), 50.0)
        await anyio.sleep(10)
        most = 2
        limiter.wake()
        await anyio.lowlevel.checkpoint()
        assert (limiter.waiting, limiter.documents) == (0, 2)


async def test_batch_work_is_admitted_when_degradation_has_ended_without_any_other_event() -> None:
    wait_s = 100.0
    degradation = Degradation(DegradationSettings(up_s=5), lambda: wait_s)
    for _ in range(4 * 5 + 1):
        degradation.level  # noqa: B018 - the level is updated when it is read
        await anyio.sleep(1)
    assert degradation.level == 4
    limiter = AdmissionLimiter(10, AdmissionSettings(), EmptyBacklog(), degradation)
    wait_s = 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.wait, Arrival("a", Priority.BATCH), 50.0)
        await anyio.sleep(9)
        assert (limiter.waiting, limiter.documents) == (1, 0)
        await anyio.sleep(2)
        assert (limiter.waiting, limiter.documents) == (0, 1)


async def test_whoever_waits_gets_the_place_of_an_upload_that_becomes_slow() -> None:
    limiter = FixedLimiter(2)

    async def loris() -> None:
        with suppress(Overloaded):
            async with limiter.admit(Arrival("a")) as permit:
                with permit.receiving():
                    await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(loris)
        tasks.start_soon(loris)
        tasks.start_soon(limiter.wait, Arrival("b"), 50.0)
        await anyio.sleep(4)
        assert limiter.waiting == 1
        await anyio.sleep(2)
        assert (limiter.waiting, limiter.documents, limiter.tenants) == (0, 2, 2)
        tasks.cancel_scope.cancel()


async def test_a_tenant_that_waits_counts_as_active_and_whoever_is_refused_is_forgotten() -> None:
    limiter = AdmissionLimiter(8, AdmissionSettings(reserve=0.25), EmptyBacklog())
    for _ in range(7):
        limiter.admit(Arrival("a"))
    with pytest.raises(Overloaded, match="service_full"):
        limiter.admit(Arrival("b", body_bytes=2_000_000_000))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.wait, Arrival("a"), 100.0)
        await anyio.sleep(29)
        assert limiter.waiting == 1
        await anyio.sleep(2)
        assert (limiter.waiting, limiter.documents) == (0, 8)
        tasks.start_soon(limiter.wait, Arrival("c"), 100.0)
        await anyio.sleep(90)
        with pytest.raises(Overloaded, match="share_exceeded"):
            limiter.admit(Arrival("a"))
        tasks.cancel_scope.cancel()


async def test_one_event_tries_few_of_those_for_whom_there_is_no_room_and_the_next_one_tries_others() -> None:
    limiter = AdmissionLimiter(100, AdmissionSettings(max_bytes_mb=1.0), EmptyBacklog())
    permits = [limiter.admit(Arrival("holds", body_bytes=400_000)) for _ in range(2)]
    admitted: list[str] = []

    async def waits(tenant: str, body_bytes: int) -> None:
        await limiter.wait(Arrival(tenant, body_bytes=body_bytes), 3600.0)
        admitted.append(tenant)

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(waits, f"large {number}", 500_000)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(waits, "small", 300_000)
        await anyio.wait_all_tasks_blocked()
        permits[0].set_held_bytes(300_000)
        for _ in range(6):
            assert admitted == []
            limiter.wake()
            await anyio.lowlevel.checkpoint()
        assert admitted == ["small"]
        tasks.cancel_scope.cancel()


async def test_waiting_tenants_get_equal_shares_however_many_clients_they_have() -> None:
    limiter = FixedLimiter(4)
    admitted: Counter[str] = Counter()

    async def client(tenant: str) -> None:
        while True:
            async with await limiter.wait(Arrival(tenant), 3600.0):
                admitted[tenant] += 1
                await anyio.sleep(1.0)

    async with anyio.create_task_group() as tasks:
        for tenant, clients in (("a", 60), ("b", 8), ("c", 20)):
            for _ in range(clients):
                tasks.start_soon(client, tenant)
        await anyio.sleep(300.5)
        tasks.cancel_scope.cancel()
    counts = list(admitted.values())
    assert sum(counts) == 4 * 301
    assert sum(counts) ** 2 / (len(counts) * sum(count**2 for count in counts)) > 0.99  # Jain's index


async def test_a_body_is_received_early_where_there_is_room_for_it() -> None:
    bodies = EarlyBodies(100)
    first, second = (EarlyBody(bodies, Sender(b"x" * 60), 60) for _ in range(2))
    async with anyio.create_task_group() as tasks:
        async with first.receive_early():
            tasks.start_soon(leaves_early, second)
            await anyio.sleep(0.05)
            assert bodies.reserved == 60
        assert (await first.receive())["body"] == b"x" * 60
    assert bodies.reserved == 0


async def test_bodies_that_wait_for_memory_wake_nothing_until_it_is_released() -> None:
    bodies = EarlyBodies(100)
    await bodies.reserve(60)
    reserved: list[int] = []

    async def reserve(size: int) -> None:
        reserved.append(await bodies.reserve(size))

    async with anyio.create_task_group() as tasks:
        for size in (90, 50, 45, 60):
            tasks.start_soon(reserve, size)
        await anyio.wait_all_tasks_blocked()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        before = loop.rounds
        await anyio.sleep(60)
        assert loop.rounds - before <= 2
        with anyio.move_on_after(1.0):
            await bodies.reserve(50)
        bodies.release(60)
        await anyio.wait_all_tasks_blocked()
        assert (reserved, bodies.reserved) == ([90], 90)
        bodies.release(90)
        await anyio.wait_all_tasks_blocked()
        assert (reserved, bodies.reserved) == ([90, 50, 45], 95)
        tasks.cancel_scope.cancel()
    bodies.release(95)
    assert bodies.reserved == 0


async def leaves_early(body: EarlyBody) -> None:
    """Its client has left, which shows when there is room."""
    with pytest.raises(CallerLeft):
        async with body.receive_early():
            await anyio.sleep_forever()


@dataclass
class Sender:
    """Receives a body, and then that its client left, once that is asked for."""

    body: bytes
    sent: bool = False

    async def __call__(self) -> Message:
        await anyio.sleep(0.02)
        if self.sent:
            await anyio.sleep(0.1)
            return {"type": "http.disconnect"}
        self.sent = True
        return {"type": "http.request", "body": self.body, "more_body": False}
