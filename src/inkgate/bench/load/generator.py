"""The load generator: open and closed loops, how far a run has come, and how busy the generator itself is."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time

import anyio
import anyio.lowlevel
import numpy as np

from inkgate.bench.load.arrivals import LoadRequest
from inkgate.bench.load.plan import Plan
from inkgate.bench.load.samples import RequestOutcome, RequestSample, Samples
from inkgate.bench.load.sender import Sender, SentRequest

EARLY_S = 0.0005
"""How long before it is due a request may be sent: event loops count milliseconds. Its latency counts from then."""
_BATCH = 8
"""Requests that are started in a row, where several are due, before responses are handled."""
_RETRY_S = 0.1
"""Pause of a client of a closed loop after a failure that names no time to return."""
_LOOP_CHECK_S = 0.05


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
