"""The state of a running service at one time: the source of metrics, the Live tab and the doctor.

Each value is declared here, and nowhere else. Every field is in `/state`; a field that is a counter, gauge or
histogram is in `/metrics` and docs/reference/metrics.md, too (telemetry/family.py). Counters are since the start.
None: unknown or absent. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from inkgate_client.telemetry.family import counter, gauge, histogram, label, part, reading
from inkgate_client.telemetry.history import Point, WorkTotals
from inkgate_client.telemetry.jobs_state import JobsState

BATCH_ITEMS = (1, 2, 4, 8, 16, 32, 64)
MODEL_SERVERS, GPUS = "Model servers", "GPUs"
QUEUES = "Queues, batches and the cache"
"""Headings of metrics in the documentation."""
_MIB = 2**20


@reading
class Build:
    """Versions, engine and machine.

    Attributes:
        engine: the engine's name in results, such as `ppocr` or `paddleocr-vl-1.6`.
        model: the model with its version, such as `PP-OCRv6 small`, or the name under which vLLM serves it.
        inference_engine: what runs the model, such as `openvino bf16`, `vllm` or `transformers`.
        cores: cores that this process may use.
        memory_bytes: memory of the machine.
        pipeline: the layers that a page passes, outermost first, with the engine as the last.
        accelerators: whether each accelerator (`uvloop`, `openvino`, `cuda`, `tensorrt`) is in use.
        fell_back: why models meant for a GPU run on the CPU; empty if they don't.
    """

    version: str = label("version")
    engine: str = label("engine")
    model: str = label("model_version")
    inference_engine: str = label("inference_engine")
    python: str = gauge("inkgate_build_info", "Always 1; the labels describe the build.", value=lambda _: 1)
    platform: str
    cores: int
    memory_bytes: int
    accelerators: Mapping[str, bool] = field(default_factory=dict)
    fell_back: str = ""
    pipeline: tuple[str, ...] = ()


@reading
class Process:
    """One process of the service.

    Attributes:
        kind: `gateway`, `pdf`, `engine` (a worker of the embedded one) or `vllm` (managed).
        pid: the process ID; 0 while the process is being restarted.
        rss_bytes: resident memory.
        cpu_s: CPU time; the first of a kind includes that of ended processes, so that sums never fall.
        started: number of starts; more than 1 if the process died.
    """

    kind: str = label("kind")
    pid: int = gauge("inkgate_processes", "Processes of a kind: gateway, pdf, engine, vllm.", value=bool)
    rss_bytes: int = gauge("inkgate_process_resident_bytes", "Resident memory of all processes of a kind.")
    cpu_s: float = counter("inkgate_process_cpu_seconds_total", "CPU time of all processes of a kind.")
    started: int = counter(
        "inkgate_process_restarts_total",
        "Restarts of processes of a kind.",
        value=lambda started: started - 1,
        default=1,
    )


@reading
class Machine:
    """The whole machine, with all programs on it.

    Attributes:
        memory_available_bytes: memory that is available without swapping.
        swapped_in_bytes: bytes read back from swap since the machine started.
        cpu_used_s: time since then in which any program used the cores that the service may use.
        cpu_unused_s: time since then in which these cores were idle.
        cpu_stalled_s: time since then in which something waited for a core; None if the kernel doesn't report it.
    """

    memory_available_bytes: int
    swap_total_bytes: int
    swap_used_bytes: int
    swapped_in_bytes: int
    cpu_used_s: float | None = None
    cpu_unused_s: float | None = None
    cpu_stalled_s: float | None = None


@reading
class Gpu:
    """One GPU at one time. None: the GPU doesn't report it, for example if it is a partition.

    Attributes:
        index: the driver's number of the GPU.
        name: the product's name, such as `NVIDIA H200`; empty if unknown.
        utilisation: share of the time in which the GPU computed, 0 to 1.
        memory_used: used memory in bytes.
        memory_total: memory in bytes.
        temperature_c: temperature of the chip in degrees Celsius.
        clock_mhz: clock of the streaming multiprocessors.
        throttled: why the driver reduces its clocks: `thermal`; `power`, which is normal under full load.
    """

    index: int = label("gpu_id")
    name: str = gauge(
        "inkgate_gpu_info",
        "Always 1; the label has the GPU's name.",
        "name",
        value=lambda name: {name: 1},
        panel=False,
        default="",
    )
    utilisation: float | None = gauge(
        "gpu_utilization_percent",
        "Share of the time in which the GPU computed, 0 to 100.",
        value=lambda share: share * 100,
        default=None,
    )
    memory_used: int | None = gauge(
        "gpu_memory_used_mb",
        "Used memory of the GPU in MiB, as nvidia-smi shows it.",
        value=lambda used: used / _MIB,
        also=gauge("inkgate_gpu_memory_used_bytes", "Used memory of the GPU."),
        default=None,
    )
    memory_total: int | None = gauge("inkgate_gpu_memory_total_bytes", "Memory of the GPU.", default=None)
    temperature_c: float | None = gauge("inkgate_gpu_temperature_celsius", "Temperature of the GPU.", default=None)
    power_w: float | None = gauge("inkgate_gpu_power_watts", "Power draw of the GPU.", default=None)
    clock_mhz: float | None = gauge(
        "inkgate_gpu_clock_hertz", "Clock of the GPU's processors.", value=lambda mhz: mhz * 1e6, default=None
    )
    throttled: tuple[str, ...] = gauge(
        "inkgate_gpu_throttled",
        "1 while the driver reduces the clocks for this reason: thermal, power.",
        "reason",
        value=lambda throttled: {reason: reason in throttled for reason in ("thermal", "power")},
        default=(),
    )


@reading
class PdfJobs:
    """Jobs that open and render PDFs.

    Attributes:
        workers: worker processes.
        busy: worker processes that have a job.
        waiting: jobs that wait for a worker process.
    """

    workers: int
    busy: int
    waiting: int


@reading
class Queue:
    """A queue: work that waits for an engine, and work in flight.

    Attributes:
        name: `pages` for the engine as a whole, `calls` for requests to model servers, `embedded` for pages that the
            embedded engine reads instead of a model.
        most: the maximum of `limit` by the settings.
        waiting: waiting pages or calls by current priority; a long wait raises the priority.
    """

    name: str = label("queue")
    limit: int = gauge("inkgate_limit", "Current limit of concurrent pages or calls.")
    most: int = gauge("inkgate_limit_max", "Maximum of that limit.")
    in_flight: int = gauge("inkgate_in_flight", "Pages or calls at the engine.")
    waiting: Mapping[str, int] = gauge("inkgate_waiting", "Waiting pages or calls, by priority.", "priority")
    longest_wait_s: float = gauge("inkgate_longest_wait_seconds", "Longest current wait.")
    backlog_s: float | None = gauge("inkgate_backlog_seconds", "Time until everything that waits has a slot.")


@reading
class AdmissionState:
    """Admission: documents in flight.

    Attributes:
        refused: refused documents by code of the error.
        ended: accepted documents by outcome (`ok`, `failed`, `rejected`, ...).
    """

    documents: int = gauge("inkgate_documents", "Documents in flight.")
    max_documents: int = gauge("inkgate_documents_limit", "Maximum documents in flight.")
    body_bytes: int = gauge("inkgate_body_bytes", "Size of the request bodies in memory.")
    max_bytes: int = gauge("inkgate_body_bytes_limit", "Maximum size of the request bodies in memory.")
    tenants: int = gauge("inkgate_tenants", "API keys or addresses with documents in flight.")
    refused: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = counter(
        "inkgate_documents_ended_total", "Accepted documents by outcome.", "outcome", default_factory=dict
    )
    waiting: int = gauge("inkgate_documents_waiting", "Chat requests that wait for admission.", default=0)


@reading
class ResultsState:
    """Results of jobs and files that are sent.

    Attributes:
        tenants: number of tenants that get them.
        refused: refused results by code of the error.
    """

    sent: int = gauge("inkgate_results", "Results of jobs and files that are being sent.")
    max_sent: int = gauge("inkgate_results_limit", "Maximum results that are sent at once.")
    held_bytes: int = gauge("inkgate_result_bytes", "Memory of the results that are being sent.")
    max_bytes: int = gauge("inkgate_result_bytes_limit", "Maximum memory of the results that are being sent.")
    tenants: int
    refused: Mapping[str, int] = field(default_factory=dict)


@reading
class Batches:
    """The calls of one model.

    Attributes:
        cost_pixels: pixels of the model's input in all calls, padding included.
        content_pixels: how many of them were not padding.
        sizes: calls by number of items.
    """

    model: str = label("model")
    calls: int
    items: int = counter("inkgate_batch_items_total", "Items in calls.")
    dropped: int = counter("inkgate_batch_dropped_total", "Items whose client left before their call.")
    retried: int = counter("inkgate_batch_retried_total", "Items retried alone after their call failed.")
    cost_pixels: int = counter(
        "inkgate_batch_pixels_total",
        "Input pixels of a model: content, padding.",
        "kind",
        whole=lambda batches: {"content": batches.content_pixels, "padding": batches.padding_pixels},
    )
    content_pixels: int
    wait_s: float = counter("inkgate_batch_wait_seconds_total", "Total time that items waited for their call.")
    busy_s: float = counter("inkgate_batch_busy_seconds_total", "Total duration of calls.")
    sizes: Mapping[int, int] = histogram(
        "inkgate_batch_size", "Calls of an embedded model by number of items.", BATCH_ITEMS, default_factory=dict
    )

    @property
    def padding_pixels(self) -> int:
        """Input pixels without content."""
        return max(self.cost_pixels - self.content_pixels, 0)


@reading
class TaskReading:
    """A background task.

    Attributes:
        state: `running`, `waiting` for a restart, or `ended`.
        needed: whether pages can't be read without it.
        keeps_failing: whether it failed several times in a row.
        error: the type of the last error; empty without one.
        next_try_s: time until the restart; None unless it waits.
    """

    name: str = label("task")
    state: str
    needed: bool
    keeps_failing: bool
    failures: int = counter(
        "inkgate_background_failures_total", "Failures of a background task; each is followed by a restart."
    )
    error: str = ""
    next_try_s: float | None = None


@reading
class CacheState:
    """The cache of page results. `entries` and `bytes` are None for a shared store."""

    found: Mapping[str, int] = counter(
        "inkgate_cache_results_total", "Pages by source: run (read), kept (cached), joined (shared read).", "source"
    )
    entries: int | None = gauge(
        "inkgate_cache_entries", "Results in the cache; none with Redis.", panel=False, default=None
    )
    bytes: int | None = gauge("inkgate_cache_bytes", "Size of the cache.", panel=False, default=None)
    max_bytes: int | None = gauge("inkgate_cache_bytes_limit", "Maximum size of the cache.", panel=False, default=None)


@reading
class BreakerReading:
    """A circuit breaker. Its state is `closed`, `open` or `half_open`."""

    name: str = label("name")
    state: str = gauge(
        "inkgate_breaker_open",
        "1 while the circuit breaker blocks calls.",
        value=lambda state: state == "open",
        also=gauge(
            "inkgate_breaker_state",
            "1 for the current state: closed, open, half_open.",
            "state",
            value=lambda current: {state: state == current for state in ("closed", "open", "half_open")},
            panel=False,
        ),
    )
    opened: int = counter("inkgate_breaker_opened_total", "Times that the circuit breaker opened.", panel=False)


@reading
class ReplicaReading:
    """A model server.

    Attributes:
        state: `up`, `out` or `leaving`.
        why: the reason when it was last taken out.
        kv_tokens: capacity of its KV cache.
        inter_token_s: mean time between tokens of a request.
        flags: command line flags, if inkgate started it.
    """

    name: str = label("replica")
    state: str = gauge(
        "inkgate_replica_up",
        "1 while inkgate sends calls to the model server.",
        value=lambda state: state == "up",
        also=gauge(
            "inkgate_replica_state",
            "1 for the current state: up, out or leaving.",
            "state",
            value=lambda current: {state: state == current for state in ("up", "out", "leaving")},
        ),
    )
    why: str
    taken_out: int = counter("inkgate_replica_taken_out_total", "Times that inkgate took the server out of service.")
    in_flight: int = gauge("inkgate_replica_in_flight", "Calls from this service at the model server.")
    running: int | None = gauge(
        "inkgate_replica_running", "Running requests, as the model server reports.", default=None
    )
    waiting: int | None = gauge(
        "inkgate_replica_waiting", "Waiting requests, as the model server reports.", default=None
    )
    kv_usage: float | None = gauge(
        "inkgate_replica_kv_usage_ratio", "Used share of the KV cache, 0 to 1.", default=None
    )
    kv_tokens: int | None = None
    preemptions: int | None = counter(
        "inkgate_replica_preemptions_total", "Requests preempted because the KV cache was full.", default=None
    )
    generation_tokens: int | None = counter(
        "inkgate_replica_generation_tokens_total", "Generated tokens.", default=None
    )
    queue_s: float | None = gauge(
        "inkgate_replica_queue_seconds", "Mean wait in the server's own queue over the last 15 s or so.", default=None
    )
    render_s: float | None = gauge(
        "inkgate_replica_render_seconds", "Wait of images for their preparation, by Little's law.", default=None
    )
    inter_token_s: float | None = None
    pressure: float | None = gauge(
        "inkgate_replica_pressure",
        "Highest ratio of a load signal to its target; 1 and more is too high.",
        default=None,
    )
    flags: tuple[str, ...] = ()


DEGRADATION_EFFECTS: Mapping[str, str] = {
    "image": "pages are read from smaller images, small print with more errors",
    "output": "the answers of a model are shorter, and the end of a long page may be missing",
    "embedded": "ppocr instead of the model reads batches",
    "shed": "batches are refused",
}
"""What each step of degradation does, in order."""


def degradation_effects(steps: Iterable[str], engine: str) -> list[str]:
    """What these steps do, where `engine` reads: the embedded engine alone has no model to go without."""
    chosen = (step for step in steps if engine != "ppocr" or step in {"image", "shed"})
    return [DEGRADATION_EFFECTS.get(step, step) for step in chosen]


@reading
class State:
    """The state of a service.

    Attributes:
        at: when the state was read, in seconds since the epoch.
        started_at: start time of the service in seconds since the epoch.
        reasons: why it is not ready.
        ready: whether the service can read pages.
        degradation_levels: the names of all steps of degradation, in order.
        results: results that are sent; None where none are, as in a job's worker.
        jobs: the state of jobs; None if `jobs.enabled` is false.
        settings: the settings in force, without secrets.
        history: the last quarter of an hour, oldest first.
    """

    at: float
    started_at: float = gauge("inkgate_start_time_seconds", "Start time of the service in seconds since 1970.")
    build: Build
    ready: bool = gauge("inkgate_ready", "1 if the service can read pages, else 0; /readyz lists the reasons.")
    reasons: tuple[str, ...]
    admission: AdmissionState
    queues: tuple[Queue, ...] = part(section=QUEUES)
    work: WorkTotals
    processes: tuple[Process, ...]
    machine: Machine | None = None
    pdf: PdfJobs | None = None
    degradation_level: int = gauge(
        "inkgate_degradation_step",
        "Degradation steps in use; 0: none. "
        + ". ".join(f"{number}: {effect}" for number, effect in enumerate(DEGRADATION_EFFECTS.values(), 1))
        + ". `serving.degradation.enabled = false` forbids them.",
        default=0,
    )
    degradation_levels: tuple[str, ...] = ()
    batches: tuple[Batches, ...] = part(section=QUEUES, default=())
    cache: CacheState | None = part(section=QUEUES, default=None)
    breakers: tuple[BreakerReading, ...] = part(section=QUEUES, default=())
    replicas: tuple[ReplicaReading, ...] = part(section=MODEL_SERVERS, default=())
    load_servers: float | None = gauge(
        "inkgate_load_servers",
        "How many model servers the arriving work would keep busy, refused work included; scale by it.",
        section=MODEL_SERVERS,
        default=None,
    )
    gpus: tuple[Gpu, ...] = part(section=GPUS, default=())
    background: tuple[TaskReading, ...] = ()
    results: ResultsState | None = None
    jobs: JobsState | None = part(section="Jobs of a process", default=None)
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Point, ...] = part(latest=True, default=())
