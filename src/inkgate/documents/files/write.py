"""Writes a document that was read as a file of any binary format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inkgate.documents.files import FileFormat, excel, require_writer, word
from inkgate.types import Document, DocumentResult

OFFICE: Mapping[FileFormat, Callable[[DocumentResult], bytes]] = {
    FileFormat.DOCX: word.render,
    FileFormat.XLSX: excel.render,
}
"""Formats that are made of the result alone. Blocking."""


@dataclass(frozen=True, slots=True)
class FileOrder:
    """A file to write.

    Attributes:
        document: what was read.
        result: of all pages that were read.
        format: of the file.
        password: of an encrypted PDF; the searchable PDF keeps it.
    """

    document: Document
    result: DocumentResult
    format: FileFormat
    password: str = field(default="", repr=False)


def office_file(order: FileOrder) -> bytes:
    """The file of one of the formats of `OFFICE`. Blocking.

    Raises:
        InputRejected: "format_unavailable".
    """
    require_writer(order.format)
    return OFFICE[order.format](order.result)
