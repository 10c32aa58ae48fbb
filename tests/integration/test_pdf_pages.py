"""Real PDFs, made in the tests, through real workers: sizes, pixels, text, and what is made of broken ones."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from inkgate.documents.pdf.pool import PdfPage, PdfPool
from inkgate.documents.pdf.trust import TextTrust
from inkgate.errors import InputRejected
from inkgate.page import RgbArray
from inkgate.settings import PdfSettings, PdfText
from inkgate_client.types import Line, Size
from support.pdf_writer import (
    LOREM,
    PdfWriter,
    encrypted_pdf,
    image_at,
    paragraph,
    pdf_with_missing_page,
    text_at,
    text_pdf,
)

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parents[1] / "data" / "pdf"
SETTINGS = PdfSettings(workers=1, dpi=100, max_side=2000)


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[PdfPool]:
    async with PdfPool(SETTINGS) as running:
        yield running


async def first_page(pool: PdfPool, data: bytes, when: PdfText = PdfText.AUTO) -> PdfPage:
    async with pool.open(data, when) as pdf:
        return await pdf.page(0)


async def rendered(pool: PdfPool, data: bytes, longest_side: int | None = None) -> RgbArray:
    async with pool.open(data, PdfText.NEVER) as pdf:
        page = await pdf.page(0)
        return (await page.pixels(longest_side)).rgb


async def rejected(pool: PdfPool, data: bytes) -> str:
    with pytest.raises(InputRejected) as refusal:
        async with pool.open(data, PdfText.AUTO) as pdf:
            page = await pdf.page(0)
            await page.pixels()
    return refusal.value.code


def is_inked(rgb: RgbArray, line: Line) -> bool:
    """Whether `line` lies closely around what is drawn there: ink inside, none in a frame 2 to 5 pixels outside."""
    left, top, right, bottom = (round(value) for value in line.box)
    around = rgb[top - 5 : bottom + 5, left - 5 : right + 5].copy()
    around[3:-3, 3:-3] = 255
    return bool(rgb[top:bottom, left:right].min() < 80 and around.min() > 200)


def one_image(
    width: int, height: int, shown: tuple[float, float], page: tuple[float, float], text: bytes = b""
) -> bytes:
    writer = PdfWriter()
    noise = np.random.default_rng(7).integers(0, 256, (height, width), np.uint8)
    writer.add_page(image_at(0, 0, 0, *shown) + text, page, images=(writer.add_image(width, height, noise.tobytes()),))
    return writer.build()


async def test_a_page_has_its_size_at_the_resolution_asked_for(pool: PdfPool) -> None:
    writer = PdfWriter()
    writer.add_page(paragraph(), (612, 792))
    page = await first_page(pool, writer.build())
    assert page.size == Size(850, 1100)
    assert page.dpi == 100
    assert page.index == 0


async def test_the_longest_side_is_limited_and_small_pages_are_rendered_larger(pool: PdfPool) -> None:
    writer = PdfWriter()
    writer.add_page(paragraph(), (7200, 3600))
    writer.add_page(text_at(10, 10, "small print", 4), (100, 50))
    async with pool.open(writer.build(), PdfText.AUTO) as pdf:
        poster, card = await pdf.page(0), await pdf.page(1)
        assert poster.size == Size(2000, 1000)
        assert poster.dpi == pytest.approx(20)
        assert card.size == Size(833, 417)
        assert card.dpi == pytest.approx(600)


async def test_a_scan_is_not_rendered_beyond_its_own_resolution(pool: PdfPool) -> None:
    page = await first_page(pool, one_image(720, 900, (720, 900), (720, 900)))
    assert page.size == Size(720, 900)
    assert page.dpi == pytest.approx(72)


async def test_pixels_are_rgb_and_dark_where_the_text_layer_says(pool: PdfPool) -> None:
    data = text_pdf(paragraph() + b"1 0 0 rg 200 20 60 40 re f")
    async with pool.open(data, PdfText.AUTO) as pdf:
        page = await pdf.page(0)
        pixels = await page.pixels()
    assert pixels.rgb.shape == (page.size.height, page.size.width, 3)
    assert pixels.rgb.dtype == np.uint8
    assert pixels.scale == 1
    scale = page.dpi / 72
    assert tuple(pixels.rgb[round((400 - 40) * scale), round(230 * scale)]) == (255, 0, 0)
    assert page.text_layer is not None
    assert [line.text for line in page.text_layer.lines] == list(LOREM)
    assert all(is_inked(pixels.rgb, line) for line in page.text_layer.lines)


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
async def test_turned_pages_are_shown_upright_and_their_text_lies_on_the_ink(pool: PdfPool, rotate: int) -> None:
    writer = PdfWriter()
    box = b"/CropBox [20 40 280 390]"
    writer.add_page(paragraph(), rotate=rotate, entries=box)
    async with pool.open(writer.build(), PdfText.AUTO) as pdf:
        page = await pdf.page(0)
        rgb = (await page.pixels()).rgb
    assert (page.size.width > page.size.height) == (rotate in {90, 270})
    assert page.text_layer is not None
    assert sorted(line.text for line in page.text_layer.lines) == sorted(LOREM)
    assert all(is_inked(rgb, line) for line in page.text_layer.lines)
    (x0, y0), (x1, y1) = page.text_layer.lines[0].quad[:2]
    reading = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[rotate]
    assert (np.sign(round(x1 - x0)), np.sign(round(y1 - y0))) == reading


async def test_pixels_are_made_at_the_size_asked_for(pool: PdfPool) -> None:
    async with pool.open(text_pdf(paragraph()), PdfText.NEVER) as pdf:
        page = await pdf.page(0)
        assert page.size == Size(750, 1000)
        small, large = await page.pixels(300), await page.pixels(5000)
    assert small.rgb.shape == (300, 225, 3)
    assert small.scale == pytest.approx(1000 / 300)
    assert large.rgb.shape == (1000, 750, 3)
    assert large.scale == 1


async def test_filled_fields_are_drawn_and_read(pool: PdfPool) -> None:
    writer = PdfWriter()
    field = writer.add_text_field("Ottilie Wildermuth", (30, 100, 200, 120))
    writer.add_page(paragraph(), entries=b"/Annots [%d 0 R]" % field)
    data = writer.build()
    rgb = await rendered(pool, data)
    scale = rgb.shape[0] / 400
    assert rgb[round(280 * scale) : round(300 * scale), round(30 * scale) : round(200 * scale)].min() < 80
    page = await first_page(pool, data)
    assert page.text_layer is not None
    assert [line.text for line in page.text_layer.lines] == [*LOREM, "Ottilie Wildermuth"]


async def test_text_is_taken_when_asked_for_and_left_when_not(pool: PdfPool) -> None:
    little = text_pdf(text_at(30, 30, "7"))
    auto = (await first_page(pool, little, PdfText.AUTO)).text_layer
    assert auto is not None
    assert [line.text for line in auto.lines] == ["7"]
    always = (await first_page(pool, little, PdfText.ALWAYS)).text_layer
    assert always is not None
    assert [line.text for line in always.lines] == ["7"]
    assert (await first_page(pool, text_pdf(b""), PdfText.ALWAYS)).text_layer is None
    assert (await first_page(pool, text_pdf(paragraph()), PdfText.NEVER)).text_layer is None


@pytest.mark.parametrize(
    ("data", "verdict"),
    [
        (text_pdf(paragraph()), TextTrust.TRUSTED),
        (text_pdf(paragraph(mode=3)), TextTrust.EMPTY),
        (text_pdf(text_at(30, 900, "Written above the page, where nobody sees it")), TextTrust.EMPTY),
        (
            text_pdf(paragraph(tuple("".join(chr(ord(c) - 29) for c in line if c > "=") for line in LOREM))),
            TextTrust.GARBLED,
        ),
        (one_image(60, 80, (300, 400), (300, 400), paragraph()), TextTrust.SCAN),
        (one_image(60, 60, (300, 200), (300, 400), paragraph()), TextTrust.PARTLY),
        (one_image(2, 2, (60, 60), (300, 400), paragraph()), TextTrust.TRUSTED),
    ],
    ids=["born digital", "hidden", "beside the page", "shifted letters", "scan", "half a scan", "logo"],
)
async def test_text_is_trusted_when_it_is_the_page(pool: PdfPool, data: bytes, verdict: TextTrust) -> None:
    page = await first_page(pool, data)
    assert page.text_verdict == verdict
    lines = page.text_layer.lines if page.text_layer else ()
    assert bool(lines) == (verdict in {TextTrust.TRUSTED, TextTrust.PARTLY})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "chromium_arabic",
            """السلام عليكم ورحمة الله وبركاته
الأسعار والأرقام: 1234 ريال لا غير
السعر 1,234.50 ريال، بنسبة 50%
تاريخ 15/01/2024 أو 2024-02-28
هاتف: +966 11 234 5678
نظام Windows 11 Pro متوفر (الآن)
قال: «لا إله إلا الله» ثم سكت""",
        ),
        (
            "libreoffice_hebrew",
            """שלום עולם, זהו מבחן.
המחיר הוא 1,234.50 ש"ח בלבד
הנחה של 50% בשנת 2024
תאריך: 15/01/2024 או 2024-02-28
טלפון: +972-3-1234567
השתמשו ב-Google Chrome (לגלישה)""",
        ),
        (
            "weasyprint_persian",
            """سلام دنیا، این متن فارسی است.
در سال ۱۴۰۳ به میزان ۵۰٪ رشد کرد
شرکت Google در کالیفرنیا
آیا میدانید؟ بله!""",
        ),
    ],
)
async def test_text_from_right_to_left_is_in_the_order_of_reading(pool: PdfPool, name: str, expected: str) -> None:
    page = await first_page(pool, (DATA / f"{name}.pdf").read_bytes(), PdfText.ALWAYS)
    assert page.text_layer is not None
    assert [line.text for line in page.text_layer.lines] == expected.splitlines()


async def test_text_under_an_image_is_not_seen(pool: PdfPool) -> None:
    writer = PdfWriter()
    scan = writer.add_image(30, 40, bytes(1200))
    writer.add_page(paragraph() + image_at(0, 0, 200, 300, 200), images=(scan,))
    page = await first_page(pool, writer.build())
    assert page.text_verdict == TextTrust.EMPTY


async def test_pages_of_one_document_are_judged_each_for_itself(pool: PdfPool) -> None:
    async with pool.open(text_pdf(paragraph(), paragraph(mode=3), paragraph()), PdfText.AUTO) as pdf:
        layers = [(await pdf.page(index)).text_layer for index in range(pdf.page_count)]
    assert [layer is not None and bool(layer.lines) for layer in layers] == [True, False, True]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "pdf_corrupt"),
        (b"%PDF-1.4\n%%EOF", "pdf_corrupt"),
        (b"not a PDF", "pdf_corrupt"),
        (encrypted_pdf(), "pdf_encrypted"),
        (text_pdf(), "pdf_empty"),
    ],
    ids=["nothing", "header only", "no PDF", "locked", "no pages"],
)
async def test_documents_that_can_not_be_read_say_why(pool: PdfPool, data: bytes, code: str) -> None:
    assert await rejected(pool, data) == code


async def test_a_page_that_is_not_there_costs_itself_alone(pool: PdfPool) -> None:
    async with pool.open(pdf_with_missing_page(), PdfText.AUTO) as pdf:
        assert pdf.page_count == 3
        assert (await pdf.page(0)).text_layer is not None
        with pytest.raises(InputRejected) as refusal:
            await pdf.page(1)
        assert refusal.value.code == "page_broken"
        assert "Page 2" in refusal.value.detail
        assert (await pdf.page(2)).text_layer is not None


async def test_a_broken_cross_reference_table_is_mended(pool: PdfPool) -> None:
    data = text_pdf(paragraph())
    at = data.rindex(b"startxref")
    for broken in (data[:at], data[:at] + b"startxref\n99999999\n%%EOF", data.replace(b"00000 n", b"00007 n")):
        page = await first_page(pool, broken)
        assert page.text_layer is not None
        assert page.text_layer.lines[0].text == LOREM[0]


async def test_a_bomb_is_an_error_and_not_a_blank_page() -> None:
    bomb = text_pdf(b" " * 2**26 + paragraph())
    assert len(bomb) < 2**17
    async with PdfPool(PdfSettings(workers=1, worker_memory_mb=50)) as small:
        assert await rejected(small, bomb) == "page_memory"
        assert (await first_page(small, text_pdf(paragraph()))).text_layer is not None


async def test_pages_outside_the_document_are_a_mistake_of_the_caller(pool: PdfPool) -> None:
    async with pool.open(text_pdf(paragraph()), PdfText.AUTO) as pdf:
        for index in (-1, 1):
            with pytest.raises(IndexError):
                await pdf.page(index)
