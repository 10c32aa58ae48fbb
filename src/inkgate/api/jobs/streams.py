"""Streams of a job while it runs: its pages as NDJSON, and its changes as server-sent events."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import PAGES_HEADER
from inkgate.api.http.errors import Problem, request_id_of
from inkgate.api.http.leaving import cancelled_when_left
from inkgate.api.http.options import NDJSON_TYPE
from inkgate.api.jobs.submit import JobCall
from inkgate.api.jobs.views import error_of, expired_error, job_view, root_of, status_of
from inkgate.api.jobs.watches import JobWatch, PageOrder
from inkgate.errors import InkgateError, Overloaded
from inkgate.jobs.job import Job
from inkgate.serving.permits import Permit
from inkgate_client.codec import Json, encodable

EVENTS_TYPE = "text/event-stream"
HEARTBEAT_S = 15.0
"""Shorter than the time after which proxies close silent connections."""
_RECONNECT_MS = 2000


def job_summary(job: Job, sent: int, error: InkgateError | None, request_id: str) -> Json:
    """The last line of a stream of a job's pages, as `/ocr` has it, with the job's ID and state.

    `sent`: pages in this stream. `pages_failed` counts all pages of the job.
    """
    document = job.document
    return {
        "status": status_of(job).value,
        "name": encodable(job.name),
        "mime_type": document.mime_type if document else "",
        "byte_count": document.byte_count if document else 0,
        "page_count": document.page_count if document else 0,
        "engine": document.engine if document else "",
        "pages_answered": sent,
        "pages_failed": job.failed,
        "notes": [encodable(note) for note in document.notes] if document else [],
        "error": None if error is None else Problem.of(error, request_id).as_dict(),
        "job": job.id,
        "state": job.state.value,
    }


class _Stream(Response):
    """A response that goes on as long as a job. Ends early, so that the client connects to another instance, when this
    one stops.
    """

    media_type = NDJSON_TYPE

    def __init__(self, call: JobCall, job: Job) -> None:
        super().__init__()
        self._call = call
        self._job = job
        self._drain = context_of(call.request).drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as in ASGI
        watches = self._call.watches
        with watches.stream(self._call.tenant) as permit, watches.watch(self._job) as watch:
            async with cancelled_when_left(receive):
                await self._stream(watch, permit, send)

    async def _stream(self, watch: JobWatch, permit: Permit, send: Send) -> None:
        raise NotImplementedError

    async def _start(self, send: Send, extra: dict[str, str]) -> None:
        # Without X-Accel-Buffering, nginx would buffer the lines.
        headers = {
            "content-type": str(self.media_type),
            "cache-control": "no-store",
            "x-accel-buffering": "no",
            **extra,
        }
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})


class PageLines(_Stream):
    """The saved pages of a job with an index above `after`, then those that are saved while it runs, one line each, in
    order. The last line is the summary.
    """

    def __init__(self, call: JobCall, job: Job, after: int = -1) -> None:
        super().__init__(call, job)
        self._begins = after < 0
        self._after = after
        self._sent = 0
        self._order = PageOrder(after)

    async def _stream(self, watch: JobWatch, permit: Permit, send: Send) -> None:
        expected = self._order.expected(watch.job)
        await self._start(send, {} if expected is None else {PAGES_HEADER: str(len(expected))})
        seen = -1
        while not self._drain.draining:
            job = watch.job
            if seen != watch.version:
                version = watch.version
                try:
                    await self._send_saved(watch, job, permit, send)
                except Overloaded:  # the database is unavailable, and may come back
                    await watch.tick()
                    continue
                seen = version
            if job.state.ended or watch.gone is not None:
                error = watch.gone or error_of(job)
                if error is None and self._begins and job.saved and not self._sent:
                    error = expired_error()
                summary = job_summary(job, self._sent, error, request_id_of(self._call.request))
                await _send(send, orjson.dumps(summary, option=orjson.OPT_APPEND_NEWLINE))
                break
            await watch.tick()
        await _send(send, b"", more=False)

    async def _send_saved(self, watch: JobWatch, job: Job, permit: Permit, send: Send) -> None:
        while lines := self._order.release(await watch.pages(self._after), job):
            permit.set_held_bytes(sum(len(page.line) for page in lines))
            for page in lines:
                await _send(send, page.line)
            self._after = lines[-1].index
            self._sent += len(lines)
        permit.set_held_bytes(0)


class JobEvents(_Stream):
    """Changes of a job as server-sent events: `state` when its state changes, else `progress`, with the job as data.

    An event's ID says what it showed: a client that reconnects with it gets nothing until something has changed.
    """

    media_type = EVENTS_TYPE

    def __init__(
        self, call: JobCall, job: Job, last_id: str = "", clock: Callable[[], float] = anyio.current_time
    ) -> None:
        super().__init__(call, job)
        self._root = root_of(call.request)
        self._last_id = last_id
        self._clock = clock

    async def _stream(self, watch: JobWatch, permit: Permit, send: Send) -> None:  # noqa: ARG002 - as in _Stream
        await self._start(send, {})
        await _send(send, b"retry: %d\n\n" % _RECONNECT_MS)
        sent_at = self._clock()
        while not self._drain.draining and watch.gone is None:
            job = watch.job
            if (event_id := event_id_of(job)) != self._last_id:
                await _send(send, await self._event(watch, job, event_id))
                self._last_id, sent_at = event_id, self._clock()
            if job.state.ended:
                break
            if self._clock() - sent_at >= HEARTBEAT_S:
                await _send(send, b":\n\n")
                sent_at = self._clock()
            await watch.tick()
        await _send(send, b"", more=False)

    async def _event(self, watch: JobWatch, job: Job, event_id: str) -> bytes:
        same_state = self._last_id.partition("-")[0] == job.state.value
        forecast = await watch.forecast()
        data = orjson.dumps(job_view(job, forecast, self._root))
        name = "progress" if same_state else "state"
        return f"event: {name}\nid: {event_id}\n".encode() + b"data: " + data + b"\n\n"


def event_id_of(job: Job) -> str:
    """ID of the event that shows `job`."""
    return f"{job.state.value}-{job.saved}-{job.failed}-{job.pages if job.pages is not None else ''}"


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})
