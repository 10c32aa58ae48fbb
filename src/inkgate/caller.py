"""The caller on whose behalf documents are read: an argument from the gateway down to the engine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

import anyio

from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate_client.concurrency import Charge


class Priority(StrEnum):
    """Priority class. `rank`: 0 goes first."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BATCH = "batch"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


class _NoCharge:
    def begin_work(self) -> None:
        """Does nothing."""

    def end_work(self) -> None:
        """Does nothing."""


NO_CHARGE = _NoCharge()
"""The charge of work that nobody pays for."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller on whose behalf work is done.

    Attributes:
        tenant: such as an API key; tenants share the engine.
        priority: its class.
        deadline: event loop time in seconds after which results are useless; math.inf if there is none.
        flow: its document or request, within the tenant.
        priority_given: whether the client set the priority; else it follows from the document.
        patience_s: seconds from the arrival of its request to the deadline.
        anew: bypass the cache.
        deadline_given: whether the client set the deadline; else it is the service's.
        charge: what its request is charged for.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float = math.inf
    flow: str = ""
    priority_given: bool = False
    patience_s: float = math.inf
    anew: bool = False
    deadline_given: bool = False
    charge: Charge = field(default=NO_CHARGE, compare=False, repr=False)

    def timeout_error(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `timeout_error`."""
        return timeout_error(detail, given=self.deadline_given)

    @contextmanager
    def in_time(self, detail: str) -> Iterator[anyio.CancelScope]:
        """Cancels the block when the deadline passes, and raises the timeout error with `detail` then.

        A request is such a block, and so is each part of it that can fail alone, such as a page. Of nested blocks the
        outer one is cancelled, so whoever opens an inner one moves the deadline of the scope that the outer one gave.
        """
        with anyio.CancelScope(deadline=self.deadline) as scope:
            yield scope
        if scope.cancelled_caught:
            raise self.timeout_error(detail)


def timeout_error(detail: str, *, given: bool) -> InkgateError:
    """The error of a request whose deadline has passed.

    "deadline_exceeded", a client error, if the client set the deadline (`given`). Else "service_timeout": a failure of
    the service, which counts in metrics, alerts, limits and breakers.
    """
    if given:
        return InputRejected("deadline_exceeded", detail)
    return EngineFailed("service_timeout", detail)


def with_default_priority(caller: Caller, pages: int, byte_count: int) -> Caller:
    """The caller, with a priority by the size of its document unless the client set one: a few small pages are
    interactive, and a document of many pages is a batch.
    """
    if caller.priority_given:
        return caller
    if pages > _MANY_PAGES:
        return replace(caller, priority=Priority.BATCH)
    small = pages <= _FEW_PAGES and byte_count <= pages * _SMALL_BYTES
    return replace(caller, priority=Priority.INTERACTIVE if small else Priority.NORMAL)


_MANY_PAGES = 20
_FEW_PAGES = 5
_SMALL_BYTES = 1_000_000
"""Per page, on average."""

NO_CALLER = Caller()
"""The caller of work that nobody waits for, such as a warm-up or a probe, and of the command line."""
