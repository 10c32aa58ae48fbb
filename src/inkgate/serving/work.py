"""Work for an engine, and the caller that it is for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum

from inkgate.errors import EngineFailed, InkgateError, InputRejected


class Priority(StrEnum):
    """Priority class. `rank`: 0 goes first."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BATCH = "batch"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


@dataclass(frozen=True, slots=True)
class Work:
    """One call of an engine, such as a page.

    Attributes:
        tokens: its cost, in KV tokens or another unit of the engine's capacity.
        tenant: such as an API key; tenants share the engine.
        flow: its document or request, within the tenant.
        priority: its class.
        deadline: clock time in seconds after which it is useless; math.inf if there is none.
        patience_s: seconds from the arrival of its request to the deadline.
        margin: how many of the tokens are a reserve above the expected cost.
        growing: how many of the others are used one by one while it runs, and reported as they are.
        deadline_given: whether the client set the deadline; else it is the service's.
    """

    tokens: int
    tenant: str = ""
    flow: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float = math.inf
    patience_s: float = math.inf
    margin: int = 0
    growing: int = 0
    deadline_given: bool = False

    def timeout_error(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `timeout_error`."""
        return timeout_error(detail, given=self.deadline_given)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of the current work. Attributes as in Work.

    `priority_given`: whether the client set the priority; else it follows from the document. `anew`: bypass the cache.
    """

    tenant: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float = math.inf
    flow: str = ""
    priority_given: bool = False
    patience_s: float = math.inf
    anew: bool = False
    deadline_given: bool = False

    def work(self, tokens: int, margin: int = 0, growing: int = 0) -> Work:
        """Work for this caller."""
        return Work(
            tokens,
            self.tenant,
            self.flow,
            self.priority,
            self.deadline,
            self.patience_s,
            margin,
            growing,
            self.deadline_given,
        )

    def timeout_error(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `timeout_error`."""
        return timeout_error(detail, given=self.deadline_given)


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

NOBODY = Caller()
"""The caller of work without a request: from the command line, or a warm-up."""

_caller: ContextVar[Caller] = ContextVar("caller", default=NOBODY)


def current_caller() -> Caller:
    """The caller of the current task. Tasks started inside `as_caller` inherit it."""
    return _caller.get()


@contextmanager
def as_caller(caller: Caller) -> Iterator[None]:
    """Sets the caller of work inside the block."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)
