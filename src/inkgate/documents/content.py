"""Content keys of pages: computed without rendering, equal for equal bytes under any name."""

from __future__ import annotations

from hashlib import blake2b

_DIGEST_SIZE = 32


def digest(data: bytes) -> bytes:
    """BLAKE2b hash (32 bytes) of a document's bytes. Takes about 1 ms per MB: runs in a thread."""
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()


def page_key(document: bytes, *parts: object) -> bytes:
    """Key (32 bytes) of a page of the document with the digest `document`.

    `parts`: the page, and everything else that determines its pixels and text; compared by their `repr`.
    """
    return blake2b(repr(parts).encode(), key=document, digest_size=_DIGEST_SIZE).digest()
