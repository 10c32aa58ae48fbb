"""What an answer looks like: chosen by `format`, or else by the Accept header."""

from __future__ import annotations

from enum import StrEnum

from inkgate.documents.formats import Format
from inkgate.errors import InputRejected


class Native(StrEnum):
    """Answers that are no format of a document."""

    FORM = "form"
    """The JSON that the request's own form is answered with."""
    NDJSON = "ndjson"
    """One line of JSON for each page, as soon as it is read."""


Shape = Native | Format

_LONGEST_ACCEPT = 4000
"""In characters: no client sends a tenth."""
NDJSON_TYPE = "application/x-ndjson"

_BY_MEDIA_TYPE: dict[str, Shape] = {
    "*/*": Native.FORM,
    "application/*": Native.FORM,
    "application/json": Native.FORM,
    "application/problem+json": Native.FORM,
    NDJSON_TYPE: Native.NDJSON,
    "application/ndjson": Native.NDJSON,
    "application/jsonl": Native.NDJSON,
    "text/*": Format.TEXT,
    "text/plain": Format.TEXT,
    "text/markdown": Format.MARKDOWN,
    "text/vnd.hocr+html": Format.HOCR,
    "application/vnd.hocr+html": Format.HOCR,
    "application/alto+xml": Format.ALTO,
}
_BY_PLAIN_TYPE: dict[str, Shape] = {"text/html": Format.HOCR, "application/xml": Format.ALTO}
"""The types that answers have, for those who ask for nothing but them. Every browser's form names them beside `*/*`,
meaning no hOCR and no ALTO.
"""


def choose(format: str | None, accept: str | None) -> Shape:  # noqa: A002 - the option's name
    """The shape of the answer: `format` when it is given, else the best that `accept` names.

    Raises:
        InputRejected: "not_acceptable".
    """
    if format is not None:
        return _named(format)
    if not accept or not accept.strip():
        return Native.FORM
    if len(accept) > _LONGEST_ACCEPT:
        raise InputRejected("not_acceptable", f"An Accept header may have {_LONGEST_ACCEPT} characters.")
    ranges = _ranges(accept)
    types = _BY_MEDIA_TYPE if any(name == "*/*" for name, _ in ranges) else _BY_MEDIA_TYPE | _BY_PLAIN_TYPE
    known = [(weight, types[name]) for name, weight in ranges if name in types]
    best = max(known, key=lambda pair: pair[0], default=(0.0, Native.FORM))
    if best[0] <= 0:
        raise InputRejected("not_acceptable", "The Accept header names no media type that is answered here.")
    return best[1]


def _named(format: str) -> Shape:  # noqa: A002 - the option's name
    name = format.strip().lower()
    if name == Native.NDJSON:
        return Native.NDJSON
    try:
        return Format(name)
    except ValueError:
        raise InputRejected("not_acceptable", "`format` names no format that there is.") from None


def _ranges(accept: str) -> list[tuple[str, float]]:
    """Media ranges and their weights, in the order given (RFC 9110, 12.5.1); a weight that is no number is 0."""
    ranges = []
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                digits = parameter[2:]
                weight = float(digits) if digits.replace(".", "", 1).isdecimal() else 0.0
        ranges.append((name, weight))
    return ranges
