"""Which document type a document is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.folded import fold
from inkgate.fields.schema import FieldSchema
from inkgate.types import PageResult

_MOST_CHARACTERS: Final = 20_000
"""Of the document's beginning: a type shows there."""
_LEAST: Final = 2.0
"""Points that a type needs: a strong word, or two weak ones."""


def classify(pages: Sequence[PageResult], types: DocumentTypes) -> FieldSchema:
    """The type with the most points for its words (`x-recognise`: word to points). Without enough points: a type
    without a name and fields.
    """
    read = " ".join(line.text for page in pages for line in page.lines) or " ".join(page.text for page in pages)
    text = fold(read[:_MOST_CHARACTERS])
    points = {name: _points(text, schema) for name, schema in sorted(types.schemas.items())}
    best = max(points, key=lambda name: points[name], default="")
    if not best or points[best] < _LEAST:
        return FieldSchema("", (), {})
    return types.schemas[best]


def _points(text: str, schema: FieldSchema) -> float:
    return sum(points for word, points in schema.recognise.items() if fold(word) in text)
