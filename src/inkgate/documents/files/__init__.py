"""Documents as binary files: searchable PDF, Word and Excel. Text formats are in inkgate_client.formats."""

from __future__ import annotations

from inkgate_client.format_names import AnyFormat, FileFormat, format_named, names_of_formats

__all__ = ["AnyFormat", "FileFormat", "format_named", "names_of_formats"]
