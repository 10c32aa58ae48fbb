"""The one way in: every document and chat request is admitted here, read on behalf of its caller within its deadline,
and accounted for.

    async with gateway.admit(caller) as admitted:  # may raise Overloaded, before any body is read
        document = await receive(...)
        async with admitted.read(document, options) as reading:
            async for page in reading: ...  # or: result = await reading.all()

The slot is held until the outer block is left or `end` is called, and its outcome is reported there. What ends the work
in that block, and whom it is charged to, by phase:

    receive     the client's deadline; without one, limits of its own (`receiving`, uploads.py)
    open        the deadline (Reader.read)
    read pages  the deadline, for each page on its own: those that were read by then are answered (`without_deadline`)
    find fields the deadline; nothing, once it has passed for some of the pages
    render      likewise
    send        `server.send_timeout_s` (`answered`, `end`)

All of it is charged to the caller's tenant, work that goes on in processes and threads after the caller has left too.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from time import perf_counter

import anyio

from inkgate.caller import Caller, Priority
from inkgate.documents.files import AnyFormat
from inkgate.documents.files.write import FileRequest
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.page import Pixels
from inkgate.service.reader import CheckedOptions, Reader, Reading
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.outcomes import WorkOutcome, outcome_of
from inkgate.serving.permits import Arrival, Permit
from inkgate.telemetry.observer import Observer
from inkgate_client.types import Document


class Admitted:
    """A request in flight, until the block of `Gateway.admit` is left.

    Attributes:
        caller: on whose behalf everything here is done.
    """

    def __init__(self, gateway: Gateway, caller: Caller, permit: Permit, scope: anyio.CancelScope) -> None:
        """`scope`: around the whole request; its deadline is the caller's."""
        self.caller = caller
        self._gateway = gateway
        self._permit = permit
        self._scope = scope
        self._deadline = caller.deadline

    @contextmanager
    def without_deadline(self) -> Iterator[None]:
        """Context for work that has time limits of its own, because it can answer in part once the deadline has passed,
        or must not be cancelled halfway. The deadline does not cancel it.

        The deadline holds again afterwards, unless it has passed: then what there is is the response.
        """
        self._scope.deadline = math.inf
        try:
            yield
        finally:
            if anyio.current_time() < self._deadline:
                self._scope.deadline = self._deadline

    def answered(self, byte_count: int) -> None:
        """The response of `byte_count` is ready. From here on, `server.send_timeout_s` is what limits the client."""
        self.set_held_bytes(byte_count)
        self._scope.deadline = self._deadline = math.inf

    @contextmanager
    def receiving(self) -> Iterator[Callable[[int], None]]:
        """Context for receiving the body: gives a function that is called with the bytes received so far, and charges
        them if they are more than announced. A slow upload may be evicted in favour of other tenants.

        Raises:
            Overloaded: "share_exceeded": it was evicted. Raised by the function if there is no room for the bytes.
        """
        begun = perf_counter()
        # A body that takes as long as the service allows is the client's fault ("body_timeout"), not the service's.
        if not self.caller.deadline_given:
            self._scope.deadline = math.inf
        with self._permit.receiving():
            yield self._permit.grow
        self._scope.deadline = self._deadline
        self._gateway.observer.stage("receive", perf_counter() - begun)

    def received(self, byte_count: int) -> None:
        """Counts the upload, and charges its size from now on."""
        self.set_held_bytes(byte_count)
        self._gateway.observer.upload(byte_count)

    def set_held_bytes(self, byte_count: int) -> None:
        """Sets the bytes that the request keeps in memory, such as its body or its response."""
        self._permit.set_held_bytes(byte_count)

    @asynccontextmanager
    async def read(self, document: Document, options: CheckedOptions) -> AsyncIterator[Reading]:
        """A Reading of `document`. Leaving the block reports the outcome, and cancels pages that are still being read.

        Raises:
            InputRejected: the document can't be opened, or `options.pages` doesn't fit it.
        """
        with self.without_deadline():
            async with self._gateway.reader.read(document, options, self.caller) as reading:
                yield reading
        if (failure := reading.failure) is not None:
            self.report(outcome_of(failure))

    async def picture(self, document: Document, page: int, longest_side: int) -> Pixels:
        """The pixels of page number `page`; see Reader.picture."""
        return await self._gateway.reader.picture(document, page, longest_side, self.caller)

    async def file(self, request: FileRequest) -> bytes:
        """The file of a document that was read; see Reader.file."""
        return await self._gateway.reader.file(request, self.caller)

    async def converted(self, body: bytes, shape: AnyFormat, *, marks: bool) -> bytes:
        """The document whose published JSON is `body`, in another format; see Writers.converted."""
        return await self._gateway.reader.converted(body, shape, self.caller, marks=marks)

    async def fields_table(self, body: bytes, shape: AnyFormat) -> bytes:
        """The fields of documents, which `body` has as JSON, as a table; see Writers.fields_table."""
        return await self._gateway.reader.fields_table(body, shape, self.caller)

    def send(self, upstream: Upstream, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        """The answer of `upstream` to a request that is relayed to it; see Upstream.send."""
        return upstream.send(replace(call, caller=self.caller))

    def end(self) -> None:
        """Frees the slot, since only the last bytes of the response remain. What the request keeps in memory stays
        charged until the block of `Gateway.admit` is left. The deadline ends nothing from here on.
        """
        self._permit.end_document()
        self._scope.deadline = self._deadline = math.inf

    def report(self, outcome: WorkOutcome) -> None:
        """Sets the outcome where no exception does, such as a response that ends with an error."""
        self._permit.report(outcome)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Admits requests and reads their documents. Used from one event loop.

    Attributes:
        reader: reads documents that are admitted.
        limiter: admits requests, refuses them, or lets them wait.
        observer: gets uploads and the time that receiving them takes.
    """

    reader: Reader
    limiter: AdmissionLimiter
    observer: Observer

    @asynccontextmanager
    async def admit(
        self,
        caller: Caller,
        body_bytes: int = 0,
        wait_s: float = 0.0,
        watched: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
        *,
        relayed: bool = False,
        client_s: float = math.inf,
    ) -> AsyncIterator[Admitted]:
        """Admits a request of `body_bytes`, its size if known, before its body is received.

        `wait_s`: how long it may wait for room. `watched`: context around that wait, which may end it.
        `relayed`: it goes to a model server as it is, and no page of it is read. `client_s`: its client leaves if no
        response has begun by then.

        Raises:
            Overloaded: there is no room; it says when to retry.
            InputRejected, EngineFailed: the deadline passed within the block; see Caller.timeout_error.
        """
        # The priority of an unknown document is not known yet, so it is not refused for a wait that only lower
        # priorities have.
        priority = caller.priority if caller.priority_given or relayed else Priority.INTERACTIVE
        deadline = min(caller.deadline, anyio.current_time() + client_s)
        arrival = Arrival(caller.tenant, priority, body_bytes, deadline, relayed)
        begun = perf_counter()
        permit = await self.limiter.wait(arrival, wait_s, watched)
        async with permit:
            if wait_s:
                self.observer.stage("admission", perf_counter() - begun)
            with caller.in_time("The time limit passed before the response was ready.") as scope:
                yield Admitted(self, replace(caller, charge=permit), permit, scope)
