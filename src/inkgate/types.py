"""The values that every layer speaks in: pages, what is asked of them, and what was read.

Coordinates are pixels of the *upright page*: the page after its EXIF orientation and after
`PageResult.rotation` degrees clockwise. The origin is the top left corner, x grows to the right and y
downwards; a PDF page is measured as rendered at `PageResult.dpi`. Confidences are probabilities in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

RgbArray = NDArray[np.uint8]
"""Pixels, (H, W, 3) uint8 in the order red, green, blue."""

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]
"""Four corners, clockwise from the top left of the text as it is read."""
Box = tuple[float, float, float, float]
"""An upright rectangle: left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int

    @property
    def pixels(self) -> int:
        return self.width * self.height


class TaskKind(StrEnum):
    """What to read. An engine that can't do a kind raises InputRejected("task_unsupported")."""

    TEXT = "text"
    PARSE = "parse"
    TABLE = "table"
    FORMULA = "formula"
    CHART = "chart"
    SPOT = "spot"
    EXTRACT = "extract"
    TRANSLATE = "translate"


@dataclass(frozen=True, slots=True)
class Task:
    """What to read of a page, and how. None means: as the engine's settings say.

    `TEXT` gives lines in reading order; `PARSE` adds blocks and Markdown, at the cost of a layout model.
    `EXTRACT` needs the names of `fields`; `TRANSLATE` needs the `language` to translate into (ISO 639-1).
    `whole_page`: as one image, also by engines that would read it block by block. `image_scale` and
    `max_output_tokens`: less than the engine would take, to save time.
    """

    kind: TaskKind = TaskKind.TEXT
    detect_rotation: bool = True
    line_orientation: bool = True
    min_line_confidence: float | None = None
    detection_threshold: float | None = None
    detection_box_threshold: float | None = None
    detection_unclip_ratio: float | None = None
    detection_longest_side: int | None = None
    fields: tuple[str, ...] = ()
    language: str | None = None
    whole_page: bool = False
    image_scale: float = 1.0
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """One word, or one character of a script that has no spaces."""

    text: str
    quad: Quad
    confidence: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text as found on the page; `words` is empty where the engine can't place them."""

    text: str
    quad: Quad
    confidence: float
    words: tuple[Word, ...] = ()

    @property
    def box(self) -> Box:
        xs = [x for x, _ in self.quad]
        ys = [y for _, y in self.quad]
        return (min(xs), min(ys), max(xs), max(ys))


class BlockType(StrEnum):
    """What a block is to a reader of the page."""

    TITLE = "title"
    TEXT = "text"
    LIST = "list"
    TABLE = "table"
    FIGURE = "figure"
    CAPTION = "caption"
    HEADER = "header"
    FOOTER = "footer"
    REFERENCE = "reference"
    FORMULA = "formula"


@dataclass(frozen=True, slots=True)
class PageError:
    """Why a page, or a part of it, was not read: a stable `code` (docs/reference/errors.md), what happened, what to do.

    `retry_after_s`: when it is worth trying again, where that is known.
    """

    code: str
    detail: str
    remedy: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the page that is read as one.

    Attributes:
        lines: indexes into `PageResult.lines`, in reading order; empty for a figure without text.
        markdown: the block's content as Markdown (a table as a pipe table or HTML).
        level: 1 to 6 for titles, else None.
        confidence: of the block's type, by the layout model; None where geometry alone decided.
        error: why this block was not read, where blocks are read one by one; its text is then empty or partial.
    """

    type: BlockType
    box: Box
    lines: tuple[int, ...]
    text: str
    markdown: str
    level: int | None = None
    confidence: float | None = None
    error: PageError | None = None


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word of `PageResult.text`, from the character `start` on, whose place on the page is not known."""

    text: str
    start: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at reading a page.

    Attributes:
        change: what was different from the first try (`temperature 0.2`, `size 0.7`), and of what (`block 3`) where
            a page is read in parts; empty for the first.
        error: why its answer was not taken; None for the one that was.
        duration_ms: wall time.
    """

    change: str
    error: PageError | None
    duration_ms: float


@dataclass(frozen=True, slots=True)
class PageResult:
    """What was read of one page, the same for every engine.

    Attributes:
        index: the page's number in its document, from 0.
        width, height: of the upright page, in pixels. 0 when the page could not be opened.
        dpi: pixels per inch of the above, when known.
        rotation: degrees clockwise (0, 90, 180, 270) by which the page was turned to stand upright.
        source: `ocr`, or `text_layer` when a PDF's own text was trusted.
        lines: in reading order.
        words: of `text`, in its order, where the engine is sure of words but can't place them; else `lines` has them.
        blocks: in reading order; None when nobody asked (Task kinds other than PARSE).
        text: plain text in reading order, paragraphs set apart by an empty line.
        markdown: None when nobody asked.
        fields: what was found of `Task.fields`, by their names, as JSON has it; None when nobody asked.
        header, footer: running header and footer; None when there is none. `markdown` is without page numbers only.
        engine: who read it, for example `ppocr`.
        timings_ms: wall time by stage (`open`, `render`, `detect`, `recognize`, `layout`, ...).
        degraded: what was given up under pressure; empty when nothing was.
        attempts: how it was read, where an engine tries more than once; empty for one that doesn't.
        error: set when the page could not be read; everything else is then empty or partial.
    """

    index: int
    width: int = 0
    height: int = 0
    dpi: float | None = None
    rotation: int = 0
    source: str = "ocr"
    lines: tuple[Line, ...] = ()
    blocks: tuple[Block, ...] | None = None
    text: str = ""
    markdown: str | None = None
    header: str | None = None
    footer: str | None = None
    engine: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    error: PageError | None = None
    words: tuple[TextWord, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    fields: Mapping[str, object] | None = None

    @property
    def confidence(self) -> float | None:
        """Mean confidence of the lines (or words, without lines), weighted by length; None where there are none."""
        parts: Sequence[Line | TextWord] = self.lines or self.words
        length = sum(len(part.text) for part in parts)
        return sum(part.confidence * len(part.text) for part in parts) / length if length else None

    @property
    def lost(self) -> bool:
        """Whether nothing of the page was read."""
        blocks = any(block.error is None for block in self.blocks or ())
        return self.error is not None and not (self.text or self.markdown or self.lines or blocks or self.fields)


class DocumentStatus(StrEnum):
    """`complete`: every page was read; `partial`: some failed, or in part; `failed`: nothing of any was read."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """The uploaded bytes, and the name they came under (for messages and output files only)."""

    data: bytes
    name: str = "document"


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The pages read, in the document's order.

    Attributes:
        pages: one for each page asked for.
        page_count: of the whole document, whatever was asked for.
        mime_type: found from the bytes, for example `application/pdf` or `image/png`.
        notes: what the asker should know, such as pages asked for that the document doesn't have; for people.
    """

    name: str
    mime_type: str
    byte_count: int
    page_count: int
    engine: str
    pages: tuple[PageResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> DocumentStatus:
        if all(page.error is None for page in self.pages):
            return DocumentStatus.COMPLETE
        return DocumentStatus.FAILED if all(page.lost for page in self.pages) else DocumentStatus.PARTIAL


@dataclass(frozen=True, slots=True)
class Pixels:
    """An image of a page. `scale` is page pixels for one pixel of `rgb` (1.0 or more when shrunk)."""

    rgb: RgbArray
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class TextLayer:
    """The text a PDF page carries itself and that is trusted; coordinates as in `PageResult`."""

    lines: tuple[Line, ...]


class Page(Protocol):
    """One page, opened lazily: its size is known, its pixels are made when asked for.

    `size` is before the page's rotation is detected. `text_layer` is set only when it is to be used. `content_key`
    is the same for pages with the same pixels and text, whatever document they come in; empty where nothing is known
    of that, and such a page is never taken for another.
    """

    @property
    def index(self) -> int: ...

    @property
    def size(self) -> Size: ...

    @property
    def dpi(self) -> float | None: ...

    @property
    def text_layer(self) -> TextLayer | None: ...

    @property
    def content_key(self) -> bytes: ...

    def hold(self) -> AbstractContextManager[None]:
        """Keeps what the pixels are made of open inside, whoever closes the page's document meanwhile.

        For work that is done on behalf of several callers: it must not end with the one whose page it has. To be
        entered while the document is open, and on the event loop.
        """
        ...

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Pixels of the page, shrunk so that the longest side is `longest_side` at most, never enlarged.

        Raises:
            InputRejected: the page is broken, too large, or takes too long to render.
        """
        ...
