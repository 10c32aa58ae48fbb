"""Documents as binary files: searchable PDF, Word and Excel. Text formats are in documents/formats."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec

from inkgate.documents.formats import Format
from inkgate.errors import InputRejected
from inkgate.types import TaskKind

__all__ = ["AnyFormat", "FileFormat", "format_named", "names_of_formats", "require_writer"]


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
        return _MEDIA_TYPES[self]

    @property
    def task_kind(self) -> TaskKind:
        """The task kind whose result has everything that the format shows."""
        return TaskKind.TEXT if self is FileFormat.PDF else TaskKind.PARSE


AnyFormat = Format | FileFormat
"""A format of whole documents."""

_MEDIA_TYPES = {
    FileFormat.PDF: "application/pdf",
    FileFormat.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    FileFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_LIBRARIES = {FileFormat.PDF: "pikepdf", FileFormat.DOCX: "docx", FileFormat.XLSX: "xlsxwriter"}


def format_named(name: str) -> AnyFormat:
    """The format of this name. Raises ValueError if there is none."""
    files = {kind.value: kind for kind in FileFormat}
    return files.get(name) or Format(name)


def names_of_formats() -> tuple[str, ...]:
    """The names of all formats, text formats first."""
    return (*(kind.value for kind in Format), *(kind.value for kind in FileFormat))


def require_writer(format: AnyFormat) -> None:  # noqa: A002 - the glossary's word for it
    """Checks that the library which writes the format is installed. Text formats need none.

    Raises:
        InputRejected: "format_unavailable".
    """
    if isinstance(format, FileFormat) and find_spec(_LIBRARIES[format]) is None:
        detail = f"Writing {format.value} needs a package that is not installed here."
        raise InputRejected("format_unavailable", detail)
