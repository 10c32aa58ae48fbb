"""Documents of every kind through the Opener, PDF workers included."""

from collections.abc import AsyncIterator

import anyio
import numpy as np
import pytest
from PIL import Image

from inkgate.documents.open import Opener
from inkgate.errors import InputRejected
from inkgate.settings import LimitSettings, PdfSettings, PdfText
from inkgate_client.types import Document, Size
from support.images import corners, encoded

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opener() -> AsyncIterator[Opener]:
    async with Opener(LimitSettings(max_pixels=1_000_000), PdfSettings(workers=1, dpi=72)) as opener:
        yield opener


def _pdf(*pages: Image.Image) -> bytes:
    return encoded(pages[0], "PDF", save_all=True, append_images=pages[1:])


async def test_an_image_is_opened_whatever_it_is_called(opener: Opener) -> None:
    async with opener.open(Document(encoded(corners(), "PNG"), "report.pdf")) as opened:
        assert opened.mime_type == "image/png"
        assert opened.page_count == 1
        page = await opened.page(0)
        assert page.size == Size(*corners().size)
        assert np.array_equal((await page.pixels()).rgb, np.asarray(corners()))


async def test_a_pdf_is_opened_whatever_it_is_called(opener: Opener) -> None:
    async with opener.open(Document(_pdf(corners(), corners(48, 32)), "scan.jpg")) as opened:
        assert opened.mime_type == "application/pdf"
        assert opened.page_count == 2
        page = await opened.page(1)
        assert page.size == Size(48, 32)
        assert (await page.pixels()).rgb.shape == (32, 48, 3)


async def test_images_need_no_worker_process() -> None:
    async with Opener(LimitSettings(), PdfSettings(warm_workers=0)) as opener:
        async with opener.open(Document(encoded(corners(), "JPEG"))) as opened:
            await (await opened.page(0)).pixels()
        assert opener.worker_pids == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "document_empty"),
        (b"Dear Sir or Madam", "type_unsupported"),
        (encoded(corners(), "JPEG")[:300], "image_corrupt"),
        (encoded(Image.new("1", (1001, 1000)), "PNG"), "image_too_large"),
        (b"%PDF-1.7 and then nothing", "pdf_corrupt"),
    ],
    ids=["empty", "text", "half a JPEG", "large PNG", "no PDF"],
)
async def test_what_can_not_be_opened_is_refused_with_its_code(opener: Opener, data: bytes, code: str) -> None:
    with pytest.raises(InputRejected) as caught:
        async with opener.open(Document(data)):
            pass
    assert caught.value.code == code
    # The opener serves the next one.
    async with opener.open(Document(encoded(corners(), "PNG"))) as opened:
        assert opened.page_count == 1


async def test_many_documents_are_open_at_once(opener: Opener) -> None:
    shades: dict[int, float] = {}

    async def read(shade: int) -> None:
        async with opener.open(Document(encoded(Image.new("L", (300, 200), shade), "PNG"))) as opened:
            shades[shade] = float((await (await opened.page(0)).pixels(100)).rgb.mean())

    async with anyio.create_task_group() as tasks:
        for shade in range(0, 200, 10):
            tasks.start_soon(read, shade)
    assert all(mean == shade for shade, mean in shades.items())
    assert len(shades) == 20


async def test_pages_beyond_the_last_are_an_error_of_the_caller(opener: Opener) -> None:
    for data in (encoded(corners(), "PNG"), _pdf(corners())):
        async with opener.open(Document(data)) as opened:
            with pytest.raises(IndexError):
                await opened.page(1)


async def _content_keys(opener: Opener, data: bytes, name: str = "a") -> list[bytes]:
    async with opener.open(Document(data, name)) as opened:
        return [(await opened.page(index)).content_key for index in range(opened.page_count)]


async def test_an_image_has_the_same_content_key_under_any_name(opener: Opener) -> None:
    data = encoded(corners(), "PNG")
    assert await _content_keys(opener, data, "one.png") == await _content_keys(opener, data, "other.png")
    assert await _content_keys(opener, data) != await _content_keys(opener, encoded(corners(48, 32), "PNG"))


@pytest.mark.parametrize("kind", ["PDF", "TIFF"])
async def test_each_page_of_a_document_has_its_own_content_key(opener: Opener, kind: str) -> None:
    data = encoded(corners(), kind, save_all=True, append_images=[corners(), corners()])
    keys = await _content_keys(opener, data)
    assert len({*keys}) == 3
    assert keys == await _content_keys(opener, data)


async def test_a_pdf_page_rendered_otherwise_has_another_content_key(opener: Opener) -> None:
    data = _pdf(corners())
    async with Opener(LimitSettings(), PdfSettings(workers=1, dpi=150)) as finer:
        assert await _content_keys(finer, data) != await _content_keys(opener, data)
    async with opener.open(Document(data), PdfText.NEVER) as opened:
        assert [(await opened.page(0)).content_key] != await _content_keys(opener, data)
