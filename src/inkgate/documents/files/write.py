"""Writes a document that was read as a file of any format but PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from inkgate.documents.files import AnyFormat, FileFormat, excel, field_tables, word
from inkgate.errors import InputRejected
from inkgate.layout.whole_document import finished
from inkgate_client.codec import MAX_PLACES, parse_document, places_of
from inkgate_client.formats import Format, render
from inkgate_client.formats.marks import marked_document
from inkgate_client.image_links import with_all_images_embedded
from inkgate_client.types import Document, DocumentResult, PageResult

OFFICE: Mapping[FileFormat, Callable[[DocumentResult], bytes]] = {
    FileFormat.DOCX: word.render,
    FileFormat.XLSX: excel.render,
}
"""Formats that are made of the result alone. Blocking."""


@dataclass(frozen=True, slots=True)
class FileRequest:
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


def office_file(request: FileRequest) -> bytes:
    """The file of one of the formats of `OFFICE`. Blocking."""
    return OFFICE[request.format](request.result)


def converted(body: bytes, shape: AnyFormat, *, marks: bool = False) -> bytes:
    """The document whose published JSON a client sent, in another format. `marks`: of what is doubtful.

    Blocking, and of a stranger: runs in a worker process.

    Raises:
        InputRejected: "options_invalid": it is no such JSON, it names lines that are not there, or its tables have
            more than MAX_PLACES in all. They take 160 MB as Word. With a text at each place, the JSON would hardly be
            within `limits.max_body_mb`.
    """
    try:
        result = parse_document(body)
    except ValueError as error:
        reason = str(error)
        raise InputRejected("options_invalid", f"The body is not the JSON of a document: {reason}.") from error
    if (places := sum(map(places_of, result.pages))) > MAX_PLACES:
        most = f"{MAX_PLACES:,}"
        detail = f"The tables of the document have {places:,} places (rows x columns); at most {most} can be converted."
        raise InputRejected("options_invalid", detail)
    for number, page in enumerate(result.pages):
        lines = len(page.lines)
        if (line := next((line for line in _named_lines(page) if not 0 <= line < lines), None)) is not None:
            detail = f"Page {number + 1} of the document has {lines} lines, and a part of it names line {line}."
            raise InputRejected("options_invalid", detail)
    result = finished(result)
    if isinstance(shape, FileFormat):
        return OFFICE[shape](result)
    if shape is Format.MARKDOWN:  # one file, as over HTTP
        result = with_all_images_embedded(result)
    return render(marked_document(result) if marks else result, shape)


def fields_table(body: bytes, shape: AnyFormat) -> bytes:
    """The fields of documents, which a client sent as the JSON of FieldsRow objects, as a table.

    Blocking, and of a stranger: runs in a worker process.

    Raises:
        InputRejected: "options_invalid": it is no such JSON, or the tables have more than MAX_PLACES in all.
    """
    try:
        rows = field_tables.parse_rows(body)
    except ValueError as error:
        raise InputRejected("options_invalid", "The body is not the JSON of fields of documents.") from error
    whole, *items = field_tables.table_of_documents(rows), *field_tables.tables_with_items(rows)
    if (places := max(whole.places, sum(table.places for table in items))) > MAX_PLACES:
        detail = f"The table would have {places:,} places (rows x columns); at most {MAX_PLACES:,} can be written."
        raise InputRejected("options_invalid", detail)
    return field_tables.as_file(rows, excel=shape is FileFormat.XLSX)


def _named_lines(page: PageResult) -> Iterator[int]:
    """The indexes of lines that parts of the page have."""
    for block in page.blocks or ():
        yield from block.lines
        for cell in block.table.cells if block.table is not None else ():
            yield from cell.lines
    for part in page.left_out:
        yield from part.lines
    for correction in page.corrections:
        yield correction.line
