"""A document page by page, as NDJSON brings it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
from pydantic import TypeAdapter, ValidationError

from inkgate.client.errors import ServiceError, told
from inkgate.client.requests import PAGE, understood
from inkgate.types import PageResult


@dataclass(frozen=True, slots=True)
class Summary:
    """How the document went: the last line of a stream. `page_count`: of the whole document."""

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
    """Bytes as they come, cut at line feeds alone: text may hold other characters that end lines elsewhere."""

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
    """What the last line says."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._summary: Summary | None = None

    def is_end(self, line: bytes) -> bool:
        """Whether `line` is the summary, which is then kept.

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
        """How it went. Raises ServiceError where the stream was broken off."""
        if self._summary is None:
            raise ServiceError(f"{self._url} broke off the response before its end. Try again.")
        return self._summary


def _count(answer: httpx.Response) -> int | None:
    """How many pages will come; None where the service doesn't say."""
    said = answer.headers.get("x-inkgate-pages", "")
    return int(said) if said.isascii() and said.isdigit() else None


class Pages:
    """The pages of a document as they are read; iterate once. `count`: how many there will be, where that is known.
    `summary` is known when the last one was taken.
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
        return (understood(PAGE, self._answer, self._url, line) for line in self.lines())

    def lines(self) -> Iterator[bytes]:
        """The same, each page as JSON. Raises ServiceError: the document failed, or the stream was broken off."""
        cutter = _Lines()
        with told(self._url):
            for chunk in self._answer.iter_bytes():
                for line in cutter.cut(chunk):
                    if not self._end.is_end(line):
                        yield line
        _ = self.summary


class AsyncPages:
    """As `Pages`, for `async for`."""

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
            yield understood(PAGE, self._answer, self._url, line)

    async def lines(self) -> AsyncIterator[bytes]:
        """The same, each page as JSON. Raises ServiceError: the document failed, or the stream was broken off."""
        cutter = _Lines()
        with told(self._url):
            async for chunk in self._answer.aiter_bytes():
                for line in cutter.cut(chunk):
                    if not self._end.is_end(line):
                        yield line
        _ = self.summary
