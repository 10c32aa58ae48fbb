"""QR codes and bar codes: found in pixels, and what they say."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import cv2
import numpy as np
import pytest
import zxingcpp
from structlog.testing import capture_logs

from inkgate.caller import NO_CALLER, Caller
from inkgate.codes.contents import content_of
from inkgate.codes.find import find_codes
from inkgate.errors import EngineFailed
from inkgate.page import Page, Pixels, RgbArray
from inkgate_client.types import BlockType, PageResult, Size, Task, TaskKind
from support.fake_engine import FakeEngine
from support.page_readers import page_reader

EPC = "BCD\n002\n1\nSCT\nBFSWDE33BER\nWikimedia\nDE33100205000001194700\nEUR123.4\n\n\nDonation"
SPC = (
    "SPC\n0200\n1\nCH4431999123000889012\nS\nRobert Schneider AG\nRue du Lac\n1268\n2501\nBiel\nCH\n\n\n\n\n\n\n\n"
    "1949.75\nCHF\nS\nPia Rutschmann\nMarktgasse\n28\n9400\nRorschach\nCH\nQRR\n210000000003139471430009017\n\nEPD"
)
BILLED = SPC.replace(
    "\nS\nRobert Schneider AG\nRue du Lac\n1268\n2501\nBiel", "\nK\nSchneider\nLac 2\n2501 Biel\n\n"
).replace("EPD", "EPD\r\n//S1/10/A\\/7/11/190512/20/14-53/30/107787577/32/7.7/40/0:30")
BOARDING = "M1DESMARAIS/LUC       EABC123 YULFRAAC 0834 226F001A0025 100"
LICENCE = (
    "@\n\x1e\rANSI 636000090002DL00410278ZV03190008DLDAQT64235789\nDCSSAMPLE\nDDEN\nDACMICHAEL\nDDFN\nDADJOHN\n"
    "DBD06062019\nDBB06061986\nDBA12102024\nDBC1\nDAG2300 WEST BROAD STREET\nDAIRICHMOND\nDAJVA\nDAK232690000  \n"
    "DCGUSA\r"
)


def test_contents_are_read_by_their_standards_and_others_stay_texts() -> None:
    expected: list[tuple[str, str, dict[str, str]]] = [
        (
            "01,04,044031900111,08375612,1886.79,20200318,70354461189321436012,2F3C,",
            "cn_vat_invoice",
            {
                "code": "044031900111",
                "number": "08375612",
                "amount": "1886.79",
                "date": "2020-03-18",
                "check_code": "70354461189321436012",
            },
        ),
        (
            "01,32,,24442000000012345678,1000.5,20240131,,AB12",
            "cn_vat_invoice",
            {"number": "24442000000012345678", "total": "1000.50", "date": "2024-01-31"},
        ),
        (EPC, "epc_payment", {"iban": "DE33100205000001194700", "total": "123.40", "reference": "Donation"}),
        (SPC, "swiss_payment", {"total": "1949.75", "currency": "CHF", "payer_name": "Pia Rutschmann"}),
        (SPC, "swiss_payment", {"payee_address": "Rue du Lac 1268, 2501 Biel, CH"}),
        (BILLED, "swiss_payment", {"payee_name": "Schneider", "payee_address": "Lac 2, 2501 Biel, CH"}),
        (BILLED, "swiss_payment", {"number": "A/7", "date": "2019-05-12", "vat_id": "CHE107787577"}),
        (BOARDING, "boarding_pass", {"surname": "DESMARAIS", "flight": "AC834", "origin": "YUL", "seat": "1A"}),
        (LICENCE, "id_card", {"surname": "SAMPLE", "number": "T64235789", "birth_date": "1986-06-06", "sex": "M"}),
    ]
    failures = []
    for text, name, values in expected:
        found, parsed = content_of(text)
        if found != name or any(parsed.get(key) != value for key, value in values.items()):
            failures.append((text, found, dict(parsed)))
    assert not failures
    for text in (
        "https://example.com/?a=01,04",
        "01,04,0440,08375612,1886.79,20201341,,2F3C,",  # no such day
        "01,04,0440,08375612,1e9,20201231,,2F3C,",
        EPC.replace("DE33", "DE34"),  # check digits of the IBAN
        "M1",
        "@\n\x1e\rANSI 636000090002DL00410278",
        "",
    ):
        assert content_of(text) == ("", {})


def drawn(text: str, code: zxingcpp.BarcodeFormat, scale: int = 4) -> RgbArray:
    grey = np.array(zxingcpp.create_barcode(text, code).to_image(scale=scale))
    return np.repeat(grey[:, :, None], 3, axis=2)


def page_with(*codes: tuple[RgbArray, int, int]) -> RgbArray:
    page = np.full((1100, 850, 3), 255, np.uint8)
    for image, left, top in codes:
        page[top : top + image.shape[0], left : left + image.shape[1]] = image
    return page


def test_codes_of_several_formats_are_found_where_they_stand() -> None:
    invoice = "01,32,,24442000000012345678,1000.5,20240131,,AB12"
    qr, line = drawn(invoice, zxingcpp.BarcodeFormat.QRCode), drawn("PARCEL-0815", zxingcpp.BarcodeFormat.Code128, 2)
    found = find_codes(page_with((qr, 60, 100), (line, 300, 700)))
    assert [(code.format, code.text, code.content) for code in found] == [
        ("QRCode", invoice, "cn_vat_invoice"),
        ("Code128", "PARCEL-0815", ""),
    ]
    (left, top), _, (right, bottom), _ = found[0].quad
    assert 60 <= left < 90
    assert 100 <= top < 130
    assert right <= 60 + qr.shape[1]
    assert bottom <= 100 + qr.shape[0]
    assert find_codes(np.full((5, 5, 3), 255, np.uint8)) == []
    noise = np.random.default_rng(1).integers(0, 255, (400, 400, 3), dtype=np.uint8)
    assert find_codes(noise) == []


class CodedPage:
    """A page whose pixels are given."""

    index = 0
    dpi = None
    text_layer = None
    content_key = b""

    def __init__(self, rgb: RgbArray) -> None:
        self.rgb = rgb
        self.size = Size(rgb.shape[1], rgb.shape[0])
        self.asked: list[int | None] = []

    def retain(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        self.asked.append(longest_side)
        return Pixels(self.rgb)


class SidewaysEngine(FakeEngine):
    """Reads the page as rotated by 90 degrees."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        await page.pixels(4000)
        return PageResult(0, width=page.size.height, height=page.size.width, rotation=90, blocks=())


@pytest.mark.anyio
async def test_codes_are_blocks_of_the_upright_page_and_cost_no_second_rendering() -> None:
    page = CodedPage(page_with((drawn("hello", zxingcpp.BarcodeFormat.QRCode), 60, 100)))
    engine = page_reader(SidewaysEngine(), codes=True)
    result = await engine.read(page, Task(kind=TaskKind.PARSE), NO_CALLER)
    assert page.asked == [None]  # the page is smaller than what the engine asked for
    (block,) = result.blocks or ()
    assert block.type is BlockType.BARCODE
    assert block.barcode is not None
    assert (block.barcode.text, block.text, block.markdown) == ("hello", "", "")
    upright = cv2.rotate(page.rgb, cv2.ROTATE_90_CLOCKWISE)
    left, top, right, bottom = map(round, block.box)
    outside = upright.copy()
    outside[top - 2 : bottom + 2, left - 2 : right + 2] = 255
    assert outside.min() == 255
    await engine.read(page, Task(kind=TaskKind.TEXT), NO_CALLER)
    assert page.asked == [None, None]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "code"),
    [(EngineFailed("engine_failed", "It died."), "engine_failed"), (MemoryError(), "MemoryError")],
)
async def test_a_page_whose_pixels_can_not_be_had_again_keeps_its_text(error: Exception, code: str) -> None:
    class OncePage(CodedPage):
        async def pixels(self, longest_side: int | None = None) -> Pixels:
            if self.asked:
                raise error
            small = await super().pixels(longest_side)
            return Pixels(small.rgb, 8.0)

    page = OncePage(page_with((drawn("hello", zxingcpp.BarcodeFormat.QRCode), 60, 100)))
    page.size = Size(8 * page.size.width, 8 * page.size.height)
    assert max(page.size.width, page.size.height) > 4000
    engine = page_reader(SidewaysEngine(), codes=True)
    with capture_logs() as logs:
        result = await engine.read(page, Task(kind=TaskKind.PARSE), NO_CALLER)
    assert (result.error, result.blocks, result.rotation) == (None, (), 90)
    assert [(log["event"], log["code"]) for log in logs] == [("ink_not_examined", code), ("codes_not_sought", code)]
