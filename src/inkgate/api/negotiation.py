"""Content negotiation: `format`, else the Accept header, selects the response's format."""

from __future__ import annotations

from enum import StrEnum

from inkgate.documents.formats import Format
from inkgate.errors import InputRejected


class Native(StrEnum):
    """Responses that are not document formats."""

    FORM = "form"
    """The JSON of the request's form."""
    NDJSON = "ndjson"
    """One line of JSON per page, as soon as it is read."""


Shape = Native | Format

_LONGEST_ACCEPT = 4000
"""In characters; clients send less than a tenth."""
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
"""Media types that select a format only without `*/*`. Browsers send them together with `*/*` and don't mean hOCR or
ALTO.
"""


def choose(format: str | None, accept: str | None) -> Shape:  # noqa: A002 - the option's name
    """The response's format: `format` if given, else the best match for `accept`.

    Raises:
        InputRejected: "not_acceptable".
    """
    if format is not None:
        return _named(format)
    if not accept or not accept.strip():
        return Native.FORM
    if len(accept) > _LONGEST_ACCEPT:
        raise InputRejected("not_acceptable", f"The Accept header is longer than {_LONGEST_ACCEPT} characters.")
    ranges = _ranges(accept)
    types = _BY_MEDIA_TYPE if any(name == "*/*" for name, _ in ranges) else _BY_MEDIA_TYPE | _BY_PLAIN_TYPE
    known = [(weight, types[name]) for name, weight in ranges if name in types]
    best = max(known, key=lambda pair: pair[0], default=(0.0, Native.FORM))
    if best[0] <= 0:
        raise InputRejected("not_acceptable", "The Accept header names no media type that this endpoint offers.")
    return best[1]


def _named(format: str) -> Shape:  # noqa: A002 - the option's name
    name = format.strip().lower()
    if name == Native.NDJSON:
        return Native.NDJSON
    try:
        return Format(name)
    except ValueError:
        raise InputRejected("not_acceptable", "`format` does not name a known format.") from None


def _ranges(accept: str) -> list[tuple[str, float]]:
    """Media ranges and their weights, in the given order (RFC 9110, 12.5.1); an invalid weight counts as 0."""
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
