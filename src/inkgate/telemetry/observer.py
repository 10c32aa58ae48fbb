"""The port through which the service reports events to metrics and traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import ParamSpec

import structlog
from opentelemetry.trace import get_current_span

from inkgate.errors import OutputRepeats, error_class
from inkgate.telemetry.tracing import fail, finished_span
from inkgate_client.types import Attempt, PageResult, Task

P = ParamSpec("P")

log = structlog.get_logger(__name__)

_LOG_EVERY_S = 60.0
_BLOCK = re.compile(r"block \d+")


class Observer:
    """Receives events after they happen, and does nothing with them: subclasses override the methods of the events that
    they use. Methods are cheap, never raise, and run on the event loop. Times are in seconds.
    """

    def serves(self, endpoint: str) -> None:
        """The service accepts documents at this endpoint."""

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """A response ended. `endpoint` is the route, not the path; it and `method` are from closed sets."""

    def refused(self, code: str, tenant_class: str) -> None:
        """A request was refused because of load. `tenant_class`: `key` or `anonymous`."""

    def slow_reader(self) -> None:
        """A client was disconnected because it read its response too slowly."""

    def upload(self, byte_count: int) -> None:
        """A request body arrived."""

    def stage(self, stage: str, seconds: float) -> None:
        """A stage ended: see metrics.STAGES."""

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """A page has its result, `seconds` after its submission."""

    def tokens(self, prompt: int, answer: int) -> None:
        """A model server used `prompt` tokens and generated `answer` tokens."""


NO_OBSERVER = Observer()


class SafeObserver(Observer):
    """Reports events to observers that may raise, so that their errors don't affect pages, nor each other.

    Attributes:
        failures: errors so far. One is logged per minute.
    """

    def __init__(self, *observers: Observer, clock: Callable[[], float] = monotonic) -> None:
        """`clock` in seconds."""
        self.failures = 0
        self._observers = observers
        self._clock = clock
        self._log_at = float("-inf")

    def serves(self, endpoint: str) -> None:
        for observer in self._observers:
            self._call(observer.serves, endpoint)

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        for observer in self._observers:
            self._call(observer.request, method, endpoint, status, seconds)

    def refused(self, code: str, tenant_class: str) -> None:
        for observer in self._observers:
            self._call(observer.refused, code, tenant_class)

    def slow_reader(self) -> None:
        for observer in self._observers:
            self._call(observer.slow_reader)

    def upload(self, byte_count: int) -> None:
        for observer in self._observers:
            self._call(observer.upload, byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        for observer in self._observers:
            self._call(observer.stage, stage, seconds)

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        for observer in self._observers:
            self._call(observer.page, result, task, seconds)

    def tokens(self, prompt: int, answer: int) -> None:
        for observer in self._observers:
            self._call(observer.tokens, prompt, answer)

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


class TracingObserver(Observer):
    """Makes stages children of the current span, and other events its attributes."""

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:  # noqa: ARG002 - the port's
        """Sets attributes of the current span, which is the request's."""
        span = get_current_span()
        if span.is_recording():
            span.update_name(f"{method} {endpoint}")
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.route", endpoint)
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                fail(span, str(status))

    def refused(self, code: str, tenant_class: str) -> None:  # noqa: ARG002 - the port's
        get_current_span().add_event("refused", {"error.type": code})

    def upload(self, byte_count: int) -> None:
        get_current_span().set_attribute("inkgate.upload.bytes", byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        finished_span(stage, seconds)

    def page(self, result: PageResult, task: Task, seconds: float) -> None:  # noqa: ARG002 - the port's
        """Sets attributes of the current span, which is the page's."""
        span = get_current_span()
        if not span.is_recording():
            return
        span.set_attribute("inkgate.engine", result.engine)
        span.set_attribute("inkgate.task", task.kind.value)
        for name, spent_ms in result.timings_ms.items():
            span.set_attribute(f"inkgate.ms.{name}", round(spent_ms, 1))
        if result.degraded:
            span.set_attribute("inkgate.degraded", ",".join(result.degraded))
        if "cache" in result.timings_ms:
            span.set_attribute("inkgate.cached", value=True)
        else:
            for code in retries_of(result.attempts):
                span.add_event("retry", {"error.type": code})
        if result.error is not None:
            fail(span, result.error.code)

    def tokens(self, prompt: int, answer: int) -> None:
        """Sets attributes of the current span, which is the call's."""
        span = get_current_span()
        span.set_attribute("gen_ai.usage.input_tokens", prompt)
        span.set_attribute("gen_ai.usage.output_tokens", answer)


def retries_of(attempts: Sequence[Attempt]) -> Iterator[str]:
    """The error before each retry of the page or of one of its blocks."""
    before: dict[str, str] = {}
    for attempt in attempts:
        found = _BLOCK.match(attempt.change)
        block = found.group() if found else ""
        if before.get(block):
            yield before[block]
        before[block] = "" if attempt.error is None else attempt.error.code


def runaways_of(attempts: Sequence[Attempt]) -> int:
    """Outputs that were stopped because they repeated themselves."""
    return sum(attempt.error is not None and error_class(attempt.error.code) is OutputRepeats for attempt in attempts)
