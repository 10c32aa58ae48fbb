"""What a load test found: the values that are shown, drawn, written to files and compared.

All of them are plain values that pydantic writes as JSON and reads back. Times in seconds; a share is 0 to 1; None
means that it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

FORMAT = "inkgate.loadtest/1"
"""The `format` of a report in JSON; the number rises when a reader of the old one would go wrong."""


class Axis(StrEnum):
    """What is raised from step to step: requests in flight (closed loop), or requests a second (open loop)."""

    CONCURRENCY = "concurrency"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Latency:
    """Of answers, from the moment at which the request was due."""

    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class Summary:
    """All requests that were due in one window of time, whenever they ended.

    Attributes:
        seconds: length of the window.
        offered: requests that were due; of them `answered` whole (`in_time`: within the deadline), `refused` (429,
            503), `rejected` (other 4xx), `failed` (5xx, broken connections), `timed_out` (nobody waited longer).
        pages: of the answers in time.
        degraded: answers of less quality than asked for.
        errors: how often by kind, such as `503 service_full` or `connection refused`.
        latency: of what was answered; refusal: of what was refused.
        in_flight: mean number of requests on their way.
    """

    seconds: float
    offered: int
    answered: int
    in_time: int
    refused: int
    rejected: int
    failed: int
    timed_out: int
    pages: int
    degraded: int
    sent_bytes: int
    in_flight: float
    latency: Latency | None
    refusal: Latency | None
    errors: dict[str, int] = field(default_factory=dict)

    @property
    def offered_per_s(self) -> float:
        return self.offered / self.seconds

    @property
    def answered_per_s(self) -> float:
        return self.answered / self.seconds

    @property
    def goodput(self) -> float:
        """Answers within the deadline, a second."""
        return self.in_time / self.seconds

    @property
    def error_share(self) -> float:
        """Of the requests offered, those not answered, refusals included."""
        return (self.offered - self.answered) / self.offered if self.offered else 0.0


@dataclass(frozen=True, slots=True)
class ServerSide:
    """What the service and its model server said of the same window; None for what they don't say.

    `kv_share`, `gpu_share`, `gpu_memory_share`: the highest seen; `running`, `waiting`: means of the model server's
    requests; `preemptions`, `restarts`: in the window; `memory_mb`: the most resident memory of the service.
    """

    kv_share: float | None = None
    running: float | None = None
    waiting: float | None = None
    preemptions: int | None = None
    restarts: int | None = None
    gpu_share: float | None = None
    gpu_memory_share: float | None = None
    memory_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One step: `level` requests in flight or a second, measured once or several times."""

    level: float
    runs: tuple[Summary, ...]
    server: ServerSide | None = None


@dataclass(frozen=True, slots=True)
class Usl:
    """The Universal Scalability Law, X(N) = capacity N / (1 + contention (N - 1) + coherency N (N - 1)); Gunther."""

    capacity: float
    contention: float
    coherency: float
    peak: float | None
    r_squared: float


@dataclass(frozen=True, slots=True)
class Knee:
    """From where on more load buys nothing.

    Attributes:
        reached: False where goodput still rose at the highest step, or no step kept to the bounds. Where higher steps
            broke the error bound, it was reached: that is what ends the curve.
        level, low, high: the smallest step that is as good as the best, and the 95 % interval of the load from which on
            more brings nothing; None where it was not reached.
        goodput: answers in time a second at it; best: at the best step.
        method: how it was found, in a sentence; why: what limits there, in words.
    """

    reached: bool
    level: float | None
    low: float | None
    high: float | None
    goodput: float | None
    best: float | None
    method: str
    why: str
    usl: Usl | None = None


@dataclass(frozen=True, slots=True)
class OwnLimits:
    """What the load generator itself had to give. `bottleneck`: it was the limit, so the figures are not the service's.

    `late_p99_s`: how long after the moment they were due requests were sent; `busy_share`: of one core, its thread.
    """

    bottleneck: bool
    why: str
    late_p99_s: float
    busy_share: float
    unsent: int


SIZES_AN_OCTAVE = 16
"""Classes of latency in `Second.sizes` between a latency and its double."""


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the run. `level`: what was asked for then.

    `sizes`: how many answers had a latency from 2^(k/16) up to 2^((k+1)/16) milliseconds, as pairs (k, how many) sorted
    by k: what percentiles of any part of a run are found from, within 2 %; empty where it was not kept. `kinds`: of
    errors, how often each.
    """

    at: float
    level: float
    offered: int
    answered: int
    in_time: int
    errors: int
    in_flight: int
    p50_s: float | None
    p99_s: float | None
    sizes: tuple[tuple[int, int], ...] = ()
    kinds: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran. `versions`: of what took part, by name; `gpus`: names."""

    name: str
    processor: str
    cores: int
    memory_gb: float
    gpus: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A whole load test. A plain run is one point; a step mode several.

    Attributes:
        began: moment in UTC, ISO 8601.
        target: URL, without any key; protocol: `ocr`, `simple` or `chat`.
        asked: the command's options as they were given.
        partial: it was interrupted, and shows what there was.
        notes: what else is to be known of it, in sentences.
    """

    began: str
    target: str
    protocol: str
    axis: Axis
    deadline_s: float
    max_error: float
    points: tuple[Point, ...]
    timeline: tuple[Second, ...]
    own: OwnLimits
    machine: Machine
    knee: Knee | None = None
    asked: dict[str, str] = field(default_factory=dict)
    partial: bool = False
    format: str = FORMAT
    notes: tuple[str, ...] = ()
