"""A tracer that keeps its spans, and queries on them."""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from inkgate.telemetry.span_export import SpanExport


@dataclass
class SpanRecorder:
    """A tracer, and its spans, which are available after `done`."""

    sample_ratio: float = 1.0
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self._export = SpanExport(self.exporter, "inkgate-test", self.sample_ratio)
        self.tracer = self._export.tracer

    def done(self) -> list[ReadableSpan]:
        """The finished spans, in the order in which they ended. Ends the recording."""
        self._export.close(30)
        return list(self.exporter.get_finished_spans())


def tree(spans: list[ReadableSpan]) -> dict[str, set[str]]:
    """The names of the child spans of each span, by its name; under "" the root spans."""
    names = {span_id(span): span.name for span in spans}
    found: dict[str, set[str]] = {}
    for span in spans:
        parent = "" if span.parent is None else names.get(f"{span.parent.span_id:016x}", "")
        found.setdefault(parent, set()).add(span.name)
    return found


def trace_ids(spans: list[ReadableSpan]) -> set[str]:
    """The trace IDs of the spans."""
    return {f"{span.context.trace_id:032x}" for span in spans}


def only(spans: list[ReadableSpan], name: str) -> ReadableSpan:
    """The only span of this name."""
    (span,) = [span for span in spans if span.name == name]
    return span


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def span_id(span: ReadableSpan) -> str:
    return f"{span.context.span_id:016x}"
