"""All metrics of the service, in one table for the code, docs/reference/metrics.md and the tests.

Names end in their base unit; counters end in `_total`. The four names without `inkgate_` are those that dashboards of
other OCR services use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
STAGE_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
BODY_BYTES = (10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6, 30e6, 100e6)
BATCH_ITEMS = (1, 2, 4, 8, 16, 32, 64)

PAGE = ("engine", "model_version", "task_type", "inference_engine")

STAGES = {
    "receive": "receive the request body",
    "open": "open a document or a page",
    "render": "render a page to pixels",
    "prepare": "rotate, scale and encode pixels for the model",
    "wait": "wait for a slot: a page, or a call to a model server",
    "batch": "batch the lines of a page: the wait for a model call, and the call",
    "engine": "read a page in the engine, from its slot to its result; includes other stages",
    "detect": "find text on a page",
    "recognize": "recognize the lines of a page",
    "layout": "find blocks and tables",
    "assemble": "build text and blocks from lines, parse a model's output, or write the response",
    "cache": "take a result from the cache, or wait for a concurrent read of the same page",
}
"""The values of the label `stage`."""


class Kind(StrEnum):
    """A Prometheus metric type."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with its labels. `name`: as in queries; `buckets`: upper bounds of a histogram."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, help_: str, *labels: str) -> Family:
    return Family(name, Kind.COUNTER, help_, labels)


def _gauge(name: str, help_: str, *labels: str) -> Family:
    return Family(name, Kind.GAUGE, help_, labels)


def _histogram(name: str, help_: str, buckets: tuple[float, ...], *labels: str) -> Family:
    return Family(name, Kind.HISTOGRAM, help_, labels, buckets)


def _table(*families: Family) -> dict[str, Family]:
    return {family.name: family for family in families}


EVENTS = _table(
    _counter(
        "http_requests_total",
        "Finished requests. Status 499: the client disconnected first.",
        "method",
        "endpoint",
        "status",
    ),
    _gauge("qps", "Requests per second over the last 10 seconds.", "endpoint"),
    _histogram(
        "inkgate_http_request_duration_seconds",
        "Time from the request headers to the end of the response.",
        REQUEST_S,
        "method",
        "endpoint",
    ),
    _counter(
        "inkgate_refusals_total",
        "Requests refused because of load, by error code; tenant_class: key, anonymous.",
        "reason",
        "tenant_class",
    ),
    _histogram("inkgate_upload_bytes", "Size of received documents and chat requests.", BODY_BYTES),
    _histogram("inkgate_stage_duration_seconds", "Time spent in each stage.", STAGE_S, "stage", "engine"),
    _histogram("inkgate_page_duration_seconds", "Time from a page's submission to its result.", REQUEST_S, *PAGE),
    _counter("inkgate_pages_total", "Pages by outcome: ok, degraded, failed, rejected.", *PAGE, "outcome"),
    _counter(
        "inkgate_pages_to_review_total",
        "Pages that a person should look at, by reason: uncertain_text, uncertain_order, uncertain_table, not_read, "
        "ink_without_text, script_unsupported, cut_off, placeholder, font_missing, doubtful_layer.",
        "engine",
        "reason",
    ),
    _counter("inkgate_page_errors_total", "Pages that failed, wholly or in part, by error code.", "engine", "code"),
    _counter(
        "inkgate_tokens_total",
        "Tokens, as model servers count them: in (prompts), out (outputs).",
        "engine",
        "direction",
    ),
    _counter("inkgate_runaway_stops_total", "Outputs stopped because they repeated themselves.", "engine"),
    _counter("inkgate_retries_total", "Retried model requests, by the error before.", "engine", "reason"),
)
"""Counted when events happen: telemetry/metrics.py."""

SERVICE = _table(
    _gauge(
        "inkgate_build_info",
        "Always 1; the labels describe the build.",
        "version",
        "engine",
        "model_version",
        "inference_engine",
    ),
    _gauge("inkgate_ready", "1 if the service can read pages, else 0; /readyz lists the reasons."),
    _gauge("inkgate_start_time_seconds", "Start time of the service in seconds since 1970."),
    _gauge("inkgate_documents", "Documents in flight."),
    _gauge("inkgate_documents_limit", "Maximum documents in flight."),
    _gauge("inkgate_body_bytes", "Size of the request bodies in memory."),
    _gauge("inkgate_body_bytes_limit", "Maximum size of the request bodies in memory."),
    _gauge("inkgate_tenants", "API keys or addresses with documents in flight."),
    _counter("inkgate_documents_ended_total", "Accepted documents by outcome.", "outcome"),
    _gauge("inkgate_degradation_step", "Degradation steps in use; 0: none."),
    _gauge("inkgate_process_resident_bytes", "Resident memory of all processes of a kind.", "kind"),
    _counter("inkgate_process_cpu_seconds_total", "CPU time of all processes of a kind.", "kind"),
    _gauge("inkgate_processes", "Processes of a kind: gateway, pdf, engine, vllm.", "kind"),
    _counter("inkgate_process_restarts_total", "Restarts of processes of a kind.", "kind"),
    _counter(
        "inkgate_background_failures_total", "Failures of a background task; each is followed by a restart.", "task"
    ),
    _gauge("inkgate_event_loop_lag_seconds", "Highest lag of the event loop in the last seconds."),
)

SERVING = _table(
    _gauge("inkgate_limit", "Current limit of concurrent pages or calls.", "queue"),
    _gauge("inkgate_limit_max", "Maximum of that limit.", "queue"),
    _gauge("inkgate_in_flight", "Pages or calls at the engine.", "queue"),
    _gauge("inkgate_waiting", "Waiting pages or calls, by priority.", "queue", "priority"),
    _gauge("inkgate_longest_wait_seconds", "Longest current wait.", "queue"),
    _gauge("inkgate_backlog_seconds", "Time until everything that waits has a slot.", "queue"),
    _gauge("inkgate_breaker_open", "1 while the circuit breaker blocks calls.", "name"),
    _gauge("inkgate_breaker_state", "1 for the current state: closed, open, half_open.", "name", "state"),
    _counter("inkgate_breaker_opened_total", "Times that the circuit breaker opened.", "name"),
    _histogram("inkgate_batch_size", "Calls of an embedded model by number of items.", BATCH_ITEMS, "model"),
    _counter("inkgate_batch_pixels_total", "Input pixels of a model: content, padding.", "model", "kind"),
    _counter("inkgate_batch_wait_seconds_total", "Total time that items waited for their call.", "model"),
    _counter("inkgate_batch_busy_seconds_total", "Total duration of calls.", "model"),
    _counter("inkgate_batch_items_total", "Items in calls.", "model"),
    _counter("inkgate_batch_dropped_total", "Items whose client left before their call.", "model"),
    _counter("inkgate_batch_retried_total", "Items retried alone after their call failed.", "model"),
    _counter(
        "inkgate_cache_results_total", "Pages by source: run (read), kept (cached), joined (shared read).", "source"
    ),
    _gauge("inkgate_cache_entries", "Results in the cache; none with Redis."),
    _gauge("inkgate_cache_bytes", "Size of the cache."),
    _gauge("inkgate_cache_bytes_limit", "Maximum size of the cache."),
)

REPLICAS = _table(
    _gauge(
        "inkgate_load_servers",
        "How many model servers the arriving work would keep busy, refused work included; scale by it.",
    ),
    _gauge("inkgate_replica_up", "1 while inkgate sends calls to the model server.", "replica"),
    _gauge("inkgate_replica_state", "1 for the current state: up, out or leaving.", "replica", "state"),
    _gauge("inkgate_replica_in_flight", "Calls from this service at the model server.", "replica"),
    _gauge("inkgate_replica_running", "Running requests, as the model server reports.", "replica"),
    _gauge("inkgate_replica_waiting", "Waiting requests, as the model server reports.", "replica"),
    _gauge("inkgate_replica_kv_usage_ratio", "Used share of the KV cache, 0 to 1.", "replica"),
    _counter("inkgate_replica_preemptions_total", "Requests preempted because the KV cache was full.", "replica"),
    _counter("inkgate_replica_generation_tokens_total", "Generated tokens.", "replica"),
    _gauge(
        "inkgate_replica_queue_seconds",
        "Mean wait in the server's own queue over the last 15 s or so.",
        "replica",
    ),
    _gauge("inkgate_replica_render_seconds", "Wait of images for their preparation, by Little's law.", "replica"),
    _gauge(
        "inkgate_replica_pressure", "Highest ratio of a load signal to its target; 1 and more is too high.", "replica"
    ),
    _counter("inkgate_replica_taken_out_total", "Times that inkgate took the server out of service.", "replica"),
)

GPUS = _table(
    _gauge("gpu_utilization_percent", "Share of the time in which the GPU computed, 0 to 100.", "gpu_id"),
    _gauge("gpu_memory_used_mb", "Used memory of the GPU in MiB, as nvidia-smi shows it.", "gpu_id"),
    _gauge("inkgate_gpu_memory_used_bytes", "Used memory of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_memory_total_bytes", "Memory of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_temperature_celsius", "Temperature of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_power_watts", "Power draw of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_clock_hertz", "Clock of the GPU's processors.", "gpu_id"),
    _gauge(
        "inkgate_gpu_throttled",
        "1 while the driver reduces the clocks for this reason: thermal, power.",
        "gpu_id",
        "reason",
    ),
    _gauge("inkgate_gpu_info", "Always 1; the label has the GPU's name.", "gpu_id", "name"),
)

JOBS = _table(
    _gauge("inkgate_jobs_store_up", "1 if the database of jobs responds, else 0: its gauges are then absent."),
    _gauge("inkgate_jobs", "Jobs in the database.", "state"),
    _gauge("inkgate_jobs_oldest_queued_seconds", "How long the oldest queued job has been due."),
    _gauge("inkgate_jobs_backlog_pages", "Pages to read; a document that was not opened yet counts as one."),
    _gauge(
        "inkgate_jobs_backlog_seconds",
        "Time to read these pages at the current rate; absent if no page was saved in the last five minutes.",
    ),
    _gauge("inkgate_jobs_abandoned", "Jobs whose worker is gone and that no other has taken over yet."),
    _gauge("inkgate_outbox_waiting", "Deliveries of results to make."),
    _gauge("inkgate_outbox_dead", "Deliveries that were given up: dead letters."),
    _gauge("inkgate_outbox_oldest_seconds", "How long the first delivery that is due has been due."),
)
"""Read from the database of jobs every few seconds: processes that share it show the same. Take their maximum."""

JOB_WORK = _table(
    _gauge("inkgate_jobs_running", "Jobs that this process runs."),
    _counter("inkgate_jobs_ended_total", "Jobs that this process ended, by their state then.", "state"),
    _counter("inkgate_job_pages_total", "Pages of jobs that this process saved: ok, failed.", "outcome"),
    _counter(
        "inkgate_job_claims_total",
        "Jobs that this process began: fresh (they waited), abandoned (their worker was gone).",
        "kind",
    ),
    _counter("inkgate_job_leases_lost_total", "Jobs that other processes took over from this one."),
    _counter(
        "inkgate_deliveries_total",
        "Attempts to deliver a result: delivered, retried (failed for now), dead (given up).",
        "sink",
        "outcome",
    ),
    _counter(
        "inkgate_intake_events_total",
        "Objects that events name: added, duplicate, refused; and events: dead (unusable), ignored.",
        "source",
        "outcome",
    ),
    _gauge("inkgate_intake_paused", "1 while events wait in the broker until the queue of jobs has room.", "source"),
)
"""Of one process: sum them."""

STATE = SERVICE | SERVING | REPLICAS | GPUS | JOBS | JOB_WORK
"""Read from the State at each scrape: telemetry/state_collector.py."""

CATALOG = EVENTS | STATE
