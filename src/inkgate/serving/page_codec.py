"""Lossless serialization of PageResult."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from inkgate.types import Attempt, Block, BlockType, Line, PageError, PageResult, Point, Quad, TextWord, Word

Json = dict[str, Any]

FORMAT = 1
"""Version, part of every cache key: incremented when `loads` can't read what an earlier `dumps` wrote."""


def dumps(page: PageResult) -> bytes:
    """`page` as JSON; each dataclass is an object with its fields.

    Raises:
        TypeError: a field holds a value that JSON can't represent.
    """
    try:
        return orjson.dumps(page, default=_plain)
    except TypeError:  # a lone surrogate, as in some PDFs: orjson refuses it, the standard library escapes it
        return json.dumps(asdict(page), default=_plain).encode()


def loads(data: bytes) -> PageResult:
    """The page that `dumps` serialized. Mappings become dicts, numbers become Python's.

    Raises:
        ValueError, TypeError, KeyError: `data` was not made by `dumps`.
    """
    try:
        page = orjson.loads(data)
    except orjson.JSONDecodeError:
        page = json.loads(data)
    blocks, error = page["blocks"], page["error"]
    structured = {
        "lines": tuple(_line(line) for line in page["lines"]),
        "blocks": None if blocks is None else tuple(_block(block) for block in blocks),
        "degraded": tuple(page["degraded"]),
        "error": _error(error),
        "words": tuple(TextWord(**word) for word in page["words"]),
        "attempts": tuple(_attempt(attempt) for attempt in page["attempts"]),
    }
    return PageResult(**{**page, **structured})


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} can't be represented in JSON")


def _line(line: Json) -> Line:
    words = tuple(Word(word["text"], _quad(word["quad"]), word["confidence"]) for word in line["words"])
    return Line(line["text"], _quad(line["quad"]), line["confidence"], words)


def _quad(corners: list[list[float]]) -> Quad:
    a, b, c, d = (_point(corner) for corner in corners)
    return a, b, c, d


def _point(corner: list[float]) -> Point:
    x, y = corner
    return x, y


def _block(block: Json) -> Block:
    left, top, right, bottom = block["box"]
    structured = {
        "type": BlockType(block["type"]),
        "box": (left, top, right, bottom),
        "lines": tuple(block["lines"]),
        "error": _error(block["error"]),
    }
    return Block(**{**block, **structured})


def _attempt(attempt: Json) -> Attempt:
    return Attempt(attempt["change"], _error(attempt["error"]), attempt["duration_ms"])


def _error(error: Json | None) -> PageError | None:
    return None if error is None else PageError(**error)
