"""What a page holds, as a short key: known without rendering, the same for the same bytes under any name."""

from __future__ import annotations

from hashlib import blake2b

_DIGEST_SIZE = 32


def digest(data: bytes) -> bytes:
    """32 bytes that stand for a document's bytes (BLAKE2b). About 1 ms for each MB: runs in a thread."""
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()


def page_key(document: bytes, *parts: object) -> bytes:
    """32 bytes for one of the pages of the document whose digest `document` is.

    `parts`: which page it is, and all else that decides what its pixels and its text are; told apart by their `repr`.
    """
    return blake2b(repr(parts).encode(), key=document, digest_size=_DIGEST_SIZE).digest()
