"""Reads a page block by block: a layout model finds the blocks, all are requested at once, the page is assembled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio

from inkgate.caller import Caller
from inkgate.concurrency import single_error
from inkgate.engines.attempts import OUTPUT_ERRORS, take_over
from inkgate.engines.base import Engine
from inkgate.engines.vllm.assemble import Element, assemble_page
from inkgate.engines.vllm.crop import PageCrop, crop_pixels
from inkgate.engines.vllm.encode import is_blank
from inkgate.engines.vllm.image_read import ImageRead, ImageReader, PageRequest, Picture
from inkgate.engines.vllm.page_read import PageReader
from inkgate.engines.vllm.parsers.answer import ParsedAnswer
from inkgate.engines.vllm.preset import Preset, PromptPlan
from inkgate.errors import InkgateError
from inkgate.layout.base import Layout, Region
from inkgate.layout.ink import merge_boxes, text_outside
from inkgate.layout.order import in_reading_order
from inkgate.types import Box, Page, PageResult, Pixels, RgbArray, Size, Task, TaskKind

LEAST_SIDE = 96
"""An image whose shorter side is below this, in pixels, is one element: a line that was cut out before."""
MOST_PICTURE = 0.5
"""If figures cover this share of a page and more than all else, the layout model took the page itself for a picture."""
BY_BLOCK = frozenset({TaskKind.TEXT, TaskKind.PARSE})
"""All other tasks treat the image as a whole."""


@dataclass(frozen=True, slots=True)
class ElementReader:
    """Reads pages block by block, and pages without blocks as one image.

    Attributes:
        whole: reads pages as one image.
        embedded: reads blocks on which the model repeats itself; None: no such engine.
    """

    images: ImageReader
    whole: PageReader
    layout: Layout
    embedded: Engine | None

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
        with request.timings.of("layout"):
            found = await self.images.threads.run(regions_of, self.layout, pixels.rgb, preset)
        if not found:
            return await self.whole.read(page, task, caller)
        read = await self._all(page, task, pixels, found, request)
        failed = [element.failure for element in read if element.failure is not None]
        if len(failed) == sum(element.read is not None or element.failure is not None for element in read):
            raise failed[0]
        result = assemble_page(read, page, task, request.timings.spent_ms)
        return replace(result, engine=self.images.preset.name)

    async def _all(
        self, page: Page, task: Task, pixels: Pixels, regions: Sequence[Region], request: PageRequest
    ) -> list[Element]:
        """The regions with their readings; boxes in page pixels."""
        read = [Element(region.scaled(pixels.scale)) for region in regions]

        async def one(number: int, region: Region, plan: PromptPlan) -> None:
            crop = PageCrop(page, crop_pixels(pixels.rgb, region.box), pixels.scale)
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
        if await self.images.threads.run(is_blank, crop.rgb):
            return Element(region, ImageRead(ParsedAnswer("")))
        try:
            read = await self.images.read(Picture(crop.rgb, crop.size, part), plan, request)
        except InkgateError as error:  # one block's failure must not fail the others
            return Element(region, failure=error)
        if read.error is not None and read.error.code in OUTPUT_ERRORS and self.embedded is not None:
            task = Task(detect_rotation=False)
            taken, attempt = await take_over(self.embedded, crop, task, request.caller, part)
            attempts = (*read.attempts, attempt)
            if taken is None or taken.error is not None:
                read = replace(read, attempts=attempts)
            else:
                read = ImageRead(ParsedAnswer(taken.text), attempts=attempts)
        return Element(region, read, failure=read.error)


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
    if not text or pictures > max(text, MOST_PICTURE * size.pixels):
        return []
    overlooked = text_outside(rgb, [region.box for region in found])
    if not overlooked:
        return found
    return in_reading_order(merge_boxes(found, overlooked, size), size)


def _is_line(size: Size) -> bool:
    return min(size.width, size.height) < LEAST_SIDE


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
