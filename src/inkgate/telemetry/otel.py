"""Spans by way of OpenTelemetry: the only module that touches its packages, which come with `inkgate[otel]`.

What belongs to what travels in tracing.py's context variable; OpenTelemetry's own context and its globals stay unused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from threading import Thread
from time import time_ns

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace import Tracer as OtelTracer

from inkgate import __version__
from inkgate.telemetry.exporting import traces_address
from inkgate.telemetry.tracing import NOT_RECORDING, Attributes, Span, TraceContext

log = structlog.get_logger(__name__)

_TIMEOUT_S = 10.0
_QUEUE = 4096
"""Spans that wait to be sent; more are dropped, the oldest first."""
_BATCH = 512
_DELAY_MS = 2000.0
_KINDS = {"call": SpanKind.CLIENT}
"""By the name of a span, where it is not about this service alone."""


class Recorded:
    """A Span that OpenTelemetry has, whether it is sampled or not."""

    __slots__ = ("_span", "_state", "_tracer")

    def __init__(self, tracer: OtelTracer, span: OtelSpan, state: str) -> None:
        self._tracer = tracer
        self._span = span
        self._state = state

    @property
    def context(self) -> TraceContext:
        """See Span."""
        own = self._span.get_span_context()
        return TraceContext(f"{own.trace_id:032x}", f"{own.span_id:016x}", own.trace_flags.sampled, self._state)

    def begin(self, name: str, attributes: Attributes, *, ago_s: float = 0.0, links: Sequence[Span] = ()) -> Span:
        """See Span."""
        span = self._tracer.start_span(
            name,
            set_span_in_context(self._span),
            attributes=attributes,
            links=[Link(_remote(link.context)) for link in links],
            start_time=time_ns() - int(ago_s * 1e9),
            kind=_KINDS.get(name, SpanKind.INTERNAL),
        )
        return Recorded(self._tracer, span, self._state)

    def note(self, attributes: Attributes, name: str = "") -> None:
        """See Span."""
        self._span.set_attributes(attributes)
        if name:
            self._span.update_name(name)

    def event(self, name: str, attributes: Attributes) -> None:
        """See Span."""
        self._span.add_event(name, attributes)

    def fail(self, code: str) -> None:
        """See Span."""
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        """See Span."""
        self._span.end()


class ExportingTracer:
    """A Tracer that hands what is sampled to `exporter`, in a thread of its own, from a queue that can't grow."""

    def __init__(self, exporter: SpanExporter, service_name: str, sample_ratio: float) -> None:
        """`sample_ratio`: of traces that begin here. Whether others are recorded is for who sent them to say."""
        # What it has to say of each failure would fill the log; _Told says it once.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sample_ratio)),
            resource=Resource.create({"service.name": service_name, "service.version": __version__}),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                _Told(exporter),
                max_queue_size=_QUEUE,
                schedule_delay_millis=_DELAY_MS,
                max_export_batch_size=_BATCH,
            )
        )
        self._tracer = self._provider.get_tracer("inkgate", __version__)

    def request(self, sent: TraceContext | None) -> Span | None:
        """See Tracer."""
        parent = None if sent is None else set_span_in_context(NonRecordingSpan(_remote(sent)))
        span = self._tracer.start_span("request", parent, SpanKind.SERVER)
        if not span.get_span_context().is_valid:  # OTEL_SDK_DISABLED
            return NOT_RECORDING.request(sent)
        return Recorded(self._tracer, span, "" if sent is None else sent.state)

    def close(self, patience_s: float) -> None:
        """Sends what is left, for as long as `patience_s` at most. Blocking."""
        thread = Thread(target=self._provider.shutdown, name="tracing_end", daemon=True)
        thread.start()
        thread.join(patience_s)


class _Told(SpanExporter):
    """An exporter whose failures are logged once, and that it is well again."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001 - whatever it is, only traces are lost; its words may hold an address with a key
            result = SpanExportResult.FAILURE
        failed = result is not SpanExportResult.SUCCESS
        if failed != self._failing:
            self._failing = failed
            if failed:
                log.warning("traces_not_exported", spans=len(spans))
            else:
                log.info("traces_exported_again")
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()


def exporter_to(endpoint: str, headers: Mapping[str, str]) -> SpanExporter:
    """To a collector that speaks OTLP over HTTP. An address without a path gets the usual one."""
    return OTLPSpanExporter(traces_address(endpoint), headers=dict(headers), timeout=_TIMEOUT_S)


def _remote(context: TraceContext) -> SpanContext:
    return SpanContext(
        int(context.trace_id, 16),
        int(context.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(context.sampled)),
        trace_state=TraceState.from_header([context.state]) if context.state else None,
    )
