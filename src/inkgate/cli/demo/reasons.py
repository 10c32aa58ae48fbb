"""Why a person should look at the fields of a document, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inkgate_client import Fields
from inkgate_client.fields.values import FieldStatus, FieldValue

_CHECKS = {
    "subtotal_plus_tax": "subtotal and tax don't make the total",
    "sum_of_items": "the items don't make the sum",
    "item_amounts": "quantity times price is not the amount",
    "date_in_future": "the date is in the future",
    "term_in_order": "the term ends before it begins",
}


def reasons(found: Fields[Any]) -> list[str]:
    """Each reason as a phrase; empty if the document needs no review."""
    if not found.needs_review:
        return []
    return list(dict.fromkeys(_reasons(found))) or ["a value is uncertain"]


def _reasons(found: Fields[Any]) -> Iterator[str]:
    extraction = found.extraction
    for page, code in found.page_errors.items():
        yield f"page {page + 1} could not be read ({code})"
    if not any(field.text is not None for field in found.fields.values()):
        kind = extraction.document_type
        yield f"no field was found: probably no {kind}" if kind else "no field was found"
        return
    for check in extraction.checks:
        if not check.passed:
            yield f"{_CHECKS.get(check.code, check.code)} ({check.detail})"
    for field in found.fields.values():
        if (reason := _of_field(field)) is not None:
            yield reason


def _of_field(field: FieldValue) -> str | None:
    name = _name(field.path)
    if field.status is FieldStatus.UNCERTAIN:
        if field.alternatives:
            return f"{name} may be {field.value} or {' or '.join(field.alternatives)}"
        return f"{name} is {field.confidence or 0:.0%} certain"
    if field.status is FieldStatus.CONFLICT:
        return f"{name}: two places say different things"
    if field.status is FieldStatus.UNGROUNDED:
        return f"{name} is not on the page"
    return None


def _name(path: str) -> str:
    """`/items/2/unit_price` is `unit price of item 3`."""
    first, *inner = path.removeprefix("/").replace("_", " ").split("/")
    if len(inner) == 2 and inner[0].isdecimal():
        return f"{inner[1]} of {first.removesuffix('s')} {int(inner[0]) + 1}"
    return " ".join([first, *inner])
