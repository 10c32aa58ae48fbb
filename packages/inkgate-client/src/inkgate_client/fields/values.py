"""A field's value and where it stands on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inkgate_client.types import Box, JsonValue

CODE: Final = "code"
"""Origin of values out of codes. They stand where the code does: a machine-readable zone has dates of its own form."""


class Match(StrEnum):
    """How a value was found on the page.

    `value`: read as a value of its kind, it is equal. `exact`: letters and digits are the same. `similar`: nearly the
    same letters, and all digits the same. `corrected`: the same after I, O and their like were read as digits, which a
    check digit confirms. `code`: in a code, such as a machine-readable zone. `sum`: it is one of the numbers that make
    the value.
    """

    VALUE = "value"
    EXACT = "exact"
    SIMILAR = "similar"
    CORRECTED = "corrected"
    CODE = "code"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Source:
    """A place on a page where a value stands.

    Attributes:
        page: index of the page.
        lines: indexes into its `lines`.
        box: around them, or around the words of the value where these are known; in pixels of the page.
        text: as printed.
        confidence: the least of its lines' or words'.
        label: the text beside or above it that names it; empty if there is none.
        read_as: the text as it was read, where a word of it became a domain term; else empty.
    """

    page: int
    lines: tuple[int, ...]
    box: Box
    text: str
    match: Match
    confidence: float
    label: str = ""
    read_as: str = ""


class FieldStatus(StrEnum):
    """What became of a field.

    `found`; `uncertain`: found, but its confidence is low or it has several readings; `not_found`; `ungrounded`: the
    value that was given is not on the page; `invalid`: a check fails; `conflict`: sources contradict each other;
    `not_supported`: no extractor can find fields of this kind.
    """

    FOUND = "found"
    UNCERTAIN = "uncertain"
    NOT_FOUND = "not_found"
    UNGROUNDED = "ungrounded"
    INVALID = "invalid"
    CONFLICT = "conflict"
    NOT_SUPPORTED = "not_supported"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an extractor takes for a field's value: text as printed, where it read it, and how sure it is, from 0 to 1.

    `page` is None for an extractor that knows no place, such as a model; `origin` names the extractor; `box` is the
    place of a QR code or bar code, which is in no line. `settled`: of several readings of what is printed, the document
    tells that `text` is the one that is meant. `parts`: printed numbers whose sum it is, where it isn't printed itself.
    """

    text: str
    origin: str
    score: float
    page: int | None = None
    lines: tuple[int, ...] = ()
    label: str = ""
    box: Box | None = None
    settled: bool = False
    parts: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of the answer.

    Attributes:
        path: JSON Pointer into `data`.
        value: as in `data`; None unless it is grounded.
        text: as printed; None if it was not found. Of a sum the numbers, with ` + ` between them.
        confidence: that the value is right, from 0 to 1; None if it was not found.
        sources: where it stands, the best first; of a sum all numbers.
        alternatives: what else it may be, as texts.
        checks: codes of the checks that it took part in.
    """

    path: str
    kind: str
    status: FieldStatus
    value: JsonValue = None
    text: str | None = None
    confidence: float | None = None
    origin: str = ""
    sources: tuple[Source, ...] = ()
    alternatives: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A check over fields: its code, whether it holds, the fields it is about, and what was compared."""

    code: str
    passed: bool
    paths: tuple[str, ...]
    detail: str


class ExtractionStatus(StrEnum):
    """`complete`: nothing to look at. `needs_review`: a field is uncertain, a check fails, or nothing was found."""

    COMPLETE = "complete"
    NEEDS_REVIEW = "needs_review"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The fields of a document: `data` as the schema has it, and beside it what is known of each field. `notes`: codes
    of what went wrong, such as `text_model_failed`.
    """

    document_type: str
    data: Mapping[str, object]
    fields: Mapping[str, FieldValue]
    checks: tuple[Check, ...]
    status: ExtractionStatus
    notes: tuple[str, ...] = ()
