"""Output formats of documents in text, and the function that renders them. Binary files are in documents/files.

docs/reference/formats.md shows an example of each, how pages are separated, and how failed pages are marked.
"""

from __future__ import annotations

from inkgate_client.coordinates import Coordinates
from inkgate_client.format_names import Format
from inkgate_client.formats import csv, json, markdown, mermaid, text
from inkgate_client.formats.chunks import lines
from inkgate_client.formats.chunks.options import ChunkOptions
from inkgate_client.types import DocumentResult

__all__ = ["Format", "render"]


_PLAIN = {
    Format.TEXT: text.render,
    Format.MARKDOWN: markdown.render,
    Format.CSV: csv.render,
    Format.MERMAID: mermaid.render,
}


def render(
    result: DocumentResult,
    format: Format,  # noqa: A002 - the glossary's word for it
    coordinates: Coordinates | None = None,
    chunk_options: ChunkOptions | None = None,
) -> bytes:
    """The document as one file of the format, in UTF-8. Pure; never raises on any DocumentResult.

    `coordinates`: None for the format's default: hOCR and ALTO are used together with the image as sent.
    `chunk_options`: of chunks.
    """
    if format in _PLAIN:
        return _PLAIN[format](result)
    if format is Format.CHUNKS:
        return lines.render(result, chunk_options, coordinates)
    if format is Format.JSON:
        return json.render(result) if coordinates is None else json.render(result, coordinates)
    try:
        from inkgate_client.formats import alto, hocr
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed, which `render` of hOCR and ALTO needs. Install it, or call `file`."
        raise ImportError(message, name=error.name) from error

    write = hocr.render if format is Format.HOCR else alto.render
    return write(result) if coordinates is None else write(result, coordinates)
