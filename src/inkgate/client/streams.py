"""Streams of pages, from NDJSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
from pydantic import TypeAdapter, ValidationError

from inkgate.client.errors import ServiceError, service_errors
from inkgate.client.requests import parse
from inkgate.codec import parse_page
from inkgate.types import PageResult


@dataclass(frozen=True, slots=True)
class Summary:
    """The last line of a stream: the document's outcome. `page_count`: of the whole document."""

    status: str
    name: str
    mime_type: str
    byte_count: int
    page_count: int
    engine: str
    pages_answered: int
    pages_failed: int


_SUMMARY: TypeAdapter[Summary] = TypeAdapter(Summary)


class _Lines:
    """Splits bytes at line feeds only: text may contain other characters that count as line ends in Python."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes."""
        first, *others = chunk.split(b"\n")
        self._rest.append(first)
        if not others:
            return []
        lines = [b"".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        return [line for line in lines if line]


class _End:
    """Parser of the last line."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._summary: Summary | None = None

    def is_end(self, line: bytes) -> bool:
        """Whether `line` is the summary; if so, stores it.

        Raises:
            ServiceError: the document failed after its first pages.
        """
        if not line.startswith(b'{"status"'):
            return False
        try:
            found: dict[str, Any] = orjson.loads(line)
            self._summary = _SUMMARY.validate_python(found)
        except (orjson.JSONDecodeError, ValidationError) as error:
            raise ServiceError(f"{self._url} broke off the response in its last line. Try again.") from error
        problem = found.get("error")
        if problem:
            said = [str(problem.get(name) or "") for name in ("title", "detail", "remedy")]
            raise ServiceError("{}. {} {}".format(*said), None, problem)
        return True

    @property
    def summary(self) -> Summary:
        """The document's outcome. Raises ServiceError if the stream broke off."""
        if self._summary is None:
            raise ServiceError(f"{self._url} broke off the response before its end. Try again.")
        return self._summary


def _count(answer: httpx.Response) -> int | None:
    """Number of pages to come; None if unknown."""
    said = answer.headers.get("x-inkgate-pages", "")
    return int(said) if said.isascii() and said.isdigit() else None


class Pages:
    """The pages of a document as they are read; iterate once. `count`: their number, None if unknown. `summary` is
    available after the last page.
    """

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self.count = _count(answer)
        self._answer = answer
        self._url = url
        self._end = _End(url)

    @property
    def summary(self) -> Summary:
        return self._end.summary

    def __iter__(self) -> Iterator[PageResult]:
        return (parse(parse_page, self._answer, self._url, line) for line in self.lines())

    def lines(self) -> Iterator[bytes]:
        """The pages as JSON. Raises ServiceError if the document failed or the stream broke off."""
        cutter = _Lines()
        with service_errors(self._url):
            for chunk in self._answer.iter_bytes():
                for line in cutter.cut(chunk):
                    if not self._end.is_end(line):
                        yield line
        _ = self.summary


class AsyncPages:
    """`Pages` for `async for`."""

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self.count = _count(answer)
        self._answer = answer
        self._url = url
        self._end = _End(url)

    @property
    def summary(self) -> Summary:
        return self._end.summary

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        async for line in self.lines():
            yield parse(parse_page, self._answer, self._url, line)

    async def lines(self) -> AsyncIterator[bytes]:
        """The pages as JSON. Raises ServiceError if the document failed or the stream broke off."""
        cutter = _Lines()
        with service_errors(self._url):
            async for chunk in self._answer.aiter_bytes():
                for line in cutter.cut(chunk):
                    if not self._end.is_end(line):
                        yield line
        _ = self.summary
