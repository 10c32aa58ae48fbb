"""Names of the formats that documents are written in, with their suffixes and media types."""

from __future__ import annotations

from enum import StrEnum

from inkgate_client.types import TaskKind


class Format(StrEnum):
    """A format, with its file suffix, media type, and the task that it needs."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    HOCR = "hocr"
    ALTO = "alto"
    CSV = "csv"
    MERMAID = "mermaid"
    CHUNKS = "chunks"

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
        if self is Format.MERMAID:
            return TaskKind.CHART
        return TaskKind.PARSE if self in {Format.MARKDOWN, Format.CSV, Format.CHUNKS} else TaskKind.TEXT


_SUFFIXES = {
    Format.TEXT: ".txt",
    Format.MARKDOWN: ".md",
    Format.JSON: ".json",
    Format.HOCR: ".hocr",
    Format.ALTO: ".alto.xml",
    Format.CSV: ".csv",
    Format.MERMAID: ".mmd",
    Format.CHUNKS: ".chunks.jsonl",
}

_MEDIA_TYPES = {
    Format.TEXT: "text/plain; charset=utf-8",
    Format.MARKDOWN: "text/markdown; charset=utf-8",
    Format.JSON: "application/json",
    # hOCR is XHTML, but browsers and hOCR tools expect HTML.
    Format.HOCR: "text/html; charset=utf-8",
    Format.ALTO: "application/xml",
    Format.CSV: "text/csv; charset=utf-8",
    Format.MERMAID: "text/vnd.mermaid; charset=utf-8",
    Format.CHUNKS: "application/x-ndjson",
}


class FileFormat(StrEnum):
    """A binary format, with its file suffix, media type, and the task that it needs."""

    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"

    @property
    def suffix(self) -> str:
        """The file suffix, for example `.docx`."""
        return f".{self.value}"

    @property
    def media_type(self) -> str:
        """The Content-Type."""
        return _FILE_MEDIA_TYPES[self]

    @property
    def task_kind(self) -> TaskKind:
        """The task kind whose result has everything that the format shows."""
        return TaskKind.TEXT if self is FileFormat.PDF else TaskKind.PARSE


AnyFormat = Format | FileFormat
"""A format of whole documents."""
_KINDS: tuple[AnyFormat, ...] = (*Format, *FileFormat)

_FILE_MEDIA_TYPES = {
    FileFormat.PDF: "application/pdf",
    FileFormat.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    FileFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def format_named(name: str) -> AnyFormat:
    """The format of this name, or of this suffix: `markdown` or `md`. `html` is hOCR. Raises ValueError if there is
    none; it says which there are.
    """
    plain = name.lower().removeprefix(".")
    for kind in _KINDS:
        if plain in {kind.value, kind.suffix.removeprefix(".")}:
            return kind
    if plain == "html":
        return Format.HOCR
    raise ValueError(f"There is no format {name!r}. Formats: {', '.join(names_of_formats())}.")


def format_for(file_name: str, name: str = "") -> AnyFormat:
    """The format called `name`, or without one, that of the file's suffix.

    Raises:
        ValueError: there is no such format, or none with this suffix; it says which there are.
    """
    if name:
        return format_named(name)
    for kind in _KINDS:
        if file_name.lower().endswith(kind.suffix):
            return kind
    if file_name.lower().endswith(".html"):
        return Format.HOCR
    known = ", ".join(kind.suffix for kind in _KINDS)
    other = f"Or name the format, such as format={Format.MARKDOWN.value!r}"
    raise ValueError(f"The suffix of {file_name!r} stands for no format. Suffixes: {known}. {other}.")


def names_of_formats() -> tuple[str, ...]:
    """The names of all formats, text formats first."""
    return tuple(kind.value for kind in _KINDS)
