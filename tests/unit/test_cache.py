"""What is kept, for how long, and what is shared."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
import pytest
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from inkgate.caller import NO_CALLER
from inkgate.errors import InkgateError, InputRejected, Overloaded
from inkgate.serving.cache import Cache, CacheCodec, CacheSource, MemoryStore, Store

pytestmark = pytest.mark.anyio

KIND: CacheCodec[str] = CacheCodec(
    dumps=str.encode,
    loads=lambda data: data.decode("ascii"),
    size=len,
    keep=lambda text: text not in {"poor", "late"},
    of_the_asker=lambda outcome: isinstance(outcome, Overloaded) or outcome == "late",
)


class Work:
    """Runs until it is let go, and then answers `text`, or raises it."""

    def __init__(self, outcome: str | Exception = "text") -> None:
        self.outcome = outcome
        self.go = anyio.Event()
        self.begun = 0
        self.cancelled = 0

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.go.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class ResourceCounter:
    """What work needs. Attributes: by how many it is held now, and how often it was."""

    def __init__(self) -> None:
        self.holders = 0
        self.times = 0

    @contextmanager
    def retain(self) -> Iterator[None]:
        self.holders += 1
        self.times += 1
        try:
            yield
        finally:
            self.holders -= 1


class Callers:
    """Many who ask at once. Attributes: what each got, in the order in which they got it."""

    def __init__(self, cache: Cache[str], tasks: TaskGroup) -> None:
        self.answers: list[tuple[str, CacheSource]] = []
        self.errors: list[InkgateError] = []
        self.needed = ResourceCounter()
        self._cache = cache
        self._tasks = tasks

    async def ask(self, work: Callable[[], Awaitable[str]], count: int = 1, group: str = "") -> anyio.CancelScope:
        """Returns when all wait; what it returns cancels the last of them."""
        scope = anyio.CancelScope()
        for _ in range(count):
            scope = anyio.CancelScope()
            self._tasks.start_soon(self._one, work, group, scope)
        await settled()
        return scope

    async def _one(self, work: Callable[[], Awaitable[str]], group: str, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                self.answers.append(await self._cache.get_or_run(b"key", work, NO_CALLER, group, self.needed.retain))
            except InkgateError as error:
                self.errors.append(error)


async def settled() -> None:
    """Everybody got as far as they get without anything new."""
    for _ in range(20):
        await checkpoint()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(10_000)


@pytest.fixture
async def tasks() -> AsyncIterator[TaskGroup]:
    async with anyio.create_task_group() as tasks:
        yield tasks
        tasks.cancel_scope.cancel()


async def running_cache(store: Store, tasks: TaskGroup) -> Cache[str]:
    cache = Cache(store, KIND, 60.0)
    tasks.start_soon(cache.run)
    await settled()
    return cache


@pytest.fixture
async def callers(store: MemoryStore, tasks: TaskGroup) -> Callers:
    return Callers(await running_cache(store, tasks), tasks)


async def test_all_who_ask_at_once_share_one_run_and_who_comes_later_has_what_was_kept(callers: Callers) -> None:
    work = Work()
    await callers.ask(work, 10)
    work.go.set()
    await settled()
    await callers.ask(work, 2)
    assert work.begun == 1
    assert {text for text, _ in callers.answers} == {"text"}
    assert Counter(source for _, source in callers.answers) == {
        CacheSource.RUN: 1,
        CacheSource.JOINED: 9,
        CacheSource.KEPT: 2,
    }


async def test_groups_do_not_wait_for_each_other_but_share_what_is_kept(callers: Callers) -> None:
    slow, fast = Work(), Work()
    await callers.ask(slow, group="batch")
    fast.go.set()
    await callers.ask(fast, group="interactive")
    assert callers.answers == [("text", CacheSource.RUN)]
    await callers.ask(Work(), group="other")
    assert callers.answers[1:] == [("text", CacheSource.KEPT)]
    slow.go.set()


async def test_the_first_who_leaves_does_not_fail_the_others(callers: Callers) -> None:
    work = Work()
    first = await callers.ask(work)
    await callers.ask(work, 3)
    first.cancel()
    await settled()
    work.go.set()
    await settled()
    assert (work.begun, work.cancelled) == (1, 0)
    assert [source for _, source in callers.answers] == [CacheSource.JOINED] * 3


async def test_work_is_cancelled_when_nobody_waits_and_begun_anew_by_the_next(callers: Callers) -> None:
    work = Work()
    scopes = [await callers.ask(work), await callers.ask(work)]
    for scope in scopes:
        assert work.cancelled == 0
        scope.cancel()
        await settled()
    assert work.cancelled == 1
    work.go.set()
    await callers.ask(work)
    assert callers.answers == [("text", CacheSource.RUN)]


async def test_what_shared_work_needs_is_held_until_it_is_done_though_the_first_has_left(callers: Callers) -> None:
    work = Work()
    first = await callers.ask(work)
    await callers.ask(work, 2)
    first.cancel()
    await settled()
    assert (callers.needed.holders, callers.needed.times) == (1, 1)
    work.go.set()
    await settled()
    assert (callers.needed.holders, callers.needed.times) == (0, 1)


async def test_what_work_needs_is_given_back_when_all_have_left(callers: Callers) -> None:
    scope = await callers.ask(Work())
    scope.cancel()
    await settled()
    assert (callers.needed.holders, callers.needed.times) == (0, 1)


async def test_what_work_needs_is_held_before_who_began_it_can_leave(store: MemoryStore, tasks: TaskGroup) -> None:
    cache, needed, work = await running_cache(store, tasks), ResourceCounter(), Work()
    asking = cache.get_or_run(b"key", work, NO_CALLER, retain=needed.retain)
    asking.send(None)
    assert (needed.holders, work.begun) == (1, 0)
    asking.close()
    await settled()
    assert needed.holders == 0


async def test_who_asks_while_the_last_one_leaves_is_not_given_the_cancelled_work(callers: Callers) -> None:
    abandoned, work = Work(), Work()
    work.go.set()
    scope = await callers.ask(abandoned)
    scope.cancel()
    await callers.ask(work)
    assert abandoned.cancelled == 1
    assert callers.answers == [("text", CacheSource.RUN)]


async def test_an_error_is_shared_and_not_kept(callers: Callers) -> None:
    work = Work(InputRejected("image_corrupt", "It is damaged."))
    await callers.ask(work, 3)
    work.go.set()
    await settled()
    assert [error.code for error in callers.errors] == ["image_corrupt"] * 3
    work.outcome = "text"
    await callers.ask(work)
    assert work.begun == 2
    assert callers.answers == [("text", CacheSource.RUN)]


async def test_what_is_not_worth_keeping_is_shared_and_not_kept(callers: Callers) -> None:
    work = Work("poor")
    await callers.ask(work, 2)
    work.go.set()
    await settled()
    await callers.ask(work)
    assert work.begun == 2
    assert [source for _, source in callers.answers] == [CacheSource.RUN, CacheSource.JOINED, CacheSource.RUN]


async def test_an_error_of_the_first_asker_alone_makes_the_others_run_themselves(callers: Callers) -> None:
    refused, good = Work(Overloaded("service_full", "Full.", 1.0)), Work()
    await callers.ask(refused)
    await callers.ask(good, 5)
    good.go.set()
    refused.go.set()
    await settled()
    assert len(callers.errors) == 1
    assert len(callers.answers) == 5
    assert good.begun == 1


async def test_a_value_that_tells_of_such_an_error_is_the_first_askers_alone(callers: Callers) -> None:
    late, good = Work("late"), Work()
    await callers.ask(late)
    await callers.ask(good, 5)
    good.go.set()
    late.go.set()
    await settled()
    assert Counter(text for text, _ in callers.answers) == {"late": 1, "text": 5}
    assert good.begun == 1


async def test_where_all_are_refused_each_tries_only_a_few_times(callers: Callers) -> None:
    work = Work(Overloaded("service_full", "Full.", 1.0))
    await callers.ask(work, 100)
    work.go.set()
    await settled()
    assert len(callers.errors) == 100
    assert work.begun <= 102


async def test_those_who_wait_when_the_service_stops_are_told(store: MemoryStore, tasks: TaskGroup) -> None:
    cache = Cache(store, KIND, 60.0)
    async with anyio.create_task_group() as background:
        background.start_soon(cache.run)
        await settled()
        callers = Callers(cache, tasks)
        await callers.ask(Work(), 2)
        background.cancel_scope.cancel()
    assert callers.needed.holders == 0
    assert [error.code for error in callers.errors] == ["engine_unavailable"] * 2


async def test_a_value_that_cannot_be_read_is_computed_again(callers: Callers, store: MemoryStore) -> None:
    await store.put(b"key", b"\xff", 60.0)
    work = Work()
    work.go.set()
    await callers.ask(work)
    assert callers.answers == [("text", CacheSource.RUN)]
    assert await store.get(b"key") == b"text"


class GoneStore:
    async def get(self, key: bytes) -> bytes | None:
        raise ConnectionRefusedError

    async def put(self, key: bytes, value: bytes, ttl_s: float) -> None:
        raise TimeoutError

    async def close(self) -> None:
        pass


async def test_a_store_that_is_gone_costs_only_hits(tasks: TaskGroup) -> None:
    cache = await running_cache(GoneStore(), tasks)
    callers = Callers(cache, tasks)
    work = Work()
    work.go.set()
    for _ in range(3):
        await callers.ask(work)
    assert callers.answers == [("text", CacheSource.RUN)] * 3
    assert cache.found == {CacheSource.RUN: 3}


async def test_a_value_that_has_no_bytes_is_answered_all_the_same(callers: Callers) -> None:
    work = Work("half \ud800 a pair")
    work.go.set()
    await callers.ask(work)
    await callers.ask(work)
    assert [source for _, source in callers.answers] == [CacheSource.RUN] * 2


async def test_while_nothing_carries_what_is_shared_each_runs_for_itself(store: MemoryStore) -> None:
    work = Work()
    work.go.set()
    assert await Cache(store, KIND, 60.0).get_or_run(b"key", work, NO_CALLER) == ("text", CacheSource.RUN)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
async def test_what_failed_after_all_had_left_is_freed_at_once(callers: Callers) -> None:
    class Large:
        pass

    held: list[weakref.ref[Large]] = []
    go = anyio.Event()

    async def fail() -> str:
        large = Large()
        held.append(weakref.ref(large))
        with anyio.CancelScope(shield=True):  # as a thread does: it is waited for
            await go.wait()
        raise LookupError(f"lost {id(large)}")

    (await callers.ask(fail)).cancel()
    await settled()
    go.set()
    await settled()
    assert [large() for large in held] == [None]
