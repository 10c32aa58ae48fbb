"""The documents that a server has read and keeps, and search in them."""

from __future__ import annotations

import secrets
import unicodedata
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from inkgate_client.types import Box, DocumentResult

_MAX_DOCUMENTS = 100
_MAX_LINES = 1_000_000
"""Maximum lines over all documents; a line takes about 1 kB."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A line that contains what was searched. `page`: from 1. `box`: of the line, in pixels of the upright page; None
    if the engine gives no positions.
    """

    page: int
    text: str
    box: Box | None


class KeptDocuments:
    """The last documents that were read, by IDs that can't be guessed: over HTTP, several clients share a server.

    Used from one event loop.
    """

    def __init__(self, most_documents: int = _MAX_DOCUMENTS, most_lines: int = _MAX_LINES) -> None:
        self._documents: OrderedDict[str, DocumentResult] = OrderedDict()
        self._most_documents, self._most_lines = most_documents, most_lines
        self._lines = 0

    def add(self, result: DocumentResult) -> str:
        """Keeps a document; drops those that were not used for the longest time. Returns its ID."""
        document_id = f"doc_{secrets.token_urlsafe(12)}"
        self._documents[document_id] = result
        self._lines += _lines_of(result)
        while len(self._documents) > 1 and (
            len(self._documents) > self._most_documents or self._lines > self._most_lines
        ):
            _, dropped = self._documents.popitem(last=False)
            self._lines -= _lines_of(dropped)
        return document_id

    def get(self, document_id: str) -> DocumentResult | None:
        """None if it is not kept, or no more."""
        if document_id in self._documents:
            self._documents.move_to_end(document_id)
        return self._documents.get(document_id)


def _lines_of(result: DocumentResult) -> int:
    return sum(len(page.lines) + 1 for page in result.pages)


def search(result: DocumentResult, words: str, most: int) -> Sequence[TextMatch]:
    """The first `most` places of `words` in a document, whatever case, width and spaces; also over a line's end, which
    gives the line where the place begins. Blocking.
    """
    sought = _folded(words)
    if not sought:
        return ()
    return tuple(islice(_matches(result, sought), most))


def _matches(result: DocumentResult, sought: str) -> Iterator[TextMatch]:
    for page in result.pages:
        lines: list[tuple[str, Box | None]] = [(line.text, line.box) for line in page.lines]
        lines = lines or [(text, None) for text in page.text.splitlines()]
        ends = tuple(accumulate(len(_folded(text)) for text, _ in lines))
        text = "".join(_folded(text) for text, _ in lines)
        start, told = 0, -1
        while (found := text.find(sought, start)) >= 0:
            start, index = found + len(sought), bisect_right(ends, found)
            if index != told:
                yield TextMatch(page.index + 1, *lines[index])
            told = index


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
