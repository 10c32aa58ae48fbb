"""Records and exports spans: the only module that uses OpenTelemetry's SDK, which comes with `inkgate[otel]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Thread

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from inkgate import __version__

log = structlog.get_logger(__name__)

_TIMEOUT_S = 10.0
_QUEUE = 4096
"""Spans that wait to be sent; if there are more, the oldest are dropped."""
_BATCH = 512
_DELAY_MS = 2000.0


class SpanExport:
    """Hands the sampled spans of `tracer` to an exporter, in a thread of its own, from a bounded queue."""

    def __init__(self, exporter: SpanExporter, service_name: str, sample_ratio: float) -> None:
        """`sample_ratio`: of traces that begin here. For other traces, the client's flag decides."""
        self.provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sample_ratio)),
            resource=Resource.create({"service.name": service_name, "service.version": __version__}),
            shutdown_on_exit=False,
        )
        self.provider.add_span_processor(
            BatchSpanProcessor(
                _LoggingExporter(exporter),
                max_queue_size=_QUEUE,
                schedule_delay_millis=_DELAY_MS,
                max_export_batch_size=_BATCH,
            )
        )
        self.tracer = self.provider.get_tracer("inkgate", __version__)

    def close(self, patience_s: float) -> None:
        """Sends the remaining spans for at most `patience_s` seconds. Blocking."""
        thread = Thread(target=self.provider.shutdown, name="tracing_end", daemon=True)
        thread.start()
        thread.join(patience_s)


class _LoggingExporter(SpanExporter):
    """Logs once when exports begin to fail, and once when they succeed again."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001 - only traces are lost; the message may contain an address with a key
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


def exporter_to(address: str, headers: Mapping[str, str]) -> SpanExporter:
    """An exporter to a collector that takes OTLP over HTTP."""
    return OTLPSpanExporter(address, headers=dict(headers), timeout=_TIMEOUT_S)
