"""Page selections such as "1-3,7"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inkgate.errors import InputRejected

# Nine digits exceed the pages of any document, and keep int() cheap for any input.
_PART = re.compile(r"(?P<start>[0-9]{1,9})(?P<range>\s*-\s*(?P<end>[0-9]{1,9})?)?")
_SHOWN = 40
MAX_PARTS = 5000
"""Maximum parts of a selection: enough for every second page of a document of 10,000."""
MAX_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class PageRange:
    """Pages `start` to `end`, inclusive and from 0; `end` None: to the document's last page.

    `written`: the caller's text, for messages.
    """

    written: str
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class PageSelection:
    """Requested pages, parsed before the document is opened. Made by `parse_pages` and `parse_page_list`.

    `first`: the number of the first page in the caller's counting (0 or 1).
    """

    ranges: tuple[PageRange, ...]
    first: int = 1

    def indexes(self, page_count: int) -> tuple[int, ...]:
        """Page indexes from 0, in the requested order, each once. Linear in parts plus pages, however often the parts
        name a page. Pages beyond the document are ignored.

        Raises:
            InputRejected: `pages_invalid`, if none is left.
        """
        chosen = _PageOrder()
        for part in self.ranges:
            chosen.add(part.start, page_count - 1 if part.end is None else min(part.end, page_count - 1))
        if not chosen.following:
            raise _invalid(self.ranges[0].written, self._has(page_count))
        return tuple(chosen.following)

    def note(self, page_count: int) -> str:
        """A note about requested pages beyond the document's end; empty if there are none."""
        for part in self.ranges:
            if max(part.start, part.end or 0) >= page_count:
                return f"{_quoted(part.written)} goes beyond the last page: {self._has(page_count)}."
        return ""

    def _has(self, page_count: int) -> str:
        last = page_count - 1 + self.first
        if page_count == 1:
            return f"the document has only page {last}"
        return f"the document has pages {self.first} to {last}"


class _PageOrder:
    """Pages in the order of their first addition.

    `following`: for each page, a later one to continue with (a disjoint-set forest with path compression).
    """

    def __init__(self) -> None:
        self.following: dict[int, int] = {}

    def add(self, start: int, end: int) -> None:
        """Adds the pages from `start` to `end` that are missing."""
        page = self._next(start)
        while page <= end:
            self.following[page] = page + 1
            page = self._next(page + 1)

    def _next(self, page: int) -> int:
        """The first missing page from `page` on."""
        passed = []
        while page in self.following:
            passed.append(page)
            page = self.following[page]
        for one in passed:
            self.following[one] = page
        return page


def parse_pages(text: str, first: int = 1) -> PageSelection:
    """Parses "1-3,7" or "5-" (to the last page). `first`: number of the first page.

    Raises:
        InputRejected: `pages_invalid`, with a detail that names the invalid part; or there are too many parts.
    """
    if len(text) > MAX_CHARACTERS or text.count(",") >= MAX_PARTS:
        raise _too_many()
    return PageSelection(tuple(_parse_part(part.strip(), first) for part in text.split(",")), first)


def parse_page_list(numbers: Sequence[int], first: int = 0) -> PageSelection:
    """The selection for a list of page numbers. `first`: number of the first page.

    Raises:
        InputRejected: `pages_invalid`: the list is empty or too long, or a number is below `first`.
    """
    if len(numbers) > MAX_PARTS:
        raise _too_many()
    if not numbers:
        raise InputRejected("pages_invalid", "The list of pages is empty; leave it out to read all pages.")
    for number in numbers:
        if number < first:
            raise _invalid(str(number), f"the first page is {first}")
    return PageSelection(tuple(PageRange(str(n), n - first, n - first) for n in numbers), first)


def select(pages: str | Sequence[int] | int | None, first: int) -> PageSelection | None:
    """Parses `pages`, a string, a list or a number; None selects all pages. `first`: number of the first page.

    Raises:
        InputRejected: "pages_invalid".
    """
    if pages is None:
        return None
    if isinstance(pages, str):
        return parse_pages(pages, first=first)
    return parse_page_list([pages] if isinstance(pages, int) else pages, first=first)


def _parse_part(part: str, first: int) -> PageRange:
    match = _PART.fullmatch(part)
    if match is None:
        raise _invalid(part, "write numbers and ranges such as 1-3,7 or 5-")
    start = int(match["start"])
    if start < first:
        raise _invalid(part, f"the first page is {first}")
    if match["range"] is None:
        return PageRange(part, start - first, start - first)
    if match["end"] is None:
        return PageRange(part, start - first, None)
    end = int(match["end"])
    if end < start:
        raise _invalid(part, "the range ends before it starts")
    return PageRange(part, start - first, end - first)


def _too_many() -> InputRejected:
    detail = (
        f"The page list has more than {MAX_PARTS} entries or {MAX_CHARACTERS} characters. Write ranges such as 1-300."
    )
    return InputRejected("pages_invalid", detail)


def _invalid(part: str, why: str) -> InputRejected:
    return InputRejected("pages_invalid", f"Can't select pages {_quoted(part)}: {why}.")


def _quoted(part: str) -> str:
    return repr(part if len(part) <= _SHOWN else part[:_SHOWN] + "…")
