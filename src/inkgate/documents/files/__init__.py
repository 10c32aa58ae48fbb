"""Documents as binary files: searchable PDF, Word and Excel. Text formats are in inkgate_client.formats."""

from __future__ import annotations

from importlib.util import find_spec

from inkgate.errors import InputRejected
from inkgate_client.format_names import AnyFormat, FileFormat, format_named, names_of_formats

__all__ = ["AnyFormat", "FileFormat", "format_named", "names_of_formats", "require_writer"]


_LIBRARIES = {FileFormat.PDF: "pikepdf", FileFormat.DOCX: "docx", FileFormat.XLSX: "xlsxwriter"}


def require_writer(format: AnyFormat) -> None:  # noqa: A002 - the glossary's word for it
    """Checks that the library which writes the format is installed. Text formats need none.

    Raises:
        InputRejected: "format_unavailable".
    """
    if isinstance(format, FileFormat) and find_spec(_LIBRARIES[format]) is None:
        detail = f"Writing {format.value} needs a package that is not installed here."
        raise InputRejected("format_unavailable", detail)
