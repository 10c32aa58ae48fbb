"""Searchable PDFs: written by the worker process, read by pdfium."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pikepdf
import pypdfium2
import pytest
from PIL import Image

from inkgate.documents.open import Opener
from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.types import Document, Line, PageResult, Quad, Word
from support.embedded_fonts import embed
from support.garbled_pdfs import font_file
from support.pdf_writer import PdfWriter

pytestmark = pytest.mark.anyio

SETTINGS = PdfSettings(workers=1, warm_workers=0)
LIMITS = LimitSettings()
CHINESE = "中文𠀀"


def pdf_of(*pages: str, encrypted: bool = False, keys: Mapping[str, object] | None = None) -> bytes:
    """A PDF with an image on each page; `pages`: their content, which may leave the graphics state changed."""
    with pikepdf.new() as pdf:
        for content in pages:
            page = pdf.add_blank_page(page_size=(200, 100))
            image = pikepdf.Stream(pdf, b"")
            image.write(zlib.compress(b"\x80" * 600), filter=pikepdf.Name.FlateDecode)
            image.Type, image.Subtype = pikepdf.Name.XObject, pikepdf.Name.Image
            image.Width, image.Height, image.BitsPerComponent = 30, 20, 8
            image.ColorSpace = pikepdf.Name.DeviceGray
            page.obj.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Im0=image))
            page.obj.Contents = pikepdf.Stream(pdf, content.encode())
            for name, value in (keys or {}).items():
                page.obj[f"/{name}"] = value
        out = io.BytesIO()
        pdf.save(out, encryption=pikepdf.Encryption(owner="owner", user="user") if encrypted else False)
    return out.getvalue()


def read_page(index: int = 0, text: str = "Hello 中文𠀀", size: tuple[int, int] = (400, 200)) -> PageResult:
    """One line at the left of a page, with words of equal width."""
    width, height = size
    words = text.split()
    step = 0.75 * width / len(words)

    def quad(start: float, end: float) -> Quad:
        left, top, right, bottom = 0.05 * width + start, 0.25 * height, 0.05 * width + end, 0.45 * height
        return ((left, top), (right, top), (right, bottom), (left, bottom))

    placed = tuple(Word(word, quad(i * step, (i + 0.9) * step), 1.0) for i, word in enumerate(words))
    return PageResult(index, *size, lines=(Line(text, quad(0, 0.75 * width), 1.0, placed),), text=text)


def texts(pdf: bytes) -> list[str]:
    document = pypdfium2.PdfDocument(pdf)
    try:
        return [" ".join(page.get_textpage().get_text_bounded().split()) for page in document]
    finally:
        document.close()


def box_of(pdf: bytes, text: str) -> tuple[float, ...]:
    """Left, bottom, right, top of the first occurrence in points of the page, rounded."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        page = document[0].get_textpage()
        index, count = page.search(text).get_next()
        boxes = [page.get_charbox(index + i) for i in range(count)]
        return (
            round(min(box[0] for box in boxes)),
            round(min(box[1] for box in boxes)),
            round(max(box[2] for box in boxes)),
            round(max(box[3] for box in boxes)),
        )
    finally:
        document.close()


def streams(pdf: bytes, kind: str) -> list[bytes]:
    """The raw bytes of the images, or of the contents but for ours, in the file's order."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        found: list[pikepdf.Object]
        if kind == "images":
            found = [each for each in document.objects if _is_image(each)]
        else:
            contents = [page.obj.Contents for page in document.pages]
            found = [list(each)[-2] if isinstance(each, pikepdf.Array) else each for each in contents]
        return [each.read_raw_bytes() for each in found]


def _is_image(found: pikepdf.Object) -> bool:
    return isinstance(found, pikepdf.Stream) and found.get("/Subtype") == "/Image"


async def test_text_is_added_where_it_stands_and_all_else_stays() -> None:
    # The first page's content leaves a changed matrix behind; the second one has a text layer.
    original = pdf_of("2 0 0 2 9 9 cm q /Im0 Do", "/Im0 Do", "/Im0 Do")
    pages = [read_page(), replace(read_page(1), source="text_layer"), read_page(2, "third")]
    async with Opener(LIMITS, SETTINGS) as opener:
        made = await opener.searchable_pdf(Document(original), pages)
        again = await opener.searchable_pdf(Document(original), pages)
    assert texts(made) == ["Hello 中文𠀀", "", "third"]
    assert box_of(made, "Hello") == (10, 55, 78, 75)  # pixels are half points; y grows upwards
    assert streams(made, "images") == streams(original, "images")
    assert streams(made, "contents") == streams(original, "contents")
    assert made == again


async def test_the_text_that_was_read_replaces_the_files_own() -> None:
    wrong = []
    async with Opener(LIMITS, SETTINGS) as opener:
        for number, name in enumerate(("DejaVuSans", "DejaVuSerif", "DejaVuSansMono", "STIXGeneral", "cmr10")):
            for start, end in ((b"", b""), (b"q q ", b""), (b"", b"BT /F2 9 Tf"), (b"/P << /MCID 0 >> BDC ", b"EMC")):
                writer = PdfWriter()
                font = embed(writer, font_file(name), "Net due 1,284.50", {"1": "4", "4": "1", "2": None})
                content = font.text_at(40, 400, "Net due 1,284.50", 9 + number)
                writer.add_page(start + content + end, (595, 842), fonts=(font.number,))
                for source in ("ocr", "mixed"):
                    read = replace(read_page(text="Net due 1,284.50", size=(1190, 1684)), source=source)
                    made = await opener.searchable_pdf(Document(writer.build()), [read])
                    if texts(made) != ["Net due 1,284.50"] or pixels(made) != pixels(writer.build()):
                        wrong.append((name, start, end, source, texts(made)))
    assert wrong == []


def pixels(pdf: bytes) -> bytes:
    document = pypdfium2.PdfDocument(pdf)
    try:
        return bytes(document[0].render(scale=1.0).to_numpy().tobytes())
    finally:
        document.close()


async def test_rotated_and_cropped_pages_have_their_text_in_place() -> None:
    cases: dict[str, tuple[dict[str, object], tuple[int, int], tuple[int, int]]] = {
        "rotate 90": ({"Rotate": 90}, (200, 400), (50, 5)),
        "rotate -90": ({"Rotate": -90}, (200, 400), (110, 61)),
        "crop": ({"CropBox": pikepdf.Array([50, 20, 150, 70])}, (200, 100), (55, 48)),
        "box upside down": ({"MediaBox": pikepdf.Array([200, 100, 0, 0])}, (400, 200), (10, 55)),
    }
    wrong = []
    async with Opener(LIMITS, SETTINGS) as opener:
        for name, (keys, size, corner) in cases.items():
            made = await opener.searchable_pdf(Document(pdf_of("/Im0 Do", keys=keys)), [read_page(size=size)])
            found = box_of(made, "Hello")
            if texts(made) != ["Hello 中文𠀀"] or max(map(abs, np.subtract(found[:2], corner))) > 3:
                wrong.append((name, texts(made), found))
    assert wrong == []


async def test_a_name_that_the_page_uses_is_left_alone() -> None:
    with pikepdf.open(io.BytesIO(pdf_of("/Im0 Do", "/Im0 Do"))) as pdf:
        shared = pdf.make_indirect(
            pikepdf.Dictionary(Font=pikepdf.Dictionary(InkgateText=pikepdf.Dictionary(Theirs=1)))
        )
        for page in pdf.pages:
            page.obj.Resources = shared
        out = io.BytesIO()
        pdf.save(out)
    async with Opener(LIMITS, SETTINGS) as opener:
        made = await opener.searchable_pdf(Document(out.getvalue()), [read_page(), read_page(1)])
    assert texts(made) == ["Hello 中文𠀀"] * 2
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert pdf.pages[0].obj.Resources.Font.InkgateText.Theirs == 1


async def test_thousands_of_names_like_ours_don_t_hold_the_worker() -> None:
    taken = {f"/InkgateText{number or ''}": 1 for number in range(30_000)}
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf_of(""))) as pdf:
        pdf.pages[0].obj.Resources.Font = pikepdf.Dictionary(taken)
        pdf.save(out)
    async with Opener(LIMITS, SETTINGS.model_copy(update={"write_timeout_s": 15.0})) as opener:
        made = await opener.searchable_pdf(Document(out.getvalue()), [read_page()])
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert "/InkgateText30000" in pdf.pages[0].obj.Resources.Font


async def test_encrypted_pdfs_keep_their_protection() -> None:
    original = pdf_of("/Im0 Do", encrypted=True)
    async with Opener(LIMITS, SETTINGS) as opener:
        made = await opener.searchable_pdf(Document(original), [read_page()], "user")
        with pytest.raises(InputRejected) as without:
            await opener.searchable_pdf(Document(original), [read_page()])
        with pytest.raises(InputRejected) as wrong:
            await opener.searchable_pdf(Document(original), [read_page()], "no")
    assert (without.value.code, wrong.value.code) == ("pdf_encrypted", "pdf_password_wrong")
    with pikepdf.open(io.BytesIO(made), password="user") as pdf:  # noqa: S106
        assert pdf.is_encrypted


async def test_damaged_pdfs_are_repaired_or_refused() -> None:
    original = pdf_of("/Im0 Do")
    cut = original[: original.rindex(b"xref")]
    async with Opener(LIMITS, SETTINGS) as opener:
        assert texts(await opener.searchable_pdf(Document(cut), [read_page()])) == ["Hello 中文𠀀"]
        for data, pages in ((b"%PDF-1.4\nnothing", [read_page()]), (original, [read_page(7)])):
            with pytest.raises(InputRejected) as refused:
                await opener.searchable_pdf(Document(data), pages)
            assert refused.value.code == "pdf_corrupt"


async def test_writing_that_takes_too_long_is_ended_and_others_are_written() -> None:
    original = pdf_of("/Im0 Do")
    async with Opener(LIMITS, PdfSettings(workers=1, warm_workers=0, write_timeout_s=0.000001)) as opener:
        with pytest.raises(EngineFailed) as late:
            await opener.searchable_pdf(Document(original), [read_page()])
    assert late.value.code == "page_timeout"


async def test_pdf_a_stays_pdf_a() -> None:
    with pikepdf.open(io.BytesIO(pdf_of("/Im0 Do"))) as pdf:
        with pdf.open_metadata(set_pikepdf_as_editor=False) as metadata:
            metadata["pdfaid:part"], metadata["pdfaid:conformance"] = "2", "B"
        out = io.BytesIO()
        pdf.save(out)
    async with Opener(LIMITS, SETTINGS) as opener:
        made = await opener.searchable_pdf(Document(out.getvalue()), [read_page()])
    with pikepdf.open(io.BytesIO(made)) as pdf, pikepdf.open(io.BytesIO(out.getvalue())) as before:
        assert pdf.Root.Metadata.read_bytes() == before.Root.Metadata.read_bytes()
        font = pdf.pages[0].obj.Resources.Font.InkgateText
        descendant = font.DescendantFonts[0]
        # ISO 19005-2, 6.2.11: embedded, with a mapping of glyphs, and no use of glyph 0
        assert descendant.FontDescriptor.FontFile2.read_bytes()[:4] == b"\0\1\0\0"
        assert set(descendant.CIDToGIDMap.read_bytes()[1::2]) == {1}
        assert b"beginbfrange" in font.ToUnicode.read_bytes()


def image_file(kind: str, mode: str, **options: object) -> bytes:
    across, down = np.meshgrid(np.arange(30) * 8, np.arange(20) * 12)
    pixels = np.stack([across, down, 255 - across], axis=2).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(out, kind, **options)
    return out.getvalue()


async def test_images_become_pages_with_the_bytes_of_the_file_where_pdf_has_the_format() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    cases = {
        "jpeg": (image_file("JPEG", "RGB"), "/DCTDecode", True),
        "jpeg, grey, turned": (image_file("JPEG", "L", exif=exif), "/DCTDecode", True),
        "jpeg, cmyk": (image_file("JPEG", "CMYK"), "/DCTDecode", True),
        "png": (image_file("PNG", "RGB"), "/FlateDecode", True),
        "png, palette": (image_file("PNG", "P"), "/FlateDecode", True),
        "png, one bit": (image_file("PNG", "1"), "/FlateDecode", True),
        "png with transparency": (image_file("PNG", "RGBA"), "/FlateDecode", False),
        "tiff": (image_file("TIFF", "RGB"), "/FlateDecode", False),
        "bmp": (image_file("BMP", "L"), "/FlateDecode", False),
        "webp": (image_file("WEBP", "RGB", lossless=True), "/FlateDecode", False),
    }
    wrong: list[tuple[object, ...]] = []
    async with Opener(LIMITS, SETTINGS) as opener:
        for name, (data, kind, unchanged) in cases.items():
            size = (20, 30) if "turned" in name else (30, 20)
            made = await opener.searchable_pdf(Document(data), [read_page(text="Ink", size=size)])
            with pikepdf.open(io.BytesIO(made)) as pdf:
                image = next(iter(pdf.pages[0].obj.Resources.XObject.values()))
                stored = image.read_raw_bytes()
                box = [float(number) for number in pdf.pages[0].mediabox[2:]]
            async with opener.open(Document(data)) as opened:
                expected = (await (await opened.page(0)).pixels()).rgb
            shown = pypdfium2.PdfDocument(made)[0].render(scale=size[0] / box[0]).to_numpy()[:, :, ::-1]
            difference = np.abs(shown[: size[1], : size[0]].astype(int) - expected).mean()
            kept = stored in data if kind == "/DCTDecode" else b"".join(_rows(data)) == stored if unchanged else False
            if image.Filter != kind or kept is not unchanged or difference > (40 if "cmyk" in name else 10):
                wrong.append((name, image.Filter, kept, difference))
            if texts(made) != ["Ink"]:
                wrong.append((name, texts(made)))
    assert wrong == []


def _rows(png: bytes) -> list[bytes]:
    """The contents of a PNG's IDAT chunks."""
    at, parts = 8, []
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            parts.append(png[at + 8 : at + 8 + length])
        at += 12 + length
    return parts


async def test_all_pages_of_a_tiff_become_pages_and_a_resolution_is_kept() -> None:
    frames = [Image.new("L", (300, 200), 255) for _ in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:], dpi=(150, 150))
    async with Opener(LIMITS, SETTINGS) as opener:
        made = await opener.searchable_pdf(Document(out.getvalue()), [read_page(1, "second", size=(300, 200))])
    assert texts(made) == ["", "second", ""]
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert [float(side) for side in pdf.pages[0].mediabox] == [0, 0, 144, 96]


async def test_a_fax_keeps_its_proportions_and_its_pixels_and_its_text_lies_on_them() -> None:
    wrong = []
    kinds: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("TIFF", "1", {"compression": "group4"}), ("JPEG", "L", {})
    )  # fmt: skip
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opener:
        for kind, mode, options in kinds:
            for across, down in ((204, 98), (98, 204), (204, 391), (200, 100), (408, 391)):
                size, file = (2 * across, 3 * down), io.BytesIO()
                Image.new(mode, size, 1 if mode == "1" else 255).save(file, kind, dpi=(across, down), **options)
                dpi = across if abs(across - down) < 20 else max(across, down)
                square = (size[0] * dpi // across, size[1] if dpi == 408 else 3 * dpi)
                made = await opener.searchable_pdf(Document(file.getvalue()), [read_page(text="Fax", size=square)])
                with pikepdf.open(io.BytesIO(made)) as pdf:
                    (image,) = pdf.pages[0].get_images().values()
                    kept = (int(image.Width), int(image.Height)) == size
                    width, height = (float(side) for side in pdf.pages[0].mediabox[2:])
                shape = abs(width - 144) < 1 and abs(height - 216) < 12
                if not (shape and kept) or not 0 < box_of(made, "Fax")[0] < 20:
                    wrong.append((kind, across, down, width, height, box_of(made, "Fax")))
    assert wrong == []


async def test_hostile_images_are_embedded_or_refused() -> None:
    cut = image_file("PNG", "RGB")
    cases = [cut[:-40], image_file("JPEG", "RGB")[:200], cut.replace(b"IDAT", b"IDAX")]
    async with Opener(LIMITS, SETTINGS) as opener:
        for data in cases:
            try:
                await opener.searchable_pdf(Document(data), [])
            except InputRejected as error:
                assert error.code in {"image_corrupt", "image_too_large"}  # noqa: PT017 - either is right


async def test_images_may_not_fill_the_memory() -> None:
    """The frames of a TIFF may all have the bytes of one."""
    noise = np.random.default_rng(1).integers(0, 256, (1000, 1000, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "TIFF", save_all=True, append_images=[Image.fromarray(noise)] * 5)
    async with Opener(LIMITS, SETTINGS.model_copy(update={"worker_memory_mb": 64})) as opener:
        with pytest.raises(InputRejected) as refused:
            await opener.searchable_pdf(Document(out.getvalue()), [])
    assert refused.value.code == "page_memory"
    assert "images" in refused.value.detail  # not the worker's answer, once all are in the memory of the service


def test_nothing_but_workers_load_pikepdf() -> None:
    package = Path(__file__).parents[2] / "src" / "inkgate"
    users = [path for path in package.rglob("*.py") if "import pikepdf" in path.read_text(encoding="utf-8")]
    assert sorted(path.name for path in users) == [
        "catalog.py",
        "opening.py",
        "pdf.py",
    ]
