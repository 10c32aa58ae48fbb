"""Pages that are the same are read once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import anyio
import pytest
from anyio.lowlevel import checkpoint

from inkgate.caller import NO_CALLER, Caller, Priority
from inkgate.engines.base import Engine
from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
from inkgate.page import Page
from inkgate.service.page import PageReader
from inkgate.service.page_cache import page_cache
from inkgate.serving.cache import MemoryStore
from inkgate_client.types import Block, BlockType, PageError, PageResult, Task, TaskKind
from support.page_readers import cache_of, page_reader
from support.scripted_engine import KeyedPage, ScriptedEngine

pytestmark = pytest.mark.anyio


class Degrading(ScriptedEngine):
    """Changes the result in a way the test chooses."""

    change: Callable[[PageResult], PageResult] = staticmethod(lambda result: result)

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return self.change(await super().read(page, task, caller))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(1_000_000)


@pytest.fixture
def engine() -> Degrading:
    return Degrading()


@pytest.fixture
async def cached(store: MemoryStore, engine: Degrading) -> AsyncIterator[PageReader]:
    async with anyio.create_task_group() as tasks:
        cached = page_reader(engine, cache=page_cache(store, 60.0), revision="revision 1")
        tasks.start_soon(cache_of(cached).run)
        await checkpoint()
        yield cached
        tasks.cancel_scope.cancel()


async def test_a_thousand_reads_over_a_hundred_pages_are_a_hundred(store: MemoryStore) -> None:
    async def a_moment(index: int) -> None:
        for _ in range(10):
            await checkpoint()

    engine = ScriptedEngine(a_moment)
    cached = page_reader(engine, cache=page_cache(store, 60.0), revision="")
    read: list[PageResult] = []
    upcoming = iter([index for index in range(100) for _ in range(10)])

    async def worker() -> None:
        for index in upcoming:
            result = await cached.read(KeyedPage(b"%d" % index, index), Task(), NO_CALLER)
            assert (result.index, result.text) == (index, f"page {index}")
            read.append(result)

    async with anyio.create_task_group() as background:
        background.start_soon(cache_of(cached).run)
        await checkpoint()
        async with anyio.create_task_group() as workers:
            for _ in range(16):
                workers.start_soon(worker)
        background.cancel_scope.cancel()
    assert len(read) == 1000
    assert sorted(engine.begun) == list(range(100))
    assert sum(cache_of(cached).found.values()) == 1000


async def test_a_hit_has_the_askers_index_and_only_the_time_it_took_itself(
    cached: PageReader, engine: Degrading
) -> None:
    engine.change = lambda result: replace(result, timings_ms={"detect": 800.0})
    first = await cached.read(KeyedPage(b"a", 5), Task(), NO_CALLER)
    second = await cached.read(KeyedPage(b"a", 9), Task(), NO_CALLER)
    assert engine.begun == [5]
    assert (first.index, dict(first.timings_ms)) == (5, {"detect": 800.0})
    assert (second.index, second.text, list(second.timings_ms)) == (9, "page 5", ["cache"])
    assert replace(second, index=5, timings_ms=first.timings_ms) == first


@pytest.mark.parametrize(
    ("page", "task"),
    [
        (KeyedPage(b"b"), Task()),
        (KeyedPage(b"a"), Task(TaskKind.PARSE)),
        (KeyedPage(b"a"), Task(min_line_confidence=0.7)),
        (KeyedPage(b"a"), Task(TaskKind.EXTRACT, fields=("total",))),
    ],
)
async def test_what_is_asked_for_otherwise_is_read_anew(
    cached: PageReader, engine: Degrading, page: KeyedPage, task: Task
) -> None:
    await cached.read(KeyedPage(b"a"), Task(), NO_CALLER)
    await cached.read(page, task, NO_CALLER)
    assert len(engine.begun) == 2


async def test_another_engine_or_revision_does_not_take_what_this_one_kept(
    cached: PageReader, engine: Degrading, store: MemoryStore
) -> None:
    class Other(Degrading):
        name = "other"

    others: list[tuple[Engine, str]] = [(engine, "revision 2"), (Other(), "revision 1"), (engine, "revision 1")]
    await cached.read(KeyedPage(b"a"), Task(), NO_CALLER)
    timings = []
    async with anyio.create_task_group() as tasks:
        for inner, revision in others:
            other = page_reader(inner, cache=page_cache(store, 60.0), revision=revision)
            tasks.start_soon(cache_of(other).run)
            await checkpoint()
            timings.append(list((await other.read(KeyedPage(b"a"), Task(), NO_CALLER)).timings_ms))
        tasks.cancel_scope.cancel()
    assert timings == [[], [], ["cache"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda result: replace(result, degraded=("resolution",)),
        lambda result: replace(result, error=PageError("output_truncated", "", "")),
        lambda result: replace(
            result, blocks=(Block(BlockType.TEXT, (0, 0, 1, 1), (), "", "", error=PageError("engine_failed", "", "")),)
        ),
    ],
)
async def test_what_is_less_than_a_whole_result_is_not_kept(
    cached: PageReader, engine: Degrading, change: Callable[[PageResult], PageResult]
) -> None:
    engine.change = change
    await cached.read(KeyedPage(b"a"), Task(), NO_CALLER)
    engine.change = lambda result: result
    again = await cached.read(KeyedPage(b"a"), Task(), NO_CALLER)
    assert len(engine.begun) == 2
    assert (again.degraded, again.error, again.blocks) == ((), None, None)


async def test_a_page_without_a_key_is_never_taken_for_another(cached: PageReader, engine: Degrading) -> None:
    for _ in range(2):
        await cached.read(KeyedPage(b""), Task(), NO_CALLER)
    assert len(engine.begun) == 2


async def test_an_error_is_raised_and_not_kept(cached: PageReader, engine: Degrading) -> None:
    async def broken(index: int) -> None:
        raise InputRejected("page_broken", "It is broken.")

    engine._script = broken
    for _ in range(2):
        with pytest.raises(InputRejected, match="page_broken"):
            await cached.read(KeyedPage(b"a"), Task(), NO_CALLER)
    assert len(engine.begun) == 2


class GatedEngine(ScriptedEngine):
    """Reads once let go; the first read ends with `first`, if that is an error."""

    def __init__(self, first: Exception | None = None) -> None:
        super().__init__(self._wait)
        self.go = anyio.Event()
        self._first = first

    async def _wait(self, index: int) -> None:
        error, self._first = self._first, None
        await self.go.wait()
        if error is not None:
            raise error


async def _asked(engine: GatedEngine, callers: list[Caller]) -> list[PageResult | str]:
    """What each of `callers` gets who ask for the same page, one after the other, before it is read."""
    cached = page_reader(engine, cache=page_cache(MemoryStore(1_000_000), 60.0))
    answers: list[PageResult | str] = [""] * len(callers)

    async def ask(place: int) -> None:
        try:
            answers[place] = await cached.read(KeyedPage(b"a"), Task(), callers[place])
        except InkgateError as error:
            answers[place] = error.code

    async with anyio.create_task_group() as background:
        background.start_soon(cache_of(cached).run)
        await checkpoint()
        async with anyio.create_task_group() as tasks:
            for place in range(len(callers)):
                tasks.start_soon(ask, place)
                await checkpoint()
            for _ in range(10):
                await checkpoint()
            engine.go.set()
        background.cancel_scope.cancel()
    return answers


async def test_who_is_urgent_does_not_wait_for_a_read_that_is_not() -> None:
    engine = GatedEngine()
    urgent, later = Caller("a", Priority.INTERACTIVE), Caller("b", Priority.BATCH)
    await _asked(engine, [later, urgent, later, urgent])
    assert len(engine.begun) == 2


async def test_who_wants_no_kept_result_has_the_page_read_and_leaves_none() -> None:
    engine = GatedEngine()
    await _asked(engine, [Caller("a", anew=True), Caller("b", anew=True), Caller("c"), Caller("d")])
    assert len(engine.begun) == 3


@pytest.mark.parametrize(
    "error",
    [
        InputRejected("deadline_exceeded", "Late."),
        EngineFailed("service_timeout", "Late."),
        EngineFailed("engine_unavailable", "Its worker is being started."),
        Overloaded("service_full", "Full.", 1.0),
    ],
)
async def test_the_first_askers_deadline_is_not_the_others(error: InkgateError) -> None:
    engine = GatedEngine(error)
    first, *others = await _asked(engine, [Caller("a", deadline=1.0), Caller("b"), Caller("c")])
    assert first == error.code
    assert [answer.text for answer in others if isinstance(answer, PageResult)] == ["page 0"] * 2
    assert len(engine.begun) == 2


@pytest.mark.parametrize(
    "error",
    [
        InputRejected("page_broken", "It is broken."),
        EngineFailed("page_timeout", "It took too long to render."),
        EngineFailed("upstream_failed", "The server fails."),
    ],
)
async def test_a_fault_of_the_page_or_the_server_is_everybodys(error: InkgateError) -> None:
    engine = GatedEngine(error)
    assert await _asked(engine, [Caller("a"), Caller("b")]) == [error.code] * 2
    assert len(engine.begun) == 1


@pytest.mark.parametrize("in_a_block", [False, True])
async def test_a_result_that_was_cut_short_by_the_first_askers_deadline_is_not_the_others(*, in_a_block: bool) -> None:
    error = PageError("deadline_exceeded", "Late.", "")
    block = Block(BlockType.TEXT, (0, 0, 1, 1), (), "", "", error=error)

    class Late(GatedEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            result = await super().read(page, task, caller)
            if len(self.begun) > 1:
                return result
            return replace(result, blocks=(block,)) if in_a_block else replace(result, error=error)

    answers = await _asked(Late(), [Caller("a", deadline=1.0), Caller("b"), Caller("c")])
    whole = [isinstance(answer, PageResult) and not (answer.error or answer.blocks) for answer in answers]
    assert whole == [False, True, True]
