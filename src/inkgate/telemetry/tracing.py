"""Traces by OpenTelemetry: spans for requests and their parts.

The current span and its tracer travel in OpenTelemetry's context, from a request to everything that is done for it.
Outside of a trace, which is the normal case, the functions here do nothing. opentelemetry-api alone records nothing and
passes the traces of clients on to model servers; span_export.py records, with the packages of `inkgate[otel]`.

Names and attributes of spans never contain text of documents, file names or keys.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time_ns
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from opentelemetry.context import Context, attach, create_key, get_current, set_value
from opentelemetry.trace import (
    Link,
    NoOpTracer,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    format_trace_id,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic import SecretStr

from inkgate.installation import install_extra

NOT_RECORDING: Tracer = NoOpTracer()
"""Passes traces on and records nothing."""

Attributes = Mapping[str, str | int | float | bool]

_TRACER = create_key("inkgate-tracer")
_W3C = TraceContextTextMapPropagator()
_CLOSE_S = 3.0
_DEFAULT_PATH = "/v1/traces"


class TracingUnavailable(Exception):
    """Tracing needs a package; the message says which."""


class TracingOptions(Protocol):
    """The branch `tracing` of the settings."""

    @property
    def endpoint(self) -> str: ...

    @property
    def headers(self) -> dict[str, SecretStr]: ...

    @property
    def sample_ratio(self) -> float: ...

    @property
    def service_name(self) -> str: ...


def traces_address(endpoint: str) -> str:
    """The address for traces. An address without a path gets the default path of OTLP."""
    if urlsplit(endpoint).path in {"", "/"}:
        return endpoint.rstrip("/") + _DEFAULT_PATH
    return endpoint


@contextmanager
def tracer_of(
    options: TracingOptions, close_s: float = _CLOSE_S, imported: Callable[[str], Any] = importlib.import_module
) -> Iterator[Tracer]:
    """A Tracer whose spans are exported to the endpoint; without an endpoint, NOT_RECORDING. On exit, it sends the
    remaining spans for at most `close_s` seconds.

    Raises:
        TracingUnavailable: `inkgate[otel]` is not installed.
    """
    if not options.endpoint:
        yield NOT_RECORDING
        return
    try:
        span_export = imported("inkgate.telemetry.span_export")
    except ImportError as error:
        detail = f"tracing.endpoint is set, but {error.name or 'OpenTelemetry'} is not installed"
        raise TracingUnavailable(f"{detail}: {install_extra('otel')}, or leave tracing.endpoint empty.") from error
    headers = {name: value.get_secret_value() for name, value in options.headers.items()}
    exporter = span_export.exporter_to(traces_address(options.endpoint), headers)
    export = span_export.SpanExport(exporter, options.service_name, options.sample_ratio)
    try:
        yield export.tracer
    finally:
        export.close(close_s)


@contextmanager
def request_span(tracer: Tracer, headers: Mapping[str, str]) -> Iterator[Span | None]:
    """A request's span, which is current inside. Continues the trace in `headers` (`traceparent` and `tracestate`, see
    https://www.w3.org/TR/trace-context/). None if there is no trace: `tracer` begins none, and `headers` name none.
    """
    parent = _W3C.extract(headers)
    span = tracer.start_span("request", parent, SpanKind.SERVER)
    if not span.get_span_context().is_valid:
        yield None
        return
    with _current(span, set_value(_TRACER, tracer, parent)):
        yield span


@contextmanager
def child_span(name: str, attributes: Attributes | None = None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[None]:
    """A child of the current span, which is current inside."""
    context = trace_context()
    if context is None:
        yield
        return
    with _current(_tracer(context).start_span(name, context, kind, attributes), context):
        yield


@contextmanager
def shared_span(name: str, contexts: Sequence[Context], attributes: Attributes) -> Iterator[None]:
    """A child of the span of the first of `contexts`, linked to the spans of the others, and current inside."""
    if not contexts:
        yield
        return
    context, *others = contexts
    links = [Link(get_current_span(other).get_span_context()) for other in others]
    with _current(_tracer(context).start_span(name, context, attributes=attributes, links=links), context):
        yield


def finished_span(name: str, seconds: float) -> None:
    """Adds a child of the current span that took `seconds` and ends now."""
    context = trace_context()
    if context is not None:
        _tracer(context).start_span(name, context, start_time=time_ns() - int(seconds * 1e9)).end()


def trace_context() -> Context | None:
    """The context of the current request's trace, for shared_span; None outside of a trace. Child tasks inherit it."""
    context = get_current()
    return context if _TRACER in context else None


def trace_id_of(span: Span) -> str:
    """The trace ID in 32 hexadecimal digits."""
    return format_trace_id(span.get_span_context().trace_id)


def sampled_trace_id() -> str | None:
    """The ID of the current trace if it is recorded, here or by the client; else None."""
    span = get_current_span()
    return trace_id_of(span) if span.get_span_context().trace_flags.sampled else None


def outgoing_headers() -> dict[str, str]:
    """The headers with which a request to another service continues the current trace."""
    headers: dict[str, str] = {}
    _W3C.inject(headers)
    return headers


def fail(span: Span, code: str) -> None:
    """Marks a span as failed; `code`: the error's, or an HTTP status."""
    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR))


@contextmanager
def _current(span: Span, context: Context) -> Iterator[None]:
    """Makes the span current, on top of `context`, and ends it."""
    before = get_current()
    attach(set_span_in_context(span, context))
    try:
        yield
    finally:
        attach(before)  # not `detach`: a generator may be closed in another context than it was started in
        span.end()


def _tracer(context: Context) -> Tracer:
    return cast("Tracer", context[_TRACER])
