"""A document that can't be read is freed when it was refused, not when Python's collector next runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
from PIL import Image

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.open import Opener
from inkgate.errors import EngineFailed, InkgateError
from inkgate.page import Page
from inkgate.service.page_cache import page_cache
from inkgate.service.reader import CheckedOptions, Reader
from inkgate.serving.cache import MemoryStore
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, PageResult, Task
from support.api_client import running_api
from support.images import corners, encoded
from support.page_readers import cache_of, page_reader
from support.scripted_engine import ScriptedEngine

pytestmark = pytest.mark.anyio

PNG = encoded(Image.effect_noise((60, 60), 90), "PNG")
DOCUMENTS = {
    "a damaged PDF": b"%PDF-1.4 and nothing else",
    "a damaged image": PNG[:80] + bytes(100),
    "an image that ends early": PNG[:-60],
    "a TIFF that ends early": encoded(Image.effect_noise((60, 60), 90), "TIFF")[:900],
    "a file of no known kind": b"neither this nor that",
    "an image that the engine fails on": encoded(corners(), "PNG"),
}


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def soon(what: Callable[[], bool]) -> bool:
    """Whether it becomes true: a thread releases its memory a moment after its result is available."""
    with anyio.move_on_after(60):
        while not what():  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(0.01)
    return what()


async def fail(index: int) -> None:
    await anyio.sleep(0.01)
    raise EngineFailed("engine_failed", "It is broken.")


class PixelsFirst(ScriptedEngine):
    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await page.pixels(20)
        return await super().read(page, task, caller)


@asynccontextmanager
async def running_reader(*, cached: bool) -> AsyncIterator[Reader]:
    engine = PixelsFirst(fail)
    shared = page_reader(engine, cache=page_cache(MemoryStore(100_000), 60.0))
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opener, anyio.create_task_group() as tasks:
        tasks.start_soon(cache_of(shared).run)
        yield Reader(opener, shared if cached else engine, LimitSettings())
        tasks.cancel_scope.cancel()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("cached", [False, True])
async def test_nothing_holds_a_document_that_could_not_be_read(*, cached: bool) -> None:
    async def read(data: bytes) -> None:
        try:
            async with reader.read(Document(data), CheckedOptions(), NO_CALLER) as reading:
                assert (await reading.all()).pages[0].error is not None
        except InkgateError:
            pass

    held: list[str] = []
    async with running_reader(cached=cached) as reader:
        for name, document in DOCUMENTS.items():
            data = bytes(bytearray(document))
            before = sys.getrefcount(data)
            async with anyio.create_task_group() as callers:
                for _ in range(3):
                    callers.start_soon(read, data)
            if not await soon(lambda: sys.getrefcount(data) == before):  # noqa: B023 - called here
                held.append(name)
    assert held == []


@pytest.mark.usefixtures("_no_collector")
async def test_nothing_holds_a_document_that_was_refused_over_http() -> None:
    def documents() -> list[Document]:
        return [kept for kept in gc.get_objects() if isinstance(kept, Document)]

    others = documents()  # the traceback of a failed test holds its own
    async with running_api() as api:
        for name, document in DOCUMENTS.items():
            await api.client.post("/ocr", files={"file": (name, document)})
        assert await soon(lambda: all(any(kept is other for other in others) for kept in documents()))
