"""JSON: all fields of the engine-neutral result, as schema.json describes.

Coordinates are rounded to 0.1 pixels, confidences to 4 digits, times to 0.1 ms, which exceeds every engine's precision.
Values that were not requested or are unknown are null; no key is ever omitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import orjson

from inkgate.documents.coordinates import Coordinates, as_sent
from inkgate.documents.formats.characters import encodable
from inkgate.types import Attempt, Block, DocumentResult, Line, PageError, PageResult, Point, TextWord, Word

Json = dict[str, Any]

SCHEMA_VERSION = 1
"""Incremented if readers of the JSON must change: a key is renamed or removed, or its meaning changes."""


def render(result: DocumentResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> bytes:
    """The document as one JSON object in UTF-8, on one line that ends with a line feed.

    Indented, with four corners per word, it would be three times as large.
    """
    return orjson.dumps(document_to_dict(result, coordinates), option=orjson.OPT_APPEND_NEWLINE)


def json_schema() -> Json:
    """The JSON Schema (2020-12) of `document_to_dict`; `$defs/page` is that of `page_to_dict`."""
    schema: Json = orjson.loads(files("inkgate.documents.formats").joinpath("schema.json").read_bytes())
    return schema


def page_json_schema() -> Json:
    """The JSON Schema (2020-12) of `page_to_dict`: one line of a stream of pages."""
    schema = json_schema()
    return {"$schema": schema["$schema"], "$ref": "#/$defs/page", "$defs": schema["$defs"]}


def document_to_dict(result: DocumentResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> Json:
    """The document as plain dicts, lists, numbers and strings that UTF-8 can encode."""
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
    }


def page_to_dict(page: PageResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> Json:
    """One page as plain dicts, lists, numbers and strings that UTF-8 can encode."""
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
        "quad": [_coordinates(corner) for corner in text.quad],
        "confidence": _confidence(text.confidence),
    }


def _block(block: Block) -> Json:
    return {
        "type": block.type.value,
        "box": _coordinates(block.box),
        "lines": list(block.lines),
        "text": encodable(block.text),
        "markdown": encodable(block.markdown),
        "level": block.level,
        "confidence": _confidence(block.confidence),
        "error": None if block.error is None else _error(block.error),
    }


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


def _coordinates(values: Point | Sequence[float]) -> list[float]:
    return [_rounded(value, 1) for value in values]


def _confidence(value: float | None) -> float | None:
    return None if value is None else _rounded(value, 4)


def _rounded(value: float, digits: int) -> float:
    # float(): engines may return NumPy scalars, which orjson refuses; + 0.0 turns -0.0 into 0.0.
    return round(float(value), digits) + 0.0
