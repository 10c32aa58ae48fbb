"""Documents in chunks for retrieval: parts of the Markdown with their headings, pages and boxes, within a limit."""

from __future__ import annotations

from inkgate_client.formats.chunks.chunker import Chunk, Chunker, chunks_of
from inkgate_client.formats.chunks.options import ChunkOptions
from inkgate_client.formats.chunks.parts import Place

__all__ = ["Chunk", "ChunkOptions", "Chunker", "Place", "chunks_of"]
