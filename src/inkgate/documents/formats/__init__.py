"""Output formats of documents in text, and the function that renders them. Binary files are in documents/files.

docs/reference/formats.md shows an example of each, how pages are separated, and how failed pages are marked.
"""

from __future__ import annotations

from enum import StrEnum

from inkgate.coordinates import Coordinates
from inkgate.documents.formats import alto, csv, hocr, json, markdown, text
from inkgate.types import DocumentResult, TaskKind

__all__ = ["Format", "render"]


class Format(StrEnum):
    """A format, with its file suffix, media type, and the task that it needs."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    HOCR = "hocr"
    ALTO = "alto"
    CSV = "csv"

    @property
    def suffix(self) -> str:
        """The file suffix, for example `.md`."""
        return _SUFFIXES[self]

    @property
    def media_type(self) -> str:
        """The Content-Type, with charset if the type has one."""
        return _MEDIA_TYPES[self]

    @property
    def task_kind(self) -> TaskKind:
        """The task kind whose result has everything that the format shows."""
        return TaskKind.PARSE if self in {Format.MARKDOWN, Format.CSV} else TaskKind.TEXT


_SUFFIXES = {
    Format.TEXT: ".txt",
    Format.MARKDOWN: ".md",
    Format.JSON: ".json",
    Format.HOCR: ".hocr",
    Format.ALTO: ".alto.xml",
    Format.CSV: ".csv",
}

_MEDIA_TYPES = {
    Format.TEXT: "text/plain; charset=utf-8",
    Format.MARKDOWN: "text/markdown; charset=utf-8",
    Format.JSON: "application/json",
    # hOCR is XHTML, but browsers and hOCR tools expect HTML.
    Format.HOCR: "text/html; charset=utf-8",
    Format.ALTO: "application/xml",
    Format.CSV: "text/csv; charset=utf-8",
}

_PLACED = {Format.JSON: json.render, Format.HOCR: hocr.render, Format.ALTO: alto.render}
_PLAIN = {Format.TEXT: text.render, Format.MARKDOWN: markdown.render, Format.CSV: csv.render}


def render(
    result: DocumentResult,
    format: Format,  # noqa: A002 - the glossary's word for it
    coordinates: Coordinates | None = None,
) -> bytes:
    """The document as one file of the format, in UTF-8. Pure; never raises on any DocumentResult.

    `coordinates`: None for the format's default: hOCR and ALTO are used together with the image as sent.
    """
    if format in _PLAIN:
        return _PLAIN[format](result)
    return _PLACED[format](result) if coordinates is None else _PLACED[format](result, coordinates)
