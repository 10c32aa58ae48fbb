"""What is counted as things happen."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, values

from inkgate.api.http.metrics_server import exposed
from inkgate.errors import CODES, EngineFailed, InputRejected, Overloaded
from inkgate.telemetry.metrics import Metrics, ModelName
from inkgate_client.types import Attempt, PageError, PageResult, Task, TaskKind

MODELS = {"vl": ModelName("VL-1.5", "vllm"), "ppocr": ModelName("PP-OCRv6 small", "openvino f32")}
READ = PageResult(0, engine="vl", timings_ms={"render": 20.0, "layout": 30.0, "ruling": 10.0, "generate": 900.0})


class MetricsBench:
    """Metrics, and what Prometheus would see of them."""

    def __init__(self, trace_id: str | None = None) -> None:
        self.metrics = Metrics(lambda: 1000.0, lambda: trace_id)
        self.metrics.reads_with("vl", MODELS)
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self.metrics)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)

    @property
    def series(self) -> int:
        return sum(len(family.samples) for family in self.registry.collect())


@pytest.fixture
def seen() -> MetricsBench:
    bench = MetricsBench()
    for endpoint in ("/ocr", "/v1/ocr"):
        bench.metrics.serves(endpoint)
    return bench


def page_labels(**others: str) -> dict[str, str]:
    return {"engine": "vl", "model_version": "VL-1.5", "task_type": "parse", "inference_engine": "vllm"} | others


def error(code: str) -> PageError:
    return PageError(code, "", "")


def test_requests_are_counted_by_route_and_status(seen: MetricsBench) -> None:
    seen.metrics.request("POST", "/ocr", 200, 0.7)
    seen.metrics.request("POST", "/ocr", 200, 0.2)
    seen.metrics.request("POST", "/ocr", 503, 0.001)
    assert seen.value("http_requests_total", method="POST", endpoint="/ocr", status="200") == 2
    assert seen.value("http_requests_total", method="POST", endpoint="/ocr", status="503") == 1
    name = "inkgate_http_request_duration_seconds"
    assert seen.value(f"{name}_count", method="POST", endpoint="/ocr") == 3
    assert seen.value(f"{name}_bucket", method="POST", endpoint="/ocr", le="0.25") == 2


def test_an_endpoint_has_its_series_before_the_first_request(seen: MetricsBench) -> None:
    assert seen.value("http_requests_total", method="POST", endpoint="/ocr", status="200") == 0
    assert seen.value("qps", endpoint="/ocr") == 0
    assert seen.metrics.work().requests == {}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (READ, "ok"),
        (PageResult(0, engine="vl", degraded=("image",)), "degraded"),
        (PageResult(0, engine="vl", error=EngineFailed("engine_failed", "").as_page_error()), "failed"),
        (PageResult(0, engine="vl", error=InputRejected("page_broken", "").as_page_error()), "rejected"),
        (PageResult(0, engine="vl", error=Overloaded("service_full", "", 1).as_page_error()), "rejected"),
    ],
    ids=["ok", "degraded", "failed", "rejected", "refused"],
)
def test_pages_are_counted_by_outcome(seen: MetricsBench, result: PageResult, outcome: str) -> None:
    seen.metrics.page(result, Task(TaskKind.PARSE), 1.5)
    assert seen.value("inkgate_pages_total", **page_labels(outcome=outcome)) == 1
    assert seen.value("inkgate_page_duration_seconds_sum", **page_labels()) == 1.5
    if result.error is not None:
        assert seen.value("inkgate_page_errors_total", engine="vl", code=result.error.code) == 1


def test_times_of_a_page_are_told_by_stage(seen: MetricsBench) -> None:
    seen.metrics.page(READ, Task(), 1.0)
    seen.metrics.stage("wait", 0.25)
    name = "inkgate_stage_duration_seconds"
    assert seen.value(f"{name}_sum", stage="render", engine="vl") == pytest.approx(0.02)
    assert seen.value(f"{name}_sum", stage="layout", engine="vl") == pytest.approx(0.04)
    assert seen.value(f"{name}_sum", stage="wait", engine="vl") == 0.25
    assert seen.value(f"{name}_count", stage="generate", engine="vl") is None


def test_who_read_a_page_is_in_its_labels(seen: MetricsBench) -> None:
    seen.metrics.page(PageResult(0, engine="ppocr"), Task(), 1.0)
    labels = {"engine": "ppocr", "model_version": "PP-OCRv6 small", "task_type": "text"}
    inference = {"inference_engine": "openvino f32"}
    assert seen.value("inkgate_pages_total", **labels, **inference, outcome="ok") == 1


def test_runaways_and_retries_are_read_from_a_pages_history(seen: MetricsBench) -> None:
    attempts = (
        Attempt("", error("output_repeats"), 10),
        Attempt("temperature 0.2", error("upstream_cut_off"), 10),
        Attempt("temperature 0.2, again", error("output_repeats"), 10),
        Attempt("engine ppocr", None, 10),
    )
    seen.metrics.page(PageResult(0, engine="ppocr", attempts=attempts), Task(), 1.0)
    assert seen.value("inkgate_runaway_stops_total", engine="vl") == 2
    assert seen.value("inkgate_retries_total", engine="vl", reason="output_repeats") == 2
    assert seen.value("inkgate_retries_total", engine="vl", reason="upstream_cut_off") == 1


def test_blocks_that_are_read_once_each_are_no_retries(seen: MetricsBench) -> None:
    first = (
        Attempt("block 1", None, 10),
        Attempt("block 2", error("output_repeats"), 10),
        Attempt("block 10", None, 9),
    )
    second = (Attempt("block 2, size 0.7", None, 10),)
    seen.metrics.page(PageResult(0, engine="vl", attempts=first + second), Task(), 1.0)
    assert seen.metrics.work().retries == {"output_repeats": 1}


def test_what_comes_from_the_cache_was_tried_by_somebody_else(seen: MetricsBench) -> None:
    attempts = (Attempt("", error("output_repeats"), 10), Attempt("size 0.7", None, 10))
    cached = PageResult(0, engine="vl", attempts=attempts, timings_ms={"cache": 0.4})
    seen.metrics.page(cached, Task(), 0.001)
    assert seen.metrics.work().runaways == 0
    assert seen.metrics.work().stage_count == {"cache": 1}


def test_refusals_uploads_and_tokens_are_counted(seen: MetricsBench) -> None:
    seen.metrics.refused("service_full", "key")
    seen.metrics.upload(200_000)
    seen.metrics.tokens(1500, 300)
    assert seen.value("inkgate_refusals_total", reason="service_full", tenant_class="key") == 1
    assert seen.value("inkgate_upload_bytes_sum") == 200_000
    assert seen.value("inkgate_tokens_total", engine="vl", direction="in") == 1500
    assert seen.value("inkgate_tokens_total", engine="vl", direction="out") == 300


def test_work_is_the_sum_of_it_all(seen: MetricsBench) -> None:
    seen.metrics.request("POST", "/ocr", 200, 0.5)
    seen.metrics.page(READ, Task(), 0.4)
    seen.metrics.page(PageResult(0, engine="ppocr", degraded=("image",)), Task(), 0.4)
    seen.metrics.page(PageResult(0, engine="vl", error=error("engine_failed")), Task(), 0.4)
    seen.metrics.tokens(10, 20)
    work = seen.metrics.work()
    assert work.requests == {"POST /ocr 200": 1}
    assert work.pages == {"ok": 1, "degraded": 1, "engine_failed": 1}
    assert work.stage_count == {"render": 1, "layout": 2}
    assert work.stage_s == {"render": pytest.approx(0.02), "layout": pytest.approx(0.04)}
    assert (work.tokens_in, work.tokens_out) == (10, 20)


def test_durations_are_those_of_answered_requests_since_the_last_call(seen: MetricsBench) -> None:
    seen.metrics.request("POST", "/ocr", 200, 0.5)
    seen.metrics.request("POST", "/ocr", 503, 0.001)
    seen.metrics.request("GET", "/readyz", 200, 0.001)
    seen.metrics.request("GET", "/state", 200, 0.001)
    assert seen.metrics.take_durations() == (0.5,)
    assert seen.metrics.take_durations() == ()


def test_what_reads_nothing_is_no_latency(seen: MetricsBench) -> None:
    seen.metrics.request("POST", "/v1/files", 200, 0.004)
    seen.metrics.request("GET", "/v1/files/{file_id}/content", 200, 0.004)
    seen.metrics.request("GET", "/v1/models", 200, 0.004)
    seen.metrics.request("POST", "/v1/jobs/{job_id}/retry", 202, 0.004)
    seen.metrics.request("POST", "/v1/ocr", 200, 15.0)
    assert seen.metrics.take_durations() == (15.0,)


def test_lookups_of_the_web_page_are_no_requests_with_documents() -> None:
    now = [1000.0]
    metrics = Metrics(lambda: now[0])
    metrics.serves("/v1/jobs")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    metrics.request("POST", "/v1/jobs", 202, 0.1)
    metrics.request("POST", "/v1/jobs", 422, 0.1)
    metrics.request("GET", "/v1/jobs", 200, 0.1)
    metrics.request("GET", "/v1/jobs/{job_id}", 200, 0.1)
    now[0] += 5
    assert metrics.work().with_documents == {"202": 1, "422": 1}
    assert metrics.work().requests["GET /v1/jobs 200"] == 1
    assert registry.get_sample_value("qps", {"endpoint": "/v1/jobs"}) == 0.2
    assert registry.get_sample_value("qps", {"endpoint": "/v1/jobs/{job_id}"}) is None


def test_durations_nobody_asks_for_take_bounded_memory(seen: MetricsBench) -> None:
    for number in range(30_000):
        seen.metrics.request("POST", "/ocr", 200, number)
    assert len(seen.metrics.take_durations()) == 20_000


def test_exemplars_name_the_trace() -> None:
    traced = MetricsBench(trace_id="4bf92f3577b34da6a3ce929d0e0e4736")
    traced.metrics.request("POST", "/ocr", 200, 0.7)
    text = exposed(traced.registry, "application/openmetrics-text;version=1.0.0")[0].decode()
    assert '# {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 0.7' in text


def test_what_is_counted_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    others = values.MultiProcessValue()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(values, "ValueClass", others)
    seen = MetricsBench(trace_id="c" * 32)
    seen.metrics.serves("/ocr")
    seen.metrics.request("POST", "/ocr", 200, 0.2)
    seen.metrics.upload(1000)
    text, _ = exposed(seen.registry, "application/openmetrics-text; version=1.0.0")
    assert f'# {{trace_id="{"c" * 32}"}}' in text.decode()
    assert list(tmp_path.iterdir()) == []
    assert values.ValueClass is others


def test_times_of_creation_are_not_shown(seen: MetricsBench) -> None:
    seen.metrics.request("POST", "/ocr", 200, 0.7)
    for accept in ("", "application/openmetrics-text;version=1.0.0"):
        assert "_created" not in exposed(seen.registry, accept)[0].decode()


def test_names_from_outside_make_no_series(seen: MetricsBench) -> None:
    for code in CODES:
        seen.metrics.page(PageResult(0, engine="vl", error=error(code)), Task(), 1.0)
        seen.metrics.refused(code, "anonymous")
    seen.metrics.page(PageResult(0, engine="odd", error=error("odd")), Task(), 1.0)
    seen.metrics.refused("odd", "anonymous")
    seen.metrics.stage("odd", 1.0)
    seen.metrics.request("POST", "/ocr", 799, 1.0)
    before = seen.series
    for number in range(1000):
        seen.metrics.page(PageResult(0, engine=f"odd{number}", error=error(f"odd{number}")), Task(), 1.0)
        seen.metrics.refused(f"odd{number}", "anonymous")
        seen.metrics.stage(f"odd{number}", 1.0)
        seen.metrics.request("POST", "/ocr", 700 + number % 100, 1.0)
    assert seen.series == before
    assert len(CODES) / 4 < before < 1000
