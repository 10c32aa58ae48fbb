"""What a running service says of itself, at one time: the metrics, the Live tab and the doctor are made of it.

Counters are since the start; None is what isn't known or isn't there. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inkgate.telemetry.state_hardware import Build, Gpu, Machine, Process

__all__ = [
    "AdmissionState",
    "Batches",
    "BreakerReading",
    "Build",
    "CacheState",
    "Gpu",
    "Machine",
    "PdfJobs",
    "Point",
    "Process",
    "Queue",
    "ReplicaReading",
    "State",
    "TaskReading",
    "Work",
]


@dataclass(frozen=True, slots=True)
class PdfJobs:
    """Opening PDFs, looking at their pages and rendering them. `workers`: places for processes that do it."""

    workers: int
    busy: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Queue:
    """A scheduler: what waits for an engine, and what is there.

    Attributes:
        name: `pages` for the engine as a whole, `calls` for requests to model servers.
        limit: how many may be at the engine at once; `most`: how far it may rise by the settings.
        waiting: by the class that they are in by now: who has waited for long counts as more urgent.
        longest_wait_s: of who waits now.
        backlog_s: until all that waits has had its turn.
        tokens_promised, tokens_foreign, tokens_capacity: of the KV cache; capacity None where there is none to bound.
    """

    name: str
    limit: int
    most: int
    in_flight: int
    waiting: Mapping[str, int]
    longest_wait_s: float
    backlog_s: float | None
    tokens_promised: int = 0
    tokens_foreign: int = 0
    tokens_capacity: int | None = None


@dataclass(frozen=True, slots=True)
class AdmissionState:
    """The front door: documents that were let in and are not answered yet.

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
    """The calls of one model. `sizes`: calls by the number of items in them."""

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
    """A task that runs as long as the service.

    Attributes:
        state: `running`, `waiting` for its next start after it failed, or `ended`.
        needed: whether no page can be read without it.
        keeps_failing: whether it failed several times in a row lately.
        failures: so far; error: the type of the last one, empty before the first.
        next_try_s: until it is started again; None unless it waits.
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
    """`found`: results by where they came from: `run`, `kept`, `joined`. Entries and bytes: None for a shared store."""

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
        state: `up`, `out` or `draining`; `why`: it was taken out the last time; `taken_out`: how often.
        in_flight: our calls there.
        running, waiting, kv_usage, preemptions, generation_tokens: as it says itself.
        kv_tokens: that its KV cache holds.
        queue_s: mean wait in its own queue, lately; render_s: how long images wait there to be prepared.
        pressure: the largest of its signals over its target; 1 and more: too much.
        flags: with which it was started, where we started it.
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
class Work:
    """What was done.

    Attributes:
        requests: by `METHOD endpoint status`.
        pages: by outcome: `ok`, `degraded` or the code of the error.
        stage_s, stage_count: time spent in each stage, and how often.
        tokens_in, tokens_out: of model servers.
        runaways: answers that were stopped because they repeated themselves; retries: by reason.
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
    """A few seconds of the recent past; rates are per second. `at`: seconds since the epoch, the end of it.

    Attributes:
        span_s: from the point before.
        requests: all that ended but probes; errors: of them, answered with 5xx but 503; refused: with 429 or 503.
        p50_s, p95_s: how long requests took that had documents read and were answered; None where there was none.
        mean_batch: items a call of the recogniser; None without a call.
        cache_share: part of the pages that came from the cache or were joined.
        cpu: cores that all processes of the service used.
        cpu_all: part of the service's cores that was used, whoever used them, 0 to 1; cpu_stalled: part of the time in
            which something on the machine waited for a core. None where the machine doesn't say.
        in_flight, limit, waiting: of the queue right before what computes: `calls` if there is one, else `pages`.
        pages_waiting: of the queue `pages`; pdf_waiting: jobs of PDFs that no worker is free for.
        gpu: utilisation of the busiest, 0 to 1; gpu_memory: used part of the memory of the fullest.
        kv_usage: of the fullest model server, 0 to 1.
        loop_lag_s: how late the event loop was at most.
        swap_in: bytes that the machine read back from swap, a second.
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
    """All of it.

    Attributes:
        at, started_at: seconds since the epoch.
        ready: whether it can read, and why not.
        degradation_level: steps of degradation taken now; degradation_levels: the names of all, in order.
        settings: those in force, without secrets.
        history: the last quarter of an hour, the eldest first.
    """

    at: float
    started_at: float
    build: Build
    ready: bool
    reasons: tuple[str, ...]
    admission: AdmissionState
    queues: tuple[Queue, ...]
    work: Work
    processes: tuple[Process, ...]
    machine: Machine | None = None
    pdf: PdfJobs | None = None
    degradation_level: int = 0
    degradation_levels: tuple[str, ...] = ()
    batches: tuple[Batches, ...] = ()
    cache: CacheState | None = None
    breakers: tuple[BreakerReading, ...] = ()
    replicas: tuple[ReplicaReading, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    background: tuple[TaskReading, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Point, ...] = ()
