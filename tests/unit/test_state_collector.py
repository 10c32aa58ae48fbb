"""The State of the service as metrics."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from inkgate.telemetry.metrics import EVENTS
from inkgate.telemetry.state_collector import CATALOG, StateCollector
from inkgate_client.telemetry.history import Point, WorkTotals
from inkgate_client.telemetry.jobs_state import JobsState, StoredJobs
from inkgate_client.telemetry.state import (
    AdmissionState,
    Batches,
    BreakerReading,
    Build,
    CacheState,
    Gpu,
    Process,
    Queue,
    ReplicaReading,
    ResultsState,
    State,
    TaskReading,
)

STATE = {name: family for name, family in CATALOG.items() if family not in EVENTS}
POINT = Point(
    at=990.0, span_s=5.0, requests=0, pages=0, refused=0, failed=0, p50_s=None, p95_s=None, documents=0, in_flight=0,
    limit=2, waiting=0, loop_lag_s=0.02,
)  # fmt: skip
BUSY = State(
    at=1000.0,
    started_at=900.0,
    build=Build("1.0", "vl", "VL-1.5", "vllm", "3.11", "Linux", 2, 8),
    ready=True,
    reasons=(),
    admission=AdmissionState(3, 64, 500, 1000, 2, ended={"ok": 7, "failed": 1}),
    queues=(
        Queue("pages", 16, 16, 3, {"interactive": 1, "batch": 4}, 2.5, 9.0),
        Queue("calls", 8, 256, 8, {"normal": 2}, 0.5, None),
    ),
    work=WorkTotals(),
    processes=(Process("gateway", 1, 100, 5.0), Process("pdf", 2, 50, 1.0, 3), Process("pdf", 0, 0, 0.5, 2)),
    degradation_level=2,
    batches=(Batches("recognizer", 4, 20, 1, 2, 1000, 900, 3.0, 2.0, {1: 2, 2: 1, 16: 1}),),
    cache=CacheState({"run": 5, "kept": 3, "joined": 1}, 4, 300, 1000),
    breakers=(BreakerReading("vl", "half_open", 2),),
    load_servers=1.5,
    replicas=(ReplicaReading("a:8000", "up", "", 0, 4, kv_usage=0.5), ReplicaReading("b:8000", "out", "died", 1, 0)),
    gpus=(Gpu(0, "H200", 0.25, 3 * 2**30, 140 * 2**30, 60.0, 300.0, 1980.0, ("power",)),),
    background=(TaskReading("history", "waiting", needed=False, keeps_failing=True, failures=4),),
    results=ResultsState(2, 256, 300, 2000, 1),
    jobs=JobsState(
        "postgresql",
        up=True,
        stored=StoredJobs({"queued": 3, "running": 1}, 40, 20.0, 6.0, 1, 5, 2, 4.0),
        running=1,
        claims={"fresh": 7, "abandoned": 1},
        leases_lost=2,
        pages={"ok": 90, "failed": 3},
        ended={"succeeded": 6},
        deliveries={"shop": {"delivered": 6, "retried": 2, "dead": 1}},
        events={"scans": {"added": 8, "dead": 1}, "http": {"added": 0}},
        paused=("scans",),
    ),
    history=(POINT,),
)
IDLE = replace(
    BUSY, queues=(), processes=(), batches=(), cache=None, breakers=(), replicas=(), gpus=(), background=(),
    results=None, jobs=None, history=(),
)  # fmt: skip


def registry_of(state: State) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(StateCollector(lambda: state))
    return registry


SHOWN: list[tuple[str, dict[str, str], float | None]] = [
    (
        "inkgate_build_info",
        {"version": "1.0", "engine": "vl", "model_version": "VL-1.5", "inference_engine": "vllm"},
        1,
    ),
    ("inkgate_ready", {}, 1),
    ("inkgate_start_time_seconds", {}, 900),
    ("inkgate_documents", {}, 3),
    ("inkgate_documents_ended_total", {"outcome": "ok"}, 7),
    ("inkgate_body_bytes_limit", {}, 1000),
    ("inkgate_limit", {"queue": "calls"}, 8),
    ("inkgate_limit_max", {"queue": "calls"}, 256),
    ("inkgate_waiting", {"queue": "pages", "priority": "batch"}, 4),
    ("inkgate_backlog_seconds", {"queue": "pages"}, 9),
    ("inkgate_backlog_seconds", {"queue": "calls"}, None),
    ("inkgate_degradation_step", {}, 2),
    ("inkgate_breaker_open", {"name": "vl"}, 0),
    ("inkgate_breaker_state", {"name": "vl", "state": "half_open"}, 1),
    ("inkgate_breaker_state", {"name": "vl", "state": "closed"}, 0),
    ("inkgate_breaker_opened_total", {"name": "vl"}, 2),
    ("inkgate_batch_size_bucket", {"model": "recognizer", "le": "1.0"}, 2),
    ("inkgate_batch_size_bucket", {"model": "recognizer", "le": "8.0"}, 3),
    ("inkgate_batch_size_bucket", {"model": "recognizer", "le": "+Inf"}, 4),
    ("inkgate_batch_size_count", {"model": "recognizer"}, 4),
    ("inkgate_batch_size_sum", {"model": "recognizer"}, 20),
    ("inkgate_batch_pixels_total", {"model": "recognizer", "kind": "padding"}, 100),
    ("inkgate_cache_results_total", {"source": "kept"}, 3),
    ("inkgate_cache_bytes", {}, 300),
    ("inkgate_replica_up", {"replica": "a:8000"}, 1),
    ("inkgate_replica_up", {"replica": "b:8000"}, 0),
    ("inkgate_replica_state", {"replica": "b:8000", "state": "out"}, 1),
    ("inkgate_replica_kv_usage_ratio", {"replica": "a:8000"}, 0.5),
    ("inkgate_replica_kv_usage_ratio", {"replica": "b:8000"}, None),
    ("inkgate_process_resident_bytes", {"kind": "pdf"}, 50),
    ("inkgate_processes", {"kind": "pdf"}, 1),
    ("inkgate_process_restarts_total", {"kind": "pdf"}, 3),
    ("inkgate_event_loop_lag_seconds", {}, 0.02),
    ("gpu_utilization_percent", {"gpu_id": "0"}, 25),
    ("gpu_memory_used_mb", {"gpu_id": "0"}, 3072),
    ("inkgate_gpu_clock_hertz", {"gpu_id": "0"}, 1.98e9),
    ("inkgate_gpu_throttled", {"gpu_id": "0", "reason": "power"}, 1),
    ("inkgate_gpu_throttled", {"gpu_id": "0", "reason": "thermal"}, 0),
    ("inkgate_gpu_info", {"gpu_id": "0", "name": "H200"}, 1),
    ("inkgate_results", {}, 2),
    ("inkgate_results_limit", {}, 256),
    ("inkgate_result_bytes", {}, 300),
    ("inkgate_result_bytes_limit", {}, 2000),
    ("inkgate_jobs_store_up", {}, 1),
    ("inkgate_jobs", {"state": "queued"}, 3),
    ("inkgate_jobs_oldest_queued_seconds", {}, 6),
    ("inkgate_jobs_backlog_pages", {}, 40),
    ("inkgate_jobs_backlog_seconds", {}, 20),
    ("inkgate_jobs_abandoned", {}, 1),
    ("inkgate_outbox_waiting", {}, 5),
    ("inkgate_outbox_dead", {}, 2),
    ("inkgate_outbox_oldest_seconds", {}, 4),
    ("inkgate_jobs_running", {}, 1),
    ("inkgate_jobs_ended_total", {"state": "succeeded"}, 6),
    ("inkgate_job_pages_total", {"outcome": "failed"}, 3),
    ("inkgate_job_claims_total", {"kind": "abandoned"}, 1),
    ("inkgate_job_leases_lost_total", {}, 2),
    ("inkgate_deliveries_total", {"sink": "shop", "outcome": "retried"}, 2),
    ("inkgate_intake_events_total", {"source": "scans", "outcome": "dead"}, 1),
    ("inkgate_intake_paused", {"source": "scans"}, 1),
    ("inkgate_intake_paused", {"source": "http"}, 0),
]
"""Of BUSY: a metric, its labels, and its value."""


def test_what_is_shown_of_a_state() -> None:
    registry = registry_of(BUSY)
    shown = [(name, labels, registry.get_sample_value(name, labels)) for name, labels, _ in SHOWN]
    assert shown == SHOWN


def test_each_metric_of_the_catalogue_has_a_value_in_a_state_that_has_all() -> None:
    full = replace(
        BUSY,
        replicas=(replace(BUSY.replicas[0], running=1, waiting=1, preemptions=1, generation_tokens=1, queue_s=1.0,
                          render_s=1.0, pressure=1.0),),
    )  # fmt: skip
    families = {family.name: family for family in registry_of(full).collect()}
    assert {name.removesuffix("_total") for name in STATE} == families.keys()
    assert [name for name, family in families.items() if not family.samples] == []


def test_labels_are_those_of_the_catalogue() -> None:
    for family in registry_of(BUSY).collect():
        known = STATE.get(family.name) or STATE[f"{family.name}_total"]
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(known.labels)


def test_what_is_not_there_has_no_values() -> None:
    shown = {family.name for family in registry_of(IDLE).collect() if family.samples}
    absent = (
        "gpu",
        "inkgate_gpu",
        "inkgate_replica",
        "inkgate_cache",
        "inkgate_job",
        "inkgate_outbox",
        "inkgate_result",
    )
    assert not [name for name in shown if name.startswith(absent)]
    assert "inkgate_documents" in shown


def test_of_a_database_of_jobs_that_is_away_there_are_no_stale_numbers() -> None:
    assert BUSY.jobs is not None
    state = replace(BUSY, jobs=replace(BUSY.jobs, up=False, stored=None))
    registry = registry_of(state)
    shown = {family.name for family in registry.collect() if family.samples}
    assert registry.get_sample_value("inkgate_jobs_store_up") == 0
    assert not [name for name in shown if name.startswith(("inkgate_jobs_backlog", "inkgate_outbox"))]
    assert {"inkgate_job_pages", "inkgate_deliveries"} <= shown


def test_a_state_that_cant_be_made_costs_its_metrics_alone() -> None:
    def broken() -> State:
        raise RuntimeError("no state")

    registry = CollectorRegistry()
    registry.register(StateCollector(broken))
    with capture_logs() as logs:
        assert list(registry.collect()) == []
    assert [line["event"] for line in logs] == ["state_not_read"]
