"""The contract of Page: a held page has its pixels, even if its document was closed meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager

import numpy as np
import pytest
from PIL import Image

from inkgate.documents.open import Opener
from inkgate.engines.vlm.images import PageCrop
from inkgate.page import Page
from inkgate.service.readiness import BlankPage
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document
from support.images import encoded
from support.ppocr import ArrayPage
from support.scripted_engine import KeyedPage

pytestmark = pytest.mark.anyio

GREY = np.full((40, 40, 3), 128, np.uint8)


@asynccontextmanager
async def from_file(kind: str) -> AsyncIterator[Page]:
    """A page whose document is closed when this is left."""
    first, last = Image.new("RGB", (40, 40), "green"), Image.new("RGB", (40, 40), "blue")
    data = encoded(first, kind, save_all=True, append_images=[last])
    async with Opener(LimitSettings(), PdfSettings(workers=1, dpi=72)) as opener:
        async with opener.open(Document(data)) as opened:
            page = await opened.page(0)
            leave_open = ExitStack()
            leave_open.enter_context(page.retain())
        yield page
        leave_open.close()


@asynccontextmanager
async def made(page: Page) -> AsyncIterator[Page]:
    with page.retain():
        yield page


PAGES: dict[str, Callable[[], AbstractAsyncContextManager[Page]]] = {
    "PDF": lambda: from_file("PDF"),
    "PNG": lambda: from_file("PNG"),
    "TIFF": lambda: from_file("TIFF"),
    "a crop": lambda: made(PageCrop(ArrayPage(GREY), GREY[10:20, 10:20], 1.0)),
    "the probe's": lambda: made(BlankPage()),
    "an array": lambda: made(ArrayPage(GREY)),
    "a scripted one": lambda: made(KeyedPage(b"key")),
}


@pytest.mark.parametrize("kind", PAGES)
async def test_a_page_that_is_held_has_pixels_after_its_document_was_closed(kind: str) -> None:
    async with PAGES[kind]() as page:
        before = (await page.pixels()).rgb
        with ExitStack() as again:  # any number of times, released in any order
            for _ in range(3):
                again.enter_context(page.retain())
        assert np.array_equal((await page.pixels()).rgb, before)
