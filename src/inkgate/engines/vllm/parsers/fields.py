"""Parses extracted fields from JSON."""

from __future__ import annotations

import json
import math

from inkgate.engines.vllm.parsers.answer import ParsedAnswer, without_surrogates
from inkgate.errors import EngineFailed
from inkgate.types import Size

MOST_STARTS = 32
"""Maximum number of braces at which to look for an object."""


def json_fields(output: str, size: Size) -> ParsedAnswer:  # noqa: ARG001  # a Parser; fields have no places
    """The first JSON object in the output, whatever surrounds it (a code fence, an explanation).

    The answer's text is that object, serialized again. Numbers that JSON clients can't represent become text.

    Raises:
        EngineFailed: `engine_output_invalid`: there is no complete object.
    """
    start = output.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            break
        try:
            found, _ = _DECODER.raw_decode(output, start)
        except (ValueError, RecursionError):
            start = output.find("{", start + 1)
            continue
        text = without_surrogates(json.dumps(found, ensure_ascii=False))
        return ParsedAnswer(text=text, fields=json.loads(text))
    raise EngineFailed("engine_output_invalid", "the model's answer is not a JSON object")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 19 else digits


def _number(digits: str) -> float | str:
    return value if math.isfinite(value := float(digits)) else digits


def _constant(name: str) -> str:
    return name


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_constant)
