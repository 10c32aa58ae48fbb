"""Arrays of values that need no label: all telephones of a business card, all containers of a bill of lading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from inkgate.fields.calibrated import ORIGIN
from inkgate.fields.folded import FoldedPage
from inkgate.fields.ground import source_of
from inkgate.fields.kinds import KINDS, LISTED
from inkgate.fields.kinds.base import ParsedValue, evident
from inkgate.fields.schema import Leaf
from inkgate_client.fields.values import FieldStatus, FieldValue, Match

MAX_VALUES: Final = 200
"""Maximum values of an array. More are left out."""
_SURE: Final = 0.95
"""Confidence of a value besides that of its text: it may be none of those that the schema means."""


def is_list(leaf: Leaf) -> bool:
    """Whether the leaf is an array of values that are found by their kind alone."""
    return (
        leaf.path.endswith("/-") and leaf.path.count("/-") == 1 and leaf.kind in LISTED and leaf.json_type == "string"
    )


def list_fields(
    pages: Sequence[FoldedPage], leaf: Leaf, taken: Mapping[str, FieldValue], least: float
) -> Iterator[tuple[str, FieldValue]]:
    """The values by path (`/phones/0`), each once, in the order of the pages; without those in `taken`."""
    kind, number = KINDS[leaf.kind], 0
    seen = {field.value for field in taken.values() if field.kind == leaf.kind}
    for page, index, value in _values(pages, leaf.kind):
        shown = kind.json(value)
        if shown in seen or number >= MAX_VALUES:
            continue
        seen.add(shown)
        path = f"{leaf.path[:-2]}/{number}"
        text = page.lines[index].text[value.start : value.end]
        source = source_of(page, index, text, Match.VALUE)
        confidence = source.confidence * _SURE
        status = FieldStatus.FOUND if confidence >= least else FieldStatus.UNCERTAIN
        yield path, FieldValue(path, leaf.kind, status, shown, text, confidence, ORIGIN, (source,))
        number += 1


def _values(pages: Sequence[FoldedPage], kind: str) -> Iterator[tuple[FoldedPage, int, ParsedValue]]:
    for page in pages:
        for index in page.order:
            for value in evident(KINDS[kind], page.lines[index].text):
                yield page, index, value
