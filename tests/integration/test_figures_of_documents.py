"""Figures as images of real pages by the embedded engine, over HTTP, and from jobs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import docx
import numpy as np
import pytest
import structlog

import inkgate
from inkgate.cli.inputs import collect
from inkgate.cli.outputs import to_folder
from inkgate.documents.files import FileFormat
from inkgate_client.block_image import BlockImage
from inkgate_client.codec import parse_document
from inkgate_client.formats import Format
from inkgate_client.types import BlockType, DocumentResult
from support.api_client import b64, png, running_api, tiff
from support.images import encoded
from support.jobs_api import ended, jobs_api, submit
from support.pictured_page import PicturedEngine, opened, picture, pictured_page


@pytest.fixture(scope="module")
def ocr() -> Iterator[inkgate.Ocr]:
    with inkgate.Ocr() as loaded:
        yield loaded
    structlog.reset_defaults()


def image_in(document: DocumentResult) -> BlockImage:
    """The only image."""
    (image,) = [block.image for page in document.pages for block in page.blocks or () if block.image is not None]
    return image


def shows_the_picture(image: BlockImage) -> bool:
    """Whether its middle is that of the picture; turned or mirrored, it differs by more than 30 levels."""
    found, drawn = opened(image), picture()
    if abs(found.width - drawn.width) > 80 or abs(found.height - drawn.height) > 60:
        return False
    left, top = (found.width - drawn.width) // 2, (found.height - drawn.height) // 2
    middle = found.crop((left + 60, top + 40, left + 580, top + 280))
    difference = np.asarray(middle, int) - np.asarray(drawn.crop((60, 40, 580, 280)), int)
    return bool(np.abs(difference).mean() < 15)


@pytest.mark.real
def test_a_figure_is_kept_upright_from_images_and_pdfs_and_pages_that_lie_on_a_side(
    ocr: inkgate.Ocr, tmp_path: Path
) -> None:
    page = pictured_page()
    scan = encoded(page, "PNG")
    plain = ocr.read(scan)
    assert all(block.image is None for block in plain.pages[0].blocks or ())
    with_image = ocr.read(scan, images=True)
    assert "cache" in with_image.pages[0].timings_ms  # read once, for those who want images and those who don't
    assert shows_the_picture(image_in(with_image))
    assert ocr.read(scan).pages[0].blocks == plain.pages[0].blocks
    turned = ocr.read(encoded(page.rotate(90, expand=True), "PNG"), images=True)
    assert turned.pages[0].rotation == 90
    assert shows_the_picture(image_in(turned))

    searchable = ocr.file(scan, plain, "pdf")
    layer = ocr.read(searchable, images=True, pdf_text="always")
    assert layer.pages[0].source == "text_layer"
    # rendered at 200 dpi, of a page whose longer side is that of A4
    share = layer.pages[0].width / page.width
    image = image_in(layer)
    assert abs(image.width / share - picture().width) < 80

    assert "![Figure](images/page-1-1.jpg)" in with_image.markdown
    assert with_image.markdown.count("Hills in the morning") == 1
    shapes = docx.Document(io.BytesIO(ocr.file(scan, with_image, FileFormat.DOCX))).inline_shapes
    assert len(shapes) == 1
    (tmp_path / "a b.png").write_bytes(scan)
    (source,) = collect([str(tmp_path / "a b.png")]).sources
    to_folder(tmp_path / "out", (Format.MARKDOWN,), (source,)).write(source, with_image)
    assert "![Figure](a%20b.images/page-1-1.jpg)" in (tmp_path / "out" / "a b.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "a b.images" / "page-1-1.jpg").read_bytes() == image_in(with_image).data


@pytest.mark.anyio
async def test_images_come_over_http_if_asked_for() -> None:
    file = {"file": ("a.tiff", tiff(2))}
    async with running_api(PicturedEngine()) as api:
        plain = await api.client.post("/ocr", files=file, data={"task": "parse"})
        assert [block["image"] for page in plain.json()["pages"] for block in page["blocks"]] == [None] * 8
        form = await api.client.post("/ocr", files=file, data={"include": "images"})
        document = parse_document(form.content)
        found = [block for page in document.pages for block in page.blocks or () if block.image is not None]
        assert [block.type for block in found] == [BlockType.FIGURE] * 2
        assert [block.image.name for block in found if block.image] == ["page-1-1.png", "page-2-1.png"]
        query = await api.client.post("/ocr?include=images&format=json", files=file)
        assert image_names(query.json()) == image_names(form.json())
        body = {"image": b64(png()), "include": ["images"], "format": "markdown"}
        (line,) = [each for each in (await api.client.post("/ocr", json=body)).text.splitlines() if "![" in each]
        assert opened(line.partition("(")[2].removesuffix(")")).size == (40, 30)
        stream = await api.client.post("/ocr", files=file, data={"include": "images", "format": "ndjson"})
        pages = [json.loads(each) for each in stream.text.splitlines()[:-1]]
        assert image_names({"pages": pages}) == ["page-1-1.png", "page-2-1.png"]
        word = await api.client.post("/ocr", files=file, data={"include": "images", "format": "docx"})
        assert len(docx.Document(io.BytesIO(word.content)).inline_shapes) == 2
        text = await api.client.post("/ocr", files=file, data={"include": "images", "format": "text"})
        assert text.text == (await api.client.post("/ocr", files=file, data={"format": "text"})).text
        wrong = await api.client.post("/ocr", files=file, data={"include": "pixels"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "options_invalid")


def image_names(document: dict[str, object]) -> list[str]:
    pages = document["pages"]
    assert isinstance(pages, list)
    return [block["image"]["name"] for page in pages for block in page["blocks"] if block["image"]]


@pytest.mark.anyio
async def test_jobs_keep_images_with_their_pages(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, PicturedEngine()) as api:
        job = await ended(api, await submit(api, tiff(2), include="images", format="markdown"))
        result = job["links"]["result"]
        assert image_names((await api.client.get(result)).json()) == ["page-1-1.png", "page-2-1.png"]
        markdown = (await api.client.get(result, params={"format": "markdown"})).text
        at_once = await api.client.post(
            "/ocr", files={"file": tiff(2)}, data={"include": "images", "format": "markdown"}
        )
        assert markdown == at_once.text
        assert markdown.count("](data:image/png;base64,") == 2
        plain = await ended(api, await submit(api, tiff(2), format="markdown"))
        assert "data:" not in (await api.client.get(plain["links"]["result"], params={"format": "markdown"})).text
