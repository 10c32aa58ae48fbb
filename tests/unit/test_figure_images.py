"""Figures as images: cut out of the page's pixels within limits, and linked in the Markdown."""

from __future__ import annotations

from dataclasses import replace

import anyio
import numpy as np
import orjson
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed, Overloaded
from inkgate.layout.regions.figure_links import with_images
from inkgate.layout.text.markdown import figure, page_markdown
from inkgate.layout.whole_document import finished_pages
from inkgate.page import Page, Pixels
from inkgate.service.figures import MAX_BYTES, MAX_IMAGES, PAGES_AT_ONCE, Figures, cut_images
from inkgate.service.reader import MAX_IMAGE_BYTES, ImageBudget
from inkgate.service.remembered_page import LONGEST_SIDE
from inkgate.serving.threads import FairThreads
from inkgate_client.block_image import BlockImage
from inkgate_client.codec import dump_page, load_page, page_to_dict, parse_page
from inkgate_client.escape import of_text
from inkgate_client.image_links import with_embedded_images, with_image_folder
from inkgate_client.types import Block, BlockType, Box, DocumentResult, PageResult, Task, TaskKind
from support.fake_engine import FakeEngine
from support.page_readers import page_reader
from support.pictured_page import opened, picture
from support.ppocr import ArrayPage

PARSE = Task(TaskKind.PARSE, images=True)


def figures(*boxes: Box, rotation: int = 0, width: int = 200, height: int = 100) -> PageResult:
    blocks = tuple(Block(BlockType.FIGURE, box, (), "", "") for box in boxes)
    return PageResult(0, width, height, rotation=rotation, blocks=blocks)


def corners() -> NDArray[np.uint8]:
    """200 x 100 pixels, each corner with its own colour."""
    rgb = np.zeros((100, 200, 3), np.uint8)
    rgb[:50, :100], rgb[:50, 100:] = (250, 0, 0), (0, 250, 0)
    rgb[50:, :100], rgb[50:, 100:] = (0, 0, 250), (250, 250, 0)
    return rgb


def test_images_are_upright_on_pages_that_lie_on_a_side() -> None:
    box = (90.0, 40.0, 120.0, 70.0)
    upright = np.asarray(opened(cut_images(figures(box), Pixels(corners()))[0]))
    assert upright.shape == (30, 30, 3)
    assert (upright[0, 0, 0], upright[0, -1, 1], upright[-1, 0, 2]) == (250, 250, 250)
    for rotation in (90, 180, 270):
        sent = np.ascontiguousarray(np.rot90(corners(), rotation // 90))  # counter-clockwise
        found = cut_images(figures(box, rotation=rotation), Pixels(sent))[0]
        assert np.array_equal(np.asarray(opened(found)), upright), rotation


def test_pixels_of_another_size_than_the_page_are_cut_at_the_same_place() -> None:
    found = cut_images(figures((300, 0, 399.6, 100), width=400), Pixels(corners(), scale=2.0))[0]
    image = np.asarray(opened(found))
    assert image.shape == (50, 50, 3)
    assert (image == (0, 250, 0)).all()
    large = Pixels(np.zeros((LONGEST_SIDE * 2, 40, 3), np.uint8))
    found = cut_images(figures((0, 0, 40, LONGEST_SIDE * 2), width=40, height=LONGEST_SIDE * 2), large)[0]
    assert (found.width, found.height) == (20, LONGEST_SIDE)


def test_drawings_are_png_and_photographs_jpeg() -> None:
    photograph = np.asarray(picture(200, 100))
    for rgb, kind in ((corners(), "image/png"), (photograph, "image/jpeg"), (photograph[:, :, [1]], "image/jpeg")):
        pixels = Pixels(np.ascontiguousarray(np.broadcast_to(rgb, (100, 200, 3))))
        found = cut_images(figures((0, 0, 200, 100)), pixels)[0]
        assert (found.mime_type, found.name) == (kind, f"page-1-1.{'png' if kind == 'image/png' else 'jpg'}")
        assert np.abs(np.asarray(opened(found)).astype(int) - pixels.rgb).mean() < 6


def test_what_a_page_may_have_is_bounded_in_number_bytes_and_area() -> None:
    small = [(x, 0.0, x + 10.0, 10.0) for x in map(float, range(0, 180, 2))]
    assert len(cut_images(figures(*small), Pixels(corners()))) == MAX_IMAGES
    whole = (0.0, 0.0, 200.0, 100.0)
    assert list(cut_images(figures(*[whole] * 9), Pixels(corners()))) == [0, 1]
    noise = np.random.default_rng(0).integers(0, 256, (2400, 2400, 3), np.uint8)
    half = figures((0, 0, 2400, 1300), (0, 1300, 2400, 2400), (0, 0, 2400, 500), width=2400, height=2400)
    images = cut_images(half, Pixels(noise))
    assert sum(len(image.data) for image in images.values()) <= MAX_BYTES
    assert images[0].width in {1200, 2400}
    assert images[0].width == 2400 or len(images) > 1
    assert images[1].width < 2400  # made smaller, as there is no room for all of it


def test_a_figure_that_has_no_room_takes_none_from_those_behind_it() -> None:
    whole, half, small = (0.0, 0.0, 200.0, 100.0), (0.0, 0.0, 120.0, 100.0), (0.0, 0.0, 20.0, 20.0)
    assert list(cut_images(figures(whole, half, half, small), Pixels(corners()))) == [0, 1, 3]


def test_boxes_outside_of_the_page_have_no_image() -> None:
    outside = figures((300, 0, 400, 50), (-50, -50, 0, 0), (0, 0, 200, 3), (190, 90, 999, 999))
    assert list(cut_images(outside, Pixels(corners()))) == [3]
    for wild in (float("inf"), float("nan")):
        assert not cut_images(figures((0, 0, wild, 50)), Pixels(corners()))
    strip = np.zeros((1, LONGEST_SIDE * 4, 3), np.uint8)
    assert not cut_images(figures((0, 0, 50, 1), width=LONGEST_SIDE * 4, height=1), Pixels(strip))


def test_stamps_have_images_and_text_has_none() -> None:
    page = figures((0, 0, 50, 50), (50, 0, 100, 50))
    kinds = (BlockType.STAMP, BlockType.TABLE)
    page = replace(page, blocks=tuple(replace(b, type=k) for b, k in zip(page.blocks or (), kinds, strict=True)))
    images = cut_images(page, Pixels(corners()))
    assert list(images) == [0]
    assert with_images(replace(page, markdown="a"), images).markdown == "a"  # marks have no place in it


class CountedPage:
    """A page that counts how often it is rendered."""

    def __init__(self) -> None:
        self.inner = ArrayPage(np.full((130, 200, 3), 255, np.uint8))
        self.index, self.size, self.dpi, self.text_layer, self.retain = (
            2,
            self.inner.size,
            None,
            None,
            self.inner.retain,
        )
        self.content_key = b"k"
        self.rendered = 0

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        self.rendered += 1
        return await self.inner.pixels(longest_side)


@pytest.mark.anyio
async def test_a_page_is_rendered_once_for_the_engine_its_codes_and_its_images() -> None:
    page, engine = CountedPage(), FakeEngine()
    layer = page_reader(engine, figures=Figures(FairThreads(1)), codes=True)
    result = await layer.read(page, PARSE, NO_CALLER)
    (found,) = [block.image for block in result.blocks or () if block.image]
    assert (found.name, found.width, found.height) == ("page-3-1.png", 40, 30)
    assert page.rendered == 1
    assert engine.tasks == [Task(TaskKind.PARSE)]  # the engine and the cache don't know of images
    plain = await layer.read(page, Task(TaskKind.PARSE), NO_CALLER)
    assert all(block.image is None for block in plain.blocks or ())
    assert (await layer.read(page, Task(images=True), NO_CALLER)).blocks is None


@pytest.mark.anyio
async def test_a_page_that_was_read_is_not_lost_because_its_images_are() -> None:
    class NoPixels(CountedPage):
        def __init__(self, error: Exception) -> None:
            super().__init__()
            self.error = error

        async def pixels(self, longest_side: int | None = None) -> Pixels:
            raise self.error

    class TextLayerRead(FakeEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            return replace(figures((0, 0, 50, 50)), timings_ms={"ink": 1.0})

    layer = page_reader(TextLayerRead(), figures=Figures(FairThreads(1)))
    errors: list[tuple[Exception, str]] = [
        (EngineFailed("page_timeout", "It took too long."), "page_timeout"),
        (Overloaded("service_full", "There is no room.", 1.0), "service_full"),
        (MemoryError("1234"), "MemoryError"),
    ]
    with capture_logs() as logs:
        for error, _ in errors:
            found = await layer.read(NoPixels(error), PARSE, NO_CALLER)
            assert found == replace(figures((0, 0, 50, 50)), timings_ms={"ink": 1.0})
    assert [(entry["event"], entry["reason"]) for entry in logs] == [("images_not_cut", reason) for _, reason in errors]


@pytest.mark.anyio
async def test_few_pages_that_the_cache_answers_have_pixels_at_once() -> None:
    with_pixels = most = 0

    class Counted(CountedPage):
        async def pixels(self, longest_side: int | None = None) -> Pixels:
            nonlocal with_pixels, most
            with_pixels += 1
            most = max(most, with_pixels)
            return Pixels(corners())

    class CacheAnswers(FakeEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            return replace(figures((0, 0, 50, 50)), timings_ms={"ink": 1.0})

    layer = page_reader(CacheAnswers(), figures=Figures(FairThreads(1)))

    async def read() -> None:
        nonlocal with_pixels
        assert (await layer.read(Counted(), PARSE, NO_CALLER)).timings_ms
        with_pixels -= 1

    async with anyio.create_task_group() as group:
        for _ in range(PAGES_AT_ONCE * 4):
            group.start_soon(read)
    assert PAGES_AT_ONCE // 2 < most < PAGES_AT_ONCE * 2  # some ended, and were not counted yet


IMAGE = BlockImage("page-1-1.png", "image/png", 1, 1, "AAAA")


def page_of(*blocks: Block, markdown: str | None = None) -> PageResult:
    return PageResult(0, 10, 10, blocks=blocks, markdown=page_markdown(blocks) if markdown is None else markdown)


def block(kind: BlockType, markdown: str) -> Block:
    return Block(kind, (0, 0, 1, 1), (), markdown, markdown)


def test_links_stand_where_the_figures_are() -> None:
    before, after = block(BlockType.TEXT, "One."), block(BlockType.TEXT, "Two.")
    link = "![Figure](images/page-1-1.png)"
    table = [
        (page_of(before, block(BlockType.FIGURE, figure("")), after), 1, f"One.\n\n{link}\n\nTwo."),
        (
            page_of(before, block(BlockType.FIGURE, figure("Fig. 1: [a](b) # c") + "\n\ninside"), after),
            1,
            f"One.\n\n{link}\n\nFig. 1: [a\\](b) # c\n\ninside\n\nTwo.",
        ),
        (page_of(before, block(BlockType.FIGURE, ""), after), 1, f"One.\n\n{link}\n\nTwo."),
        # written by a model, with more than its blocks have
        (page_of(block(BlockType.FIGURE, ""), before, markdown="Title\n\nOne."), 0, f"{link}\n\nTitle\n\nOne."),
        (
            page_of(before, block(BlockType.FIGURE, "chart"), after, markdown="x One.\n\nchart\n\nTwo. y"),
            1,
            f"x One.\n\n{link}\n\nchart\n\nTwo. y",
        ),
    ]
    assert [with_images(page, {number: IMAGE}).markdown for page, number, _ in table] == [each[2] for each in table]
    shown = with_images(table[1][0], {1: IMAGE})
    assert finished_pages([shown]) == (shown,)
    assert with_images(shown, {}) is shown


def test_markdown_alone_has_the_images_inside_and_files_stand_beside_it() -> None:
    page = with_images(page_of(block(BlockType.FIGURE, figure(""))), {0: IMAGE})
    assert with_embedded_images(page).markdown == "![Figure](data:image/png;base64,AAAA)"
    document = DocumentResult("a", "image/png", 1, 1, "f", (page,))
    assert with_image_folder(document, "a (1).images").pages[0].markdown == (
        "![Figure](a%20%281%29.images/page-1-1.png)"
    )


def test_text_that_looks_like_the_link_does_not_repeat_the_file() -> None:
    link = "![Figure](images/page-1-1.png)"
    printed = f"[a](images/page-1-1.png) {link} "
    text = block(BlockType.TEXT, of_text(printed * 100))
    page = with_images(page_of(block(BlockType.FIGURE, figure("")), text), {0: IMAGE})
    assert (with_embedded_images(page).markdown or "").count("data:") == 1
    raw = with_images(page_of(block(BlockType.FIGURE, ""), markdown=printed * 100), {0: IMAGE})  # a model's Markdown
    assert (with_embedded_images(raw).markdown or "").count("data:") == 1


def test_images_are_kept_with_the_page() -> None:
    page = with_images(page_of(block(BlockType.FIGURE, "\ud800")), {0: IMAGE})
    kept = load_page(dump_page(page))
    assert kept == page
    assert (kept.blocks or ())[0].image == IMAGE


def test_images_of_another_service_have_the_names_of_files() -> None:
    page = page_to_dict(with_images(page_of(block(BlockType.FIGURE, "")), {0: IMAGE}))
    assert (parse_page(orjson.dumps(page)).blocks or ())[0].image == IMAGE
    for name in ("../../.profile", "/etc/passwd", "a/b.png", "", ".", "a\\b", "a\nb", "x" * 200):
        page["blocks"][0]["image"]["name"] = name
        with pytest.raises(ValueError, match="no file name"):
            parse_page(orjson.dumps(page))


def test_a_document_has_room_for_some_images() -> None:
    budget = ImageBudget()
    assert budget.task(PARSE, 0) is PARSE
    full = BlockImage("a.jpg", "image/jpeg", 1, 1, "A" * MAX_IMAGE_BYTES)
    budget.spend(with_images(page_of(block(BlockType.FIGURE, "")), {0: full}))
    assert budget.task(PARSE, 7) == Task(TaskKind.PARSE)
    assert budget.task(PARSE, 8) == Task(TaskKind.PARSE)
    assert budget.note == "From page 8 on, figures have no images: those before have 64 MiB."
