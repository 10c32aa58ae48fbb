"""Results as JSON and back, in two forms.

Exact, for what inkgate keeps: `dump_page` and `load_page` lose nothing. It has the fields of `PageResult`, and a
version; data of another version is refused.

Published, for clients: `page_to_dict` and `document_to_dict`, as formats/schema.json describes. Coordinates
are rounded to 0.1 pixels, confidences to 4 digits, times to 0.1 ms, which exceeds every engine's precision. Values that
were not requested or are unknown are null; no key is ever omitted. `parse_page` and `parse_document` read it, and
ignore keys of later versions.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
from math import isfinite
from typing import Any, Literal, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from inkgate_client.block_image import BlockImage
from inkgate_client.coordinates import Coordinates, as_sent, as_upright, rounded
from inkgate_client.diagram import Diagram
from inkgate_client.table_html import html_of
from inkgate_client.term_correction import TermCorrection
from inkgate_client.types import (
    Attempt,
    Barcode,
    Block,
    Box,
    CheckMark,
    DocumentResult,
    LeftOut,
    Line,
    PageError,
    PageResult,
    ReviewNote,
    Stamp,
    Table,
    TableCell,
    TextWord,
    Word,
)

Json = dict[str, Any]
T = TypeVar("T")

EXACT_VERSION: Literal[3] = 3
"""Incremented when `load_page` can't read what an earlier `dump_page` wrote."""
SCHEMA_VERSION: Literal[1] = 1
"""Incremented if readers of published JSON must change: a key is renamed or removed, or its meaning changes."""

MAX_COORDINATE = 1_000_000
"""The largest coordinate, in pixels. Larger pages and places are refused in published JSON."""
MAX_PLACES = 200_000
"""Places (rows x columns) of all tables of a page in published JSON. An A4 page in the smallest print has a tenth."""
_MAX_REASON, _MAX_KEY = 200, 40
"""Characters of the reason why JSON is refused, and of a key in it: a stranger may have written them."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def estimated_bytes(page: PageResult) -> int:
    """Returns about how many bytes the page has as JSON, for choosing where it is encoded."""
    size = len(page.text) + len(page.markdown or "")
    size += sum(_PLACED_BYTES * (1 + len(line.words)) for line in page.lines or ())
    for block in page.blocks or ():
        size += _BLOCK_BYTES + len(block.text) + len(block.markdown)
        size += 0 if block.image is None else len(block.image.base64)
    return size


_PLACED_BYTES = 140
"""Bytes of a line or word, with its corners."""
_BLOCK_BYTES = 200


def dump_page(page: PageResult) -> bytes:
    """The exact form of `page`. Mappings become dicts, NumPy's numbers Python's.

    Raises:
        TypeError: a field holds a value that JSON can't represent.
    """
    stored = {"version": EXACT_VERSION, "page": page}
    try:
        return orjson.dumps(stored, default=_plain)
    except TypeError:  # a lone surrogate, as in some PDFs: orjson refuses it, the standard library escapes it
        return json.dumps(stored, default=_plain).encode()


def load_page(data: bytes) -> PageResult:
    """The page that `dump_page` wrote.

    Raises:
        ValueError: `data` is not the exact form of a page, or of another version.
    """
    try:
        return _STORED_PAGE.validate_json(data).page
    except ValidationError:  # pydantic's JSON parser refuses lone surrogates
        try:
            return _STORED_PAGE.validate_python(json.loads(data)).page
        except RecursionError:
            raise ValueError("nested too deeply") from None


def parse_page(data: bytes) -> PageResult:
    """The page of which `data` is the published form, in upright coordinates.

    Raises:
        ValueError: `data` is not a published page. It says where, and what is wrong there.
    """
    return _upright(_parsed(_PUBLISHED_PAGE, data))


def parse_document(data: bytes) -> DocumentResult:
    """The document of which `data` is the published form, in upright coordinates.

    Raises:
        ValueError: `data` is not a published document, or of another `SCHEMA_VERSION`. It says where, and what is
            wrong there.
    """
    document = _parsed(_PUBLISHED_DOCUMENT, data)
    return DocumentResult(
        name=document.name,
        mime_type=document.mime_type,
        byte_count=document.byte_count,
        page_count=document.page_count,
        engine=document.engine,
        pages=tuple(_upright(page) for page in document.pages),
        notes=document.notes,
    )


def document_to_dict(result: DocumentResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> Json:
    """The published form of a document: plain dicts, lists, numbers and strings that UTF-8 can encode."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": encodable(result.name),
        "mime_type": result.mime_type,
        "byte_count": result.byte_count,
        "page_count": result.page_count,
        "engine": result.engine,
        "status": result.status.value,
        "notes": [encodable(note) for note in result.notes],
        "pages": [page_to_dict(page, coordinates) for page in result.pages],
        "needs_review": list(result.needs_review),  # after the pages: writers page by page know it then
    }


def page_to_dict(page: PageResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> Json:
    """The published form of a page: plain dicts, lists, numbers and strings that UTF-8 can encode."""
    page = as_sent(page) if coordinates is Coordinates.SENT else page
    return {
        "index": page.index,
        "width": page.width,
        "height": page.height,
        "dpi": None if page.dpi is None else _rounded(page.dpi, 1),
        "rotation": page.rotation,
        "coordinates": coordinates.value,
        "source": page.source,
        "engine": page.engine,
        "confidence": _confidence(page.confidence),
        "text": encodable(page.text),
        "markdown": _optional(page.markdown),
        "fields": None if page.fields is None else _json(page.fields),
        "header": _optional(page.header),
        "footer": _optional(page.footer),
        "lines": [_line(line) for line in page.lines],
        "words": [_text_word(word) for word in page.words],
        "blocks": None if page.blocks is None else [_block(block) for block in page.blocks],
        "left_out": [_left_out(part) for part in page.left_out],
        "corrections": [_correction(each) for each in page.corrections],
        "review": [reason.value for reason in page.review],
        "review_notes": [_review_note(note) for note in page.review_notes],
        "attachments": [encodable(name) for name in page.attachments],
        "links": [encodable(link) for link in page.links],
        "timings_ms": {stage: _rounded(spent, 1) for stage, spent in page.timings_ms.items()},
        "degraded": list(page.degraded),
        "attempts": [_attempt(attempt) for attempt in page.attempts],
        "error": None if page.error is None else _error(page.error),
    }


def _line(line: Line) -> Json:
    return {**_placed(line), "words": [_placed(word) for word in line.words]}


def _placed(text: Line | Word) -> Json:
    return {
        "text": encodable(text.text),
        "quad": [rounded(corner) for corner in text.quad],
        "confidence": _confidence(text.confidence),
    }


def _block(block: Block) -> Json:
    return {
        "type": block.type.value,
        "box": rounded(block.box),
        "lines": list(block.lines),
        "text": encodable(block.text),
        "markdown": encodable(block.markdown),
        "level": block.level,
        "confidence": _confidence(block.confidence),
        "type_confidence": _confidence(block.type_confidence),
        "order_confidence": _confidence(block.order_confidence),
        "table": None if block.table is None else _table(block.table),
        "barcode": None if block.barcode is None else _barcode(block.barcode),
        "stamp": None if block.stamp is None else _stamp(block.stamp),
        "checkbox": None if block.checkbox is None else _checkbox(block.checkbox),
        "image": None if block.image is None else _image(block.image),
        "diagram": None if block.diagram is None else _diagram(block.diagram),
        "error": None if block.error is None else _error(block.error),
    }


def _barcode(code: Barcode) -> Json:
    return {
        "format": code.format,
        "text": encodable(code.text),
        "quad": [rounded(corner) for corner in code.quad],
        "content": code.content,
        "parsed": {name: encodable(value) for name, value in code.parsed.items()},
    }


def _stamp(stamp: Stamp) -> Json:
    return {
        "text": encodable(stamp.text),
        "shape": stamp.shape,
        "colour": stamp.colour,
        "confidence": _confidence(stamp.confidence),
    }


def _checkbox(mark: CheckMark) -> Json:
    return {"checked": mark.checked, "label": encodable(mark.label), "confidence": _confidence(mark.confidence)}


def _image(image: BlockImage) -> Json:
    return {
        "name": image.name,
        "mime_type": image.mime_type,
        "width": image.width,
        "height": image.height,
        "base64": image.base64,
    }


def _diagram(diagram: Diagram) -> Json:
    return {
        "kind": diagram.kind,
        "mermaid": encodable(diagram.mermaid),
        "check": diagram.check.value,
        "problem": encodable(diagram.problem),
        "repairs": [repair.value for repair in diagram.repairs],
    }


def _table(table: Table) -> Json:
    return {
        "rows": table.rows,
        "columns": table.columns,
        "continues": table.continues,
        "cells": [_cell(cell) for cell in table.cells],
        "html": encodable(html_of(table)),
    }


def _cell(cell: TableCell) -> Json:
    return {
        "row": cell.row,
        "column": cell.column,
        "row_span": cell.row_span,
        "column_span": cell.column_span,
        "text": encodable(cell.text),
        "lines": list(cell.lines),
        "box": None if cell.box is None else rounded(cell.box),
        "confidence": _confidence(cell.confidence),
        "header": cell.header,
    }


def _left_out(part: LeftOut) -> Json:
    return {
        "text": encodable(part.text),
        "reason": part.reason.value,
        "lines": list(part.lines),
        "box": None if part.box is None else rounded(part.box),
    }


def _review_note(note: ReviewNote) -> Json:
    return {
        "reason": note.reason.value,
        "detail": encodable(note.detail),
        "box": None if note.box is None else rounded(note.box),
    }


def _correction(each: TermCorrection) -> Json:
    return {"line": each.line, "text": encodable(each.text), "read_as": encodable(each.read_as)}


def _text_word(word: TextWord) -> Json:
    return {"text": encodable(word.text), "start": word.start, "confidence": _confidence(word.confidence)}


def _attempt(attempt: Attempt) -> Json:
    return {
        "change": encodable(attempt.change),
        "error": None if attempt.error is None else _error(attempt.error),
        "duration_ms": _rounded(attempt.duration_ms, 1),
    }


def _error(error: PageError) -> Json:
    return {
        "code": error.code,
        "detail": encodable(error.detail),
        "remedy": encodable(error.remedy),
        "retry_after_s": None if error.retry_after_s is None else _rounded(error.retry_after_s, 1),
    }


def _json(value: object) -> Json | list[object] | str | float | None:
    """A value for JSON, with text that UTF-8 can encode."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {encodable(str(name)): _json(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_json(item) for item in value]
    return value if isinstance(value, int | float) else None


def _optional(text: str | None) -> str | None:
    return None if text is None else encodable(text)


def _confidence(value: float | None) -> float | None:
    return None if value is None else _rounded(value, 4)


def _rounded(value: float, digits: int) -> float:
    # float(): engines may return NumPy scalars, which orjson refuses; + 0.0 turns -0.0 into 0.0.
    return round(float(value), digits) + 0.0


def encodable(text: str) -> str:
    """`text` with lone surrogates, as in some PDFs, replaced by U+FFFD, so that UTF-8 can encode it."""
    return _SURROGATES.sub("\ufffd", text)


@dataclass(frozen=True, slots=True)
class _StoredPage:
    """The exact form."""

    version: Literal[3]
    page: PageResult


@dataclass(frozen=True, slots=True)
class _PublishedPage(PageResult):
    """The published form; computed values are ignored."""

    coordinates: Coordinates = Coordinates.UPRIGHT

    def __post_init__(self) -> None:
        """Raises ValueError if the page could not be on paper: what writes it counts on that."""
        if not (0 <= self.width <= MAX_COORDINATE and 0 <= self.height <= MAX_COORDINATE):
            raise ValueError(f"its width and height must be from 0 to {MAX_COORDINATE:,} pixels")
        values = _all_coordinates(self)
        # The least and the greatest ignore NaN, which makes the sum NaN.
        if values and not (-MAX_COORDINATE <= min(values) <= max(values) <= MAX_COORDINATE and isfinite(sum(values))):
            raise ValueError(f"a coordinate is not from -{MAX_COORDINATE:,} to {MAX_COORDINATE:,} pixels")
        for number, block in enumerate(self.blocks or ()):
            if block.table is not None:
                _check_grid(block.table, f"blocks[{number}].table")
        if places_of(self) > MAX_PLACES:
            raise ValueError(f"its tables have more than {MAX_PLACES:,} places (rows x columns)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublishedDocument(DocumentResult):
    """The published form; computed values are ignored."""

    schema_version: Literal[1]
    pages: tuple[_PublishedPage, ...]


_STORED_PAGE: TypeAdapter[_StoredPage] = TypeAdapter(_StoredPage)
_PUBLISHED_PAGE: TypeAdapter[_PublishedPage] = TypeAdapter(_PublishedPage)
_PUBLISHED_DOCUMENT: TypeAdapter[_PublishedDocument] = TypeAdapter(_PublishedDocument)
_PAGE_FIELDS = tuple(field.name for field in fields(PageResult))


def _parsed(kind: TypeAdapter[T], data: bytes) -> T:
    """The value of `data`. Raises ValueError with a reason that is short however long the data are."""
    try:
        return kind.validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        steps = (f"[{step}]" if isinstance(step, int) else f".{encodable(step)[:_MAX_KEY]}" for step in first["loc"])
        place = "".join(steps).lstrip(".")
        reason = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{place}: {reason}"[:_MAX_REASON] if place else reason[:_MAX_REASON]) from None


def _tables(page: PageResult) -> Iterator[Table]:
    return (block.table for block in page.blocks or () if block.table is not None)


def places_of(page: PageResult) -> int:
    """Places (rows x columns) of all tables of the page."""
    return sum(table.rows * table.columns for table in _tables(page))


def _check_grid(table: Table, name: str) -> None:
    """Raises ValueError if the table is too large, a cell is not within it, or cells lie on each other. `name`: of the
    table within its page.
    """
    if table.rows * table.columns > MAX_PLACES:
        raise ValueError(f"{name} has more than {MAX_PLACES:,} places (rows x columns)")
    places = 0
    for number, cell in enumerate(table.cells):
        last = (cell.row + cell.row_span, cell.column + cell.column_span)
        spans = cell.row_span >= 1 and cell.column_span >= 1
        if not spans or cell.row < 0 or cell.column < 0 or last[0] > table.rows or last[1] > table.columns:
            raise ValueError(f"{name}.cells[{number}] is not within the table's {table.rows} x {table.columns} places")
        places += cell.row_span * cell.column_span
    if table.rows < 1 or table.columns < 1 or places > table.rows * table.columns:
        raise ValueError(f"{name} has {places} places with cells, and {table.rows} x {table.columns} in all")


def _all_coordinates(page: PageResult) -> list[float]:
    blocks = page.blocks or ()
    quads = [line.quad for line in page.lines]
    quads += [word.quad for line in page.lines for word in line.words]
    quads += [block.barcode.quad for block in blocks if block.barcode is not None]
    boxes: list[Box | None] = [block.box for block in blocks]
    boxes += [cell.box for table in _tables(page) for cell in table.cells]
    boxes += [each.box for each in page.left_out]
    boxes += [note.box for note in page.review_notes]
    return [*chain.from_iterable(chain.from_iterable(quads)), *chain.from_iterable(filter(None, boxes))]


def _upright(published: _PublishedPage) -> PageResult:
    page = PageResult(**{name: getattr(published, name) for name in _PAGE_FIELDS})
    return as_upright(page) if published.coordinates is Coordinates.SENT else page


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):  # the standard library's writer asks for these too
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} can't be represented in JSON")
