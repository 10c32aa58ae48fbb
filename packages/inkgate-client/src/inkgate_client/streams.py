"""Streams of pages as NDJSON, shared by the blocking and the asynchronous client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
from pydantic import TypeAdapter, ValidationError

from inkgate_client.errors import ServiceError, StreamBroken, without_secrets


@dataclass(frozen=True, slots=True)
class Summary:
    """The last line of a stream: the document's outcome. `page_count`: of the whole document. `needs_review`: indexes
    of the pages that a person should look at.
    """

    status: str
    name: str
    mime_type: str
    byte_count: int
    page_count: int
    engine: str
    pages_answered: int
    pages_failed: int
    needs_review: tuple[int, ...] = ()


_SUMMARY: TypeAdapter[Summary] = TypeAdapter(Summary)


class PageStream:
    """Cuts the body of a stream into pages as JSON, and parses its last line."""

    def __init__(self, url: str) -> None:
        self._url = without_secrets(url)
        self._rest: list[bytes] = []
        self._summary: Summary | None = None

    def cut(self, chunk: bytes) -> Iterator[bytes]:
        """The pages that `chunk` completes. Iterate to the end before the next call.

        Raises:
            ServiceError: the document failed after its first pages.
        """
        # At line feeds only: text may contain other characters that count as line ends in Python.
        first, *others = chunk.split(b"\n")
        self._rest.append(first)
        if not others:
            return
        lines = [b"".join(self._rest), *others[:-1]]
        self._rest = [others[-1]]
        for line in lines:
            if line.startswith(b'{"status"'):
                self._summary = self._parse_end(line)
            elif line:
                yield line

    def _parse_end(self, line: bytes) -> Summary:
        try:
            found: dict[str, Any] = orjson.loads(line)
            summary = _SUMMARY.validate_python(found)
        except (orjson.JSONDecodeError, ValidationError) as error:
            raise StreamBroken(f"{self._url} broke off the response in its last line. Try again.") from error
        problem = found.get("error")
        if problem:
            problem = problem if isinstance(problem, dict) else {"title": str(problem)}
            said = [str(problem.get(name) or "") for name in ("title", "detail", "remedy")]
            raise ServiceError("{}. {} {}".format(*said), None, problem)
        return summary

    @property
    def summary(self) -> Summary:
        """The document's outcome. Raises ServiceError if the stream broke off."""
        if self._summary is None:
            raise StreamBroken(f"{self._url} broke off the response before its end. Try again.")
        return self._summary


def count_of(answer: httpx.Response, header: str) -> int | None:
    """The number in a header; None if there is none."""
    said = answer.headers.get(header, "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None
