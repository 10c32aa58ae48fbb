"""The embedded engine: PP-OCR models on the CPU, through which each page goes step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from inkgate.caller import Caller
from inkgate.engines.attempts import StageTimes
from inkgate.engines.ppocr import brief, orientation, second_reading, stamps
from inkgate.engines.ppocr import lines as text_lines
from inkgate.engines.ppocr.cascade import Cascade, LineReader
from inkgate.engines.ppocr.characters import disambiguate
from inkgate.engines.ppocr.detection import (
    DetectionInput,
    DetectionOptions,
    close_ups,
    longest_side_of,
    unknown_quads,
)
from inkgate.engines.ppocr.doubt import WordDoubt
from inkgate.engines.ppocr.lines import LineCrop, is_short
from inkgate.engines.ppocr.models import BatchedModels, PpocrModels
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.engines.ppocr.scripts import script_notes
from inkgate.engines.ppocr.worker import models_of
from inkgate.engines.workers.model import ModelWorkers
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.arrange import arrange
from inkgate.layout.regions.ink import ink_notes, is_little
from inkgate.layout.regions.ink_clusters import clusters_outside
from inkgate.layout.regions.stamps import StampArea, find_stamps
from inkgate.page import Page, RgbArray
from inkgate.runtimes.base import FloatArray, Runtime
from inkgate.serving.batching import Batchers
from inkgate.settings import PpocrSettings, Quality
from inkgate_client.concurrency import Threads
from inkgate_client.types import Block, Box, Line, PageResult, ReviewNote, ReviewReason, Size, Task, TaskKind

Number = TypeVar("Number", int, float)
KINDS = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks of this engine. The result of `spot`, lines with their boxes, is the same as of `text`."""


@dataclass(frozen=True, slots=True)
class _RotatedImage:
    """An image of the page rotated clockwise by `degrees`, and the boxes (N, 4, 2) found on it, in its pixels.
    `explained`: there was no other ink that looks like writing.
    """

    rgb: RgbArray
    quads: FloatArray
    degrees: int = 0
    explained: bool = False


@dataclass(frozen=True, slots=True)
class PpOcrPage:
    """A page that PP-OCR reads with the options of one task."""

    models: BatchedModels
    analysis: PageAnalysis
    threads: Threads
    detections: Threads
    settings: PpocrSettings
    task: Task
    stages: StageTimes = field(default_factory=StageTimes)

    async def read(self, page: Page) -> PageResult:
        """The page's content. See PpOcr.read."""
        with self.stages.of("render"):
            pixels = await page.pixels(longest_side_of(page.size, self._scaled(self.settings.reading_longest_side)))
        view = await self._find(pixels.rgb)
        parse = self.task.kind is TaskKind.PARSE
        view, lines, areas, gaps = await self._recognize(view, pixels.scale)
        evidence = await self.threads.run(partial(self.analysis.look, parse=parse), view.rgb, pixels.scale, lines)
        with self.stages.of("ink"):
            unread = tuple(ReviewNote(ReviewReason.INK_WITHOUT_TEXT, box=box) for box in gaps)
            notes = (*unread, *await self._unread(view, pixels.scale, lines))
        sideways = view.degrees in {90, 270}
        size = Size(page.size.height, page.size.width) if sideways else page.size
        with self.stages.of("arrange"):
            arranged = await self.threads.run(arrange, lines, size, evidence)
        result = PageResult(
            index=page.index,
            width=size.width,
            height=size.height,
            dpi=page.dpi,
            rotation=view.degrees,
            engine="ppocr",
            timings_ms={**self.stages.spent_ms, **evidence.timings_ms},
        )
        result = arranged.put_into(result, parse=parse).with_notes(notes)
        found = await self._read_stamps(view.rgb, areas, pixels.scale)
        if not found:
            return result
        timings = {**result.timings_ms, **self.stages.spent_ms}
        return replace(result, blocks=(*(result.blocks or ()), *found), timings_ms=timings)

    async def _unread(self, view: _RotatedImage, scale: float, lines: Sequence[Line]) -> tuple[ReviewNote, ...]:
        """Notes of writing that is in none of the legible lines, of lines that may be no text, and of other scripts."""
        sure = view.explained and len(lines) == len(view.quads) and not is_little(lines)
        notes = () if sure else await self.threads.run(ink_notes, view.rgb, scale, lines)
        return (*notes, *await self.threads.run(script_notes, view.rgb, scale, view.quads, lines, notes))

    async def _find(self, rgb: RgbArray) -> _RotatedImage:
        """The page, rotated upright if that is certain, and its boxes."""
        degrees = await self._likely_rotation(rgb) if self.task.detect_rotation else 0
        if degrees:
            view = await self._detect(await self.threads.run(orientation.rotate_page, rgb, degrees), degrees)
            if await self._stands(view):
                return view
        return await self._detect(rgb, 0)

    async def _likely_rotation(self, rgb: RgbArray) -> int:
        with self.stages.of("orient"):
            (rotation,) = await self.threads.run(self.models.page_orientation.predict, [rgb])
        return rotation.degrees if orientation.worth_trying(rotation) else 0

    async def _detect(self, rgb: RgbArray, degrees: int) -> _RotatedImage:
        with self.stages.of("detect"):
            item = DetectionInput(rgb, self._detection_options())
            (boxes,) = await self.detections.run(self.models.detector.predict, [item])
            view = _RotatedImage(rgb, boxes.quads, degrees)
            # Less than the whole image under degradation, which leaves no time for this.
            return await self._look_closer(view) if self.task.image_scale >= 1 else view

    async def _look_closer(self, view: _RotatedImage) -> _RotatedImage:
        """The page with the boxes, too, that the detector finds in close-ups of ink that none of them explains."""
        quads = view.quads
        clusters = await self.threads.run(clusters_outside, view.rgb, quads)
        looked_at = await self.threads.run(close_ups, view.rgb, clusters, len(quads))
        if not looked_at:
            return replace(view, explained=True)
        items = [part.item(self._detection_options()) for part in looked_at]
        found = await self.detections.run(self.models.detector.predict, items)
        for part, boxes in zip(looked_at, found, strict=True):
            quads = np.concatenate([quads, unknown_quads(part.on_page(boxes.quads), quads)])
        return replace(view, quads=quads)

    def _scaled(self, side: int) -> int:
        return max(1, round(side * self.task.image_scale))

    def _detection_options(self) -> DetectionOptions:
        task, settings = self.task, self.settings
        return DetectionOptions(
            longest_side=self._scaled(_or(task.detection_longest_side, settings.longest_side)),
            shortest_side=settings.shortest_side,
            threshold=_or(task.detection_threshold, settings.threshold),
            box_threshold=_or(task.detection_box_threshold, settings.box_threshold),
            unclip_ratio=_or(task.detection_unclip_ratio, settings.unclip_ratio),
        )

    async def _stands(self, view: _RotatedImage) -> bool:
        """Whether the lines of a rotated page show that it is now upright."""
        if not orientation.is_horizontal(view.quads):
            return False
        with self.stages.of("orient"):
            crops = await self.threads.run(text_lines.crops_of, view.rgb, orientation.longest_lines(view.quads))
            turned = await self.threads.run(text_lines.rotate_boxes, view.rgb, crops)
            return orientation.is_upright(await self._read(crops), await self._read(turned))

    async def _read(self, found: Sequence[LineCrop]) -> list[RecognizedText]:
        return await self.models.reader.predict([item.pixels for item in found])

    async def _recognize(
        self, view: _RotatedImage, scale: float
    ) -> tuple[_RotatedImage, list[Line], list[StampArea], list[Box]]:
        """The page, upright according to its lines; its legible lines, in page pixels, in no particular order; its
        stamps if blocks are wanted, in pixels of the image; and boxes of unread ink in columns, in page pixels.
        """
        with self.stages.of("recognize"):
            found = await self.threads.run(text_lines.crops_of, view.rgb, view.quads)
            read = list(zip(found, await self._read(found), strict=True))
            if self.task.line_orientation:
                await self._look_twice(view.rgb, read)
            min_confidence = _or(self.task.min_line_confidence, self.settings.min_line_confidence)
            thorough = self.settings.quality is not Quality.FAST
            if thorough and self.task.image_scale >= 1:  # less under degradation, which leaves no time for this
                await self._read_again(view.rgb, read, min_confidence)
                await self._read_columns(read, min_confidence)
            if self.task.detect_rotation:
                view, read = await self.threads.run(_set_upright, view, read)
            areas = await self._stamps(view.rgb, read)
            legible = [line for line in read if text_lines.is_legible(line[1], min_confidence)]
            gaps = await self.threads.run(second_reading.boxes_of, legible, scale)
            return view, await self.threads.run(self._lines_of, read, scale, min_confidence), areas, gaps

    async def _stamps(self, rgb: RgbArray, read: list[tuple[LineCrop, RecognizedText]]) -> list[StampArea]:
        """The stamps of the page. What they cover is read again without their ink."""
        if self.task.kind is not TaskKind.PARSE or self.task.image_scale < 1:
            return []
        areas = await self.threads.run(find_stamps, rgb)
        doubtful = stamps.lines_under(read, areas)
        if doubtful:
            clean = await self.threads.run(stamps.without_ink, rgb, areas)
            crops = await self.threads.run(stamps.crops_of, clean, [read[at][0].quad for at in doubtful])
            again = await self.models.recognizer.predict(crops)
            second_reading.replace_worse(read, doubtful, again)
        return areas

    async def _read_stamps(self, rgb: RgbArray, areas: Sequence[StampArea], scale: float) -> list[Block]:
        """A block for each stamp, with its text."""
        blocks = []
        with self.stages.of("stamps"):
            for area in areas:
                parts = await self.threads.run(stamps.parts_of, rgb, area)
                read = await self.models.recognizer.predict(parts.images)
                blocks.append(stamps.block_of(parts, read, scale))
        return blocks

    def _lines_of(self, read: list[tuple[LineCrop, RecognizedText]], scale: float, min_confidence: float) -> list[Line]:
        """The legible lines, in page pixels, with doubtful characters decided."""
        if self.settings.disambiguate_characters:
            read = brief.disambiguated(read, min_confidence)
        lines = text_lines.legible_lines(read, min_confidence)
        if self.settings.disambiguate_characters:
            readings = disambiguate([line.reading for line in lines])
            lines = [replace(line, reading=reading) for line, reading in zip(lines, readings, strict=True)]
        return text_lines.lines_of(lines, scale)

    async def _look_twice(self, rgb: RgbArray, read: list[tuple[LineCrop, RecognizedText]]) -> None:
        """Replaces upside-down lines by their rotated versions; short ones only if the page is upside down."""
        unsure = [at for at, line in enumerate(read) if not text_lines.is_certain(line[1]) and not is_short(*line)]
        upside_down = zip(unsure, await self._upside_down(read, unsure), strict=True)
        doubtful = [at for at, probability in upside_down if text_lines.may_be_upside_down(read[at][1], probability)]
        for index, (item, reading) in zip(doubtful, await self._turned(rgb, read, doubtful), strict=True):
            if text_lines.is_clearly_better(reading, than=read[index][1]):
                read[index] = item, reading
        short = [at for at, line in enumerate(read) if is_short(*line)]
        against = orientation.against_the_page(read, short)
        if against is None and orientation.may_be_upside_down(read, short, await self._upside_down(read, short)):
            turned = await self._turned(rgb, read, short)
            if orientation.is_upside_down([read[at][1] for at in short], [reading for _, reading in turned]):
                against = short
        for index, line in zip(against or [], await self._turned(rgb, read, against or []), strict=True):
            read[index] = line

    async def _upside_down(self, read: Sequence[tuple[LineCrop, RecognizedText]], at: Sequence[int]) -> list[float]:
        """The line classifier's probability that each of the lines `at` is upside down."""
        return await self.models.line_orientation.predict([read[index][0].pixels for index in at])

    async def _turned(
        self, rgb: RgbArray, read: Sequence[tuple[LineCrop, RecognizedText]], at: Sequence[int]
    ) -> list[tuple[LineCrop, RecognizedText]]:
        """The lines `at`, rotated by 180 degrees."""
        turned = await self.threads.run(text_lines.rotate_boxes, rgb, [read[index][0] for index in at])
        return list(zip(turned, await self._read(turned), strict=True))

    async def _read_again(
        self, rgb: RgbArray, read: list[tuple[LineCrop, RecognizedText]], min_confidence: float
    ) -> None:
        """Replaces readings of doubtful lines by more confident ones. `min_confidence`: confidence of legible lines."""
        below = self.settings.second_reading_below
        doubtful = [
            at for at, (_, reading) in enumerate(read) if second_reading.is_doubtful(reading, min_confidence, below)
        ]
        if not doubtful:
            return
        crops = await self.threads.run(second_reading.tight_crops, rgb, [read[at][0].quad for at in doubtful])
        again = await self.models.recognizer.predict(crops)
        second_reading.replace_worse(read, doubtful, again)

    async def _read_columns(self, read: list[tuple[LineCrop, RecognizedText]], min_confidence: float) -> None:
        """Adds to columns of vertical text what their first reading skipped."""
        legible = [at for at, line in enumerate(read) if text_lines.is_legible(line[1], min_confidence)]
        columns = [at for at in legible if second_reading.is_column(*read[at])]
        for grain in second_reading.GRAINS:
            columns = [at for at in columns if second_reading.gaps_of(*read[at])]
            crops = [second_reading.faint(read[at][0].pixels, grain) for at in columns]
            again = await self.models.recognizer.predict(crops) if crops else []
            for index, second in zip(columns, again, strict=True):
                item, first = read[index]
                read[index] = item, second_reading.with_gaps_filled(item, first, second)


def _set_upright(
    view: _RotatedImage, read: list[tuple[LineCrop, RecognizedText]]
) -> tuple[_RotatedImage, list[tuple[LineCrop, RecognizedText]]]:
    """The page and its lines, rotated the way most of these were read."""
    degrees = orientation.needed_rotation(read)
    if not degrees:
        return view, read
    height, width = view.rgb.shape[:2]

    def turned(quads: FloatArray) -> FloatArray:
        return orientation.rotate_quads(quads, degrees, width, height)

    rgb = orientation.rotate_page(view.rgb, degrees)
    lines = [(replace(item, quad=turned(item.quad)), reading) for item, reading in read]
    return replace(view, rgb=rgb, quads=turned(view.quads), degrees=(view.degrees + degrees) % 360), lines


def _or(chosen: Number | None, default: Number) -> Number:
    return default if chosen is None else chosen


class PpOcr:
    """An Engine. Reads all pages that it is given at once, so callers wait for a turn in a WorkQueue first."""

    name = "ppocr"

    def __init__(
        self,
        settings: PpocrSettings,
        analysis: PageAnalysis,
        models: Runtime | ModelWorkers,
        batchers: Batchers | None = None,
    ) -> None:
        """`models`: run in this process or in workers. `batchers`: for the models that read lines; None: of the
        settings, within each page.
        """
        self._settings = settings
        self._load = (
            partial(models_of, models, settings.quality)
            if isinstance(models, ModelWorkers)
            else partial(PpocrModels.load, models, settings.quality)
        )
        self._batchers = batchers or Batchers(settings.batching)
        self._analysis = analysis
        self._threads = Threads("ppocr", settings.concurrent_pages + 1)  # the queue gives an extra turn at times
        # One page is detected at a time per process: detection needs by far the most memory, and one call of the model
        # uses all cores anyway.
        self._detections = Threads("ppocr_detection", max(settings.workers, 1))
        self._models: BatchedModels | None = None

    async def start(self) -> None:
        """Loads the models.

        Raises:
            EngineFailed: "engine_unavailable": a model file is missing or broken; "provider_unavailable": a GPU.
        """
        try:
            models = await self._threads.run(self._load)
        except EngineFailed:
            raise
        except Exception as error:  # runtimes raise any exception for a broken file
            raise EngineFailed("engine_unavailable", "The embedded engine's models could not be loaded.") from error
        recognizer = self._batchers(models.recognizer, "recognizer")
        self._models = BatchedModels(
            models.detector,
            models.page_orientation,
            self._reader(models, recognizer),
            recognizer,
            self._batchers(models.line_orientation, "line_orientation"),
        )

    def _reader(self, models: PpocrModels, recognizer: LineReader) -> LineReader:
        if models.quick_recognizer is None:
            return recognizer
        quick = self._batchers(models.quick_recognizer, "quick_recognizer")
        return Cascade(quick, recognizer, WordDoubt.load().of, self._threads)

    async def stop(self) -> None:
        self._models = None

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:  # noqa: ARG002 - its page has its turn
        """Reads the page. A call of a model is not cancelled: a cancelled page ends with the call that runs.

        `timings_ms` has: render, orient, detect, recognize, ink, layout, tables, ruling, arrange.
        """
        if task.kind not in KINDS:
            from inkgate.engines.vlm.presets import presets_with  # only for the message

            detail = f"The embedded engine does not support {task.kind.value!r}. {presets_with(task.kind)}"
            raise InputRejected("task_unsupported", detail)
        if self._models is None:
            raise EngineFailed("engine_unavailable", "The embedded engine has not been started.")
        reading = PpOcrPage(self._models, self._analysis, self._threads, self._detections, self._settings, task)
        try:
            return await reading.read(page)
        except InkgateError:
            raise
        except Exception as error:  # one page's failure must not spread: native code raises any exception
            raise EngineFailed("engine_failed", "The embedded engine failed on this page.") from error
