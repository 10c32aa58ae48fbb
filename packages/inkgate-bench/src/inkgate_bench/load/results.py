"""The results of a load test: plain values that pydantic writes as JSON, and figures of repeated runs.

Times in seconds; a share is 0 to 1; None: unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from statistics import fmean

from inkgate_bench.statistics import CONFIDENCE, RatioEstimate, compare_repeats

FORMAT = "inkgate.loadtest/2"
"""The `format` of a report in JSON; the number rises with incompatible changes."""


class Axis(StrEnum):
    """What rises from level to level: clients (closed loop), or requests a second (open loop)."""

    CONCURRENCY = "concurrency"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of successful responses, from when the request was due; exact percentiles."""

    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """All requests that were due in one window, whenever they ended.

    Attributes:
        seconds: length of the window.
        offered: requests that were due; of them `answered` successfully (`in_time`: within the deadline), `refused`
            (429, 503), `rejected` (other 4xx), `failed` (5xx, broken connections), `timed_out`.
        pages: of the responses in time.
        degraded: responses at a degraded level.
        errors: how often by kind, such as `503 service_full` or `connection refused`.
        latency: of successful responses; refusal: of refusals.
        in_flight: mean number of requests in flight.
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
        """Successful responses within the deadline per second."""
        return self.in_time / self.seconds

    @property
    def error_share(self) -> float:
        """The share of the requests offered without a successful response, refusals included."""
        return (self.offered - self.answered) / self.offered if self.offered else 0.0


@dataclass(frozen=True, slots=True)
class ServerSide:
    """What the service and its model server report, at one moment or in a window; None for what they don't report.

    Attributes:
        kv_share, gpu_share, gpu_memory_share: of a window the peaks.
        running, waiting: requests of the model server; of a window the means.
        preemptions, restarts: within the window; at one moment, since the server and the service started.
        memory_mb: resident memory of the service; of a window the peak.
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
class LoadPoint:
    """One level, `level` clients or requests a second, with all its runs."""

    level: float
    runs: tuple[LoadSummary, ...]
    server: ServerSide | None = None


@dataclass(frozen=True, slots=True)
class Knee:
    """The smallest load at which the service gives nearly its best goodput.

    Attributes:
        reached: False where goodput still rose at the highest level, or no level could be judged. Where higher levels
            exceeded the error bound, it was reached: that is what ends the curve.
        level: the smallest level whose mean goodput is within 5 % of the best mean; None where it was not reached.
        goodput, deviation: mean and sample standard deviation of its runs; best: the best level's mean.
        method: how it was found, without a full stop; why: what limits the service there, in sentences.
    """

    reached: bool
    level: float | None
    goodput: float | None
    deviation: float | None
    best: float | None
    method: str
    why: str


@dataclass(frozen=True, slots=True)
class OwnLimits:
    """How busy the load generator was. `bottleneck`: it was the limit, so the figures are not the service's.

    `late_p99_s`: how long after they were due requests were sent; `busy_share`: of one core, its thread.
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
    """One second of a run. `level`: the target level then.

    `sizes`: how many responses had a latency from 2^(k/16) up to 2^((k+1)/16) milliseconds, as pairs (k, count) sorted
    by k: percentiles of any part of a run follow from them, within 2 %. `kinds`: how often each kind of error.
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
class MachineInfo:
    """The machine of a test. `versions`: of what took part, by name; `gpus`: names."""

    name: str
    processor: str
    cores: int
    memory_gb: float
    gpus: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A whole load test: one point for a single load, several for steps.

    Attributes:
        began: in UTC, ISO 8601.
        target: URL, without any key; protocol: `ocr`, `simple` or `chat`.
        asked: the command's options.
        partial: it was ended early.
        notes: what a reader should know, in sentences.
    """

    began: str
    target: str
    protocol: str
    axis: Axis
    deadline_s: float
    max_error: float
    points: tuple[LoadPoint, ...]
    timeline: tuple[Second, ...]
    own: OwnLimits
    machine: MachineInfo
    knee: Knee | None = None
    asked: dict[str, str] = field(default_factory=dict)
    partial: bool = False
    format: str = FORMAT
    notes: tuple[str, ...] = ()


def mean_goodput(runs: Sequence[LoadSummary]) -> float:
    """Successful responses within the deadline per second; 0 without a run."""
    return fmean(run.goodput for run in runs) if runs else 0.0


def error_share(runs: Sequence[LoadSummary]) -> float:
    """Returns the share of the requests of all runs without a successful response; 0 without a request."""
    offered = sum(run.offered for run in runs)
    return sum(run.offered - run.answered for run in runs) / offered if offered else 0.0


def count_errors(runs: Sequence[LoadSummary]) -> Counter[str]:
    """How often each kind of error came, in all runs."""
    kinds: Counter[str] = Counter()
    for run in runs:
        kinds.update(run.errors)
    return kinds


def mean_latency(runs: Sequence[LoadSummary]) -> Latency | None:
    """The mean of each figure over the runs, but the maximum of all; None where no request succeeded."""
    known = [run.latency for run in runs if run.latency is not None]
    if not known:
        return None
    means = {field.name: fmean(getattr(latency, field.name) for latency in known) for field in fields(Latency)}
    return Latency(**means | {"most_s": max(latency.most_s for latency in known)})


def compare_goodput(
    a: Sequence[LoadSummary], b: Sequence[LoadSummary], confidence: float = CONFIDENCE
) -> RatioEstimate:
    """B's goodput over A's. Raises StatisticsError, as compare_repeats does."""
    fewest = min((run.in_time for run in (*a, *b)), default=0)
    resolution = 1 / fewest if fewest else 0.0  # a count of n is known to 1 / n at best
    sides = ([run.goodput for run in side] for side in (a, b))
    return compare_repeats(*sides, confidence=confidence, resolution=resolution)
