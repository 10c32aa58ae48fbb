"""The port by which what happens is told to whoever measures it."""

from __future__ import annotations

from typing import Protocol

from inkgate.types import PageResult, Task


class Watch(Protocol):
    """Hears of what happens, when it has. Cheap, never raises; called from the event loop alone.

    Times are in seconds.
    """

    def serves(self, endpoint: str) -> None:
        """Documents may be sent to this endpoint."""
        ...

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """An answer has ended. `endpoint`: the route, not the path; both it and `method` are of a closed set."""
        ...

    def refused(self, code: str, tenant_class: str) -> None:
        """A request was refused because of load. `tenant_class`: `key` or `anonymous`."""
        ...

    def upload(self, byte_count: int) -> None:
        """A body has arrived."""
        ...

    def stage(self, stage: str, seconds: float) -> None:
        """A stage of the work is over: see catalog.STAGES."""
        ...

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """A page has its result, `seconds` after its turn in the document came."""
        ...

    def tokens(self, prompt: int, answer: int) -> None:
        """A model server took so many tokens, and gave so many."""
        ...


class Unwatched:
    """A Watch that does nothing."""

    def serves(self, endpoint: str) -> None:
        """See Watch."""

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Watch."""

    def refused(self, code: str, tenant_class: str) -> None:
        """See Watch."""

    def upload(self, byte_count: int) -> None:
        """See Watch."""

    def stage(self, stage: str, seconds: float) -> None:
        """See Watch."""

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Watch."""

    def tokens(self, prompt: int, answer: int) -> None:
        """See Watch."""


UNWATCHED: Watch = Unwatched()
