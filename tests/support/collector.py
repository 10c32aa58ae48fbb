"""A collector of traces: receives OTLP over HTTP and keeps the spans."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class CollectedSpan:
    """A span: its service and its trace."""

    service: str
    name: str
    trace_id: str


@dataclass
class Collector:
    """`url`: without the path."""

    url: str = ""
    spans: list[CollectedSpan] = field(default_factory=list)

    def traces(self, service: str) -> set[str]:
        """The traces with spans of this service."""
        return {span.trace_id for span in self.spans if span.service == service}


@contextmanager
def running_collector() -> Iterator[Collector]:
    """The collector, listening."""
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            kept.spans += _spans(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of what is overridden
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()


def _spans(body: bytes) -> Iterator[CollectedSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        names = {each.key: each.value.string_value for each in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield CollectedSpan(names.get("service.name", ""), span.name, span.trace_id.hex())
