"""Who may come in: a Limiter admits or refuses at once, a Permit is the admitted one's right to run. admission.py has
the Limiter that knows tenants and what the scheduler expects.

A permit reports how it ended, because only some ends say anything about the service: a rejected input, or a
client that left, is no sample of how long work takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

import anyio

from inkgate.errors import InputRejected, Overloaded
from inkgate.serving.work import Priority


class WorkOutcome(StrEnum):
    """How admitted work ended. `LATE`: its deadline ended it at the engine; only the scheduler tells that from LEFT."""

    OK = "ok"
    REJECTED = "rejected"
    FAILED = "failed"
    LEFT = "left"
    LATE = "late"


class CallerLeft(Exception):
    """Whoever asked for the work is gone: nobody is there to be answered."""


class Permit:
    """The right to run. Leaving the block gives it back and reports how it ended, judged by what was raised:
    nothing is `ok`, InputRejected is `rejected`, CallerLeft or a cancellation is `left`, all else is `failed`.
    """

    def __init__(self, release: Callable[[WorkOutcome], None]) -> None:
        self._release = release
        self._reported: WorkOutcome | None = None

    def holds(self, body_bytes: int) -> None:
        """Says how large the body is, once that is known: until then the largest allowed was counted, maybe."""

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """To be put around what waits for the body. Whoever takes long over it may be turned out in favour of others.

        Raises:
            Overloaded: it was.
        """
        yield

    def report(self, outcome: WorkOutcome) -> None:
        """Says how it ended where no exception will: an answer whose every page failed, for example."""
        self._reported = outcome

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release(self._reported or outcome_of(error))


def outcome_of(error: BaseException | None) -> WorkOutcome:
    """How work ended that raised `error`, or nothing."""
    if error is None:
        return WorkOutcome.OK
    if isinstance(error, InputRejected):
        return WorkOutcome.REJECTED
    if isinstance(error, CallerLeft | anyio.get_cancelled_exc_class()):
        return WorkOutcome.LEFT
    return WorkOutcome.FAILED


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request at the door, before its body was read.

    Attributes:
        tenant, priority, deadline: as in Work.
        body_bytes: its Content-Length; the largest body that is allowed, where it comes in chunks.
        waits: it comes again if there is no room, and doesn't count as refused.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    body_bytes: int = 0
    deadline: float = math.inf
    waits: bool = False


ANYBODY = Arrival()


class Limiter(Protocol):
    """Admits work, or refuses it at once. Used from one event loop."""

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:
        """A permit, to be entered with `async with`.

        Raises:
            Overloaded: there is no room; it says when to come back.
        """
        ...


class FixedLimiter:
    """Admits up to a fixed number at once."""

    def __init__(self, max_in_flight: int, retry_after_s: float = 2.0) -> None:
        self.in_flight = 0
        self.ended: Counter[WorkOutcome] = Counter()
        self._max_in_flight = max_in_flight
        self._retry_after_s = retry_after_s

    def admit(self, arrival: Arrival = ANYBODY) -> Permit:  # noqa: ARG002 - all are the same to it
        if self.in_flight >= self._max_in_flight:
            raise Overloaded(
                "service_full", f"{self.in_flight} documents are being read; no more fit.", self._retry_after_s
            )
        self.in_flight += 1
        return Permit(self._leave)

    def _leave(self, outcome: WorkOutcome) -> None:
        self.in_flight -= 1
        self.ended[outcome] += 1
