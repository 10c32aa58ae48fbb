"""What waits for an engine, and on whose behalf."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum

from inkgate.errors import EngineFailed, InkgateError, InputRejected


class Priority(StrEnum):
    """How urgent work is. `rank`: 0 goes first."""

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
        tokens: the cost it is charged with: KV tokens, or any other unit in which the engine's capacity is counted.
        tenant: who shares the engine with others, such as an API key.
        flow: the document or request that it is of, within the tenant.
        priority: its class.
        deadline: clock time in seconds after which nobody wants it; math.inf where there is none.
        patience_s: seconds from when its request came to the deadline.
        margin: how many of the tokens are for the case that it takes more than is to be expected.
        growing: how many of the others come one by one while it runs, and are told of as they come.
        deadline_given: the client set the deadline; else it is the service's.
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

    def time_over(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `time_over`."""
        return time_over(detail, given=self.deadline_given)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked for what is being done now. Attributes as in Work.

    `priority_given`: somebody said so; else it follows from the document. `anew`: wants no result that was kept.
    `deadline_given`: the client set the deadline itself; else it is the service's.
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
        """Work of this caller."""
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

    def time_over(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `time_over`."""
        return time_over(detail, given=self.deadline_given)


def time_over(detail: str, *, given: bool) -> InkgateError:
    """The error of a request whose deadline has passed.

    "deadline_exceeded", which the client answers for, where it gave the deadline itself. Else "service_timeout": the
    service failed, and that counts for metrics, alerts, limits and breakers.
    """
    if given:
        return InputRejected("deadline_exceeded", detail)
    return EngineFailed("service_timeout", detail)


def by_size(caller: Caller, pages: int, byte_count: int) -> Caller:
    """The caller with the class that its document has by itself, where nobody said any: a few small pages are
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
"""Of each page, on average."""

NOBODY = Caller()
"""Work that no request asked for: the command line's, or a warm-up."""

_caller: ContextVar[Caller] = ContextVar("caller", default=NOBODY)


def current_caller() -> Caller:
    """Who asked for what this task does. Tasks begun inside `as_caller` inherit it."""
    return _caller.get()


@contextmanager
def as_caller(caller: Caller) -> Iterator[None]:
    """What is done inside is on behalf of `caller`."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)
