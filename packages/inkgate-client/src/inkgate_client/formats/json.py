"""JSON: all fields of the engine-neutral result, as schema.json describes and codec.py writes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson

from inkgate_client.codec import document_to_dict
from inkgate_client.coordinates import Coordinates
from inkgate_client.types import DocumentResult

Json = dict[str, Any]


def render(result: DocumentResult, coordinates: Coordinates = Coordinates.UPRIGHT) -> bytes:
    """The document as one JSON object in UTF-8, on one line that ends with a line feed.

    Indented, with four corners per word, it would be three times as large.
    """
    return orjson.dumps(document_to_dict(result, coordinates), option=orjson.OPT_APPEND_NEWLINE)


def json_schema() -> Json:
    """The JSON Schema (2020-12) of a document; `$defs/page` is that of a page."""
    schema: Json = orjson.loads(files("inkgate_client.formats").joinpath("schema.json").read_bytes())
    return schema


def page_json_schema() -> Json:
    """The JSON Schema (2020-12) of a page: one line of a stream of pages."""
    schema = json_schema()
    return {"$schema": schema["$schema"], "$ref": "#/$defs/page", "$defs": schema["$defs"]}
