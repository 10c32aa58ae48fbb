"""One run of a load: open and closed loops, its seconds, its result, and how busy the generator itself was."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter, thread_time

import anyio
import anyio.lowlevel
import numpy as np

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.arrivals import LoadRequest, draw_requests, requests_of
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.results import Axis, LoadSummary, OwnLimits, Second
from inkgate_bench.load.samples import (
    RequestOutcome,
    RequestSample,
    Rows,
    Samples,
    ended,
    summarize,
    summarize_second,
    window_rows,
)
from inkgate_bench.load.sender import Sender, SentRequest
from inkgate_client.concurrency import single_error

EARLY_S = 0.0005
"""How long before it is due a request may be sent: event loops count milliseconds. Its latency counts from then."""
_BATCH = 8
"""Requests that are started in a row, where several are due, before responses are handled."""
_RETRY_S = 0.1
"""Pause of a client of a closed loop after a failure that names no time to return."""
_LOOP_CHECK_S = 0.05
BUSY_SHARE = 0.9
LATE_S = 0.010
LATE_SHARE = 0.1
"""The generator is the bottleneck when its thread takes more than BUSY_SHARE of a core, or when the 99th percentile of
its lateness is above LATE_S and above LATE_SHARE of the median latency."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What one run shows.

    Attributes:
        summary: of the window; timeline: every second from the start, warm-up included.
        samples: every request that has ended, inside the window or not.
        begins_s: when the window began, in seconds from the start.
        partial: the run was ended early; requests in flight at that moment are left out.
    """

    summary: LoadSummary
    timeline: tuple[Second, ...]
    own: OwnLimits
    samples: Samples
    begins_s: float = 0.0
    partial: bool = False


async def run(
    load: Load, on_second: Callable[[Second], None] | None = None, stop: anyio.Event | None = None
) -> LoadResult:
    """Puts `load` on the service. `on_second` is called with every second; setting `stop` ends the run early.

    Raises:
        LoadImpossible: the plan contradicts itself, or the target can't take one of the pages.
    """
    load.plan.check()
    if not load.pages:
        raise LoadImpossible("There is no page to send.")
    sender = Sender(load)
    state, monitor = RunState(load.plan, sender.now), LoopMonitor()
    timeline = Timeline(state, on_second)
    requests = iter(()) if load.plan.axis is Axis.CONCURRENCY else requests_of(load)
    with single_error():
        async with sender, anyio.create_task_group() as tasks:
            sender.begin()
            monitor.begin()
            tasks.start_soon(_drive, load, state, requests, sender)
            tasks.start_soon(monitor.run)
            tasks.start_soon(timeline.run)
            tasks.start_soon(_close, state)
            if stop is not None:
                tasks.start_soon(_stop, stop, state)
            await state.over.wait()
            ended_s = state.now()
            tasks.cancel_scope.cancel()
    return _result(state, timeline.seconds(ended_s), monitor, ended_s)


async def _drive(load: Load, state: RunState, requests: Iterator[LoadRequest], sender: Sender) -> None:
    if load.plan.axis is Axis.CONCURRENCY:
        await closed_loop(state, draw_requests(load), sender)
    else:
        await open_loop(state, requests, sender)


async def _close(state: RunState) -> None:
    await anyio.sleep(state.ends_s - state.now())
    state.close()


async def _stop(stop: anyio.Event, state: RunState) -> None:
    await stop.wait()
    state.stop()


class RunState:
    """Counts requests from when they are due to their end. `now`: seconds from the start."""

    def __init__(self, plan: Plan, now: Callable[[], float]) -> None:
        self.plan = plan
        self.now = now
        self.samples = Samples()
        self.in_flight = 0
        self.due: Counter[int] = Counter()
        """Requests that were due, by second."""
        self.over = anyio.Event()
        """All requests of the window have ended."""
        self.begins_s = plan.warming_s
        self.ends_s = plan.warming_s + plan.window_s
        self.stopped = False
        """The run was ended early."""
        self._closed = False
        self._next = math.inf
        self._counted_in_flight = 0

    def expect(self, due: float) -> None:
        """The next request is due then; `math.inf`: there is none. One that is due in the window is waited for however
        late it is sent: after this process stalled, requests must be late, not missing.
        """
        self._next = due
        self._check_over()

    def begin(self, due: float) -> None:
        """A request is due and about to be sent."""
        self.due[int(due)] += 1
        self.in_flight += 1
        self._counted_in_flight += self._counts(due)

    def end(self, due: float, sample: RequestSample) -> None:
        """The request that was due then has ended."""
        self.in_flight -= 1
        self._counted_in_flight -= self._counts(due)
        self.samples.add(sample)
        self._check_over()

    def skip(self, due: float) -> None:
        """A request is due while too many are in flight: it is not sent."""
        self.due[int(due)] += 1
        kind = f"not sent: {self.plan.max_in_flight} in flight"
        self.samples.add(RequestSample(due, due, self.now(), RequestOutcome.UNSENT, kind))

    def close(self) -> None:
        """The window is over: only the expected request may still be due in it."""
        self._closed = True
        self._check_over()

    def stop(self) -> None:
        """Ends the run now."""
        self.stopped = not self.over.is_set()
        self.over.set()

    def _counts(self, due: float) -> bool:
        return self.begins_s <= due < self.ends_s

    def _check_over(self) -> None:
        if self._closed and not self._counted_in_flight and self._next >= self.ends_s:
            self.over.set()


async def open_loop(state: RunState, requests: Iterator[LoadRequest], sender: Sender) -> None:
    """Sends each request when it is due, in a task of its own: it waits for no other. Ends after the last one."""
    started = 0
    async with anyio.create_task_group() as tasks:
        for request in requests:
            state.expect(request.due)
            while (early_s := request.due - state.now()) > EARLY_S:
                started = 0
                await anyio.sleep(early_s)
            if state.in_flight >= state.plan.max_in_flight:
                state.skip(request.due)
            else:
                state.begin(request.due)
                tasks.start_soon(_send, state, request, sender)
            started += 1
            if started % _BATCH == 0:
                await anyio.lowlevel.checkpoint()
        state.expect(math.inf)
        state.close()


async def _send(state: RunState, request: LoadRequest, sender: Sender) -> None:
    state.end(request.due, (await sender.send(request)).sample)


async def closed_loop(state: RunState, drawn: Iterator[tuple[int, int]], sender: Sender) -> None:
    """Keeps `level` requests in flight until it is cancelled. `drawn`: page and caller of each."""
    async with anyio.create_task_group() as tasks:
        for _ in range(int(state.plan.level)):
            tasks.start_soon(_client, state, drawn, sender)


async def _client(state: RunState, drawn: Iterator[tuple[int, int]], sender: Sender) -> None:
    while True:
        request = LoadRequest(state.now(), *next(drawn))
        state.begin(request.due)
        sent = await sender.send(request)
        state.end(request.due, sent.sample)
        pause_s = _pause_s(sent, waits=state.plan.waits_when_refused)
        if pause_s:
            await anyio.sleep(pause_s)


def _pause_s(sent: SentRequest, *, waits: bool) -> float:
    match sent.sample.outcome:
        case RequestOutcome.REFUSED:
            asked_s = _RETRY_S if sent.retry_after_s is None else sent.retry_after_s
            return asked_s if waits else 0.0
        case RequestOutcome.FAILED | RequestOutcome.UNSENT:
            return _RETRY_S
    return 0.0


class LoopMonitor:
    """How busy this thread is, and how late its event loop, from `begin` on."""

    def __init__(self) -> None:
        self._late = array("f")
        self._wall = perf_counter()
        self._cpu = thread_time()

    def begin(self) -> None:
        del self._late[:]
        self._wall, self._cpu = perf_counter(), thread_time()

    async def run(self) -> None:
        """Measures the lateness again and again until it is cancelled."""
        while True:
            due = perf_counter() + _LOOP_CHECK_S
            await anyio.sleep(_LOOP_CHECK_S)
            self._late.append(max(0.0, perf_counter() - due))

    @property
    def busy_share(self) -> float:
        """CPU time of this thread as a share of one core."""
        return (thread_time() - self._cpu) / max(perf_counter() - self._wall, 1e-9)

    @property
    def late_p99_s(self) -> float:
        return float(np.quantile(self._late, 0.99)) if self._late else 0.0


class Timeline:
    """The seconds of a run. A request that ended counts in the second in which it ended, whenever that is noticed."""

    def __init__(self, state: RunState, on_second: Callable[[Second], None] | None = None) -> None:
        self._state = state
        self._on_second = on_second
        self._seconds: list[Second] = []
        self._counted = 0

    async def run(self) -> None:
        """Calls `on_second` after every second, until it is cancelled."""
        for number in count(1):
            await anyio.sleep(max(0.0, number - self._state.now()))
            second = self.add()
            if self._on_second is not None:
                self._on_second(second)

    def add(self) -> Second:
        """The next second, of what has happened until now."""
        state = self._state
        at = float(len(self._seconds) + 1)
        rows = state.samples.rows[self._counted :]
        rows = rows[: int(np.searchsorted(ended(rows), at, side="right"))]  # they are in the order of their end
        self._counted += len(rows)
        offered = state.due[len(self._seconds)]
        bare = Second(at, state.plan.level_at(at), offered, 0, 0, 0, state.in_flight, None, None)
        self._seconds.append(summarize_second(state.samples, rows, bare, state.plan.deadline_s))
        return self._seconds[-1]

    def seconds(self, ended_s: float) -> tuple[Second, ...]:
        """All whole seconds of a run that lasted `ended_s`. Requests that were started late count in the second in
        which they were due, even if that had been reported before.
        """
        while len(self._seconds) < int(ended_s):
            self.add()
        return tuple(replace(each, offered=self._state.due[number]) for number, each in enumerate(self._seconds))


def _result(state: RunState, timeline: tuple[Second, ...], monitor: LoopMonitor, ended_s: float) -> LoadResult:
    begins_s = state.begins_s
    if ended_s <= begins_s:  # stopped in the warm-up: its figures are better than none
        begins_s = 0.0
    seconds = max(min(ended_s, state.ends_s) - begins_s, 1e-9)
    summary = summarize(state.samples, begins_s, seconds, state.plan.deadline_s)
    rows = window_rows(state.samples.rows, begins_s, seconds)
    own = own_limits(rows, summary, monitor.busy_share, monitor.late_p99_s)
    return LoadResult(summary, timeline, own, state.samples, begins_s, state.stopped)


def own_limits(rows: Rows, summary: LoadSummary, busy_share: float, loop_late_s: float) -> OwnLimits:
    """Whether the generator was the limit when it sent the requests `rows`, which `summary` sums up.

    `busy_share`: of one core; `loop_late_s`: 99th percentile of the lateness of its event loop.
    """
    sent_late_s = float(np.quantile(rows["late"], 0.99)) if len(rows) else 0.0
    late_s = max(sent_late_s, loop_late_s)
    unsent = int((rows["outcome"] == RequestOutcome.UNSENT).sum())
    typical_s = summary.latency.p50_s if summary.latency is not None else 0.0
    why = []
    if unsent:
        why.append(f"{unsent} requests were not sent (see the errors)")
    if busy_share > BUSY_SHARE:
        why.append(f"its thread was busy {busy_share:.0%} of the time: one process can't send more")
    if late_s > max(LATE_S, LATE_SHARE * typical_s):
        what = "1% of requests were sent" if sent_late_s >= loop_late_s else "1% of the time its event loop was"
        why.append(f"{what} more than {1000 * late_s:.0f} ms late: this machine is busy")
    return OwnLimits(bool(why), "; ".join(why), late_s, busy_share, unsent)
