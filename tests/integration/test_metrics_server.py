"""/metrics on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from structlog.testing import capture_logs

from inkgate.api.http.metrics_server import serve_metrics
from inkgate.settings import USUAL_METRICS_PORT, MetricsSettings
from inkgate.telemetry.metrics import Metrics

pytestmark = pytest.mark.anyio

ANY_PORT = MetricsSettings(port=0)


def counted() -> Metrics:
    metrics = Metrics(trace_id=lambda: "4bf92f3577b34da6a3ce929d0e0e4736")
    metrics.request("POST", "/ocr", 200, 0.7)
    return metrics


def parsed(families: Callable[[str], Iterable[Metric]], text: str) -> list[Metric]:
    """All families of a text: the client library's parsers have no types."""
    return list(families(text))


async def test_metrics_are_in_the_format_that_is_asked_for() -> None:
    async with serve_metrics(ANY_PORT, (counted(),)) as url, httpx.AsyncClient(trust_env=False, timeout=60) as client:
        assert url is not None
        plain = await client.get(url)
        asked = await client.get(url, headers={"accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert asked.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    names = {family.name for family in parsed(text_families, plain.text)}
    assert {"http_requests", "qps", "process_resident_memory_bytes", "python_gc_collections"} <= names
    assert {family.name for family in parsed(openmetrics_families, asked.text)} >= names - {"python_info"}
    assert "trace_id" in asked.text
    assert "trace_id" not in plain.text
    assert "_created" not in asked.text + plain.text


async def test_nothing_else_is_there() -> None:
    async with serve_metrics(ANY_PORT, ()) as url, httpx.AsyncClient(trust_env=False, timeout=60) as client:
        assert url is not None
        assert (await client.get(url.removesuffix("/metrics"))).status_code == 404
        assert (await client.post(url)).status_code == 405
        assert (await client.head(url)).status_code == 200


async def test_the_port_is_free_again_afterwards() -> None:
    async with serve_metrics(ANY_PORT, ()) as url:
        assert url is not None
        port = httpx.URL(url).port
    assert port is not None
    async with serve_metrics(MetricsSettings(port=port), ()) as again:
        assert again == url


async def test_they_can_be_left_out() -> None:
    async with serve_metrics(MetricsSettings(enabled=False), ()) as url:
        assert url is None


async def test_the_usual_port_may_be_taken() -> None:
    with capture_logs() as logs:
        async with serve_metrics(MetricsSettings(), (), api_port=USUAL_METRICS_PORT) as url:
            assert url is None
    [line] = logs
    assert (line["event"], line["log_level"], line["port"]) == ("metrics_not_served", "warning", USUAL_METRICS_PORT)


async def test_a_port_that_was_chosen_may_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = MetricsSettings(port=other.getsockname()[1])
        with pytest.raises(OSError, match="in use"):
            async with serve_metrics(settings, ()):
                pass
