"""Threads shared by callers: what one tenant fills holds up no other, and who leaves pays until its thread ends."""

from __future__ import annotations

import io
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import numpy as np
import pytest
from PIL import Image
from sqlalchemy import make_url

from inkgate.api.http.decoding import BodyThreads, parse_json
from inkgate.caller import Caller
from inkgate.documents.images import DecodeThreads, open_image
from inkgate.documents.sniff import FileType
from inkgate.errors import EngineFailed, InputRejected
from inkgate.extraction.finder import FieldFinder
from inkgate.extraction.wanted import CheckedFields
from inkgate.fields.document_types import DocumentTypes
from inkgate.service.complete import Completion
from inkgate.service.page_cache import page_cache
from inkgate.service.remembered_page import RememberedPage
from inkgate.serving import threads as fair_threads
from inkgate.serving.cache import CacheSource, MemoryStore
from inkgate.serving.threads import FairThreads
from inkgate.settings import FieldsSettings
from inkgate_client.codec import dump_page
from inkgate_client.concurrency import pause
from inkgate_client.types import DocumentResult, PageResult, Task
from support.charges import CountedCharge
from support.job_plant import until
from support.job_stores import Stores
from support.ppocr import ArrayPage
from support.receipts import RECEIPT, page

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
    """How many requests end until tenant B's has, which comes last, behind one that runs and `of_a` of tenant A."""
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


async def test_stored_pages_of_one_tenant_hold_up_those_of_another_by_one_turn(tmp_path: Path) -> None:
    ended: list[str] = []
    async with Stores(make_url(f"sqlite:///{tmp_path}/jobs.db")).store() as store, anyio.create_task_group() as group:
        threads = store._packing = FairThreads(1)

        async def load(tenant: str) -> None:
            await store.pages("of no job", tenant=tenant)
            ended.append(tenant)

        first = Blocked()
        group.start_soon(threads.run, A, 1, first)
        await first.is_running()
        for tenant in "aaaaaaaaa":
            group.start_soon(load, tenant)
        await until(lambda: threads.waiting == 9)
        group.start_soon(load, "b")
        await until(lambda: threads.waiting == 10)
        first.go.set()
    assert ended.index("b") <= 1


async def test_pages_of_one_tenant_hold_up_those_of_another_by_one_turn() -> None:
    """After the engine has read them."""
    threads = FairThreads(1)
    completion, read = Completion(threads), RememberedPage.around(ArrayPage(np.full((40, 40, 3), 255, np.uint8)))
    assert await place_of_b(threads, lambda caller: completion.complete(read, PageResult(0), Task(), caller)) <= 2


async def test_cached_pages_of_one_tenant_hold_up_those_of_another_by_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    store, threads, key = MemoryStore(10_000_000), FairThreads(1), iter(range(1000))
    cache = page_cache(store, 60.0)
    monkeypatch.setattr(cache, "_threads", threads)
    data = dump_page(PageResult(0, text="x" * 100_000))
    for number in range(30):
        await store.put(bytes([number]), data, 60.0)

    async def load(caller: Caller) -> None:
        _, source = await cache.get_or_run(bytes([next(key)]), unread, caller)
        assert source is CacheSource.KEPT

    async with anyio.create_task_group() as group:
        group.start_soon(cache.run)
        await anyio.wait_all_tasks_blocked()
        assert await place_of_b(threads, load) <= 2
        group.cancel_scope.cancel()


async def unread() -> PageResult:
    raise AssertionError("It is in the cache.")


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


def long(made: list[int], count: int) -> str:
    for number in range(count):
        made.append(number)
        pause()
    return "done"


async def test_long_work_lets_other_work_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_threads, "_SLICE_MS", 0)
    threads, made, seen = FairThreads(1), list[int](), list[int]()
    first = Blocked()

    async def of_a() -> None:
        assert await threads.run_long(A, long, made, 100) == "done"

    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, A, 1, first)
        await first.is_running()
        for _ in range(2):  # each gives up its turn for the other
            group.start_soon(of_a)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(threads.run, B, 1, lambda: seen.append(len(made)))
        await anyio.wait_all_tasks_blocked()
        first.go.set()
    assert len(made) == 200
    assert seen[0] <= 2


async def test_long_work_ends_at_its_next_step_once_its_caller_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_threads, "_SLICE_MS", 0)
    threads, made, charge = FairThreads(1), list[int](), CountedCharge()
    blocked = Blocked()

    def work() -> None:
        long(made, 3)
        blocked()
        long(made, 100)

    async with anyio.create_task_group() as callers:
        callers.start_soon(threads.run_long, Caller("a", charge=charge), work)
        await blocked.is_running()
        callers.cancel_scope.cancel()
    assert charge.begun == charge.ended + 1
    blocked.go.set()
    await until(lambda: charge.begun == charge.ended)
    assert len(made) == 4  # the step that ran
    assert await threads.run(B, 1, list) == []


async def test_long_work_that_waits_for_its_next_turn_ends_with_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_threads, "_SLICE_MS", 0)
    threads, made, charge = FairThreads(1), list[int](), CountedCharge()
    others, begins = Blocked(), Blocked()

    def work() -> None:
        begins()
        long(made, 100)

    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as callers:
            callers.start_soon(threads.run_long, Caller("a", charge=charge), work)
            await begins.is_running()
            group.start_soon(threads.run, B, 1, others)
            await until(lambda: threads.waiting == 1)
            begins.go.set()
            await others.is_running()
            await until(lambda: threads.waiting == 1)  # the long work does
            callers.cancel_scope.cancel()
        await until(lambda: threads.waiting == 0)
        assert charge.begun == charge.ended
        others.go.set()
    assert len(made) == 1


async def test_errors_of_long_work_are_the_callers() -> None:
    with pytest.raises(ValueError, match="seven"):
        await FairThreads(1).run_long(A, int, "seven")


async def test_fields_of_one_tenants_long_documents_do_not_hold_up_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_threads, "_SLICE_MS", 0)
    types = DocumentTypes.load()
    finder, wanted, ended = FieldFinder(types, FieldsSettings()), CheckedFields(types.named("receipt")), list[str]()
    monkeypatch.setattr(finder, "threads", FairThreads(1))
    first = Blocked()

    async def find(caller: Caller, pages: int) -> None:
        document = tuple(replace(page(RECEIPT), index=index) for index in range(pages))
        await finder.find(DocumentResult("a.pdf", "application/pdf", 0, pages, "", document), wanted, caller)
        ended.append(caller.tenant)

    async with anyio.create_task_group() as group:
        group.start_soon(finder.threads.run, A, 1, first)
        await first.is_running()
        for _ in range(3):
            group.start_soon(find, A, 10)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(find, B, 1)
        await anyio.wait_all_tasks_blocked()
        first.go.set()
    assert ended == ["b", "a", "a", "a"]
