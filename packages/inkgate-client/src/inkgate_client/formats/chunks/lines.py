"""Chunks for retrieval: one line of JSON for each. What is left out of the Markdown is not in them, nor are notes of
failed pages: they would be found in place of the document's own text.
"""

from __future__ import annotations

from typing import Any

import orjson

from inkgate_client.codec import encodable
from inkgate_client.coordinates import Coordinates, as_sent, rounded
from inkgate_client.formats.chunks.chunker import Chunk, Chunker
from inkgate_client.formats.chunks.options import ChunkOptions
from inkgate_client.types import DocumentResult, PageResult


class ChunkLines:
    """Makes the lines of a document, page by page."""

    def __init__(self, name: str, options: ChunkOptions | None = None, coordinates: Coordinates | None = None) -> None:
        self._name = encodable(name)
        self._chunker = Chunker(options)
        self._sent = coordinates is Coordinates.SENT

    def page(self, page: PageResult) -> bytes:
        """The lines that the page completes."""
        return self._lines(self._chunker.add(as_sent(page) if self._sent else page))

    def end(self) -> bytes:
        """The last lines."""
        return self._lines(self._chunker.end())

    def _lines(self, chunks: list[Chunk]) -> bytes:
        return b"".join(
            orjson.dumps({"name": self._name} | chunk_to_dict(chunk), option=orjson.OPT_APPEND_NEWLINE)
            for chunk in chunks
        )


def render(
    result: DocumentResult, options: ChunkOptions | None = None, coordinates: Coordinates | None = None
) -> bytes:
    """The document's chunks in UTF-8, one line of JSON each; empty for a document without text."""
    lines = ChunkLines(result.name, options, coordinates)
    return b"".join(map(lines.page, result.pages)) + lines.end()


def chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    """The chunk as JSON values."""
    return {
        "index": chunk.index,
        "text": encodable(chunk.text),
        "headings": [encodable(heading) for heading in chunk.headings],
        "pages": chunk.pages,
        "boxes": [
            {
                "page": place.page,
                "type": place.type,
                "box": rounded(place.box),
                "width": place.width,
                "height": place.height,
            }
            for place in chunk.places
        ],
        "types": chunk.types,
        "captions": [encodable(caption) for caption in chunk.captions],
        "characters": len(chunk.text),
        "tokens": chunk.tokens,
        "overlap": chunk.overlap,
    }
