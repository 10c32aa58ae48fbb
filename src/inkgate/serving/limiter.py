"""The ports of admission: a Limiter admits or refuses at once; a Permit is the right to run. admission.py has the
Limiter that knows tenants and the scheduler's expected wait.

A permit reports how the work ended. Rejected input, or a client that left, is no sample of how long work takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

import anyio

from inkgate.caller import Priority
from inkgate.errors import InputRejected


class WorkOutcome(StrEnum):
    """How admitted work ended. `LATE`: it timed out at the engine; only the scheduler distinguishes that from LEFT."""

    OK = "ok"
    REJECTED = "rejected"
    FAILED = "failed"
    LEFT = "left"
    LATE = "late"


class CallerLeft(Exception):
    """The caller has left."""


class Permit:
    """The right to run. Leaving the block releases it and reports the outcome by the exception: none is `ok`,
    InputRejected is `rejected`, CallerLeft or cancellation is `left`, anything else is `failed`.
    """

    def __init__(self, release: Callable[[WorkOutcome], None]) -> None:
        self._release = release
        self._reported: WorkOutcome | None = None

    def holds(self, body_bytes: int) -> None:
        """Sets the body's size once it is known; until then the maximum may be counted."""

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Context for receiving the body. A slow upload may be evicted in favour of others.

        Raises:
            Overloaded: it was evicted.
        """
        yield

    def report(self, outcome: WorkOutcome) -> None:
        """Sets the outcome where no exception does, such as a response whose pages all failed."""
        self._reported = outcome

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release(self._reported or outcome_of(error))


def outcome_of(error: BaseException | None) -> WorkOutcome:
    """The outcome of work that raised `error` (None: nothing)."""
    if error is None:
        return WorkOutcome.OK
    if isinstance(error, InputRejected):
        return WorkOutcome.REJECTED
    if isinstance(error, CallerLeft | anyio.get_cancelled_exc_class()):
        return WorkOutcome.LEFT
    return WorkOutcome.FAILED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request at admission, before its body is read.

    Attributes:
        tenant, priority, deadline: as in Work.
        body_bytes: its Content-Length; the maximum allowed for chunked bodies.
        waits: it will be retried if there is no room, and does not count as refused.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    body_bytes: int = 0
    deadline: float = math.inf
    waits: bool = False


ANYBODY = Arrival()


class Limiter(Protocol):
    """Admits or refuses work at once. Used from one event loop."""

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        """A permit to enter with `async with`.

        Raises:
            Overloaded: there is no room; it says when to retry.
        """
        ...
