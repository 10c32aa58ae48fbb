"""Pages from which an engine read nothing although something is written on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.layout.regions.ink import writing_outside
from inkgate.page import Page, Pixels, RgbArray
from inkgate.service.complete import with_unread_ink
from inkgate.service.remembered_page import RememberedPage
from inkgate.serving.threads import FairThreads
from inkgate_client.types import Block, BlockType, PageError, PageResult, ReviewReason, Task, TaskKind
from support.ppocr import ArrayPage, drawn

pytestmark = pytest.mark.anyio

NOTHING = PageResult(0, 640, 360, engine="model")
WRITTEN = drawn(["Please return this form", "to the office by Friday"])
BLANK = np.full_like(WRITTEN, 255)


@dataclass
class Fixed:
    """An Engine that gives the same result for each page."""

    result: PageResult
    name: str = "model"

    async def start(self) -> None:
        """Is ready."""

    async def stop(self) -> None:
        """Holds nothing."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return self.result


async def read(result: PageResult, rgb: RgbArray, kind: TaskKind = TaskKind.PARSE) -> PageResult:
    return await with_unread_ink(RememberedPage.around(ArrayPage(rgb)), result, Task(kind), FairThreads(1), NO_CALLER)


async def test_writing_without_text_is_noted_with_its_place() -> None:
    page = await read(NOTHING, WRITTEN)
    assert page.review == (ReviewReason.INK_WITHOUT_TEXT,)
    (note,) = page.review_notes
    assert note.box is not None
    assert note.box == pytest.approx((31, 25, 330, 100), abs=30)


class Sheet(ArrayPage):
    """A page that is shrunk as a renderer does."""

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        share = min(1.0, (longest_side or math.inf) / max(self.rgb.shape[:2]))
        shrunk = cv2.resize(self.rgb, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        return Pixels(np.asarray(shrunk, np.uint8), 1 / share)


async def test_small_writing_is_noted_where_the_engine_used_few_pixels() -> None:
    rgb = np.full((3508, 2480, 3), 255, np.uint8)
    rgb[1500:1860, 300:940] = drawn(["Please return this form"], font_px=22)
    page = RememberedPage.around(Sheet(rgb))
    await page.pixels(900)
    result = await with_unread_ink(page, replace(NOTHING, width=2480, height=3508), Task(), FairThreads(1), NO_CALLER)
    assert result.review == (ReviewReason.INK_WITHOUT_TEXT,)


@pytest.mark.parametrize("text", ["", " \n", "---\n\n| | |"])
async def test_a_page_with_ink_of_which_a_model_read_nothing_is_to_be_reviewed(text: str) -> None:
    """Blurred print on grey paper is not surely writing, but a page with it is not blank."""
    faint = cv2.GaussianBlur(WRITTEN, (0, 0), 2.0).astype(np.float32) / 255
    noise = np.random.default_rng(7).normal(0, 25, WRITTEN.shape[:2])[..., None]
    shadow = np.clip(110 + 60 * faint + noise, 0, 255).astype(np.uint8)
    assert writing_outside(shadow, 1.0, []) == []
    page = await read(replace(NOTHING, text=text), shadow)
    assert page.review == (ReviewReason.INK_WITHOUT_TEXT,)


async def test_other_pages_are_left_as_they_are() -> None:
    block = Block(BlockType.TEXT, (20.0, 10.0, 500.0, 140.0), (), "Please return", "Please return")
    error = PageError("engine_failed", "No.", "Retry.")
    pages = {
        "blank": (NOTHING, BLANK, TaskKind.PARSE),
        "read": (replace(NOTHING, text="Please return this form to the office by Friday"), WRITTEN, TaskKind.PARSE),
        "read without places": (replace(NOTHING, text="Yes"), WRITTEN, TaskKind.PARSE),
        "read in a block": (replace(NOTHING, text="Please return", blocks=(block,)), WRITTEN, TaskKind.PARSE),
        "failed": (replace(NOTHING, error=error), WRITTEN, TaskKind.PARSE),
        "looked at by the engine": (replace(NOTHING, timings_ms={"ink": 0.1}), WRITTEN, TaskKind.PARSE),
        "asked for a formula": (NOTHING, WRITTEN, TaskKind.FORMULA),
    }
    changed = [name for name, (page, rgb, kind) in pages.items() if await read(page, rgb, kind) != page]
    assert changed == []
