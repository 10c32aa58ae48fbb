"""A page that several clients request at once is read once; if one of them leaves, the others still get their page."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

import anyio
import pytest
from anyio.abc import TaskGroup

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.open import Opener
from inkgate.errors import InkgateError
from inkgate.page import Page
from inkgate.service.page_cache import page_cache
from inkgate.serving.cache import MemoryStore
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, PageResult, Task
from support.page_readers import cache_of, page_reader
from support.pdf_writer import PdfWriter

pytestmark = pytest.mark.anyio

COLOURS = ("0 0 0", "0 0 1", "0 1 0", "0 1 1", "1 0 0", "1 0 1", "1 1 0", "1 1 1")
"""Of pages, as PDF writes them; the reader of colours answers the same words."""


def coloured(colour: str) -> bytes:
    writer = PdfWriter()
    writer.add_page(colour.encode() + b" rg 0 0 12 12 re f", (12, 12))
    return writer.build()


PDFS = {colour: coloured(colour) for colour in COLOURS}


class ColourReader:
    """An Engine that reads the colour of a page, after `before` and before `after`."""

    name = "colours"

    def __init__(self, before: Callable[[], Awaitable[None]], after: Callable[[], Awaitable[None]]) -> None:
        self._before = before
        self._after = after
        self.begun = 0

    async def start(self) -> None:
        """Is ready."""

    async def stop(self) -> None:
        """Holds nothing."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.begun += 1
        await self._before()
        rgb = (await page.pixels(8)).rgb
        await self._after()
        return PageResult(page.index, text=" ".join(str(int(value) // 255) for value in rgb[4, 4]))


class Service:
    """Clients that send coloured PDFs. `wrong`: results that were not a client's own, with those it expected."""

    def __init__(self, opener: Opener, engine: ColourReader, tasks: TaskGroup) -> None:
        self.wrong: list[tuple[str, str]] = []
        self.opened = 0
        self.answered = 0
        self._opener = opener
        self._tasks = tasks
        self._cached = page_reader(engine, cache=page_cache(MemoryStore(1_000_000), 60.0))
        tasks.start_soon(cache_of(self._cached).run)

    async def ask(self, colour: str, begin: anyio.Event | None = None) -> None:
        """Opens the PDF, and asks for its page when `begin` is set."""
        async with self._opener.open(Document(PDFS[colour])) as opened:
            try:
                page = await opened.page(0)
                self.opened += 1
                if begin is not None:
                    await begin.wait()
                got = (await self._cached.read(page, Task(), NO_CALLER)).text
            except InkgateError as error:
                got = error.code
        self.answered += 1
        if got != colour:
            self.wrong.append((colour, got))

    def start(self, colour: str, begin: anyio.Event | None = None) -> anyio.CancelScope:
        """Starts a request in its own task; the returned function makes the client leave."""
        scope = anyio.CancelScope()

        async def caller() -> None:
            with scope:
                await self.ask(colour, begin)

        self._tasks.start_soon(caller)
        return scope


@asynccontextmanager
async def one_worker() -> AsyncIterator[Opener]:
    async with Opener(LimitSettings(), PdfSettings(workers=1, warm_workers=1, dpi=72)) as opener:
        yield opener


async def until(what: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not what():  # noqa: ASYNC110 - the pool's counts give no event
            await anyio.sleep(0.001)


async def nothing() -> None:
    """Waits for nothing."""


@pytest.mark.parametrize("waits_for_a_worker", [True, False])
async def test_the_first_caller_leaves_while_the_page_waits_for_a_worker_or_is_rendered(
    *, waits_for_a_worker: bool
) -> None:
    begin = anyio.Event()
    async with one_worker() as opener, anyio.create_task_group() as tasks:
        service = Service(opener, engine := ColourReader(begin.wait, nothing), tasks)
        first = service.start("1 0 0")
        await until(lambda: engine.begun == 1)
        for _ in range(2):
            service.start("1 0 0")
        await until(lambda: service.opened == 3 and opener.pdf_jobs == (1, 0, 0))
        await anyio.wait_all_tasks_blocked()
        (pid,) = opener.worker_pids
        os.kill(pid, signal.SIGSTOP)
        if waits_for_a_worker:
            service.start("0 0 1")
            await until(lambda: opener.pdf_jobs == (1, 1, 0))
        begin.set()
        await until(lambda: opener.pdf_jobs == (1, 1, int(waits_for_a_worker)))
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        service.start("0 1 0")  # its file may get the number of the one that the first caller had
        await until(lambda: opener.pdf_jobs == (1, 1, 1 + waits_for_a_worker))
        os.kill(pid, signal.SIGCONT)
        await until(lambda: service.answered == 3 + waits_for_a_worker)
        assert opener.worker_pids == (pid,)
        tasks.cancel_scope.cancel()
    assert service.wrong == []


@pytest.mark.parametrize("has_pixels", [True, False])
async def test_the_first_caller_leaves_while_the_engine_reads(*, has_pixels: bool) -> None:
    go_on = anyio.Event()
    before, after = (nothing, go_on.wait) if has_pixels else (go_on.wait, nothing)
    async with one_worker() as opener, anyio.create_task_group() as tasks:
        service = Service(opener, engine := ColourReader(before, after), tasks)
        first = service.start("1 0 0")
        await until(lambda: engine.begun == 1)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            service.start("1 0 0")
        await until(lambda: service.opened == 4 and opener.pdf_jobs == (1, 0, 0))
        await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
        service.start("0 1 0")
        await until(lambda: engine.begun == 2)
        go_on.set()
        await until(lambda: service.answered == 4)
        tasks.cancel_scope.cancel()
    assert service.wrong == []
    assert engine.begun == 2


@pytest.mark.parametrize("schedules", [60, pytest.param(1000, marks=pytest.mark.endurance)])
async def test_everybody_who_stays_gets_their_own_page_in_random_schedules(schedules: int) -> None:
    random = Random(18)
    wrong: list[tuple[str, str]] = []

    async def a_moment() -> None:
        await anyio.sleep(random.choice((0, 0, 0.0005, 0.002)))

    async def schedule(opener: Opener, colour: str) -> None:
        async with anyio.create_task_group() as tasks:
            service = Service(opener, ColourReader(a_moment, a_moment), tasks)
            begins = [anyio.Event() for _ in range(random.randint(2, 3))]
            first, *_ = [service.start(colour, begin) for begin in begins]
            await until(lambda: service.opened == len(begins))
            for begin in begins:
                begin.set()
                await a_moment()
            first.cancel()
            await until(lambda: service.answered >= len(begins) - 1)
            tasks.cancel_scope.cancel()
        wrong.extend(service.wrong)

    async with Opener(LimitSettings(), PdfSettings(workers=2, warm_workers=2, dpi=72)) as opener:
        for _ in range(schedules // len(COLOURS)):
            async with anyio.create_task_group() as together:
                for colour in COLOURS:
                    together.start_soon(schedule, opener, colour)
        assert wrong == []
        assert [lives for _, lives in opener.worker_lives] == [1, 1]
