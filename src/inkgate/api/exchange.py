"""Handles one document request: admits it, receives the body, reads the document, and sends the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api import uploads
from inkgate.api.asking import asking_of
from inkgate.api.context import Context, caller_of
from inkgate.api.errors import Problem, request_id_of
from inkgate.api.leaving import cancelled_when_left
from inkgate.api.negotiation import Native, Shape
from inkgate.api.stream import stream_pages
from inkgate.api.uploads import UploadedBody
from inkgate.codec import page_to_dict
from inkgate.coordinates import Coordinates
from inkgate.documents.formats import render
from inkgate.errors import InkgateError, from_page_error
from inkgate.reader import ReadOptions
from inkgate.serving.limiter import Permit
from inkgate.serving.work import as_caller
from inkgate.types import Document, DocumentResult, DocumentStatus, PageResult

STATUS_HEADER = "X-Inkgate-Status"


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose body has arrived."""

    context: Context
    body: UploadedBody
    query: Mapping[str, str]
    accept: str | None
    caller: str


@dataclass(frozen=True, slots=True)
class Order:
    """What to read, and the response's format.

    Attributes:
        show: makes the JSON of the request's form. Runs in a thread.
        show_page: makes a line of a stream from a page; None: as in the published schema.
        coordinates: for the formats that all forms share; None: the format's default.
    """

    document: Document
    options: ReadOptions
    shape: Shape
    show: Callable[[DocumentResult], Any]
    show_page: Callable[[PageResult], Any] | None = None
    coordinates: Coordinates | None = None

    def line(self, page: PageResult) -> Any:  # noqa: ANN401 - what becomes JSON
        """A page as one line of a stream."""
        if self.show_page is not None:
            return self.show_page(page)
        return page_to_dict(page, self.coordinates or Coordinates.UPRIGHT)


class Form(Protocol):
    """A form of request: parses requests and formats errors."""

    async def order(self, call: Call) -> Order:
        """Parses `call`. Raises InputRejected."""
        ...

    def problem(self, problem: Problem) -> Response:
        """The error response for `problem`."""
        ...


class Exchange(Response):
    """Handles the whole request within the response, so that one task holds the permit, the document and the connection
    from the first byte to the last. A stream keeps its permit until it ends.
    """

    def __init__(self, context: Context, find_form: Callable[[UploadedBody], Form]) -> None:
        super().__init__()
        self._context = context
        self._find_form = find_form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        form: Form | None = None
        try:
            asking = asking_of(request, self._context.settings)
            async with self._context.service.limiter.admit(asking.arrival) as permit:
                begun = perf_counter()
                with permit.receiving():
                    body = await uploads.receive(request, self._context.settings.limits, self._context.bodies)
                self._context.service.observer.stage("receive", perf_counter() - begun)
                form = self._find_form(body)
                call = Call(
                    self._context, body, request.query_params, request.headers.get("accept"), caller_of(request)
                )
                with as_caller(asking.caller):
                    async with cancelled_when_left(receive):
                        order = await form.order(call)
                        # Frees the body before reading: as base64, it is a third larger than the file.
                        del body, call
                        permit.holds(len(order.document.data))
                        self._context.service.observer.upload(len(order.document.data))
                        answer = await self._answer(order, permit, request_id_of(request), send)
                        del order
                # In flight until the client has received it.
                if answer is not None:
                    permit.holds(len(answer.body))
                    await answer(scope, receive, send)
                return
        except InkgateError as error:
            if form is None or error.code == "internal":
                raise
            scope["state"]["code"] = error.code
            answer = form.problem(Problem.of(error, request_id_of(request)))
        await answer(scope, receive, send)

    async def _answer(self, order: Order, permit: Permit, request_id: str, send: Send) -> Response | None:
        """The response to send; None if it was streamed."""
        async with self._context.service.reader.read(order.document, order.options) as reading:
            if order.shape is Native.NDJSON:
                await stream_pages(reading, order.line, permit, request_id, send)
                return None
            result = await reading.all()
        if result.status is DocumentStatus.FAILED:
            raise failure_of(result)
        begun = perf_counter()
        content, media_type = await self._context.threads.run(_rendered, order, result)
        self._context.service.observer.stage("assemble", perf_counter() - begun)
        return Response(content, headers={STATUS_HEADER: result.status.value}, media_type=media_type)


def failure_of(result: DocumentResult) -> InkgateError:
    """The first page's error if no page of the document was read."""
    first = next(page.error for page in result.pages if page.error is not None)
    return from_page_error(first)


def _rendered(order: Order, result: DocumentResult) -> tuple[bytes, str]:
    if isinstance(order.shape, Native):
        return orjson.dumps(order.show(result)), "application/json"
    return render(result, order.shape, order.coordinates), order.shape.media_type
