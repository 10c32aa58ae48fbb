"""The port by which what happens is told to whoever measures it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import ParamSpec, Protocol

import structlog

from inkgate.types import PageResult, Task

P = ParamSpec("P")

log = structlog.get_logger(__name__)

_LOG_EVERY_S = 60.0


class Observer(Protocol):
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


class NoObserver:
    """A Observer that does nothing."""

    def serves(self, endpoint: str) -> None:
        """See Observer."""

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Observer."""

    def refused(self, code: str, tenant_class: str) -> None:
        """See Observer."""

    def upload(self, byte_count: int) -> None:
        """See Observer."""

    def stage(self, stage: str, seconds: float) -> None:
        """See Observer."""

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Observer."""

    def tokens(self, prompt: int, answer: int) -> None:
        """See Observer."""


NO_OBSERVER: Observer = NoObserver()


class SafeObserver:
    """A Observer around another, which may raise: pages are read and answered all the same.

    Attributes:
        failures: what the other one raised so far. It is logged, once a minute.
    """

    def __init__(self, inner: Observer, clock: Callable[[], float] = monotonic) -> None:
        """`clock` in seconds."""
        self.failures = 0
        self._inner = inner
        self._clock = clock
        self._log_at = float("-inf")

    def serves(self, endpoint: str) -> None:
        """See Observer."""
        self._call(self._inner.serves, endpoint)

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Observer."""
        self._call(self._inner.request, method, endpoint, status, seconds)

    def refused(self, code: str, tenant_class: str) -> None:
        """See Observer."""
        self._call(self._inner.refused, code, tenant_class)

    def upload(self, byte_count: int) -> None:
        """See Observer."""
        self._call(self._inner.upload, byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        """See Observer."""
        self._call(self._inner.stage, stage, seconds)

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Observer."""
        self._call(self._inner.page, result, task, seconds)

    def tokens(self, prompt: int, answer: int) -> None:
        """See Observer."""
        self._call(self._inner.tokens, prompt, answer)

    def _call(self, method: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(*args, **kwargs)
        except Exception:
            self.failures += 1
            now = self._clock()
            if now >= self._log_at:
                self._log_at = now + _LOG_EVERY_S
                with suppress(Exception):
                    log.exception("telemetry_failed", failures=self.failures)
