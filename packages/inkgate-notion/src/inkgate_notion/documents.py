"""What goes into the row of a document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from inkgate.documents.sniff import FileType, sniff
from inkgate.errors import InputRejected
from inkgate_client.formats.text import one_line
from inkgate_client.types import Document, DocumentResult, DocumentStatus
from inkgate_notion.cells import RowValue, ValueKind, shortened

FIELDS: Final = "fields."
_SUFFIXES: Final[Mapping[FileType, tuple[str, ...]]] = {
    FileType.PDF: (".pdf",),
    FileType.JPEG: (".jpg", ".jpeg"),
    FileType.PNG: (".png",),
    FileType.WEBP: (".webp",),
    FileType.TIFF: (".tif", ".tiff"),
    FileType.GIF: (".gif",),
    FileType.HEIC: (".heic",),
}
"""The files of inkgate that Notion takes, and their names' ends, the first of which is the usual one."""
_LONGEST_NAME = 100
"""Maximum length of a name in UTF-16 code units, with the suffix: what Notion allows in a row."""
_KINDS: Final[Mapping[str, ValueKind]] = {
    "number": ValueKind.NUMBER,
    "money": ValueKind.NUMBER,
    "date": ValueKind.DATE,
    "boolean": ValueKind.TRUTH,
}
"""Kinds of columns by the kinds of fields; others are text."""


@dataclass(frozen=True, slots=True)
class NotionDocument:
    """A document and what was read of it.

    Attributes:
        key: SHA-256 of the file, by which its row is found.
        values: by path: `type`, `pages`, `confidence`, `needs_review`, and `fields.NAME`.
    """

    key: str
    name: str
    data: bytes = field(repr=False)
    result: DocumentResult = field(repr=False)
    values: Mapping[str, RowValue] = field(repr=False)

    @property
    def file_type(self) -> FileType | None:
        """None for a file that Notion does not take."""
        try:
            found = sniff(self.data)
        except InputRejected:
            return None
        return found if found in _SUFFIXES else None

    def file_name(self, kind: FileType) -> str:
        """The file's name; its end fits the type, or Notion would refuse it."""
        path = PurePath(self.name)
        if path.suffix.lower() in _SUFFIXES[kind]:
            stem, suffix = path.stem, path.suffix
        else:
            stem, suffix = path.name, _SUFFIXES[kind][0]
        return f"{shortened(stem, _LONGEST_NAME - len(suffix))}{suffix}"


def notion_document(document: Document, result: DocumentResult, fields: Mapping[str, Any] | None) -> NotionDocument:
    """The row of a document. `fields`: as `/extract` and jobs publish them; None: none were looked for."""
    values = {
        "type": RowValue(ValueKind.CHOICE, (fields or {}).get("document_type") or None),
        "pages": RowValue(ValueKind.NUMBER, result.page_count),
        "confidence": RowValue(ValueKind.SHARE, _confidence(result, fields)),
        "needs_review": RowValue(ValueKind.TRUTH, _needs_review(result, fields)),
    }
    values |= {FIELDS + name: value for name, value in _field_values(fields or {})}
    name = one_line(PurePath(document.name).name) or "document"
    return NotionDocument(hashlib.sha256(document.data).hexdigest(), name, document.data, result, values)


def _confidence(result: DocumentResult, fields: Mapping[str, Any] | None) -> float | None:
    """The least of the fields that were found, else of the pages."""
    found = [each["confidence"] for each in (fields or {}).get("fields", {}).values()]
    known = [each for each in found or [page.confidence for page in result.pages] if each is not None]
    return round(min(known), 4) if known else None


def _needs_review(result: DocumentResult, fields: Mapping[str, Any] | None) -> bool:
    """Once a person has looked at a job, it needs none. A document of no known type has no fields to look at."""
    if not fields or not fields.get("data"):
        return bool(result.needs_review) or result.status is not DocumentStatus.COMPLETE
    review = fields.get("review")
    return bool((fields["status"] if review is None else review) == "needs_review")


def _field_values(fields: Mapping[str, Any]) -> Iterator[tuple[str, RowValue]]:
    """Values by name, such as `total`, `seller.name`. `data` has them as they were corrected."""
    known: Mapping[str, Any] = fields.get("fields", {})
    for name, value in fields.get("data", {}).items():
        yield from _flattened(str(name), f"/{_escaped(name)}", value, known)


def _flattened(name: str, path: str, value: object, known: Mapping[str, Any]) -> Iterator[tuple[str, RowValue]]:
    if isinstance(value, dict) and set(value) == {"amount", "currency"}:
        yield name, RowValue(ValueKind.NUMBER, value["amount"])
        yield f"{name} currency", RowValue(ValueKind.CHOICE, value["currency"])
    elif isinstance(value, dict):
        for inner, each in value.items():
            yield from _flattened(f"{name}.{inner}", f"{path}/{_escaped(inner)}", each, known)
    elif isinstance(value, list):
        yield name, RowValue(ValueKind.TEXT, "\n".join(map(_line, value)) or None)
    else:
        kind = _KINDS.get(known.get(path, {}).get("kind", ""), ValueKind.TEXT)
        yield name, RowValue(kind, value if isinstance(value, str | int | float | bool) else None)


def _line(item: object) -> str:
    """An item of an array, on one line."""
    if isinstance(item, dict):
        return " | ".join("" if each is None else _line(each) for each in item.values())
    return one_line(str(item))


def _escaped(name: object) -> str:
    """Escapes the text as a part of a JSON Pointer."""
    return str(name).replace("~", "~0").replace("/", "~1")
