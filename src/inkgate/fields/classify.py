"""Which document type a document is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import structlog

from inkgate.fields.codes.barcodes import INVOICE_XML, barcode_proposals, has_code
from inkgate.fields.document_types import DocumentTypes, type_packages
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import evident, plain
from inkgate.fields.schema import FieldSchema
from inkgate_client.types import PageResult

log = structlog.get_logger(__name__)

_MAX_CHARACTERS: Final = 20_000
"""Maximum characters of the document's beginning: a type shows there."""
_INVOICE: Final = "invoice"
_PAYMENTS: Final = ("epc_payment", "swiss_payment")
"""Standards of codes that invoices have, and sometimes other papers."""
_MIN_FIELDS: Final = 3
"""Fields of a type that a code has values for, if the document is of it: other types share a number and a date."""
_WORDS: Final = re.compile(r"[^\W_]+")
_IN_CHINESE: Final = re.compile(r"(?<=[\u4e00-\u9fff])[ \t]+(?=[\u4e00-\u9fff])")
"""Spaces between the characters of a word: 甲 方."""
_MIN_POINTS: Final = 2.0
"""Points that a type needs: a strong word, or two weak ones."""


def classify(pages: Sequence[PageResult], types: DocumentTypes) -> FieldSchema:
    """The type that a code tells, such as a passport's machine-readable zone or the XML in an invoice's PDF; else the
    type with the most points for its words (`x-recognise`: word to points) and for the values it has
    (`x-recognise-kinds`). Without enough points: an invoice by the code for its payment, else a type without a name and
    fields.
    """
    for name in _told(pages):
        if name in types.schemas:
            return types.schemas[name]
    if _INVOICE in types.schemas and has_code(pages, INVOICE_XML):
        return types.schemas[_INVOICE]
    points = _points_by_type(pages, types)
    best = max(points, key=lambda name: points[name], default="")
    if not best or points[best] < _MIN_POINTS:
        if _INVOICE in types.schemas and has_code(pages, *_PAYMENTS):
            return types.schemas[_INVOICE]
        return FieldSchema("", (), {})
    return types.schemas[best]


def _told(pages: Sequence[PageResult]) -> Iterator[str]:
    """What the codes that packages know tell of the type."""
    for package in type_packages():
        if package.type_of is not None:
            try:
                yield package.type_of(pages)
            except Exception as error:  # noqa: BLE001 - it is asked about documents of all types
                # The error's text may have values of the document.
                log.warning("type_of_failed", folder=package.folder.name, error=type(error).__name__)


def may_be(pages: Sequence[PageResult], schema: FieldSchema, types: DocumentTypes) -> bool:
    """Whether the pages may be a document of this type, for somebody who says so.

    They are none of a type with values that stand without labels if nothing on them tells of it, nor of any type if
    they are clearly of another one and nothing tells of this one. A code that has values for three fields of a type
    tells of it.
    """
    if types.schemas.get(schema.name) is not schema or not (schema.recognise or schema.recognise_kinds):
        return True
    if _points_by_type(pages, types).get(schema.name, 0.0) > 0 or len(barcode_proposals(pages, schema)) >= _MIN_FIELDS:
        return True
    other = classify(pages, types).name
    return not schema.max_lines and not schema.prose and other in {"", schema.name}


def _points_by_type(pages: Sequence[PageResult], types: DocumentTypes) -> dict[str, float]:
    """The points of each type; types with fewer lines than the document has are left out."""
    read = "\n".join(line.text for page in pages for line in page.lines) or " ".join(page.text for page in pages)
    joined = _IN_CHINESE.sub("", plain(read[:_MAX_CHARACTERS]))
    text = " ".join(_WORDS.findall(joined.casefold()))
    kinds = _kinds_in(read[:_MAX_CHARACTERS], types)
    lines = sum(len(page.lines) for page in pages)
    return {
        name: _points(f" {text} ", schema) + sum(schema.recognise_kinds.get(kind, 0.0) for kind in kinds)
        for name, schema in sorted(types.schemas.items())
        if not 0 < schema.max_lines < lines
    }


def _kinds_in(text: str, types: DocumentTypes) -> list[str]:
    """Kinds that tell a type and that have a value in the text. `text`: at most `_MAX_CHARACTERS`."""
    kinds = {kind for schema in types.schemas.values() for kind in schema.recognise_kinds if kind in KINDS}
    return [kind for kind in sorted(kinds) if evident(KINDS[kind], text)]


def _points(text: str, schema: FieldSchema) -> float:
    return sum(points for word, points in schema.recognise.items() if _stands_in(text, word))


def _stands_in(text: str, word: str) -> bool:
    """Whether the word is in the text, as whole words in scripts with spaces: `change` is not in `exchange`."""
    wanted = " ".join(_WORDS.findall(plain(word).casefold()))
    return bool(wanted) and (f" {wanted} " if wanted.isascii() else wanted) in text
