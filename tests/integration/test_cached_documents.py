"""Documents that hold the same pages, opened as they come: their pages are read once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from PIL import Image

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.open import OpenDocument, Opener
from inkgate.page import Page
from inkgate.service.page_cache import page_cache
from inkgate.serving.cache import MemoryStore
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, PageResult, Task
from support.images import corners, encoded
from support.page_readers import cache_of, page_reader
from support.scripted_engine import ScriptedEngine

pytestmark = pytest.mark.anyio


class CountingDocument:
    """An OpenDocument that notes which pages are opened."""

    def __init__(self, inner: OpenDocument, opened: list[int]) -> None:
        self._inner = inner
        self._opened = opened
        self.mime_type, self.page_count, self.invoice = inner.mime_type, inner.page_count, inner.invoice
        self.notes, self.retain, self.content_key = inner.notes, inner.retain, inner.content_key

    async def page(self, index: int, caller: Caller = NO_CALLER) -> Page:
        self._opened.append(index)
        return await self._inner.page(index, caller)


class Readers:
    """Reads documents, all pages of each, with one engine behind a cache.

    Attributes:
        opened: indexes of the pages that were opened.
    """

    def __init__(self, opener: Opener, engine: ScriptedEngine) -> None:
        self.engine = engine
        self.opened: list[int] = []
        self.cached = page_reader(engine, cache=page_cache(MemoryStore(1_000_000), 60.0))
        self._opener = opener

    async def read(self, *documents: Document) -> list[list[PageResult]]:
        """Reads them all at once."""
        results: list[list[PageResult]] = [[] for _ in documents]
        async with anyio.create_task_group() as tasks:
            for document, found in zip(documents, results, strict=True):
                tasks.start_soon(self._read, document, found)
        return results

    async def _read(self, document: Document, found: list[PageResult]) -> None:
        async with self._opener.open(document) as opened:
            counting = CountingDocument(opened, self.opened)
            pages = [self.cached.page_of(counting, index, NO_CALLER) for index in range(opened.page_count)]
            found.extend([await self.cached.read(page, Task(), NO_CALLER) for page in pages])


@pytest.fixture
async def readers() -> AsyncIterator[Readers]:
    async with Opener(LimitSettings(), PdfSettings(workers=1, dpi=72)) as opener, anyio.create_task_group() as tasks:
        readers = Readers(opener, ScriptedEngine())
        tasks.start_soon(cache_of(readers.cached).run)
        yield readers
        tasks.cancel_scope.cancel()


def several(kind: str, *pages: Image.Image) -> bytes:
    return encoded(pages[0], kind, save_all=True, append_images=pages[1:])


async def test_an_image_that_comes_under_many_names_is_read_once(readers: Readers) -> None:
    data = encoded(corners(), "PNG")
    results = await readers.read(*(Document(data, f"{number}.png") for number in range(16)))
    assert readers.engine.begun == [0]
    assert [[page.text for page in pages] for pages in results] == [["page 0"]] * 16


@pytest.mark.parametrize("kind", ["PDF", "TIFF"])
async def test_each_page_of_a_document_is_read_once_and_keeps_its_number(readers: Readers, kind: str) -> None:
    data = several(kind, corners(), corners(48, 32), corners())
    results = await readers.read(*(Document(data, str(number)) for number in range(5)))
    assert sorted(readers.engine.begun) == [0, 1, 2]
    assert [[page.index for page in pages] for pages in results] == [[0, 1, 2]] * 5


@pytest.mark.parametrize("kind", ["PDF", "TIFF"])
async def test_a_page_that_is_in_the_cache_is_not_opened(readers: Readers, kind: str) -> None:
    data = several(kind, corners(), corners(48, 32))
    first = await readers.read(Document(data, "a"))
    again = await readers.read(Document(data, "b"))
    assert readers.opened == [0, 1]
    assert [(page.text, page.width) for page in again[0]] == [(page.text, page.width) for page in first[0]]
    assert [list(page.timings_ms) for page in again[0]] == [["cache"], ["cache"]]


async def test_documents_that_differ_in_a_byte_are_read_apart(readers: Readers) -> None:
    data = encoded(corners(), "BMP")
    await readers.read(Document(data), Document(data[:-1] + bytes([data[-1] ^ 1])))
    assert readers.engine.begun == [0, 0]
