"""Results for the web page: compressed, bounded in size, and dropped after an hour."""

from __future__ import annotations

import secrets
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from inkgate.client import Summary
from inkgate.codec import parse_page
from inkgate.types import DocumentResult

KEPT_S = 3600.0
MAX_BYTES = 64_000_000


@dataclass(slots=True)
class StoredDocument:
    """The pages of a document read so far. `pages`: compressed JSON, a tenth of the objects' size."""

    name: str
    begun_at: float
    pages: list[bytes] = field(default_factory=list)
    summary: Summary | None = None

    @property
    def size(self) -> int:
        return sum(map(len, self.pages))

    def page(self, number: int) -> bytes:
        """The page with this number, from 0, as the service published it. Raises IndexError."""
        return zlib.decompress(self.pages[number])

    def document(self) -> DocumentResult:
        """The whole document. Blocking."""
        pages = tuple(parse_page(self.page(number)) for number in range(len(self.pages)))
        end = self.summary or Summary("partial", self.name, "", 0, len(pages), "", len(pages), 0)
        return DocumentResult(self.name, end.mime_type, end.byte_count, end.page_count, end.engine, pages)


class Results:
    """Results by an unguessable ID; whoever has the ID may see them. The least recently used are dropped first."""

    def __init__(
        self, max_bytes: int = MAX_BYTES, kept_s: float = KEPT_S, now: Callable[[], float] = monotonic
    ) -> None:
        self._kept: OrderedDict[str, StoredDocument] = OrderedDict()
        self._max_bytes = max_bytes
        self._kept_s = kept_s
        self._now = now

    @property
    def size(self) -> int:
        return sum(kept.size for kept in self._kept.values())

    def begin(self, name: str) -> str:
        """Stores a new document without pages; returns its ID."""
        identifier = secrets.token_urlsafe(18)
        self._kept[identifier] = StoredDocument(name, self._now())
        return identifier

    def add(self, identifier: str, line: bytes) -> None:
        """Stores a page as JSON, unless the document was dropped."""
        if (kept := self.get(identifier)) is None:
            return
        kept.pages.append(zlib.compress(line, 3))
        size = self.size
        while size > self._max_bytes and self._kept:
            size -= self._kept.popitem(last=False)[1].size

    def end(self, identifier: str, summary: Summary) -> None:
        if (kept := self.get(identifier)) is not None:
            kept.summary = summary

    def get(self, identifier: str) -> StoredDocument | None:
        """The document; None if it was dropped or never existed."""
        due = self._now() - self._kept_s
        for old in [name for name, kept in self._kept.items() if kept.begun_at < due]:
            del self._kept[old]
        if identifier in self._kept:
            self._kept.move_to_end(identifier)
        return self._kept.get(identifier)
