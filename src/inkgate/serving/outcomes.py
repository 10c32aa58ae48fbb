"""How work ends, and what is charged until it has. Rejected input, or a caller that left, is no sample of how long work
takes.
"""

from __future__ import annotations

from enum import StrEnum

import anyio

from inkgate.errors import InputRejected


class WorkOutcome(StrEnum):
    """How work ended. `LATE`: it timed out at the engine; only WorkQueue distinguishes that from LEFT."""

    OK = "ok"
    REJECTED = "rejected"
    FAILED = "failed"
    LEFT = "left"
    LATE = "late"


class CallerLeft(Exception):
    """The caller has left."""


def outcome_of(error: BaseException | None) -> WorkOutcome:
    """The outcome of work that raised `error` (None: nothing)."""
    if error is None:
        return WorkOutcome.OK
    if isinstance(error, InputRejected):
        return WorkOutcome.REJECTED
    if isinstance(error, CallerLeft | anyio.get_cancelled_exc_class()):
        return WorkOutcome.LEFT
    return WorkOutcome.FAILED


class HeldUntilDone:
    """What a block holds until it is left and the work that it has begun has ended (`concurrency.Charge`).

    The outcome is the one reported, or follows from the exception that left the block; see `outcome_of`.
    """

    __slots__ = ("_left", "reported", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.reported: WorkOutcome | None = None
        self._left: WorkOutcome | None = None

    def begin_work(self) -> None:
        self.requests += 1

    def end_work(self) -> None:
        self.requests -= 1
        if self._left is not None and not self.requests:
            self._free(self._left)

    def report(self, outcome: WorkOutcome) -> None:
        """Sets the outcome where no exception does, such as a response whose pages all failed."""
        self.reported = outcome

    def leave(self, error: BaseException | None) -> None:
        """The block is left, by `error` or without one."""
        self._left = self.reported or outcome_of(error)
        if not self.requests:
            self._free(self._left)

    def _free(self, outcome: WorkOutcome) -> None:
        """Frees what is held."""
        raise NotImplementedError
