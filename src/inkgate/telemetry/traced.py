"""An Observer that records spans: stages become parts of the current span, other events become its notes."""

from __future__ import annotations

from inkgate.telemetry.attempts import retries_of
from inkgate.telemetry.observer import Observer
from inkgate.telemetry.tracing import Value, current_span, over
from inkgate.types import PageResult, Task


class Traced:
    """A Observer before another. Outside of any trace it only passes on what it is told."""

    def __init__(self, inner: Observer) -> None:
        self._inner = inner

    def serves(self, endpoint: str) -> None:
        """See Observer."""
        self._inner.serves(endpoint)

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Observer. The current span is the request's."""
        self._inner.request(method, endpoint, status, seconds)
        span = current_span()
        if span is None:
            return
        attributes: dict[str, Value] = {
            "http.request.method": method,
            "http.route": endpoint,
            "http.response.status_code": status,
        }
        span.note(attributes, f"{method} {endpoint}")
        if status >= 500:
            span.fail(str(status))

    def refused(self, code: str, tenant_class: str) -> None:
        """See Observer."""
        self._inner.refused(code, tenant_class)
        if (span := current_span()) is not None:
            span.event("refused", {"error.type": code})

    def upload(self, byte_count: int) -> None:
        """See Observer."""
        self._inner.upload(byte_count)
        if (span := current_span()) is not None:
            span.note({"inkgate.upload.bytes": byte_count})

    def stage(self, stage: str, seconds: float) -> None:
        """See Observer."""
        self._inner.stage(stage, seconds)
        over(stage, seconds)

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Observer. The current span is the page's."""
        self._inner.page(result, task, seconds)
        span = current_span()
        if span is None:
            return
        attributes: dict[str, Value] = {"inkgate.engine": result.engine, "inkgate.task": task.kind.value}
        attributes |= {f"inkgate.ms.{name}": round(spent_ms, 1) for name, spent_ms in result.timings_ms.items()}
        if result.degraded:
            attributes["inkgate.degraded"] = ",".join(result.degraded)
        if "cache" in result.timings_ms:
            attributes["inkgate.cached"] = True
        else:
            for code in retries_of(result.attempts):
                span.event("retry", {"error.type": code})
        span.note(attributes)
        if result.error is not None:
            span.fail(result.error.code)

    def tokens(self, prompt: int, answer: int) -> None:
        """See Observer. The current span is the call's."""
        self._inner.tokens(prompt, answer)
        if (span := current_span()) is not None:
            span.note({"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": answer})
