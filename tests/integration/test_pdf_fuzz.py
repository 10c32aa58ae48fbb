"""Damaged PDFs: each ends in pages or in an error of the caller's, and the workers go on."""

from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkgate.documents.pdf.pool import PdfPool
from inkgate.errors import InputRejected
from inkgate.settings import PdfSettings, PdfText
from support.pdf_writer import PdfWriter, image_at, paragraph, text_pdf

pytestmark = pytest.mark.anyio


def sample() -> bytes:
    """Text, an image, a field, a turned page: a little of all that is parsed."""
    writer = PdfWriter()
    image = writer.add_image(16, 16, bytes(range(256)))
    field = writer.add_text_field("filled in", (30, 100, 200, 120))
    writer.add_page(paragraph() + image_at(0, 30, 200, 80, 80), images=(image,), entries=b"/Annots [%d 0 R]" % field)
    writer.add_page(paragraph(), rotate=90)
    return writer.build()


SAMPLE = sample()
TOKENS = [
    b"/Count 99999999",
    b"/Kids [2 0 R 2 0 R]",
    b"[0 0 1e38 -1]",
    b"2 0 R",
    b"-2147483648",
    b"<<",
    b">>",
    b"stream",
]
changes = st.lists(
    st.tuples(st.integers(0, len(SAMPLE) - 1), st.binary(max_size=6) | st.sampled_from(TOKENS), st.integers(0, 12)),
    min_size=1,
    max_size=8,
)


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[PdfPool]:
    async with PdfPool(PdfSettings(workers=1, dpi=40, worker_memory_mb=500)) as running:
        yield running
        async with running.open(text_pdf(paragraph()), PdfText.AUTO) as pdf:
            assert (await pdf.page(0)).text_layer is not None


async def read(pool: PdfPool, data: bytes) -> None:
    try:
        async with pool.open(data, PdfText.AUTO) as pdf:
            for index in range(min(pdf.page_count, 3)):
                page = await pdf.page(index)
                pixels = await page.pixels(100)
                assert max(pixels.rgb.shape) <= 100
    except InputRejected:
        return


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=changes)
async def test_a_pdf_with_bytes_changed_is_read_or_refused(
    pool: PdfPool, changes: list[tuple[int, bytes, int]]
) -> None:
    data = SAMPLE
    for place, put, cut in changes:
        data = data[:place] + put + data[place + cut :]
    await read(pool, data)


async def test_a_pdf_cut_anywhere_is_read_or_refused(pool: PdfPool) -> None:
    with anyio.fail_after(120):
        for end in range(0, len(SAMPLE), len(SAMPLE) // 40):
            await read(pool, SAMPLE[:end])
