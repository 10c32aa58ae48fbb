"""Streams a document as NDJSON: one line per page as soon as it is read, then a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import structlog
from starlette.types import Send

from inkgate.api.errors import Problem, internal_error
from inkgate.api.negotiation import NDJSON_TYPE
from inkgate.errors import InkgateError, InputRejected, from_page_error
from inkgate.reader import Reading
from inkgate.serving.limiter import Permit, WorkOutcome
from inkgate.types import DocumentStatus, PageError, PageResult

log = structlog.get_logger(__name__)

PAGES_HEADER = "X-Inkgate-Pages"
"""Number of pages in the stream."""


class _Tally:
    """Counts for the last line."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.pages = 0
        self.failed = 0
        self.lost = 0
        self.first_error: PageError | None = None

    def count(self, page: PageResult) -> None:
        self.pages += 1
        if page.error is not None:
            self.failed += 1
            self.lost += page.lost
            self.first_error = self.first_error or page.error

    @property
    def status(self) -> DocumentStatus:
        if not self.failed:
            return DocumentStatus.COMPLETE
        return DocumentStatus.FAILED if self.lost == self.pages else DocumentStatus.PARTIAL

    def summary(self, error: Problem | None = None) -> dict[str, Any]:
        return {
            "status": DocumentStatus.FAILED if error else self.status,
            "name": self._reading.name,
            "mime_type": self._reading.mime_type,
            "byte_count": self._reading.byte_count,
            "page_count": self._reading.page_count,
            "engine": self._reading.engine,
            "pages_answered": self.pages,
            "pages_failed": self.failed,
            "notes": self._reading.notes,
            "error": error.as_dict() if error else None,
        }


async def stream_pages(
    reading: Reading, show_page: Callable[[PageResult], Any], permit: Permit, request_id: str, send: Send
) -> None:
    """Sends every page of `reading`, then the summary. Sends nothing before the first page is read.

    Raises:
        InkgateError: the only requested page failed; nothing was sent, so the status can report it.
    """
    tally = _Tally(reading)
    error: Problem | None = None
    try:
        async for page in reading:
            if page.error is not None and page.lost and len(reading.selected) == 1:
                raise from_page_error(page.error)
            if not tally.pages:
                await _start(send, len(reading.selected))
            tally.count(page)
            await _line(send, show_page(page))
    except InkgateError as failure:
        if not tally.pages:
            raise
        error = Problem.of(failure, request_id)
    except Exception:  # The response has begun, so only its last line can report the error.
        if not tally.pages:
            raise
        log.exception("stream_failed")
        error = Problem.of(internal_error(), request_id)
    permit.report(_outcome(tally, error))
    await _line(send, tally.summary(error), last=True)


def _outcome(tally: _Tally, error: Problem | None) -> WorkOutcome:
    if error is not None:
        return WorkOutcome.FAILED
    if tally.status is DocumentStatus.FAILED and tally.first_error is not None:
        rejected = isinstance(from_page_error(tally.first_error), InputRejected)
        return WorkOutcome.REJECTED if rejected else WorkOutcome.FAILED
    return WorkOutcome.OK


async def _start(send: Send, pages: int) -> None:
    # Without X-Accel-Buffering, nginx would buffer the lines.
    headers = [(b"content-type", NDJSON_TYPE.encode()), (b"x-accel-buffering", b"no"), (b"cache-control", b"no-store")]
    headers.append((PAGES_HEADER.lower().encode(), str(pages).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _line(send: Send, value: object, *, last: bool = False) -> None:
    body = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    await send({"type": "http.response.body", "body": body, "more_body": not last})
