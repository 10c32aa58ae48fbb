"""Chunks in the form of docling-serve."""

from __future__ import annotations

from typing import Any

import orjson

from inkgate.api.docling_document import ItemReferences
from inkgate.api.docling_requests import DoclingChunkOptions
from inkgate_client.codec import encodable
from inkgate_client.formats.chunks import Chunk, Chunker, ChunkOptions
from inkgate_client.formats.chunks.options import MAX_CHARACTERS, MAX_TOKENS
from inkgate_client.types import BlockType, PageResult

_DEFAULT_TOKENS = 256
"""What all-MiniLM-L6-v2 takes, whose tokenizer docling uses unless a request names another."""


class PagewiseDoclingChunks:
    """The array of a document's chunks: a PagewiseFormat."""

    is_document = True

    def __init__(self, name: str, options: DoclingChunkOptions) -> None:
        self._name = encodable(name)
        self._options = options
        self._is_hybrid = options.chunker == "hybrid"
        self._chunker = Chunker(_options(options))
        self._references = ItemReferences()
        self._lead = b""

    def begin(self) -> bytes:
        return b"["

    def page(self, page: PageResult) -> bytes:
        self._references.add(page)
        return self._elements(self._chunker.add(page))

    def end(self) -> bytes:
        return self._elements(self._chunker.end()) + b"]"

    def _elements(self, chunks: list[Chunk]) -> bytes:
        if not chunks:
            return b""
        lead, self._lead = self._lead, b","
        return lead + orjson.dumps(list(map(self._element, chunks)))[1:-1]

    def _element(self, chunk: Chunk) -> dict[str, Any]:
        items = [self._references.of(place.page, place.block) for place in chunk.places]
        self._references.forget_before(min(chunk.pages))
        raw = self._options.include_raw_text
        return {
            "filename": self._name,
            "chunk_index": chunk.index,
            "text": encodable(chunk.text),
            "raw_text": encodable(chunk.own_text) if raw else None,
            "num_tokens": chunk.tokens if self._is_hybrid else None,
            "headings": [encodable(heading) for heading in chunk.headings] or None,
            "captions": [encodable(caption) for caption in chunk.captions] or None,
            "doc_items": list(dict.fromkeys(reference for part in items for reference in part)),
            "page_numbers": chunk.pages,
            "metadata": {"has_image": BlockType.FIGURE in chunk.types},
        }


def _options(options: DoclingChunkOptions) -> ChunkOptions:
    """Docling's hierarchical chunker has no limit, and a chunk for each block."""
    if options.chunker == "hierarchical":
        return ChunkOptions(characters=MAX_CHARACTERS, headings=True, merge=False)
    tokens = min(options.max_tokens or _DEFAULT_TOKENS, MAX_TOKENS)
    return ChunkOptions(tokens=tokens, headings=True, merge=options.merge_peers)
