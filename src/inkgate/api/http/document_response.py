"""Handles one document request: admits it, receives the body, reads the document, and sends the response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from time import perf_counter
from typing import Any, Protocol

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api.http import uploads
from inkgate.api.http.context import Context
from inkgate.api.http.decoding import BodyThreads
from inkgate.api.http.errors import Problem, internal_error, request_id_of
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import cancelled_when_left, send_freeing_slot
from inkgate.api.http.options import NDJSON_TYPE, Native, OcrOptions, Shape, parse
from inkgate.api.http.page_list import (
    OBJECT_SIZE,
    PageList,
    PageListForm,
    PiecesResponse,
    PublishedForm,
    ShowPages,
)
from inkgate.api.http.uploads import CountBytes, UploadedBody
from inkgate.caller import Caller
from inkgate.documents.files import FileFormat
from inkgate.documents.files.write import FileRequest
from inkgate.errors import InkgateError, from_page_error
from inkgate.service.gateway import Admitted
from inkgate.service.reader import CheckedOptions, Reading
from inkgate.serving.outcomes import WorkOutcome, outcome_of
from inkgate.serving.threads import FairThreads
from inkgate.settings import LimitSettings
from inkgate_client.codec import estimated_bytes, page_to_dict
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format, render
from inkgate_client.formats.chunks import ChunkOptions
from inkgate_client.formats.marks import marked, marked_document
from inkgate_client.image_links import with_all_images_embedded
from inkgate_client.types import Document, DocumentResult, DocumentStatus, PageResult, Task

log = structlog.get_logger(__name__)

STATUS_HEADER = "X-Inkgate-Status"
PAGES_HEADER = "X-Inkgate-Pages"
"""Number of pages in the stream."""
PAGE_COUNT_HEADER = "X-Inkgate-Page-Count"
"""Number of pages of the whole document."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request whose body has arrived."""

    context: Context
    body: UploadedBody
    query: Mapping[str, str]
    accept: str | None
    caller: Caller


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What to read, and the response's format.

    Attributes:
        show: makes the JSON of the request's form. Runs in a thread.
        find: called once all pages are read. It finds what the JSON has beside the pages, and returns the function
            that replaces `show`. Only /extract sets it, for fields, and Mistral's form, for annotations.
        show_page: makes a line of a stream from a page; None: as in the published schema.
        coordinates: for the formats that all forms share; None: the format's default.
        marks: mark what is doubtful in the Markdown.
        chunks: how to divide the document, for the format `chunks`.
    """

    document: Document
    options: CheckedOptions
    shape: Shape
    show: Callable[[DocumentResult], Any]
    show_page: Callable[[PageResult], Any] | None = None
    coordinates: Coordinates | None = None
    marks: bool = False
    chunks: ChunkOptions | None = None
    find: Callable[[DocumentResult, Caller], Awaitable[Callable[[DocumentResult], Any]]] | None = None

    @property
    def page_list(self) -> PageListForm | None:
        """The form of the response if its pages can be rendered one by one."""
        if self.find is not None:
            return None
        if self.shape is Format.JSON:
            return PublishedForm(self.coordinates or Coordinates.UPRIGHT)
        return self.show.form if self.shape is Native.FORM and isinstance(self.show, ShowPages) else None

    def line(self, page: PageResult) -> Any:  # noqa: ANN401 - what becomes JSON
        """A page as one line of a stream."""
        page = marked(page) if self.marks else page
        if self.show_page is not None:
            return self.show_page(page)
        return page_to_dict(page, self.coordinates or Coordinates.UPRIGHT)


class Form(Protocol):
    """A form of request: parses requests and formats errors."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        """Parses the request. Raises InputRejected."""
        ...

    def problem(self, problem: Problem) -> Response:
        """The error response for `problem`."""
        ...


ReceiveBody = Callable[[Request, LimitSettings, BodyThreads, Caller, CountBytes], Awaitable[UploadedBody]]


def ordered(received: ReceivedRequest, found: Document, show: Callable[[DocumentResult], Any]) -> ReadRequest:
    """The order for `found` with the options that all forms share."""
    options = parse(OcrOptions, received.body.fields, received.query)
    shape = options.shape(received.accept)
    kind, names, images = options.task_kind(shape), options.field_names(), options.images(shape)
    task = Task(kind=kind, fields=names, language=options.language, images=images, invisible=options.invisible)
    how, marks = options.read_options(task), bool(options.marks)
    return ReadRequest(found, how, shape, show, coordinates=options.coordinates, marks=marks, chunks=options.chunks())


class DocumentResponse(Response):
    """Handles the whole request within the response, so that one task holds the slot, the document and the connection
    from the first byte to the last. The slot is free just before the last byte goes out.
    """

    def __init__(
        self, context: Context, find_form: Callable[[UploadedBody], Form], receive_body: ReceiveBody = uploads.receive
    ) -> None:
        super().__init__()
        self._context = context
        self._find_form = find_form
        self._receive_body = receive_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, context = Request(scope, receive), self._context
        form: Form | None = None
        try:
            head = parse_head(request, context.settings)
            async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
                send_all = send_freeing_slot(admitted, send)
                with admitted.receiving() as count_bytes:
                    body = await self._receive_body(
                        request, context.settings.limits, context.bodies, admitted.caller, count_bytes
                    )
                form = self._find_form(body)
                accept = request.headers.get("accept")
                received = ReceivedRequest(context, body, request.query_params, accept, admitted.caller)
                async with cancelled_when_left(receive):
                    requested = await form.parse(received)
                    # Frees the body before reading: as base64, it is a third larger than the file.
                    del body, received
                    admitted.received(len(requested.document.data))
                    answer = await self._answer(requested, admitted, request_id_of(request), send_all)
                    del requested
                if answer is not None:
                    held = answer.held_bytes if isinstance(answer, PiecesResponse) else len(answer.body)
                    admitted.answered(held)
                    await answer(scope, receive, send_all)
                return
        except InkgateError as error:
            if form is None or error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            scope["state"]["code"] = error.code
            answer = form.problem(Problem.of(error, request_id_of(request)))
        await answer(scope, receive, send)

    async def _answer(self, requested: ReadRequest, admitted: Admitted, request_id: str, send: Send) -> Response | None:
        """The response to send; None if it was streamed. The pages are freed by then."""
        uploaded = len(requested.document.data)
        async with admitted.read(requested.document, requested.options) as reading:
            if requested.shape is Native.NDJSON:
                lines = PageLines(requested, self._context.threads, admitted.caller)
                await stream_pages(reading, lines, admitted, request_id, send)
                return None
            if (form := requested.page_list) is not None:
                return await self._page_list(requested, form, reading, admitted)
            result = await reading.all(lambda size: admitted.set_held_bytes(uploaded + OBJECT_SIZE * size))
        if reading.failure is not None:
            raise reading.failure
        answer = await self._whole(requested, result, admitted)
        pages = list(result.pages)
        del result
        if len(pages) > 1:
            await self._context.threads.run(admitted.caller, len(pages), _free, pages)
        return answer

    async def _whole(self, requested: ReadRequest, result: DocumentResult, admitted: Admitted) -> Response:
        """The response of a form that needs all pages at once."""
        if requested.find is not None:
            requested = replace(requested, show=await requested.find(result, admitted.caller), find=None)
        if isinstance(requested.shape, FileFormat):
            file_request = FileRequest(requested.document, result, requested.shape, requested.options.password)
            content, media_type = await admitted.file(file_request), requested.shape.media_type
        else:
            begun = perf_counter()
            content, media_type = await self._context.threads.run(
                admitted.caller, len(result.pages), _rendered, requested, requested.shape, result
            )
            self._context.service.observer.stage("assemble", perf_counter() - begun)
        return Response(content, headers={STATUS_HEADER: result.status.value}, media_type=media_type)

    async def _page_list(
        self, requested: ReadRequest, form: PageListForm, reading: Reading, admitted: Admitted
    ) -> Response:
        """The response of a form whose pages are rendered one by one."""
        threads, caller, uploaded = self._context.threads, admitted.caller, len(requested.document.data)
        pages = PageList(form, reading, marked if requested.marks else _unchanged)
        async for page in reading:
            await threads.run_large(caller, estimated_bytes(page), pages.add, page)
            admitted.set_held_bytes(uploaded + pages.held_bytes)
        if reading.failure is not None:
            raise reading.failure
        begun = perf_counter()
        end = b"\n" if requested.shape is Format.JSON else b""

        def rendered() -> Response:
            result = reading.result(pages.finish())
            return pages.response(result, {STATUS_HEADER: result.status.value}, end)

        answer = await threads.run_large(caller, reading.page_bytes, rendered)
        self._context.service.observer.stage("assemble", perf_counter() - begun)
        return answer


def _unchanged(page: PageResult) -> PageResult:
    return page


def _free(pages: list[PageResult]) -> None:
    """Frees pages one by one. Sixty dense pages at once take 40 ms, which no other thread can interrupt."""
    while pages:
        pages.pop()


def _rendered(requested: ReadRequest, shape: Native | Format, result: DocumentResult) -> tuple[bytes, str]:
    result = marked_document(result) if requested.marks else result
    if isinstance(shape, Native):
        return orjson.dumps(requested.show(result)), "application/json"
    if shape is Format.MARKDOWN:
        result = with_all_images_embedded(result)
    return render(result, shape, requested.coordinates, requested.chunks), shape.media_type


@dataclass(frozen=True, slots=True)
class PageLines:
    """Makes lines of a stream."""

    requested: ReadRequest
    threads: FairThreads
    caller: Caller

    async def of(self, page: PageResult) -> bytes:
        """The page as a line of JSON. A dense page takes 80 ms, in a thread."""
        return await self.threads.run_large(self.caller, estimated_bytes(page), self._line, page)

    def _line(self, page: PageResult) -> bytes:
        return _json_line(self.requested.line(page))


async def stream_pages(reading: Reading, lines: PageLines, admitted: Admitted, request_id: str, send: Send) -> None:
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
                await _start(send, len(reading.selected), reading.page_count)
            await _send(send, await lines.of(page))
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
    elif reading.failure is not None:
        admitted.report(outcome_of(reading.failure))
    await _send(send, _json_line(_summary(reading, error)), last=True)


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
        "needs_review": reading.to_review,
        "notes": reading.notes,
        "error": error.as_dict() if error else None,
    }


async def _start(send: Send, pages: int, page_count: int) -> None:
    # Without X-Accel-Buffering, nginx would buffer the lines.
    headers = [(b"content-type", NDJSON_TYPE.encode()), (b"x-accel-buffering", b"no"), (b"cache-control", b"no-store")]
    for name, count in ((PAGES_HEADER, pages), (PAGE_COUNT_HEADER, page_count)):
        headers.append((name.lower().encode(), str(count).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


def _json_line(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


async def _send(send: Send, body: bytes, *, last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not last})
