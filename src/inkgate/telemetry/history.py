"""The last quarter of an hour in steps of a few seconds: differences between States."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Protocol

import anyio

from inkgate.telemetry.metrics import NO_WORK
from inkgate.telemetry.state import Batches, Machine, Point, Process, Queue, State, WorkTotals

STEP_S = 5.0
_KEPT_S = 900.0
_TICK_S = 0.25
"""Interval for measuring the event loop's lag."""
_RECOGNIZER = "recognizer"
_PAGES = "pages"
_REFUSED = frozenset({429, 503})


class WorkDone(Protocol):
    """The counters of work: Metrics."""

    def work(self) -> WorkTotals:
        """All counts since the start."""
        ...

    def take_durations(self) -> Sequence[float]:
        """Durations in seconds of the requests that succeeded since the last call."""
        ...


class History:
    """The points of the last quarter of an hour, while `run` runs. For one event loop.

    Attributes:
        lag_s: the highest lag of the event loop in the last step; None before the first.
    """

    def __init__(
        self,
        state: Callable[[], State],
        durations: Callable[[], Sequence[float]],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`state`: the current one. `durations`: see WorkDone.take_durations. `clock` in seconds."""
        self.lag_s: float | None = None
        self._state = state
        self._durations = durations
        self._clock = clock
        self._points: deque[Point] = deque(maxlen=round(_KEPT_S / STEP_S))
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
        self.lag_s = lag_s
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
    work, was = after.work, before.work
    statuses = _statuses(_more(work.requests, was.requests))
    queue = _nearest(after.queues)
    return Point(
        at=after.at,
        span_s=span_s,
        requests=sum(statuses.values()) / span_s,
        pages=sum(_more(work.pages, was.pages).values()) / span_s,
        errors=sum(count for status, count in statuses.items() if status >= 500 and status not in _REFUSED) / span_s,
        refused=sum(count for status, count in statuses.items() if status in _REFUSED) / span_s,
        p50_s=quantile(durations, 0.5),
        p95_s=quantile(durations, 0.95),
        documents=after.admission.documents,
        in_flight=queue.in_flight if queue else 0,
        limit=queue.limit if queue else 0,
        waiting=sum(queue.waiting.values()) if queue else 0,
        mean_batch=_mean_batch(before.batches, after.batches),
        cache_share=_cache_share(before, after),
        cpu=_cores(before.processes, after.processes, span_s),
        rss_bytes=sum(process.rss_bytes for process in after.processes),
        gpu=max((gpu.utilisation for gpu in after.gpus if gpu.utilisation is not None), default=None),
        gpu_memory=max(
            (
                gpu.memory_used / gpu.memory_total
                for gpu in after.gpus
                if gpu.memory_used is not None and gpu.memory_total
            ),
            default=None,
        ),
        kv_usage=max((replica.kv_usage for replica in after.replicas if replica.kv_usage is not None), default=None),
        loop_lag_s=lag_s,
        tokens_out=max(0, work.tokens_out - was.tokens_out) / span_s,
        pages_waiting=sum(waiting for each in after.queues if each.name == _PAGES for waiting in each.waiting.values()),
        pdf_waiting=0 if after.pdf is None else after.pdf.waiting,
        swap_in=_swapped_in(before.machine, after.machine) / span_s,
        cpu_all=_used_by_all(before.machine, after.machine),
        cpu_stalled=_stalled(before.machine, after.machine, span_s),
    )


def quantile(values: Sequence[float], part: float) -> float | None:
    """The nearest-rank quantile; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def _more(after: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """Increases of counters."""
    return {key: value - before.get(key, 0) for key, value in after.items()}


def _statuses(requests: Mapping[str, int]) -> dict[int, int]:
    """Requests by status, without probes."""
    found: dict[int, int] = {}
    for key, count in requests.items():
        _, endpoint, status = key.split(" ")
        if endpoint not in NO_WORK:
            found[int(status)] = found.get(int(status), 0) + count
    return found


def _nearest(queues: Sequence[Queue]) -> Queue | None:
    """The queue right before the engine: `calls` with model servers, else `pages`."""
    return queues[-1] if queues else None


def _mean_batch(before: Sequence[Batches], after: Sequence[Batches]) -> float | None:
    was = next((each for each in before if each.model == _RECOGNIZER), None)
    now = next((each for each in after if each.model == _RECOGNIZER), None)
    if now is None:
        return None
    calls, items = now.calls - (was.calls if was else 0), now.items - (was.items if was else 0)
    return items / calls if calls > 0 else None


def _cache_share(before: State, after: State) -> float | None:
    if after.cache is None:
        return None
    more = _more(after.cache.found, {} if before.cache is None else before.cache.found)
    every = sum(more.values())
    return 1 - more.get("run", 0) / every if every > 0 else None


def _swapped_in(before: Machine | None, after: Machine | None) -> int:
    return 0 if before is None or after is None else max(0, after.swapped_in_bytes - before.swapped_in_bytes)


def _used_by_all(before: Machine | None, after: Machine | None) -> float | None:
    if before is None or after is None:
        return None
    used = _risen(before.cpu_used_s, after.cpu_used_s)
    unused = _risen(before.cpu_unused_s, after.cpu_unused_s)
    return None if used is None or unused is None or used + unused <= 0 else used / (used + unused)


def _stalled(before: Machine | None, after: Machine | None, span_s: float) -> float | None:
    stalled = None if before is None or after is None else _risen(before.cpu_stalled_s, after.cpu_stalled_s)
    return None if stalled is None else min(1.0, stalled / span_s)


def _risen(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _cores(before: Sequence[Process], after: Sequence[Process], span_s: float) -> float:
    """Cores used by all processes."""
    was, now = (sum(process.cpu_s for process in each) for each in (before, after))
    return max(0.0, now - was) / span_s
