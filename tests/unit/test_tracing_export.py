"""A missing, silent or uninstalled collector of traces does not affect the service."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer
from pydantic import SecretStr, ValidationError

from inkgate.settings import TracingSettings
from inkgate.telemetry.span_export import SpanExport
from inkgate.telemetry.tracing import NOT_RECORDING, TracingUnavailable, child_span, request_span, tracer_of

SPANS = 10_000
"""More than are kept."""


class HangingExporter(SpanExporter):
    """Accepts spans and blocks until `free` is set."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.asked = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked.set()
        self.free.wait(30)
        return SpanExportResult.SUCCESS


class FailingExporter(SpanExporter):
    """Fails until `well` is set, with a message that must not be logged."""

    well = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.well:
            return SpanExportResult.SUCCESS
        raise ConnectionError("https://me:open-sesame@collector")


def record(tracer: Tracer, count: int = 1) -> None:
    for _ in range(count):
        with request_span(tracer, {}) as span, child_span("page"):
            assert span is not None


def test_a_collector_that_hangs_holds_nobody_up() -> None:
    exporter = HangingExporter()
    export = SpanExport(exporter, "inkgate", 1.0)
    record(export.tracer, SPANS)
    assert exporter.asked.wait(20)
    record(export.tracer, SPANS)
    export.close(0.01)
    assert not exporter.free.is_set()
    exporter.free.set()
    export.close(20)


def test_failures_are_logged_once_and_without_the_address() -> None:
    exporter = FailingExporter()
    export = SpanExport(exporter, "inkgate", 1.0)
    with structlog.testing.capture_logs() as logs:
        for well in (False, False, True, True):
            exporter.well = well
            record(export.tracer)
            export.provider.force_flush()
    export.close(20)
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [
        ("traces_not_exported", "warning"),
        ("traces_exported_again", "info"),
    ]
    assert "open-sesame" not in str(logs)


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps the requests it receives."""

    got: list[tuple[str, str | None, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append((self.path, self.headers["x-key"], body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library
        pass


@pytest.mark.parametrize(("path", "asked"), [("", "/v1/traces"), ("/", "/v1/traces"), ("/mine", "/mine")])
def test_what_is_left_at_the_end_is_sent_to_the_collector_with_its_key(path: str, asked: str) -> None:
    got: list[tuple[str, str | None, bytes]] = []
    handler = type("Handler", (Collector,), {"got": got})
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}{path}"
        settings = TracingSettings(endpoint=endpoint, headers={"X-Key": SecretStr("k")}, service_name="scans")
        with tracer_of(settings, close_s=20) as tracer:
            record(tracer)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    ((at, key, body),) = got
    assert (at, key) == (asked, "k")
    assert b"scans" in body
    assert b"page" in body


def test_without_an_endpoint_nothing_is_loaded() -> None:
    def imported(name: str) -> Any:  # noqa: ANN401 - a module
        raise AssertionError(name)

    with tracer_of(TracingSettings(), imported=imported) as tracer:
        assert tracer is NOT_RECORDING


def test_what_is_missing_is_named() -> None:
    def imported(name: str) -> Any:  # noqa: ANN401 - a module
        raise ModuleNotFoundError(name="opentelemetry.sdk")

    settings = TracingSettings(endpoint="http://collector:4318")
    with (
        pytest.raises(TracingUnavailable, match=r"opentelemetry\.sdk is not installed: `.*'opentelemetry-sdk>="),
        tracer_of(settings, imported=imported),
    ):
        pass


def test_an_endpoint_is_an_address() -> None:
    with pytest.raises(ValidationError, match="write it as http"):
        TracingSettings(endpoint="collector:4318")
