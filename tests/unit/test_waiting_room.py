"""Requests that wait for room instead of being refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest
from starlette.types import Message

from inkgate.api.http.leaving import EarlyBodies, EarlyBody
from inkgate.errors import Overloaded
from inkgate.serving.limiter import Arrival, CallerLeft, WaitingRoom
from support.fixed_limiter import FixedLimiter
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


class WaitingRoomBench:
    """A waiting room in front of a limiter with one slot."""

    def __init__(self, most: int = 10) -> None:
        self.limiter = FixedLimiter(1)
        self.room = WaitingRoom(most)
        self.came_in: list[str] = []
        self.go = anyio.Event()

    async def opens(self) -> None:
        self.go.set()

    async def enters(self, name: str, wait_s: float = 60.0, tenant: str = "a") -> None:
        async with await self.room.admit(self.limiter, Arrival(tenant), wait_s):
            self.came_in.append(name)
            await self.go.wait()


async def test_who_waits_gets_room_in_the_order_of_arrival() -> None:
    door = WaitingRoomBench()
    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(door.enters, name)
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.12)
        assert (door.came_in, door.room.waiting) == (["a"], 4)
        door.go.set()
    assert door.came_in == list("abcde")
    assert (door.room.waiting, door.room._queues, door.limiter.in_flight) == (0, {}, 0)


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
            await door.room.admit(door.limiter, Arrival("a", deadline=deadline), 1e9)
        door.go.set()
    assert not door.room._queues


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
        assert door.room.waiting == 0
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
            await door.room.admit(door.limiter, Arrival("a"), 60.0, leaves_at_its_turn)
    assert (door.limiter.in_flight, door.room.waiting) == (0, 0)


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
