"""PDFs that other viewers open: locked by a password in any form, damaged, or with odd boxes."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import AsyncIterator, Iterator
from typing import Literal

import pikepdf
import pypdfium2
import pytest

from inkgate.documents.open import Opener
from inkgate.errors import InputRejected
from inkgate.page import RgbArray
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, Line, PageResult, Size
from support.pdf_writer import LOREM, PdfWriter, locked_pdf, paragraph, text_pdf

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:.*(encryption|weak|R=).*"),  # pikepdf, of the revisions that tests are about
]

PLAIN = text_pdf(*[paragraph()] * 3)
LINE = Line("added", ((100, 700), (300, 700), (300, 740), (100, 740)), 0.9)
SHORT = text_pdf(paragraph(LOREM[:2]))
SECRETS = (
    "plain",
    "pässwört",
    "zlatý klíč",
    "пароль",
    "密码",
    "ﬁligree",
    "€uro – dash",
    "a b\u00adc",
    "x" * 40,
    "é" * 70,
)
FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
REVISIONS: tuple[Literal[2, 3, 4, 5, 6], ...] = (2, 3, 4, 5, 6)


@pytest.fixture(scope="module")
async def opener() -> AsyncIterator[Opener]:
    async with Opener(LimitSettings(), PdfSettings(workers=1, dpi=72)) as running:
        yield running


async def outcome(opener: Opener, data: bytes, password: str = "") -> str:
    """Lines by page; or the code of the error, with what is not about passwords."""
    try:
        async with opener.open(Document(data), password=password) as opened:
            layers = [(await opened.page(index)).text_layer for index in range(opened.page_count)]
            return " ".join(str(len(layer.lines)) if layer else "-" for layer in layers)
    except InputRejected as error:
        return f"{error.code}: not supported" if "not supported" in str(error) else error.code


def locked(revision: Literal[2, 3, 4, 5, 6], user: str, owner: str = "own", data: bytes = PLAIN) -> bytes:
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as pdf:
        how = pikepdf.Encryption(owner=owner, user=user, R=revision, aes=revision >= 4, metadata=revision >= 4)
        pdf.save(target, encryption=how)
    return target.getvalue()


def packed() -> bytes:
    """PLAIN with its objects in object streams."""
    target = io.BytesIO()
    with pikepdf.open(io.BytesIO(PLAIN)) as pdf:
        pdf.save(target, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return target.getvalue()


async def test_a_password_opens_in_each_of_its_forms_as_user_and_as_owner(opener: Opener) -> None:
    wrong, tried = [], 0
    for revision in REVISIONS:
        for secret in SECRETS:
            if revision < 5 and not _encodable(secret):
                continue
            for data in (locked(revision, secret, data=SHORT), locked(revision, "other", secret, SHORT)):
                for form in FORMS:
                    found = await outcome(opener, data, unicodedata.normalize(form, secret))
                    tried += 1
                    if found.startswith("pdf"):
                        wrong.append((revision, secret, form, found))
        data = locked(revision, "pässwört")
        for other, code in (("?", "pdf_password_wrong"), ("passwort", "pdf_password_wrong"), ("", "pdf_encrypted")):
            if (found := await outcome(opener, data, other)) != code:
                wrong.append((revision, other, "NFC", found))
    assert wrong == []
    assert tried > 100


def _encodable(secret: str) -> bool:
    try:
        return bool(secret.encode("pdfdoc"))  # pikepdf's coding
    except UnicodeEncodeError:
        return False


async def test_old_revisions_open_with_the_bytes_of_the_systems_that_locked_them(opener: Opener) -> None:
    cases = [("pässwört", "mac_roman"), ("zlatý klíč", "cp1250"), ("пароль", "cp1251"), ("€uro", "cp1252")]
    wrong = [
        (secret, form)
        for secret, coding in cases
        for form in FORMS
        if await outcome(opener, _locked_by_bytes(secret.encode(coding)), unicodedata.normalize(form, secret)) != "4"
    ]
    assert wrong == []


def _locked_by_bytes(password: bytes) -> bytes:
    return locked_pdf(password.decode("latin-1"), paragraph())


async def test_what_pdfium_can_not_decrypt_is_not_called_a_wrong_password(opener: Opener) -> None:
    wrong = [
        (name, password, found)
        for name, data in _undecryptable()
        for password in ("", "user", "guess")
        if (found := await outcome(opener, data, password)) != "pdf_encrypted: not supported"
    ]
    assert wrong == []
    altered = re.sub(rb"/Perms <\w\w", b"/Perms <00", locked(6, "user"))
    assert await outcome(opener, altered, "user") == "pdf_encrypted: not supported"
    assert await outcome(opener, altered, "guess") == "pdf_password_wrong"
    assert await outcome(opener, locked(6, "user", ""), "") == "pdf_encrypted"


def _undecryptable() -> Iterator[tuple[str, bytes]]:
    for revision in REVISIONS[2:]:
        data = locked(revision, "user")
        yield f"{revision}: identity strings", data.replace(b"/StrF /StdCF", b"/StrF /Identity")
        yield f"{revision}: identity streams", data.replace(b"/StmF /StdCF", b"/StmF /Identity")
        yield f"{revision}: no strings' filter", data.replace(b"/StrF /StdCF", b"")
        yield f"{revision}: unknown filter", data.replace(b"F /StdCF", b"F /Other")
        yield f"{revision}: unknown method", re.sub(rb"/CFM /AESV\d", b"/CFM /Other", data)
        yield f"{revision}: certificates", data.replace(b"/Filter /Standard", b"/Filter /Adobe.PubSec")
        yield f"{revision}: named by hex", data.replace(b"/StrF /StdCF", b"/StrF /Iden#74ity")
    data = locked(3, "user")
    yield "3: version", re.sub(rb"/V \d", b"/V 9", data)
    yield "3: revision", re.sub(rb"/R \d(?= )", b"/R 9", data)


async def test_damaged_files_are_opened_with_all_their_pages(opener: Opener) -> None:
    wrong = [
        (name, found)
        for kind, data in (("table", PLAIN), ("streams", packed()))
        for name, damaged in _damaged(kind, data)
        if (found := await outcome(opener, damaged)) != "4 4 4"
    ]
    assert wrong == []


def _damaged(kind: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    end = data.rfind(b"startxref")
    row = re.compile(rb"(\d{10}) (\d{5}) n")
    yield f"{kind}: no header", data[data.find(b"\n") + 1 :]
    yield f"{kind}: a comment for a header", b"% made by hand\n" + data[data.find(b"\n") + 1 :]
    for junk in (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n" * 90, b"\0" * 3000, b"\xff\xfe junk " * 300):
        yield f"{kind}: {len(junk)} bytes before", junk + data
        yield f"{kind}: {len(junk)} bytes before and behind", junk + data + junk
    yield f"{kind}: wrong startxref", re.sub(rb"startxref\n\d+", b"startxref\n7", data)
    yield f"{kind}: no startxref", data[:end] + b"%%EOF"
    yield f"{kind}: no end", data[:end]
    yield f"{kind}: shifted table", row.sub(lambda each: b"%010d %s n" % (int(each[1]) + 37, each[2]), data)
    yield f"{kind}: empty table", row.sub(rb"0000000000 \2 n", data)
    yield f"{kind}: no table", re.sub(rb"xref\n0 .*?trailer", b"trailer", data, flags=re.DOTALL)
    yield f"{kind}: no endobj", data.replace(b"endobj", b"")
    yield f"{kind}: no type", data.replace(b"/Type /Catalog", b"").replace(b"/Type/Catalog", b"")
    yield f"{kind}: small size", re.sub(rb"/Size \d+", b"/Size 1", data)
    yield f"{kind}: wrong lengths", re.sub(rb"/Length \d+", b"/Length 3", data)
    yield f"{kind}: wrong count", re.sub(rb"/Count \d+", b"/Count 0", data)
    if kind == "table":
        yield f"{kind}: no trailer", data[: data.rfind(b"trailer")]
        yield f"{kind}: no catalog named", re.sub(rb"/Root \d+ 0 R", b"", data)
        yield f"{kind}: another catalog named", re.sub(rb"/Root \d+", b"/Root 99", data)


async def test_searchable_pdfs_are_made_of_damaged_files_too(opener: Opener) -> None:
    wrong, rare = [], {"streams: no end", "streams: small size"}  # which pdfium alone repairs
    pages = [PageResult(index, 750, 1000, text="x", lines=(LINE,)) for index in range(3)]
    for kind, data in (("table", PLAIN), ("streams", packed())):
        for name, damaged in _damaged(kind, data):
            try:
                made = await opener.searchable_pdf(Document(damaged), pages)
            except InputRejected as error:
                if name not in rare or error.code != "pdf_corrupt":
                    wrong.append((name, error.code))
                continue
            found = [text.strip() for text in text_of(made)]
            if found != [LINE.text] * 3:
                wrong.append((name, str(found)))
    assert wrong == []


def text_of(pdf: bytes) -> list[str]:
    """The text of each page, in which programs search."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


async def test_a_file_beyond_repair_is_corrupt_and_a_repaired_one_stays_locked(opener: Opener) -> None:
    assert await outcome(opener, b"%PDF-1.7\n" + b"\0" * 5000) == "pdf_corrupt"
    assert await outcome(opener, b"1 0 obj\n<< /Type /Catalog >>\nendobj\nstartxref\n0\n%%EOF") == "pdf_corrupt"
    headless = (data := locked(4, "user"))[data.find(b"\n") + 1 :]
    assert await outcome(opener, headless, "user") == "4 4 4"
    assert await outcome(opener, headless, "guess") == "pdf_password_wrong"


BOXES = (
    "/CropBox [2000 2000 2600 2800]", "/CropBox [-100 -100 -50 -50]", "/CropBox [300 0 600 400]",
    "/CropBox [299.8 0 600 400]", "/CropBox [0 0 0 0]", "/CropBox [10 10 10 300]", "/CropBox [10 10 200 10]",
    "/CropBox [1 2 3]", "/CropBox [0 0 99999 99999]", "/CropBox (none)",
)  # fmt: skip


async def test_a_crop_box_outside_the_page_is_ignored_and_text_lies_where_it_is_drawn(opener: Opener) -> None:
    wrong = []
    for box in BOXES:
        for rotate in (0, 90, 180, 270):
            writer = PdfWriter()
            writer.add_page(paragraph(), rotate=rotate, entries=box.encode())
            async with opener.open(Document(writer.build())) as opened:
                page = await opened.page(0)
                pixels = (await page.pixels()).rgb
                upright = Size(400, 300) if rotate in {90, 270} else Size(300, 400)
                lines = page.text_layer.lines if page.text_layer else ()
                scale = page.size.width / upright.width
                if sorted(line.text for line in lines) != sorted(LOREM) or page.size.height != round(
                    upright.height * scale
                ):
                    wrong.append((box, rotate, str(page.size)))
                elif any(_ink(pixels, line) < 0.9 for line in lines):
                    wrong.append((box, rotate, "ink"))
    assert wrong == []


def _ink(pixels: RgbArray, line: Line) -> float:
    """Share of the dark pixels in and around the line that are in it."""
    dark = pixels[:, :, 0] < 128
    left, top, right, bottom = (round(each) for each in line.box)
    around = dark[max(0, top - 3) : bottom + 3, max(0, left - 3) : right + 3].sum()
    return float(dark[top:bottom, left:right].sum() / around) if around else 0.0


async def test_a_searchable_pdf_has_its_text_in_place_in_spite_of_such_a_box(opener: Opener) -> None:
    wrong = []
    for box in BOXES:
        writer = PdfWriter()
        writer.add_page(paragraph(mode=0), entries=box.encode())
        data = writer.build()
        async with opener.open(Document(data)) as opened:
            page = await opened.page(0)
        assert page.text_layer is not None
        read = PageResult(0, page.size.width, page.size.height, page.dpi, lines=page.text_layer.lines, text="x")
        made = await opener.searchable_pdf(Document(data), [read])
        if [line.strip() for line in text_of(made)[0].splitlines()][: len(read.lines)] != [
            line.text for line in read.lines
        ]:
            wrong.append(box)
    assert wrong == []
