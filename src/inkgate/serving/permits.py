"""Requests at admission, and the permits of those that are admitted. admission.py decides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import anyio

from inkgate.caller import Priority
from inkgate.errors import Overloaded
from inkgate.serving.outcomes import HeldUntilDone, WorkOutcome


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request at admission, before its body is read.

    Attributes:
        tenant, priority, deadline: as in Work.
        body_bytes: its Content-Length; 0 for a body without one, which is charged as it grows.
        relayed: it goes to a model server as it is, and no page of it waits in a queue of pages.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    body_bytes: int = 0
    deadline: float = math.inf
    relayed: bool = False


ANYBODY = Arrival()


class PermitIssuer(Protocol):
    """What a permit needs of the AdmissionLimiter that gave it."""

    def begin_body(self, permit: Permit) -> None:
        """The body of `permit` arrives from now on."""
        ...

    def end_body(self, permit: Permit) -> None:
        """The body of `permit` has arrived, or no longer does."""
        ...

    def end_document(self, tenant: str, body_bytes: int, outcome: WorkOutcome) -> None:
        """Counts how a document of `tenant` ended, and frees its slot and the given number of its bytes."""
        ...

    def change(self, tenant: str, documents: int, body_bytes: int) -> None:
        """Adds to what a tenant holds."""
        ...

    def grow(self, permit: Permit, body_bytes: int) -> None:
        """Raises the bytes of `permit`. Raises Overloaded if there is no room."""
        ...

    def retry_after_s(self) -> float: ...


class Permit(HeldUntilDone):
    """The slot of one document in flight and its body. Leaving the block frees both; see HeldUntilDone."""

    def __init__(self, limiter: PermitIssuer, arrival: Arrival, since: float) -> None:
        """`since`: clock time of admission."""
        super().__init__()
        self.tenant = arrival.tenant
        self.body_bytes = arrival.body_bytes
        self.since = since
        self._limiter = limiter
        self._receiving: anyio.CancelScope | None = None
        self._ended = False
        self._evicted = False

    def set_held_bytes(self, body_bytes: int) -> None:
        """Sets the bytes that the request keeps in memory."""
        if not self._evicted:
            self._limiter.change(self.tenant, 0, body_bytes - self.body_bytes)
            self.body_bytes = body_bytes

    def grow(self, received_bytes: int) -> None:
        """Charges a body that is longer than announced, or has no length, as it arrives.

        Raises:
            Overloaded: there is no room for that many bytes.
        """
        if received_bytes > self.body_bytes and not self._evicted:
            self._limiter.grow(self, received_bytes)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Context for receiving the body. A slow upload may be evicted in favour of others.

        Raises:
            Overloaded: "share_exceeded": it was evicted.
        """
        self._limiter.begin_body(self)
        try:
            with anyio.CancelScope() as self._receiving:
                yield
        finally:
            self._limiter.end_body(self)
        if self._evicted:
            detail = "The body arrived too slowly, and a tenant with fewer documents needed the slot."
            raise Overloaded("share_exceeded", detail, self._limiter.retry_after_s())

    def evict(self) -> None:
        """Frees the slot and the bytes at once, and cancels `receiving`. Called by the limiter."""
        self._limiter.end_body(self)
        self._evicted = True
        self._end(WorkOutcome.REJECTED)
        if self._receiving is not None:
            self._receiving.cancel()

    def end_document(self) -> None:
        """Ends the document before the block is left, unless work goes on. Its bytes stay charged until then."""
        if not self._ended and not self.requests:
            self._end(self.reported or WorkOutcome.OK, keeps=self.body_bytes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(error)

    def _free(self, outcome: WorkOutcome) -> None:
        if not self._ended:
            self._end(outcome)
        elif not self._evicted:
            self.set_held_bytes(0)

    def _end(self, outcome: WorkOutcome, keeps: int = 0) -> None:
        self._ended = True
        freed, self.body_bytes = self.body_bytes - keeps, keeps
        self._limiter.end_document(self.tenant, freed, outcome)
