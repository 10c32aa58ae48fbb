"""Streams a document as NDJSON: one line per page as soon as it is read, then a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import structlog
from starlette.types import Send

from inkgate.api.errors import Problem, internal_error
from inkgate.api.negotiation import NDJSON_TYPE
from inkgate.errors import InkgateError, from_page_error
from inkgate.gateway import Admitted
from inkgate.reader import Reading
from inkgate.serving.limiter import WorkOutcome
from inkgate.types import DocumentStatus, PageResult

log = structlog.get_logger(__name__)

PAGES_HEADER = "X-Inkgate-Pages"
"""Number of pages in the stream."""


async def stream_pages(
    reading: Reading, show_page: Callable[[PageResult], Any], admitted: Admitted, request_id: str, send: Send
) -> None:
    """Sends every page of `reading`, then the summary. Sends nothing before the first page is read.

    Raises:
        InkgateError: the only requested page failed; nothing was sent, so the status can report it.
    """
    error: Problem | None = None
    begun = False
    try:
        async for page in reading:
            if page.error is not None and page.lost and len(reading.selected) == 1:
                raise from_page_error(page.error)
            if not begun:
                begun = True
                await _start(send, len(reading.selected))
            await _line(send, show_page(page))
    except InkgateError as failure:
        if not begun:
            raise
        error = Problem.of(failure, request_id)
    except Exception:  # The response has begun, so only its last line can report the error.
        if not begun:
            raise
        log.exception("stream_failed")
        error = Problem.of(internal_error(), request_id)
    if error is not None:
        admitted.report(WorkOutcome.FAILED)
    await _line(send, _summary(reading, error), last=True)


def _summary(reading: Reading, error: Problem | None) -> dict[str, Any]:
    """The last line."""
    return {
        "status": DocumentStatus.FAILED if error else reading.status,
        "name": reading.name,
        "mime_type": reading.mime_type,
        "byte_count": reading.byte_count,
        "page_count": reading.page_count,
        "engine": reading.engine,
        "pages_answered": reading.answered,
        "pages_failed": reading.failed,
        "notes": reading.notes,
        "error": error.as_dict() if error else None,
    }


async def _start(send: Send, pages: int) -> None:
    # Without X-Accel-Buffering, nginx would buffer the lines.
    headers = [(b"content-type", NDJSON_TYPE.encode()), (b"x-accel-buffering", b"no"), (b"cache-control", b"no-store")]
    headers.append((PAGES_HEADER.lower().encode(), str(pages).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _line(send: Send, value: object, *, last: bool = False) -> None:
    body = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    await send({"type": "http.response.body", "body": body, "more_body": not last})
