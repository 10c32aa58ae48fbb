"""Value types of all layers: documents, tasks and results. They need no NumPy, so clients do without it.

Coordinates are pixels of the *upright page*: the page after its EXIF orientation and after
`PageResult.rotation` degrees clockwise. The origin is the top left corner, x grows to the right and y
downwards; a PDF page is measured as rendered at `PageResult.dpi`. Confidences are probabilities in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from inkgate_client.block_image import BlockImage
from inkgate_client.diagram import Diagram
from inkgate_client.term_correction import TermCorrection

JsonValue = str | int | float | bool | None
"""A value of a field."""

Point = tuple[float, float]
Quad = tuple[Point, Point, Point, Point]
"""Four corners, clockwise from the top left of the text as it is read."""
Box = tuple[float, float, float, float]
"""An upright rectangle: left, top, right, bottom."""


def box_of_quad(quad: Quad) -> Box:
    """The upright rectangle around four corners."""
    xs = [x for x, _ in quad]
    ys = [y for _, y in quad]
    return (min(xs), min(ys), max(xs), max(ys))


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height in pixels."""

    width: int
    height: int

    @property
    def pixels(self) -> int:
        return self.width * self.height


class TaskKind(StrEnum):
    """What to read. Engines raise InputRejected("task_unsupported") for kinds that they don't support."""

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
    """What to read of a page, and how. None: the engine's setting.

    `TEXT` gives lines in reading order; `PARSE` adds blocks and Markdown, at the cost of a layout model.
    `EXTRACT` needs the names of `fields`; `TRANSLATE` needs the `language` to translate into (ISO 639-1).
    `whole_page`: as one image, even by engines that read block by block. `image_scale` and `max_output_tokens` save
    time by a smaller image and a shorter output. `images`: the figures of pages to PARSE are kept as images.
    `invisible`: the text of invisible parts of a PDF's text layer is reported (`LeftOutReason.INVISIBLE`).
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
    images: bool = False
    invisible: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word, or one character of a script that has no spaces."""

    text: str
    quad: Quad
    confidence: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text on the page; `words` is empty if the engine can't locate them."""

    text: str
    quad: Quad
    confidence: float
    words: tuple[Word, ...] = ()

    @property
    def box(self) -> Box:
        return box_of_quad(self.quad)


class BlockType(StrEnum):
    """The role of a block on the page."""

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
    BARCODE = "barcode"
    STAMP = "stamp"
    CHECKBOX = "checkbox"


MARK_TYPES = frozenset({BlockType.BARCODE, BlockType.STAMP, BlockType.CHECKBOX})
"""Marks beside or over the text. Their blocks have neither lines nor text, and no place in the reading order: they
stand behind the other blocks.
"""


PICTURE_TYPES = frozenset({BlockType.FIGURE, BlockType.STAMP})
"""Blocks whose pixels say more than their text."""


@dataclass(frozen=True, slots=True)
class PageError:
    """Why a page or a block was not read: a stable `code` (docs/reference/errors.md), what happened, and what to do.

    `retry_after_s`: seconds after which to retry, if known.
    """

    code: str
    detail: str
    remedy: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table.

    Attributes:
        row, column: of its first place, from 0.
        row_span, column_span: 1 or more.
        lines: indexes into `PageResult.lines`, in reading order; empty if the cell is empty.
        box: around the cell, or around its text if no more is known; None for an empty cell without a known place.
        confidence: mean of its lines, weighted by length; None for an empty cell.
        header: names a column or a row.
    """

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1
    lines: tuple[int, ...] = ()
    box: Box | None = None
    confidence: float | None = None
    header: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a table by row, then by column. Each place of the grid belongs to one cell.

    Attributes:
        rows, columns: size of the grid; 1 or more.
        continues: the table goes on from one on the page before.
    """

    rows: int
    columns: int
    cells: tuple[TableCell, ...]
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Barcode:
    """A bar code or two-dimensional code.

    Attributes:
        format: such as `QRCode`, `PDF417`, `Code128`, `EAN13`.
        text: its content.
        quad: its corners in its own direction.
        content: the standard that the text follows: `cn_vat_invoice`, `epc_payment`, `swiss_payment`, `id_card`,
            `boarding_pass`, `invoice_xml` (a file inside the PDF, at no place); empty if it follows none of these.
        parsed: the values by name, as texts: dates in ISO 8601, amounts with a decimal point; empty without `content`.
    """

    format: str
    text: str
    quad: Quad
    content: str = ""
    parsed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The imprint of a stamp. `shape`: `round`, `oval` or `rectangle`; `colour`: `red` or `blue`. `text`: what it says;
    `confidence`: of the text; None without.
    """

    text: str
    shape: str
    colour: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class CheckMark:
    """A box to tick. `label`: the text beside it; empty if there is none. `confidence`: that `checked` is right."""

    checked: bool
    label: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the page, such as a paragraph or a table.

    Attributes:
        lines: indexes into `PageResult.lines`, in reading order; empty for a figure without text.
        markdown: the block's content as Markdown (a table as a pipe table or HTML).
        level: 1 to 6 for titles, else None.
        confidence: that its text, its type and its place in the order are right; None without recognised text.
        type_confidence, order_confidence: of its type, and that it is to be read after the block before; None: unknown.
        table: cells of a table; None for other types, and for tables whose cells are unknown.
        barcode, stamp, checkbox: of a block of this type; None for other types.
        image: of a block of PICTURE_TYPES; None for other types, if not requested (`Task.images`), and beyond the
            limits of a page and a document.
        diagram: of a figure that is one, from engines that read charts; None for others.
        error: why this block was not read, for engines that read block by block; its text is then empty or partial.
    """

    type: BlockType
    box: Box
    lines: tuple[int, ...]
    text: str
    markdown: str
    level: int | None = None
    confidence: float | None = None
    error: PageError | None = None
    type_confidence: float | None = None
    table: Table | None = None
    barcode: Barcode | None = None
    stamp: Stamp | None = None
    checkbox: CheckMark | None = None
    image: BlockImage | None = None
    diagram: Diagram | None = None
    order_confidence: float | None = None


class LeftOutReason(StrEnum):
    """Why recognised text is not in the Markdown. `INVISIBLE`: it is in a PDF's text layer, but the page does not show
    it; it is not in `PageResult.lines` either.
    """

    PAGE_NUMBER = "page_number"
    RUNNING_HEADER = "running_header"
    RUNNING_FOOTER = "running_footer"
    SIDE_STAMP = "side_stamp"
    FIGURE_TEXT = "figure_text"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Recognised text that is not in the Markdown.

    Attributes:
        text: empty for invisible text unless it was requested (`Task.invisible`).
        lines, box: indexes into `PageResult.lines`, empty for invisible text; a box around that, else None.
    """

    text: str
    reason: LeftOutReason
    lines: tuple[int, ...]
    box: Box | None = None


class ReviewReason(StrEnum):
    """Why a person should look at a page; docs/guides/accuracy.md explains them. `PLACEHOLDER`: the page only says to
    open the document with another program. `FONT_MISSING`: the page could not be drawn as intended. `DOUBTFUL_LAYER`: a
    PDF's text layer and what the page shows disagree.
    """

    UNCERTAIN_TEXT = "uncertain_text"
    UNCERTAIN_ORDER = "uncertain_order"
    UNCERTAIN_TABLE = "uncertain_table"
    UNCERTAIN_HEADINGS = "uncertain_headings"
    NOT_READ = "not_read"
    INK_WITHOUT_TEXT = "ink_without_text"
    SCRIPT_UNSUPPORTED = "script_unsupported"
    CUT_OFF = "cut_off"
    PLACEHOLDER = "placeholder"
    FONT_MISSING = "font_missing"
    DOUBTFUL_LAYER = "doubtful_layer"


@dataclass(frozen=True, slots=True)
class ReviewNote:
    """What and where a person should look at. `detail`: for people, such as the name of a script or font; may be empty.
    `box`: the place on the page; None: all of it.
    """

    reason: ReviewReason
    detail: str = ""
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word of `PageResult.text` that begins at character `start`; its position on the page is unknown."""

    text: str
    start: int
    confidence: float


def mean_confidence(parts: Sequence[Line | TextWord]) -> float | None:
    """Mean confidence of lines or words, weighted by length; None without text."""
    length = sum(len(part.text) for part in parts)
    return sum(part.confidence * len(part.text) for part in parts) / length if length else None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to read a page.

    Attributes:
        change: the difference to the first attempt (`temperature 0.2`, `size 0.7`), with the block (`block 3`) if
            blocks are read one by one; empty for the first.
        error: why its output was rejected; None for the accepted one.
        duration_ms: wall time.
    """

    change: str
    error: PageError | None
    duration_ms: float


@dataclass(frozen=True, slots=True)
class PageResult:
    """The result of one page, in the same form for every engine.

    Attributes:
        index: the page's number in its document, from 0.
        width, height: of the upright page, in pixels; 0 if the page could not be opened.
        dpi: pixels per inch of these, if known.
        rotation: degrees clockwise (0, 90, 180, 270) by which the page was rotated to be upright.
        source: `ocr`; `text_layer` if the text inside a PDF was used; `mixed` if parts of the page were read from its
            pixels beside that. Lines of a text layer have confidence 1.0, and no others do.
        lines: in reading order.
        words: of `text`, in order, from engines that report words without positions; else they are in `lines`.
        blocks: in reading order, then those of MARK_TYPES; None if not requested: Task kinds other than PARSE,
            and a CHART that is no diagram.
        text: plain text in reading order, with an empty line between paragraphs.
        markdown: None if not requested.
        fields: values of `Task.fields` by name, as JSON values; None if not requested.
        header, footer: running header and footer, or None.
        left_out: recognised text that `markdown` does not contain; each other line is in it once.
        corrections: words that became terms of the domain (the setting `terms.files`).
        review: why a person should look at the page; empty if nobody needs to.
        review_notes: details of some of these reasons.
        attachments, links: of a page of a PDF, names of pinned files, which were not read, and addresses in links.
        engine: the engine that read it, for example `ppocr`.
        timings_ms: wall time by stage (`open`, `render`, `detect`, `recognize`, `layout`, ...).
        degraded: codes of what was given up, such as under load; `notes` of the document say what they mean.
        attempts: all attempts, for engines that retry; else empty.
        error: set if the page could not be read; everything else is then empty or partial.
        confidence: that the whole text is right, and its order; of pages without lines, the mean of its words. None
            without either. Engines leave it to layout/confidence.py.
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
    left_out: tuple[LeftOut, ...] = ()
    review: tuple[ReviewReason, ...] = ()
    confidence: float | None = None
    corrections: tuple[TermCorrection, ...] = ()
    review_notes: tuple[ReviewNote, ...] = ()
    attachments: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether the page failed without any partial result."""
        blocks = any(block.error is None for block in self.blocks or ())
        return self.error is not None and not (self.text or self.markdown or self.lines or blocks or self.fields)

    def with_notes(self, notes: Sequence[ReviewNote]) -> PageResult:
        """The page with more notes for review, and their reasons."""
        if not notes:
            return self
        reasons = {*self.review, *(note.reason for note in notes)}
        review = tuple(reason for reason in ReviewReason if reason in reasons)
        return replace(self, review=review, review_notes=(*self.review_notes, *notes))


class DocumentStatus(StrEnum):
    """`complete`: every page was read; `partial`: some pages or blocks failed; `failed`: no page has any result."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """The uploaded bytes and their file name (for messages and output files only)."""

    data: bytes
    name: str = "document"


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The pages read, in the document's order.

    Attributes:
        pages: one for each requested page. page_count: of the whole document.
        mime_type: detected from the bytes, for example `application/pdf` or `image/png`.
        engine: those that read its pages, joined by `+`; `text_layer` if no page needed one.
        notes: messages for people, such as requested pages that the document doesn't have.
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

    @property
    def needs_review(self) -> tuple[int, ...]:
        """Indexes of the pages that a person should look at."""
        return tuple(page.index for page in self.pages if page.review)


class ReadError(Exception):
    """A document was not read: an InkgateError of this process, or a ServiceError. `code`, as docs/reference/errors.md
    lists it, `title` and `remedy` are empty if a service sent none.
    """

    code: str
    title: str
    detail: str
    remedy: str
    status: int | None
    retry_after_s: float | None

    @property
    def rejected(self) -> bool:
        """Whether the document or the request has to be changed: another attempt fails in the same way."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in {408, 429}

    @property
    def unavailable(self) -> bool:
        """Whether it says nothing about the document: the reader can't be used, or refuses every document."""
        return False
