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

    def __init__(self, waiting_mb: float = 320.0) -> None:
        settings = AdmissionSettings(max_bytes_mb=1e8, waiting_mb=waiting_mb)
        self.limiter = AdmissionLimiter(1, settings, EmptyBacklog())
        self.came_in: list[str] = []
        self.refused: Counter[str] = Counter()
        self.go = anyio.Event()

    async def opens(self) -> None:
        self.go.set()

    async def enters(
        self, name: str, wait_s: float = 60.0, tenant: str = "a", priority: Priority = Priority.NORMAL
    ) -> None:
        async with await self.limiter.wait(Arrival(tenant, priority), wait_s):
            self.came_in.append(name)
            await self.go.wait()

    async def tries(self, tenant: str) -> None:
        """Enters with a large body, or counts that it is refused."""
        try:
            async with await self.limiter.wait(Arrival(tenant, body_bytes=1_000_000), 60.0):
                await self.go.wait()
        except Overloaded:
            self.refused[tenant] += 1


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
    assert (door.limiter.waiting, door.limiter._uses, door.limiter.documents) == (0, {}, 0)


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


async def test_a_tenant_does_not_wait_behind_the_row_of_another() -> None:
    door = WaitingRoomBench()
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
    assert (door.limiter.documents, door.limiter.waiting) == (0, 0)


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
    await anyio.sleep(29)
    with pytest.raises(Overloaded, match="share_exceeded"):
        limiter.admit(Arrival("a"))
    await anyio.sleep(2)
    limiter.admit(Arrival("a"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limiter.wait, Arrival("c"), 100.0)
        await anyio.sleep(90)
        with pytest.raises(Overloaded, match="share_exceeded"):
            limiter.admit(Arrival("a"))
        tasks.cancel_scope.cancel()


async def test_requests_that_do_not_wait_find_the_reserve_while_others_do() -> None:
    limiter = AdmissionLimiter(8, AdmissionSettings(reserve=0.125), EmptyBacklog())
    refused = 0

    async def chat() -> None:
        async with await limiter.wait(Arrival("a"), 600.0):
            await anyio.sleep(1.0)

    async with anyio.create_task_group() as tasks:
        for _ in range(400):
            tasks.start_soon(chat)
        await anyio.wait_all_tasks_blocked()
        for _ in range(20):
            assert limiter.waiting
            try:
                async with limiter.admit(Arrival("a")):
                    await anyio.sleep(1.0)
            except Overloaded:
                refused += 1
                await anyio.sleep(1.0)
    assert refused == 0


@pytest.mark.parametrize("slots", [2, 4])
async def test_where_the_reserve_is_less_than_a_slot_a_refused_request_finds_one_when_it_returns(slots: int) -> None:
    limiter = AdmissionLimiter(slots, AdmissionSettings(reserve=0.125), EmptyBacklog())

    async def chat() -> None:
        async with await limiter.wait(Arrival("a"), 600.0):
            await anyio.sleep(1.0)

    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(chat)
        await anyio.sleep(1.5)
        assert limiter.documents == slots
        with pytest.raises(Overloaded):
            limiter.admit(Arrival("a"))
        await anyio.sleep(2)
        async with limiter.admit(Arrival("a")):
            assert limiter.documents == slots
    assert limiter.documents == 0


async def test_the_slot_of_a_refused_request_that_does_not_return_is_not_left_empty() -> None:
    limiter = AdmissionLimiter(2, AdmissionSettings(reserve=0.125, remember_s=30.0), EmptyBacklog())
    async with limiter.admit(Arrival("a")), anyio.create_task_group() as tasks:
        async with limiter.admit(Arrival("a")):
            tasks.start_soon(limiter.wait, Arrival("b"), 600.0)
            await anyio.sleep(1)
            with pytest.raises(Overloaded):
                limiter.admit(Arrival("a"))
        await anyio.sleep(29)
        assert (limiter.documents, limiter.waiting) == (1, 1)
        await anyio.sleep(2)
        assert (limiter.documents, limiter.waiting) == (2, 0)
        tasks.cancel_scope.cancel()


async def test_interactive_requests_go_first_and_batches_get_their_share() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "first")
        await anyio.lowlevel.checkpoint()
        for name, count, priority in (
            ("b", 2, Priority.BATCH),
            ("n", 5, Priority.NORMAL),
            ("i", 30, Priority.INTERACTIVE),
        ):
            for _ in range(count):
                tasks.start_soon(door.enters, name, 60.0, "a", priority)
            await anyio.wait_all_tasks_blocked()
        door.go.set()
    entered = "".join(door.came_in[1:])
    assert entered[:9] == "iiiiniiii"
    assert entered.index("b") == 16  # of both other classes
    assert Counter(entered) == {"i": 30, "n": 5, "b": 2}


async def test_one_tenant_can_not_fill_the_line() -> None:
    door = WaitingRoomBench(waiting_mb=16.0)  # 12 MB without early bodies: a hundred requests with large bodies
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "first")
        await anyio.lowlevel.checkpoint()
        for tenant, count in (("a", 120), ("b", 5), ("c", 5)):
            for _ in range(count):
                tasks.start_soon(door.tries, tenant)
            await anyio.wait_all_tasks_blocked()
        assert door.limiter.line.requests == {"a": 87, "b": 5, "c": 5}
        assert (door.refused, door.limiter.line.held_bytes) == (Counter(a=33), 97 * 120_000)
        door.go.set()
    assert (door.limiter.waiting, door.limiter.line.held_bytes, door.limiter._uses) == (0, 0, {})


@pytest.mark.parametrize("overload", [1.5, 4.0])
async def test_under_lasting_overload_those_who_waited_still_have_time_for_their_response(overload: float) -> None:
    limiter = AdmissionLimiter(16, AdmissionSettings(reserve=0.0), EmptyBacklog())
    ended: Counter[str] = Counter()

    async def chat() -> None:
        deadline = anyio.current_time() + 10.0
        try:
            async with await limiter.wait(Arrival("a", deadline=deadline), 600.0):
                with anyio.CancelScope(deadline=deadline) as scope:
                    await anyio.sleep(2.0)
            ended["late" if scope.cancelled_caught else "in time"] += 1
        except Overloaded:
            ended["refused"] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(int(120 * 8 * overload)):
            tasks.start_soon(chat)
            await anyio.sleep(1 / (8 * overload))
    assert ended["in time"] > 0.9 * 120 * 8
    assert ended["late"] < 0.05 * ended["in time"]


async def test_a_thousand_leave_the_line_at_once_and_nothing_stays() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(door.enters, "first")
        await anyio.lowlevel.checkpoint()
        with anyio.CancelScope() as drain:
            async with anyio.create_task_group() as waiting:
                for number in range(1000):
                    waiting.start_soon(door.enters, "x", 600.0, f"tenant {number % 7}")
                await anyio.wait_all_tasks_blocked()
                assert door.limiter.waiting == 1000
                drain.cancel()
        assert (door.limiter.waiting, door.limiter.documents, door.limiter.line.held_bytes) == (0, 1, 0)
        door.go.set()
    assert (door.came_in, door.limiter._uses) == (["first"], {})


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
