"""Threads shared by callers: what one tenant fills holds up no other, and who leaves pays until its thread ends."""

from __future__ import annotations

import io
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import pytest
from PIL import Image

from inkgate.api.http.decoding import BodyThreads, parse_json
from inkgate.caller import Caller
from inkgate.documents.images import DecodeThreads, open_image
from inkgate.documents.sniff import FileType
from inkgate.errors import EngineFailed, InputRejected
from inkgate.serving.queue import FairThreads
from support.charges import CountedCharge

pytestmark = pytest.mark.anyio

A, B = Caller("a", flow="1"), Caller("b", flow="2")


@dataclass
class Blocked:
    """Work that runs until it may go."""

    entered: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        self.entered.set()
        assert self.go.wait(30)

    async def is_running(self) -> None:
        assert await anyio.to_thread.run_sync(self.entered.wait, 30)


async def place_of_b(threads: FairThreads, work: Callable[[Caller], Awaitable[object]], of_a: int = 20) -> int:
    """How many works end until tenant B's has, which comes last, behind one that runs and `of_a` of tenant A."""
    ended: list[str] = []

    async def one(caller: Caller) -> None:
        await work(caller)
        ended.append(caller.tenant)

    first = Blocked()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, A, 1, first)
        await first.is_running()
        for _ in range(of_a):
            group.start_soon(one, A)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(one, B)
        await anyio.wait_all_tasks_blocked()
        first.go.set()
    assert len(ended) == of_a + 1
    return ended.index("b") + 1


async def test_one_tenants_works_hold_up_another_by_one_turn() -> None:
    threads = FairThreads(1)
    assert await place_of_b(threads, lambda caller: threads.run(caller, 1, list)) <= 2


@pytest.mark.parametrize("side", [300, 6000])
async def test_images_of_one_tenant_hold_up_those_of_another_by_two_turns(side: int) -> None:
    """Small images, and large ones, which have a thread of their own."""
    usual, large = FairThreads(1), FairThreads(1)
    with io.BytesIO() as file:
        Image.new("1", (side, side)).save(file, "PNG")
        data = file.getvalue()

    async def decode(caller: Caller) -> None:
        opened = await open_image(data, FileType.PNG, 100_000_000, DecodeThreads(usual, large), caller)
        await (await opened.page(0, caller)).pixels(100)

    threads, of_a = (usual, 20) if side < 1000 else (large, 3)
    assert await place_of_b(threads, decode, of_a) <= 3


@pytest.mark.parametrize("size", [1_000, 2_000_000])
async def test_bodies_of_one_tenant_hold_up_those_of_another_by_one_turn(size: int) -> None:
    small, large = FairThreads(1), FairThreads(1)
    raw = b'{"image": "' + b"x" * size + b'"}'
    bodies = BodyThreads(small, large)
    threads = small if size < 1_000_000 else large
    assert await place_of_b(threads, lambda caller: bodies.run(caller, len(raw), parse_json, raw)) <= 2


async def test_a_caller_who_leaves_returns_at_once_and_its_tenant_pays_until_the_thread_ends() -> None:
    threads, charge, work = FairThreads(1), CountedCharge(), Blocked()
    async with anyio.create_task_group() as callers:
        callers.start_soon(threads.run, Caller("a", charge=charge), 1, work)
        await work.is_running()
        callers.cancel_scope.cancel()
    assert (charge.begun, charge.ended) == (1, 0)
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, B, 1, list)
        await anyio.wait_all_tasks_blocked()
        assert threads.waiting == 1  # the thread is in use
        work.go.set()
    assert (charge.begun, charge.ended) == (1, 1)


async def test_a_caller_who_leaves_while_it_waits_costs_nothing() -> None:
    threads, charge, work = FairThreads(1), CountedCharge(), Blocked()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, B, 1, work)
        await work.is_running()
        async with anyio.create_task_group() as callers:
            callers.start_soon(threads.run, Caller("a", charge=charge), 1, list)
            await anyio.wait_all_tasks_blocked()
            callers.cancel_scope.cancel()
        assert (threads.waiting, charge.begun) == (0, 0)
        work.go.set()
    assert await threads.run(A, 1, int, "7") == 7


async def test_errors_are_the_callers() -> None:
    threads = FairThreads(1)
    with pytest.raises(ValueError, match="seven"):
        await threads.run(A, 1, int, "seven")
    assert await threads.run(A, 1, int, "7") == 7


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("given", [True, False])
async def test_a_deadline_ends_the_wait_for_a_body(*, runs: bool, given: bool) -> None:
    """While it is decoded, or while it waits for a thread."""
    small, work, charge = FairThreads(1), Blocked(), CountedCharge()
    bodies = BodyThreads(small, FairThreads(1))
    deadline = anyio.current_time() + (1 if runs else 0.05)  # by then it runs
    caller = Caller("a", deadline=deadline, deadline_given=given, charge=charge)
    async with anyio.create_task_group() as group:
        if not runs:
            group.start_soon(small.run, B, 1, work)
            await work.is_running()
        with pytest.raises(InputRejected if given else EngineFailed) as raised:
            await bodies.run(caller, 1, work)
        assert raised.value.code == ("deadline_exceeded" if given else "service_timeout")
        assert (charge.begun, charge.ended) == (int(runs), 0)
        work.go.set()
    if runs:
        await charge.paid()
