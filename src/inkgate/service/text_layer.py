"""Answers pages from their text layer, and reads from their pixels what the layer lacks or may have wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from inkgate.caller import Caller
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import NO_EVIDENCE, PageEvidence
from inkgate.layout.regions.ink import likely_writing
from inkgate.layout.text.spans import with_spans
from inkgate.page import LineStyle, Page, Pixels, TextLayer
from inkgate.service.layer_merge import UNDECIDED, MergedLines, merge, overlap
from inkgate.service.remembered_page import RememberedPage
from inkgate.serving.threads import FairThreads
from inkgate_client.coordinates import quad_of
from inkgate_client.types import (
    Attempt,
    Box,
    LeftOut,
    LeftOutReason,
    Line,
    PageResult,
    Quad,
    Size,
    Task,
    TaskKind,
)

KINDS = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks that a text layer can answer."""
MAX_PARTS, MAX_PARTS_SHARE = 4, 0.35
"""Up to this many parts, of up to this share of the page's area, are read one by one; else the whole page is."""
_ARRANGE_MS, _WRITING_MS, _LOOK_MS = 5, 20, 200
"""Estimates of what a thread takes, until its time is known."""
_MARGIN = 0.02
"""Around a part that is read by itself, as a share of the page's longer side: a detector needs some paper."""


ReadPixels = Callable[[Page, Task, Caller], Awaitable[PageResult]]
"""Reads a page, or a part of one, from its pixels."""


@dataclass(frozen=True, slots=True)
class TextLayers:
    """Answers pages from their text layers where these can be trusted, and has the rest of the page read.

    What can be trusted was decided when the page was opened (documents/pdf/trust.py). Parts of the page are read, or
    all of it. Where the layer's font is doubtful, both are compared, line by line.
    """

    analysis: PageAnalysis
    threads: FairThreads

    async def read(self, page: RememberedPage, task: Task, caller: Caller, read_pixels: ReadPixels) -> PageResult:
        """The page's content. The layout model runs on the rendered page, and only for Markdown and blocks.

        Raises:
            InkgateError: as `read_pixels`.
        """
        layer = page.text_layer
        if layer is None:
            return await read_pixels(page, task, caller)
        if task.kind in KINDS and (layer.lines or layer.doubtful):
            result = await self._read(page, layer, task, caller, read_pixels)
        else:
            result = await read_pixels(page, task, caller)
        if layer.spans and result.markdown:
            result = await self.threads.run(caller, _ARRANGE_MS, with_spans, result, layer.spans)
        return _with_findings(result, layer, task)

    async def _read(
        self, page: RememberedPage, layer: TextLayer, task: Task, caller: Caller, read_pixels: ReadPixels
    ) -> PageResult:
        parse = task.kind is TaskKind.PARSE
        rest = _Rest(read_pixels)
        sure, unsure = await self._writing(page, layer, caller, rest.timings_ms) if layer.pictures else ((), ())
        places = [*layer.unread, *sure]
        merged = MergedLines(layer.lines, layer.styles)
        if places or unsure or layer.doubtful:
            boxes = [*places, *unsure, *(line.box for line in layer.doubtful)]
            whole = await _read_rest(page, boxes, task, caller, rest)
            if whole is not None:
                return whole
            merged = await self.threads.run(caller, _ARRANGE_MS, merge, layer, rest.lines, places, unsure)
        evidence = await self._look(page, merged, caller, rest.timings_ms) if parse else NO_EVIDENCE
        started = perf_counter()
        arrangement = await self.threads.run(caller, _ARRANGE_MS, arrange, merged.lines, page.size, evidence)
        rest.timings_ms["arrange"] = (perf_counter() - started) * 1000
        exact = all(line.confidence == 1.0 for line in merged.lines)
        result = PageResult(
            index=page.index,
            width=page.size.width,
            height=page.size.height,
            dpi=page.dpi,
            source="text_layer" if exact else "mixed",
            engine="text_layer" if exact else rest.engine,
            timings_ms=rest.timings_ms,
            degraded=tuple(rest.degraded),
            attempts=tuple(rest.attempts),
        )
        return arrangement.put_into(result, parse=parse).with_notes(merged.notes)

    async def _writing(
        self, page: RememberedPage, layer: TextLayer, caller: Caller, timings: dict[str, float]
    ) -> tuple[list[Box], list[Box]]:
        """What looks like writing in the layer's pictures, beside its lines; and what may be a short text."""
        started = perf_counter()
        pixels = await page.pixels()
        known = (*layer.lines, *layer.doubtful)
        found = await self.threads.run(caller, _WRITING_MS, _writing_in, pixels, known, layer.pictures)
        timings["writing"] = (perf_counter() - started) * 1000
        return found

    async def _look(
        self, page: RememberedPage, merged: MergedLines, caller: Caller, timings: dict[str, float]
    ) -> PageEvidence:
        """What the rendered page shows."""
        started = perf_counter()
        pixels = await page.pixels()
        timings["render"] = (perf_counter() - started) * 1000
        look = partial(self.analysis.look, parse=True)
        evidence = await self.threads.run(caller, _LOOK_MS, look, pixels.rgb, pixels.scale, merged.lines)
        timings.update(evidence.timings_ms)
        return replace(evidence, styles=_styles(merged.styles, evidence.styles))


async def _read_rest(
    page: RememberedPage, places: Sequence[Box], task: Task, caller: Caller, rest: _Rest
) -> PageResult | None:
    """Reads `places` into `rest`. Returns the result of the whole page instead if it has no positions, by
    which it could be merged.
    """
    upright = replace(task, detect_rotation=False)
    boxes = _joined([_with_margin(box, page.size) for box in places])
    if len(boxes) > MAX_PARTS or sum(map(_area, boxes)) > MAX_PARTS_SHARE * page.size.pixels:
        result = await rest.read_pixels(page, upright, caller)
        rest.add(result, (0.0, 0.0))
        return result if not result.lines and (result.text or result.markdown) else None
    for box in boxes:
        part = _PagePart(page, box)
        result = await rest.read_pixels(part, replace(upright, kind=TaskKind.TEXT), caller)
        rest.add(_with_positions(result, part.size), box[:2])
    return None


class _PagePart:
    """A part of a page as a Page. `box`: in whole pixels of the page."""

    text_layer = None
    content_key = b""

    def __init__(self, page: RememberedPage, box: Box) -> None:
        self._page = page
        self._box = box
        self.index, self.dpi, self.retain = page.index, page.dpi, page.retain
        self.size = Size(max(round(box[2] - box[0]), 1), max(round(box[3] - box[1]), 1))

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        own, whole = max(self.size.width, self.size.height), max(self._page.size.width, self._page.size.height)
        side = None if longest_side is None or longest_side >= own else max(round(whole * longest_side / own), 1)
        found = await self._page.pixels(side)
        left, top, right, bottom = (round(edge / found.scale) for edge in self._box)
        return Pixels(found.rgb[top : max(bottom, top + 1), left : max(right, left + 1)], found.scale)


@dataclass(slots=True)
class _Rest:
    """What was read from pixels, in pixels of the page, and how."""

    read_pixels: ReadPixels
    lines: list[Line] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    engine: str = "text_layer"

    def add(self, result: PageResult, origin: tuple[float, float]) -> None:
        """Adds a part's result. `origin`: of the part on the page."""
        self.lines += [_moved(line, *origin) for line in result.lines]
        for stage, spent in result.timings_ms.items():
            self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + spent
        self.degraded += [each for each in result.degraded if each not in self.degraded]
        self.attempts += result.attempts
        self.engine = result.engine


def _with_findings(result: PageResult, layer: TextLayer, task: Task) -> PageResult:
    """The result with what the page hides and what the PDF worker noted."""
    hidden = tuple(
        LeftOut(line.text if task.invisible else "", LeftOutReason.INVISIBLE, (), line.box) for line in layer.hidden
    )
    result = replace(result, left_out=(*result.left_out, *hidden)) if hidden else result
    return replace(result, attachments=layer.attachments, links=layer.links).with_notes(layer.notes)


def _writing_in(pixels: Pixels, known: Sequence[Line], pictures: Sequence[Box]) -> tuple[list[Box], list[Box]]:
    """Boxes of likely text in `pictures` outside of `known` lines, and of what may be a short one; in page pixels."""
    sure, unsure = (
        [box for box in found if any(overlap(box, picture) for picture in pictures)]
        for found in likely_writing(pixels.rgb, pixels.scale, known)
    )
    return sure, unsure


def _styles(own: Sequence[LineStyle | None], seen: Sequence[LineStyle | None]) -> Sequence[LineStyle | None]:
    """The styles of the lines. Fonts with names that say nothing (`AdvP403A40`) are all regular: if no line of the page
    is bold by its font, those are that look so (`seen`).
    """
    if len(seen) != len(own):
        return own
    pairs = list(zip(own, seen, strict=True))
    if any(style is not None and style.bold for style in own):
        return [look if style is None else style for style, look in pairs]
    return [look if style is None else replace(style, bold=look is not None and look.bold) for style, look in pairs]


def _with_positions(result: PageResult, size: Size) -> PageResult:
    """The result of a part with lines; those of an engine that gives no positions share the part's middle."""
    texts = [text for text in result.text.split("\n") if text.strip()]
    if result.lines or not texts:
        return result
    known = sum(len(word.text) for word in result.words)
    mean = sum(word.confidence * len(word.text) for word in result.words) / known if known else UNDECIDED
    quarter = size.height / 4  # less than the margin of a part with one line
    height = 2 * quarter / len(texts)
    tops = [quarter + at * height for at in range(len(texts))]
    quads = [quad_of((0.0, top, float(size.width), top + height)) for top in tops]
    return replace(result, lines=tuple(Line(text, quad, mean) for text, quad in zip(texts, quads, strict=True)))


def _moved(line: Line, x: float, y: float) -> Line:
    def moved(quad: Quad) -> Quad:
        a, b, c, d = ((left + x, top + y) for left, top in quad)
        return (a, b, c, d)

    return replace(
        line, quad=moved(line.quad), words=tuple(replace(word, quad=moved(word.quad)) for word in line.words)
    )


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """The boxes, those that overlap as one."""
    joined: list[Box] = []
    for box in sorted(boxes):
        whole = box
        while True:
            touching = [other for other in joined if overlap(whole, other)]
            if not touching:
                break
            joined = [other for other in joined if other not in touching]
            parts = [whole, *touching]
            whole = (
                min(p[0] for p in parts),
                min(p[1] for p in parts),
                max(p[2] for p in parts),
                max(p[3] for p in parts),
            )
        joined.append(whole)
    return joined


def _with_margin(box: Box, size: Size) -> Box:
    margin = _MARGIN * max(size.width, size.height)
    left, top, right, bottom = box
    return (
        float(max(int(left - margin), 0)),
        float(max(int(top - margin), 0)),
        float(min(int(right + margin) + 1, size.width)),
        float(min(int(bottom + margin) + 1, size.height)),
    )


def _area(box: Box) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
