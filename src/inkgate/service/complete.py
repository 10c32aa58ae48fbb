"""What is added to every page once it is read, whichever engine read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
import structlog

from inkgate.caller import Caller
from inkgate.codes.find import find_codes
from inkgate.errors import InkgateError
from inkgate.layout.confidence import judged
from inkgate.layout.regions.cut_off import cut_off
from inkgate.layout.regions.ink import ink_notes, text_outside
from inkgate.page import Pixels
from inkgate.service.remembered_page import RememberedPage
from inkgate.service.terms import Terms
from inkgate.service.terms_in_pages import with_terms
from inkgate.serving.threads import FairThreads
from inkgate_client.coordinates import before_rotation, quad_of
from inkgate_client.types import (
    Barcode,
    Block,
    BlockType,
    Box,
    Line,
    PageResult,
    Quad,
    ReviewNote,
    ReviewReason,
    Size,
    Task,
    TaskKind,
    box_of_quad,
)

log = structlog.get_logger(__name__)

MAX_CUT_LINES = 20
"""Cut lines of a page that are named."""
_LITTLE = 40
"""Characters; from more on, a page's ink is not examined. Text without places can't be compared with the ink."""
_INK_SIDE = 1600
"""Longest side of the page whose ink is examined."""
_COMPLETE_MS, _CODES_MS, _INK_MS = 5, 100, 20
"""Estimates of what a thread takes, until its time is known."""
_WHOLE_PAGE = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks that read the whole page."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What is added. `codes`: QR codes and bar codes are sought. `terms`: of the domain, which doubtful words become;
    None: there are none.
    """

    threads: FairThreads
    codes: bool = False
    terms: Terms | None = None

    async def complete(self, page: RememberedPage, result: PageResult, task: Task, caller: Caller) -> PageResult:
        """The page with terms, its confidence, the reasons to review it, notes on lines that an edge cuts, and blocks
        for codes. `timings_ms` has `terms`, `edges` and `codes` for what was done.
        """
        seen = page.known_pixels  # those that the engine used: the page is not rendered again for its edges
        sought = await self._pixels_for_codes(page, result, task)
        cost_ms = _COMPLETE_MS if sought is None else _CODES_MS
        return await self.threads.run(caller, cost_ms, self._completed, result, seen, sought, page.size)

    async def _pixels_for_codes(self, page: RememberedPage, result: PageResult, task: Task) -> Pixels | None:
        """None if no codes are sought."""
        if not self.codes or task.kind is not TaskKind.PARSE or result.lost or result.blocks is None:
            return None
        try:
            return await page.enough_pixels()
        except Exception as error:  # noqa: BLE001 - of this page, whose text is read
            log.info("codes_not_sought", code=_code_of(error))
            return None

    def _completed(self, result: PageResult, seen: Pixels | None, sought: Pixels | None, sent: Size) -> PageResult:
        """Blocking. `sent`: the page's size before its rotation."""
        if self.terms is not None:
            result = with_terms(result, self.terms)
        result = judged(result)
        if seen is not None and result.lines and result.source != "text_layer":
            result = _attempted("edges", with_cut_lines, result, seen)
        if sought is not None:
            result = _attempted("codes", partial(with_codes, sent=sent), result, sought)
        return result


def _attempted(
    stage: str, step: Callable[[PageResult, Pixels], PageResult], result: PageResult, pixels: Pixels
) -> PageResult:
    """The result of the step, with its time; `result` if it fails, as the page's text is read."""
    started = perf_counter()
    try:
        found = step(result, pixels)
    except Exception:  # of this page alone
        log.exception("page_step_failed", step=stage, page=result.index)
        return result
    return replace(found, timings_ms={**result.timings_ms, stage: (perf_counter() - started) * 1000})


def with_cut_lines(result: PageResult, pixels: Pixels) -> PageResult:
    """The page with a note for each line that its edge cuts. Blocking."""
    upright = np.ascontiguousarray(np.rot90(pixels.rgb, -result.rotation // 90))
    scale = result.width / upright.shape[1]
    left = [tuple(side / scale for side in line.box) for line in result.lines]
    found = cut_off(upright, [(x0, y0, x1, y1) for x0, y0, x1, y1 in left])
    boxes = [(x0 * scale, y0 * scale, x1 * scale, y1 * scale) for x0, y0, x1, y1 in found]
    return result.with_notes([ReviewNote(ReviewReason.CUT_OFF, box=box) for box in boxes[:MAX_CUT_LINES]])


def with_codes(result: PageResult, pixels: Pixels, sent: Size) -> PageResult:
    """The page with a block for each QR code and bar code. `pixels`, `sent`: before its rotation. Blocking."""
    codes = find_codes(pixels.rgb)
    blocks = (_code_block(code, pixels.scale, result.rotation, sent) for code in codes)
    return replace(result, blocks=(*(result.blocks or ()), *blocks))


def _code_block(code: Barcode, scale: float, rotation: int, sent: Size) -> Block:
    """The code on the upright page. `scale`: page pixels per pixel in which the code was found."""
    first, second, third, fourth = ((x * scale, y * scale) for x, y in code.quad)
    quad: Quad = (first, second, third, fourth)
    upright = before_rotation(quad, -rotation, sent.width, sent.height)
    placed = replace(code, quad=upright)
    return Block(BlockType.BARCODE, box_of_quad(upright), (), "", "", barcode=placed)


async def with_unread_ink(
    page: RememberedPage, result: PageResult, task: Task, threads: FairThreads, caller: Caller
) -> PageResult:
    """A page of which an engine read little or nothing, with notes that say where there is writing on it. Engines that
    examine the ink themselves have it in `timings_ms`.
    """
    known = "ink" in result.timings_ms or result.error is not None
    if known or task.kind not in _WHOLE_PAGE:
        return result
    text = result.text or result.markdown or ""
    nothing = not any(map(str.isalnum, text))
    explained = [] if nothing else _explained(result)
    if explained is None or (len(text) >= _LITTLE and not nothing):
        return result
    try:
        pixels = await page.enough_pixels(_INK_SIDE)
    except Exception as error:  # noqa: BLE001 - the engine has read the page, so its result counts
        log.info("ink_not_examined", code=_code_of(error))
        return result
    notes = await threads.run(caller, _INK_MS, ink_notes, pixels.rgb, pixels.scale, explained)
    if nothing and not notes:
        ink = await threads.run(caller, _INK_MS, text_outside, pixels.rgb, ())
        detail = "the engine read nothing, but the page is not blank"
        notes = (ReviewNote(ReviewReason.INK_WITHOUT_TEXT, detail),) if ink else ()
    return result.with_notes(notes)


def _code_of(error: Exception) -> str:
    return error.code if isinstance(error, InkgateError) else type(error).__name__


def _explained(page: PageResult) -> list[Line] | None:
    """Lines and blocks with text, as lines; None if there is text whose places are unknown, or the page is rotated."""
    blocks = [block for block in page.blocks or () if block.text or block.markdown]
    if page.rotation or ((page.text or page.markdown) and not page.lines and not blocks):
        return None
    return [*page.lines, *(_as_line(block.box, block.text) for block in blocks)]


def _as_line(box: Box, text: str) -> Line:
    return Line(text, quad_of(box), 1.0)
