"""Every metric that the service has: the one table that the code, docs/reference/metrics.md and the tests go by.

Names end in their unit, in base units; counters end in `_total`. The four without `inkgate_` are named as dashboards
of other OCR services have them.
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
    "receive": "the body arrives",
    "open": "a document, or a page of it, is opened",
    "render": "a page's pixels are made",
    "prepare": "pixels are turned, scaled and encoded for the model",
    "wait": "a page, or a call of a model server, waits for its turn",
    "batch": "lines of a page are with the batcher: they wait for a call, and are in it",
    "engine": "the engine has the page, from its turn to its result; holds the stages below and above within it",
    "detect": "text is found on a page",
    "recognize": "the lines of a page are read",
    "layout": "blocks and tables are found",
    "assemble": "lines become text and blocks, a model's answer is parsed, or the answer to the client is written",
    "cache": "a result is taken from the cache, or waited for while another request has it read",
}
"""What `stage` may be, and what is done in it."""


class Kind(StrEnum):
    """Prometheus' type of a metric."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with all its label values. `name` as queries have it; `buckets`: upper bounds, of a histogram."""

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
        "Requests that were answered. Status 499: the client left before.",
        "method",
        "endpoint",
        "status",
    ),
    _gauge("qps", "Requests per second, answered within the last 10 seconds.", "endpoint"),
    _histogram(
        "inkgate_http_request_duration_seconds",
        "From a request's head to the end of its answer.",
        REQUEST_S,
        "method",
        "endpoint",
    ),
    _counter(
        "inkgate_refusals_total",
        "Requests refused because of load, by the code of the error; tenant_class: key, anonymous.",
        "reason",
        "tenant_class",
    ),
    _histogram("inkgate_upload_bytes", "Documents and chat requests that arrived, by their size.", BODY_BYTES),
    _histogram("inkgate_stage_duration_seconds", "Time in each stage of the work.", STAGE_S, "stage", "engine"),
    _histogram("inkgate_page_duration_seconds", "From a page's turn in its document to its result.", REQUEST_S, *PAGE),
    _counter("inkgate_pages_total", "Pages by outcome: ok, degraded, failed, rejected.", *PAGE, "outcome"),
    _counter(
        "inkgate_page_errors_total", "Pages that were not read, or in part, by the error's code.", "engine", "code"
    ),
    _counter(
        "inkgate_tokens_total",
        "Tokens of model servers, as they count them: in (prompts), out (answers).",
        "engine",
        "direction",
    ),
    _counter("inkgate_runaway_stops_total", "Answers that were stopped because they repeated themselves.", "engine"),
    _counter("inkgate_retries_total", "Questions that were asked again, by the error before.", "engine", "reason"),
)
"""Counted as things happen: telemetry/metrics.py."""

SERVICE = _table(
    _gauge(
        "inkgate_build_info", "1; what runs is in the labels.", "version", "engine", "model_version", "inference_engine"
    ),
    _gauge("inkgate_ready", "1 while pages can be read, else 0: /readyz says why."),
    _gauge("inkgate_start_time_seconds", "When the service was started, in seconds since 1970."),
    _gauge("inkgate_documents", "Documents in the service that are not answered yet."),
    _gauge("inkgate_documents_limit", "How many there may be."),
    _gauge("inkgate_body_bytes", "Size of the bodies that are held."),
    _gauge("inkgate_body_bytes_limit", "How much that may be."),
    _gauge("inkgate_tenants", "Keys or addresses whose documents are there."),
    _counter("inkgate_documents_ended_total", "Documents that were let in, by how they ended.", "outcome"),
    _gauge("inkgate_degradation_step", "Steps of degradation taken now; 0: none."),
    _gauge("inkgate_process_resident_bytes", "Memory of all processes of a kind.", "kind"),
    _counter("inkgate_process_cpu_seconds_total", "Processor time of all processes of a kind.", "kind"),
    _gauge("inkgate_processes", "Processes of a kind: gateway, pdf, engine, vllm.", "kind"),
    _counter("inkgate_process_restarts_total", "Processes of a kind that were started again.", "kind"),
    _counter("inkgate_background_failures_total", "Times that a background task failed and was started again.", "task"),
    _gauge("inkgate_event_loop_lag_seconds", "How late the event loop was at most in the last seconds."),
)

SERVING = _table(
    _gauge("inkgate_limit", "Pages or calls that may be at the engine at once.", "queue"),
    _gauge("inkgate_limit_max", "How far that may rise by the settings.", "queue"),
    _gauge("inkgate_in_flight", "Pages or calls that are at the engine.", "queue"),
    _gauge("inkgate_waiting", "Pages or calls that wait for it, by priority.", "queue", "priority"),
    _gauge("inkgate_longest_wait_seconds", "How long who waits longest has waited.", "queue"),
    _gauge("inkgate_backlog_seconds", "Time until all who wait have had their turn.", "queue"),
    _gauge("inkgate_ledger_tokens", "Tokens of the KV cache: promised, foreign, capacity.", "queue", "kind"),
    _gauge("inkgate_breaker_open", "1 while nothing is sent to what is behind the breaker.", "name"),
    _gauge("inkgate_breaker_state", "1 for the state that it is in: closed, open, half_open.", "name", "state"),
    _counter("inkgate_breaker_opened_total", "Times that it opened.", "name"),
    _histogram("inkgate_batch_size", "Calls of an embedded model, by the items in them.", BATCH_ITEMS, "model"),
    _counter("inkgate_batch_pixels_total", "Pixels of a model's input: content, padding.", "model", "kind"),
    _counter("inkgate_batch_wait_seconds_total", "Time that items waited for their call, of all together.", "model"),
    _counter("inkgate_batch_busy_seconds_total", "Time that calls took, of all together.", "model"),
    _counter("inkgate_batch_items_total", "Items in calls.", "model"),
    _counter("inkgate_batch_dropped_total", "Items whose caller left before their call.", "model"),
    _counter("inkgate_batch_retried_total", "Items tried alone after their call failed.", "model"),
    _counter("inkgate_cache_results_total", "Pages by source: run (read), kept (found), joined.", "source"),
    _gauge("inkgate_cache_entries", "Results that are kept; none where that is in Redis."),
    _gauge("inkgate_cache_bytes", "Size of the results that are kept."),
    _gauge("inkgate_cache_bytes_limit", "How much that may be."),
)

REPLICAS = _table(
    _gauge("inkgate_replica_up", "1 while calls are sent to the model server.", "replica"),
    _gauge("inkgate_replica_state", "1 for the state that it is in: up, out, draining.", "replica", "state"),
    _gauge("inkgate_replica_in_flight", "Calls of this service that are there.", "replica"),
    _gauge("inkgate_replica_running", "Requests that it works on, as it says.", "replica"),
    _gauge("inkgate_replica_waiting", "Requests that wait in it, as it says.", "replica"),
    _gauge("inkgate_replica_kv_usage_ratio", "Used part of its KV cache, 0 to 1.", "replica"),
    _counter("inkgate_replica_preemptions_total", "Requests that it put back for lack of KV cache.", "replica"),
    _counter("inkgate_replica_generation_tokens_total", "Tokens that it generated.", "replica"),
    _gauge(
        "inkgate_replica_queue_seconds",
        "Mean wait in its own queue, of those who left it in the last 15 s or so.",
        "replica",
    ),
    _gauge("inkgate_replica_render_seconds", "How long images wait there to be prepared, by Little's law.", "replica"),
    _gauge("inkgate_replica_pressure", "The largest of its signals over its target; 1 and more: too much.", "replica"),
    _counter("inkgate_replica_taken_out_total", "Times that it was taken out of service.", "replica"),
)

GPUS = _table(
    _gauge("gpu_utilization_percent", "Part of the time in which the GPU computed, 0 to 100.", "gpu_id"),
    _gauge("gpu_memory_used_mb", "Used memory of the GPU in MiB, as nvidia-smi shows it.", "gpu_id"),
    _gauge("inkgate_gpu_memory_used_bytes", "Used memory of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_memory_total_bytes", "Memory of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_temperature_celsius", "Temperature of the GPU.", "gpu_id"),
    _gauge("inkgate_gpu_power_watts", "Power that the GPU draws.", "gpu_id"),
    _gauge("inkgate_gpu_clock_hertz", "Clock of the GPU's processors.", "gpu_id"),
    _gauge(
        "inkgate_gpu_throttled", "1 while the clocks are held down for that reason: thermal, power.", "gpu_id", "reason"
    ),
    _gauge("inkgate_gpu_info", "1; the GPU's name is in the label.", "gpu_id", "name"),
)

STATE = SERVICE | SERVING | REPLICAS | GPUS
"""Read when they are asked for: telemetry/state_collector.py."""

CATALOG = EVENTS | STATE
