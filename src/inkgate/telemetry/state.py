"""The state of a running service at one time: the source of metrics, the Live tab and the doctor.

Counters are since the start. None: unknown or absent. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Build:
    """Versions, engine and machine.

    Attributes:
        engine: its name in results, such as `ppocr` or `paddleocr-vl-1.6`.
        model: with its version, such as `PP-OCRv6 small`, or the name under which vLLM serves it.
        inference_engine: such as `openvino bf16`, `vllm` or `transformers`.
        cores: that this process may use.
        pipeline: the layers that a page passes, outermost first, with the engine as the last.
        accelerators: by name (`uvloop`, `openvino`, `cuda`, `tensorrt`), whether each is in use.
        fell_back: why models meant for a GPU run on the CPU; empty if they don't.
    """

    version: str
    engine: str
    model: str
    inference_engine: str
    python: str
    platform: str
    cores: int
    memory_bytes: int
    accelerators: Mapping[str, bool] = field(default_factory=dict)
    fell_back: str = ""
    pipeline: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the service.

    Attributes:
        kind: `gateway`, `pdf`, `engine` (a worker of the embedded one) or `vllm` (managed).
        pid: 0 while the process is being restarted.
        cpu_s: CPU time; the first of a kind includes that of ended processes, so that sums never fall.
        started: number of starts; more than 1 if the process died.
    """

    kind: str
    pid: int
    rss_bytes: int
    cpu_s: float
    started: int = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """The whole machine, with all programs on it.

    Attributes:
        memory_available_bytes: available without swapping.
        swapped_in_bytes: read back from swap since the machine started.
        cpu_used_s, cpu_unused_s: time of the cores that the service may use since then, for all programs.
        cpu_stalled_s: time since then in which something waited for a core; None if the kernel doesn't report it.
    """

    memory_available_bytes: int
    swap_total_bytes: int
    swap_used_bytes: int
    swapped_in_bytes: int
    cpu_used_s: float | None = None
    cpu_unused_s: float | None = None
    cpu_stalled_s: float | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU at one time. None: the GPU doesn't report it, for example if it is a partition.

    Attributes:
        index: as the driver counts them.
        name: of the product, such as `NVIDIA H200`; empty if unknown.
        utilisation: share of the time in which it computed, 0 to 1.
        memory_used, memory_total: bytes.
        temperature_c: of the chip, in degrees Celsius.
        power_w: power draw.
        clock_mhz: of its streaming multiprocessors.
        throttled: why the driver reduces its clocks: `thermal`; `power`, which is normal under full load.
    """

    index: int
    name: str = ""
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    throttled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PdfJobs:
    """Jobs that open and render PDFs. `workers`: the number of worker processes."""

    workers: int
    busy: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Queue:
    """A scheduler's queue: work that waits for an engine, and work in flight.

    Attributes:
        name: `pages` for the engine as a whole, `calls` for requests to model servers, `embedded` for pages that the
            embedded engine reads instead of a model.
        limit: the current limit of concurrent work; `most`: its maximum by the settings.
        waiting: by current priority; a long wait raises the priority.
        longest_wait_s: the longest current wait.
        backlog_s: time until everything that waits has a slot.
    """

    name: str
    limit: int
    most: int
    in_flight: int
    waiting: Mapping[str, int]
    longest_wait_s: float
    backlog_s: float | None


@dataclass(frozen=True, slots=True)
class AdmissionState:
    """Admission: documents in flight.

    Attributes:
        refused: by code of the error.
        ended: by outcome (`ok`, `failed`, `rejected`, ...).
    """

    documents: int
    max_documents: int
    body_bytes: int
    max_bytes: int
    tenants: int
    refused: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batches:
    """The calls of one model. `sizes`: calls by number of items."""

    model: str
    calls: int
    items: int
    dropped: int
    retried: int
    cost_pixels: int
    content_pixels: int
    wait_s: float
    busy_s: float
    sizes: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskReading:
    """A background task.

    Attributes:
        state: `running`, `waiting` for a restart, or `ended`.
        needed: whether pages can't be read without it.
        keeps_failing: whether it failed several times in a row.
        failures: so far; error: the type of the last error, empty without one.
        next_try_s: time until the restart; None unless it waits.
    """

    name: str
    state: str
    needed: bool
    keeps_failing: bool
    failures: int
    error: str = ""
    next_try_s: float | None = None


@dataclass(frozen=True, slots=True)
class CacheState:
    """`found`: results by source: `run` (read), `kept` (cached), `joined` (shared read). Entries and bytes are None
    for a shared store.
    """

    found: Mapping[str, int]
    entries: int | None = None
    bytes: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BreakerReading:
    """`state`: `closed`, `open` or `half_open`."""

    name: str
    state: str
    opened: int


@dataclass(frozen=True, slots=True)
class ReplicaReading:
    """A model server.

    Attributes:
        state: `up`, `out` or `leaving`; `why`: the reason when it was last taken out; `taken_out`: how often.
        in_flight: calls from this service.
        running, waiting, kv_usage, preemptions, generation_tokens: as the server reports.
        kv_tokens: capacity of its KV cache.
        queue_s: recent mean wait in its own queue; render_s: wait of images for their preparation.
        pressure: highest ratio of a load signal to its target; 1 and more is too high.
        flags: command line flags, if inkgate started it.
    """

    name: str
    state: str
    why: str
    taken_out: int
    in_flight: int
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    kv_tokens: int | None = None
    preemptions: int | None = None
    generation_tokens: int | None = None
    queue_s: float | None = None
    render_s: float | None = None
    inter_token_s: float | None = None
    pressure: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredJobs:
    """What the database of jobs has: every process that shares it shows the same.

    Attributes:
        by_state: number of jobs.
        backlog_pages: pages to read; a document that was not opened yet counts as one.
        backlog_s: time to read them at the current rate; None if no page was saved in the last five minutes.
        oldest_s: how long the oldest queued job has been due.
        abandoned: jobs whose worker is gone and that no other has taken over yet.
        outbox_waiting, outbox_dead: deliveries to make, and those that were given up.
        outbox_oldest_s: how long the first delivery that is due has been due.
    """

    by_state: Mapping[str, int]
    backlog_pages: int
    backlog_s: float | None
    oldest_s: float
    abandoned: int
    outbox_waiting: int
    outbox_dead: int
    outbox_oldest_s: float


@dataclass(frozen=True, slots=True)
class JobsDisk:
    """The disk of the database of jobs, or of their uploads. `use`: `database` or `uploads`; `file_system`: its type,
    such as `ext4`, empty if unknown.
    """

    use: str
    path: str
    file_system: str
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class JobsState:
    """Jobs. All but `stored` is of this process; counters are since its start.

    Attributes:
        database: `sqlite` or `postgresql`.
        up: whether the database responds; None before it was asked.
        stored: None while that is unknown.
        disks: on this machine.
        missing: packages that the settings need and that are not installed, with what needs them.
        running: jobs that this process runs now.
        claims: `fresh` (jobs that waited), `abandoned` (jobs whose worker was gone).
        leases_lost: jobs that were taken over from this process.
        pages: that it saved, by outcome: `ok`, `failed`.
        ended: jobs that it ended, by state.
        deliveries: attempts by sink and outcome: `delivered`, `retried`, `dead`.
        events: by source and outcome: `added`, `duplicate`, `refused`, `dead`, `ignored`.
        paused: sources that wait until the queue of jobs has room.
    """

    database: str
    up: bool | None = None
    stored: StoredJobs | None = None
    disks: tuple[JobsDisk, ...] = ()
    missing: tuple[str, ...] = ()
    running: int = 0
    claims: Mapping[str, int] = field(default_factory=dict)
    leases_lost: int = 0
    pages: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)
    deliveries: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    events: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    paused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkTotals:
    """Counters of work.

    Attributes:
        requests: by `METHOD endpoint status`.
        pages: by outcome: `ok`, `degraded` or the code of the error.
        stage_s, stage_count: time in each stage, and number of times.
        tokens_in, tokens_out: at model servers.
        runaways: outputs stopped because they repeated themselves; retries: by reason.
    """

    requests: Mapping[str, int] = field(default_factory=dict)
    pages: Mapping[str, int] = field(default_factory=dict)
    stage_s: Mapping[str, float] = field(default_factory=dict)
    stage_count: Mapping[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    runaways: int = 0
    retries: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """A step of a few seconds; rates are per second. `at`: its end in seconds since the epoch.

    Attributes:
        span_s: time since the point before.
        requests: finished ones without probes; errors: those with 5xx except 503; refused: those with 429 or 503.
        p50_s, p95_s: durations of successful requests with documents; None without any.
        mean_batch: items per call of the recognizer; None without a call.
        cache_share: share of the pages from the cache or a shared read.
        cpu: cores used by all processes of the service.
        cpu_all: share of the service's cores used by all programs, 0 to 1; cpu_stalled: share of the time in which
            something on the machine waited for a core. None if unknown.
        in_flight, limit, waiting: of the queue right before the engine: `calls` if there is one, else `pages`.
        pages_waiting: of the queue `pages`; pdf_waiting: PDF jobs that wait for a worker.
        gpu: utilization of the busiest GPU, 0 to 1; gpu_memory: used share of the fullest GPU's memory.
        kv_usage: of the fullest model server, 0 to 1.
        loop_lag_s: highest lag of the event loop.
        swap_in: bytes per second that the machine read back from swap.
    """

    at: float
    span_s: float
    requests: float
    pages: float
    errors: float
    refused: float
    p50_s: float | None
    p95_s: float | None
    documents: int
    in_flight: int
    limit: int
    waiting: int
    mean_batch: float | None = None
    cache_share: float | None = None
    cpu: float | None = None
    rss_bytes: int = 0
    gpu: float | None = None
    gpu_memory: float | None = None
    kv_usage: float | None = None
    loop_lag_s: float | None = None
    tokens_out: float = 0.0
    pages_waiting: int = 0
    pdf_waiting: int = 0
    swap_in: float = 0.0
    cpu_all: float | None = None
    cpu_stalled: float | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The state of a service.

    Attributes:
        at, started_at: seconds since the epoch.
        ready: whether it can read pages; reasons: why not.
        degradation_level: steps of degradation taken now; degradation_levels: the names of all, in order.
        load_servers: how many model servers the arriving work would keep busy; None while unknown.
        jobs: None if `jobs.enabled` is false.
        settings: those in force, without secrets.
        history: the last quarter of an hour, oldest first.
    """

    at: float
    started_at: float
    build: Build
    ready: bool
    reasons: tuple[str, ...]
    admission: AdmissionState
    queues: tuple[Queue, ...]
    work: WorkTotals
    processes: tuple[Process, ...]
    machine: Machine | None = None
    pdf: PdfJobs | None = None
    degradation_level: int = 0
    degradation_levels: tuple[str, ...] = ()
    batches: tuple[Batches, ...] = ()
    cache: CacheState | None = None
    breakers: tuple[BreakerReading, ...] = ()
    replicas: tuple[ReplicaReading, ...] = ()
    load_servers: float | None = None
    gpus: tuple[Gpu, ...] = ()
    background: tuple[TaskReading, ...] = ()
    jobs: JobsState | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Point, ...] = ()
