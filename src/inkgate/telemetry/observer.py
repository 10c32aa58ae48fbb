"""The port through which the service reports events to metrics and traces."""

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
    """Receives events after they happen. Methods are cheap, never raise, and run on the event loop. Times are in
    seconds.
    """

    def serves(self, endpoint: str) -> None:
        """The service accepts documents at this endpoint."""
        ...

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """A response ended. `endpoint` is the route, not the path; it and `method` are from closed sets."""
        ...

    def refused(self, code: str, tenant_class: str) -> None:
        """A request was refused because of load. `tenant_class`: `key` or `anonymous`."""
        ...

    def upload(self, byte_count: int) -> None:
        """A request body arrived."""
        ...

    def stage(self, stage: str, seconds: float) -> None:
        """A stage ended: see catalog.STAGES."""
        ...

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """A page has its result, `seconds` after its submission."""
        ...

    def tokens(self, prompt: int, answer: int) -> None:
        """A model server used `prompt` tokens and generated `answer` tokens."""
        ...


class NoObserver:
    """An Observer that does nothing."""

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
    """Wraps an Observer that may raise, so that its errors don't affect pages.

    Attributes:
        failures: errors so far. One is logged per minute.
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
