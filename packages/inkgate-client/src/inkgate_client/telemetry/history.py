"""The work of a service: its counters, and the last quarter of an hour in steps of a few seconds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, TypeVar, Unpack

import anyio

from inkgate_client.telemetry.family import Options, declared, gauge, read_from, reading

if TYPE_CHECKING:  # State has Points
    from inkgate_client.telemetry.state import Machine, Queue, State

T = TypeVar("T")

STEP_S = 5.0
_RETENTION_S = 900.0
_TICK_S = 0.25
"""Interval for measuring the event loop's lag."""
_RECOGNIZER = "recognizer"
_PAGES = "pages"
_REFUSED = ("429", "503")
_FAILED = ("failed", "rejected")


@dataclass(frozen=True, slots=True)
class Step:
    """Two States in succession, of which a Point is made.

    Attributes:
        span_s: the time between them.
        durations: durations in seconds of the requests that succeeded meanwhile.
        lag_s: the highest lag of the event loop meanwhile.
    """

    before: State
    after: State
    span_s: float
    durations: Sequence[float]
    lag_s: float | None

    @property
    def queue(self) -> Queue | None:
        """The queue right before the engine: `calls` with model servers, else `pages`."""
        return self.after.queues[-1] if self.after.queues else None

    def increase(self, count: Callable[[State], float]) -> float:
        """The increase of a counter."""
        return max(0.0, count(self.after) - count(self.before))

    def rate(self, count: Callable[[State], float]) -> float:
        """The increase of a counter per second."""
        return self.increase(count) / self.span_s

    @property
    def machine_used(self) -> float | None:
        """The used share of our cores' time, by all programs; None if it is unknown."""
        used = self.machine_increase(lambda machine: machine.cpu_used_s)
        unused = self.machine_increase(lambda machine: machine.cpu_unused_s)
        return None if used is None or unused is None else _ratio(used, used + unused)

    @property
    def machine_stalled(self) -> float | None:
        """The share of the time in which something waited for a core; None if it is unknown."""
        stalled_s = self.machine_increase(lambda machine: machine.cpu_stalled_s)
        return None if stalled_s is None else min(1.0, stalled_s / self.span_s)

    def machine_increase(self, count: Callable[[Machine], float | None]) -> float | None:
        """The increase of a counter of the machine; None if it is unknown."""
        if self.before.machine is None or self.after.machine is None:
            return None
        before, after = count(self.before.machine), count(self.after.machine)
        return None if before is None or after is None else max(0.0, after - before)


def recorded(read: Callable[[Step], T], **options: Unpack[Options]) -> T:
    """A field of a Point. `read` takes its value from the Step."""
    value: T = declared(options, read=read)
    return value


@dataclass(frozen=True, slots=True)
class Point:
    """A step of a few seconds; rates are per second.

    Attributes:
        at: the end of the step in seconds since the epoch.
        span_s: time since the point before.
        requests: finished requests with documents to read, now or as a job.
        refused: those with status 429 or 503.
        failed: documents, of requests and of jobs, that failed or were rejected.
        p50_s: median duration of the requests that succeeded; None without any.
        p95_s: duration that 95 % of these requests did not exceed.
        documents: documents in flight.
        in_flight: pages or calls at the engine, of the queue right before it: `calls` if there is one, else `pages`.
        limit: the limit of this queue.
        waiting: pages or calls that wait in this queue.
        mean_batch: items per call of the recognizer; None without a call.
        cache_share: share of the pages from the cache or a shared read.
        cpu: cores used by all processes of the service.
        rss_bytes: resident memory of all processes of the service.
        gpu: utilization of the busiest GPU, 0 to 1.
        gpu_memory: used share of the fullest GPU's memory.
        kv_usage: used share of the fullest model server's KV cache, 0 to 1.
        tokens_out: tokens of outputs, as model servers count them.
        pages_waiting: pages that wait in the queue `pages`.
        pdf_waiting: PDF jobs that wait for a worker.
        cpu_all: share of the service's cores used by all programs, 0 to 1; None if unknown.
        cpu_stalled: share of the time in which something on the machine waited for a core; None if unknown.
        swap_in: bytes per second that the machine read back from swap.
    """

    at: float = recorded(lambda step: step.after.at)
    span_s: float = recorded(lambda step: step.span_s)
    requests: float = recorded(lambda step: step.rate(lambda state: sum(state.work.with_documents.values())))
    pages: float = recorded(lambda step: step.rate(lambda state: sum(state.work.pages.values())))
    refused: float = recorded(lambda step: step.rate(lambda state: _sum_of(state.work.with_documents, _REFUSED)))
    failed: float = recorded(lambda step: step.rate(lambda state: _sum_of(state.admission.ended, _FAILED)))
    p50_s: float | None = recorded(lambda step: quantile(step.durations, 0.5))
    p95_s: float | None = recorded(lambda step: quantile(step.durations, 0.95))
    documents: int = recorded(lambda step: step.after.admission.documents)
    in_flight: int = recorded(lambda step: step.queue.in_flight if step.queue else 0)
    limit: int = recorded(lambda step: step.queue.limit if step.queue else 0)
    waiting: int = recorded(lambda step: sum(step.queue.waiting.values()) if step.queue else 0)
    mean_batch: float | None = recorded(
        lambda step: _ratio(step.increase(_recognized), step.increase(_recognizer_calls)), default=None
    )
    cache_share: float | None = recorded(
        lambda step: _ratio(step.increase(_not_run), step.increase(_looked_up)), default=None
    )
    cpu: float | None = recorded(lambda step: step.rate(_cpu_s), default=None)
    rss_bytes: int = recorded(lambda step: sum(each.rss_bytes for each in step.after.processes), default=0)
    gpu: float | None = recorded(lambda step: _highest(gpu.utilisation for gpu in step.after.gpus), default=None)
    gpu_memory: float | None = recorded(
        lambda step: _highest(
            gpu.memory_used / gpu.memory_total if gpu.memory_used is not None and gpu.memory_total else None
            for gpu in step.after.gpus
        ),
        default=None,
    )
    kv_usage: float | None = recorded(
        lambda step: _highest(replica.kv_usage for replica in step.after.replicas), default=None
    )
    loop_lag_s: float | None = recorded(
        lambda step: step.lag_s,
        also=gauge("inkgate_event_loop_lag_seconds", "Highest lag of the event loop in the last seconds."),
        default=None,
    )
    tokens_out: float = recorded(lambda step: step.rate(lambda state: state.work.tokens_out), default=0.0)
    pages_waiting: int = recorded(
        lambda step: sum(sum(queue.waiting.values()) for queue in step.after.queues if queue.name == _PAGES), default=0
    )
    pdf_waiting: int = recorded(lambda step: 0 if step.after.pdf is None else step.after.pdf.waiting, default=0)
    swap_in: float = recorded(
        lambda step: (step.machine_increase(lambda machine: machine.swapped_in_bytes) or 0) / step.span_s, default=0.0
    )
    cpu_all: float | None = recorded(lambda step: step.machine_used, default=None)
    cpu_stalled: float | None = recorded(lambda step: step.machine_stalled, default=None)


@reading
class WorkTotals:
    """Counters of work.

    Attributes:
        requests: finished requests by `METHOD endpoint status`.
        with_documents: those with documents to read, by status.
        pages: pages by outcome: `ok`, `degraded` or the code of the error.
        stage_s: time spent in each stage.
        stage_count: how often each stage ended.
        tokens_in: tokens of prompts, as model servers count them.
        tokens_out: tokens of outputs, as model servers count them.
        runaways: outputs stopped because they repeated themselves.
        retries: retried model requests by the error before.
    """

    requests: Mapping[str, int] = field(default_factory=dict)
    with_documents: Mapping[str, int] = field(default_factory=dict)
    pages: Mapping[str, int] = field(default_factory=dict)
    stage_s: Mapping[str, float] = field(default_factory=dict)
    stage_count: Mapping[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    runaways: int = 0
    retries: Mapping[str, int] = field(default_factory=dict)


class History:
    """The points of the last quarter of an hour, while `run` runs. For one event loop."""

    def __init__(
        self,
        state: Callable[[], State],
        durations: Callable[[], Sequence[float]],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`state` returns the current State; `durations` is Metrics.take_durations; `clock` returns seconds."""
        self._state = state
        self._durations = durations
        self._clock = clock
        self._points: deque[Point] = deque(maxlen=round(_RETENTION_S / STEP_S))
        self._last: tuple[float, State] | None = None

    @property
    def points(self) -> tuple[Point, ...]:
        """The points, oldest first."""
        return tuple(self._points)

    async def run(self) -> None:
        """Adds a point every few seconds until cancelled."""
        self.add(None)
        while True:
            self.add(await self._highest_lag())

    def add(self, lag_s: float | None) -> None:
        """Ends a step with this event loop lag. The first call only begins the next step."""
        now, state, durations = self._clock(), self._state(), self._durations()
        if self._last is not None and now > self._last[0]:
            self._points.append(point(self._last[1], state, now - self._last[0], durations, lag_s))
        self._last = (now, state)

    async def _highest_lag(self) -> float:
        """The highest lag of the event loop during one step: how much longer a sleep took than requested."""
        ends_at = self._clock() + STEP_S
        lag_s = 0.0
        while (began := self._clock()) < ends_at:
            await anyio.sleep(_TICK_S)
            lag_s = max(lag_s, self._clock() - began - _TICK_S)
        return lag_s


def point(before: State, after: State, span_s: float, durations: Sequence[float], lag_s: float | None) -> Point:
    """The difference between two States that are `span_s` apart; `durations`: of the requests that succeeded then."""
    return read_from(Point, Step(before, after, span_s, durations, lag_s))


def quantile(values: Sequence[float], part: float) -> float | None:
    """The nearest-rank quantile; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def _sum_of(counts: Mapping[str, int], names: Iterable[str]) -> int:
    return sum(counts.get(name, 0) for name in names)


def _recognized(state: State) -> int:
    return sum(batches.items for batches in state.batches if batches.model == _RECOGNIZER)


def _recognizer_calls(state: State) -> int:
    return sum(batches.calls for batches in state.batches if batches.model == _RECOGNIZER)


def _looked_up(state: State) -> int:
    return 0 if state.cache is None else sum(state.cache.found.values())


def _not_run(state: State) -> int:
    return 0 if state.cache is None else _looked_up(state) - state.cache.found.get("run", 0)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _cpu_s(state: State) -> float:
    return sum(process.cpu_s for process in state.processes)
