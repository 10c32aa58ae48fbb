"""Reads a page block by block: a layout model, or the model itself, finds the blocks, all are requested at once, the
page is assembled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import anyio
import numpy as np
import structlog

from inkgate.caller import Caller
from inkgate.engines.attempts import fallback
from inkgate.engines.base import Engine
from inkgate.engines.vlm.image_read import ImageRead, ImageReader, PageRequest, Picture, WholePageReader, page_numbers
from inkgate.engines.vlm.images import PageCrop, crop_pixels, is_blank
from inkgate.engines.vlm.parsers.answer import ParsedAnswer, PlacedBlock
from inkgate.engines.vlm.preset import Preset, PromptPlan
from inkgate.errors import EngineFailed, InkgateError, OutputUnusable
from inkgate.layout.evidence import Layout, Region
from inkgate.layout.order.ranks import in_reading_order, row_height
from inkgate.layout.regions.ink import merge_boxes, text_outside
from inkgate.layout.text.blocks import levels_by_height
from inkgate.layout.text.hyphenation import join_lines
from inkgate.layout.text.markdown import page_markdown, running_text
from inkgate.page import Page, Pixels, RgbArray
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate_client.concurrency import single_error
from inkgate_client.types import (
    Attempt,
    Block,
    BlockType,
    Box,
    PageError,
    PageResult,
    ReviewNote,
    ReviewReason,
    Size,
    Task,
    TaskKind,
    TextWord,
    mean_confidence,
)

log = structlog.get_logger(__name__)

MIN_SIDE = 96
"""An image whose shorter side is below this, in pixels, is one element: a line that was cut out before."""
MAX_PICTURE_SHARE = 0.5
"""If figures cover this share of a page and more than all else, the layout model took the page itself for a picture."""
BY_BLOCK = frozenset({TaskKind.TEXT, TaskKind.PARSE})
"""All other tasks treat the image as a whole."""
_LAYOUT_MS = 200
"""Estimate of what a thread takes for a page's layout, until its time is known."""


@dataclass(frozen=True, slots=True)
class Element:
    """A region, its box in page pixels, and its reading or its error. A figure is not read and has neither.

    Attributes:
        unread: whether the model answered with nothing although something is written there.
    """

    region: Region
    read: ImageRead | None = None
    failure: InkgateError | None = None
    unread: bool = False

    @property
    def text(self) -> str:
        return "" if self.read is None else self.read.answer.text


def assemble_page(elements: Sequence[Element], page: Page, task: Task, timings_ms: Mapping[str, float]) -> PageResult:
    """The page. `elements` are in reading order; failed ones become blocks with an error."""
    blocks = blocks_of(elements, page.size)
    text, words = _text_of(elements)
    parse = task.kind is TaskKind.PARSE
    left_out = page_numbers(blocks)
    return PageResult(
        index=page.index,
        width=page.size.width,
        height=page.size.height,
        dpi=page.dpi,
        blocks=tuple(blocks) if parse else None,
        text=text,
        markdown=page_markdown(blocks, left_out) if parse else None,
        header=running_text(blocks, BlockType.HEADER) if parse else None,
        footer=running_text(blocks, BlockType.FOOTER) if parse else None,
        timings_ms=timings_ms,
        error=_error_of(elements),
        words=words,
        attempts=tuple(attempt for element in elements if element.read for attempt in element.read.attempts),
        left_out=left_out if parse else (),
    ).with_notes([ReviewNote(ReviewReason.INK_WITHOUT_TEXT, box=each.region.box) for each in elements if each.unread])


def blocks_of(elements: Sequence[Element], size: Size) -> list[Block]:
    """The elements as blocks; titles get their levels."""
    heights = {
        i: (element.region.box[3] - element.region.box[1]) / (element.text.count("\n") + 1)
        for i, element in enumerate(elements)
        if element.region.type is BlockType.TITLE
    }
    levels = levels_by_height(heights, row_height([element.region for element in elements], size))
    return [_block_of(element, levels.get(i)) for i, element in enumerate(elements)]


def _block_of(element: Element, level: int | None) -> Block:
    markdown = "" if element.read is None else element.read.answer.markdown
    block = Block(
        type=element.region.type,
        box=element.region.box,
        lines=(),
        text=element.text,
        markdown=element.text if markdown is None else markdown,
        level=level,
        confidence=None if element.read is None else mean_confidence(element.read.words),
        type_confidence=element.region.confidence,
        error=None if element.failure is None else element.failure.as_page_error(),
        diagram=None if element.read is None else element.read.answer.diagram,
    )
    if level is not None and block.text:
        return replace(block, markdown=f"{'#' * level} {join_lines(block.markdown.lstrip('# ').splitlines())}")
    return block


def _text_of(elements: Sequence[Element]) -> tuple[str, tuple[TextWord, ...]]:
    """The page's text and its words, whose starts count from the beginning of the text."""
    text = ""
    words: list[TextWord] = []
    for element in elements:
        if element.read is None or not element.text:
            continue
        text += "\n\n" if text else ""
        words += [replace(word, start=word.start + len(text)) for word in element.read.words]
        text += element.text
    return text, tuple(words)


def _error_of(elements: Sequence[Element]) -> PageError | None:
    failed = [element.failure for element in elements if element.failure is not None]
    if not failed:
        return None
    requested = sum(element.read is not None or element.failure is not None for element in elements)
    detail = f"{len(failed)} of {requested} blocks of the page failed, the first with {failed[0].code}."
    return EngineFailed("elements_failed", detail).as_page_error()


@dataclass(frozen=True, slots=True)
class BlockReaders:
    """What reads pages block by block, beside the model.

    Attributes:
        layout: finds the blocks.
        embedded: reads blocks on which the model repeats itself; None: no such engine.
        queue: in which these blocks wait for the CPU, as whole pages do that `embedded` reads. None: they don't wait.
    """

    layout: Layout
    embedded: Engine | None = None
    queue: WorkQueue | None = None


@dataclass(frozen=True, slots=True)
class ElementReader:
    """Reads pages block by block, and pages without blocks as one image.

    Attributes:
        whole: reads pages as one image.
    """

    images: ImageReader
    whole: WholePageReader
    others: BlockReaders

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """The page's content. A block that failed has an `error`, and the page then has `elements_failed`.

        `timings_ms` has render and layout, and the sums over all blocks of encode, first_token, generate, parse.

        Raises:
            InputRejected: the model does not support the task, or the page can't be rendered.
            EngineFailed: every block failed; the first one's error.
        """
        preset = self.images.preset
        by_block = task.kind in BY_BLOCK and not task.whole_page and not _is_line(page.size)
        if preset.elements is None or not by_block:
            return await self.whole.read(page, task, caller)
        request = PageRequest(caller, page.content_key)
        with request.timings.of("render"):
            pixels = await page.pixels(self.images.settings.layout_longest_side)
        found, attempts = await self._regions(page, pixels, request)
        if not found:
            return await self.whole.read(page, task, caller)
        read = await self._all(page, task, pixels, found, request)
        failed = [element.failure for element in read if element.failure is not None]
        if len(failed) == sum(element.read is not None or element.failure is not None for element in read):
            raise failed[0]
        result = assemble_page(read, page, task, request.timings.spent_ms)
        return replace(result, engine=self.images.preset.name, attempts=(*attempts, *result.attempts))

    async def _regions(
        self, page: Page, pixels: Pixels, request: PageRequest
    ) -> tuple[list[Region], tuple[Attempt, ...]]:
        """The page's blocks, boxes in pixels of `pixels`, and the attempts to find them with the model itself. If that
        fails, the layout model finds them.
        """
        preset = self.images.preset
        attempts: tuple[Attempt, ...] = ()
        if preset.layout:
            try:
                plan = preset.other_plan(preset.layout)
                read = await self.images.read(Picture(pixels.rgb, page.size, "layout"), plan, request)
            except EngineFailed as error:
                log.warning("model_layout_failed", page=page.index, code=error.code)
            else:
                attempts = read.attempts
                if read.error is None:
                    return model_regions(read.answer.blocks, pixels.scale), attempts
        with request.timings.of("layout"):
            return await self.images.threads.run(
                request.caller, _LAYOUT_MS, regions_of, self.others.layout, pixels.rgb, preset
            ), attempts

    async def _all(
        self, page: Page, task: Task, pixels: Pixels, regions: Sequence[Region], request: PageRequest
    ) -> list[Element]:
        """The regions with their readings; boxes in page pixels."""
        read = [Element(region.scaled(pixels.scale)) for region in regions]

        async def one(number: int, region: Region, plan: PromptPlan) -> None:
            rgb = np.rot90(crop_pixels(pixels.rgb, region.box), -region.rotation // 90)
            crop = PageCrop(page, rgb, pixels.scale)
            plan = plan.reduced(task.image_scale, task.max_output_tokens)
            read[number] = await self._element(f"block {number + 1}", read[number].region, crop, plan, request)

        with single_error():
            async with anyio.create_task_group() as tasks:
                for number, region in enumerate(regions):
                    plan = self.images.preset.element_plan(region.type, region.label)
                    if plan is not None:
                        tasks.start_soon(one, number, region, plan)
        return read

    async def _element(
        self, part: str, region: Region, crop: PageCrop, plan: PromptPlan, request: PageRequest
    ) -> Element:
        if await self.images.threads.run(request.caller, 1, is_blank, crop.rgb):
            return Element(region, ImageRead(ParsedAnswer("")))
        try:
            read = await self.images.read(Picture(crop.rgb, crop.size, part), plan, request)
        except InkgateError as error:  # one block's failure must not fail the others
            return Element(region, failure=error)
        embedded = self.others.embedded
        if isinstance(read.error, OutputUnusable) and embedded is not None:
            other = partial(self._read_otherwise, embedded, crop, request.caller)
            taken, attempt = await fallback(other, ", ".join(filter(None, (part, f"engine {embedded.name}"))))
            attempts = (*read.attempts, attempt)
            if taken is None or taken.error is not None:
                read = replace(read, attempts=attempts)
            else:
                read = ImageRead(ParsedAnswer(taken.text), attempts=attempts)
        if read.error is None and not any(map(str.isalnum, read.answer.text + (read.answer.markdown or ""))):
            unread = bool(await self.images.threads.run(request.caller, 1, text_outside, crop.rgb, ()))
            return Element(region, read, unread=unread)
        return Element(region, read, failure=read.error)

    async def _read_otherwise(self, embedded: Engine, block: PageCrop, caller: Caller) -> PageResult:
        """The block's text, read by the embedded engine. Raises as WorkQueue.turn does, and its `read`."""
        queue = self.others.queue
        async with nullcontext() if queue is None else queue.turn(Work.of_pixels(block.size.pixels, caller)):
            return await embedded.read(block, Task(detect_rotation=False), caller)


def model_regions(blocks: Sequence[PlacedBlock], scale: float) -> list[Region]:
    """The blocks that the model found, in its order. `scale`: pixels of the page per pixel of the regions."""
    return [
        Region(b.type, b.box, 1.0, rank=i, label=b.label, rotation=b.rotation).scaled(1 / scale)
        for i, b in enumerate(blocks)
    ]


def regions_of(layout: Layout, rgb: RgbArray, preset: Preset) -> list[Region]:
    """The page's blocks in reading order, boxes in pixels of `rgb`; empty if the page is best read as one image.

    Text that the layout model missed becomes a block, too. `preset`: decides which blocks will be read. Blocking.
    """
    height, width = rgb.shape[:2]
    size = Size(width, height)
    found = in_reading_order(layout.find(rgb), size)
    read = [preset.element_plan(region.type, region.label) is not None for region in found]
    areas = [_area(region.box) for region in found]
    text = sum(area for area, is_read in zip(areas, read, strict=True) if is_read)
    pictures = sum(areas) - text
    if not text or pictures > max(text, MAX_PICTURE_SHARE * size.pixels):
        return []
    overlooked = text_outside(rgb, [region.box for region in found])
    if not overlooked:
        return found
    return in_reading_order(merge_boxes(found, overlooked, size), size)


def _is_line(size: Size) -> bool:
    return min(size.width, size.height) < MIN_SIDE


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
