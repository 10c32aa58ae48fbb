"""inkgate in front of a simulated server: the product's queue, estimates and limits."""

from __future__ import annotations

import math

import anyio

from benchmarks.simulate.policies import NewPolicy
from benchmarks.simulate.scenario import Link
from benchmarks.simulate.server import ServerGone
from benchmarks.simulate.workload import PageWork, Request
from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InputRejected
from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.monitor import PressureGauge
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.limits import FixedLimit, Limit
from inkgate.serving.order import Work
from inkgate.serving.queue import Turn, WorkQueue
from inkgate.settings import AdaptiveSettings, SchedulingSettings

_CLIENT_CAP = 4096
"""Maximum output tokens of HunyuanOCR's own client."""


class Inkgate:
    """A gateway with one server, whose metrics it reads every `READ_S`."""

    READ_S = 1.0

    def __init__(
        self,
        link: Link,
        limit: Limit,
        scheduling: SchedulingSettings | None = None,
    ) -> None:
        self._link = link
        self._limit = limit
        self._deaths = 0
        self._gauge = PressureGauge()
        self._estimates = OutputEstimates()
        self.work_queue = WorkQueue(limit, scheduling or SchedulingSettings())

    @property
    def limit(self) -> int | None:
        return self._limit.value

    async def run(self) -> None:
        """Reads the server's metrics, like the real gateway."""
        while True:
            now, in_flight = anyio.current_time(), self.work_queue.in_flight
            reading = self._link.reading(now)
            pressure = self._gauge.read(reading, now, in_flight)
            if pressure is not None and isinstance(self._limit, AdaptiveLimit):
                self._limit.observe(pressure, in_flight)
            self.work_queue.wake()
            await anyio.sleep(self.READ_S)

    async def read(self, request: Request) -> None:
        """Like the gateway: cancels a page at its deadline, at the server too."""
        with anyio.CancelScope(deadline=request.deadline) as scope:
            await self._read(request)
        if scope.cancelled_caught:
            raise InputRejected("deadline_exceeded", "It was not done in time.")

    async def _read(self, request: Request) -> None:
        page, key = request.page, _size_class(request.page)
        _, most = self._estimates.estimates(key, _CLIENT_CAP)
        caller = Caller(
            request.tenant,
            request.priority,
            request.deadline,
            request.flow,
            patience_s=request.deadline - request.at,
        )
        work = Work.for_caller(caller, page.image_tokens + most)
        async with self.work_queue.turn(work) as slot:
            made = _TokenCount(slot, page)
            try:
                await self._link.server.generate(page, made)
            except ServerGone as gone:
                self._estimates.unfinished(key, made.tokens)
                self._died()
                raise EngineFailed("upstream_unreachable", "The model server died.") from gone
            except anyio.get_cancelled_exc_class():
                self._estimates.unfinished(key, made.tokens)
                raise
            made(page.output_tokens)
            self._estimates.finished(key, made.tokens)

    def _died(self) -> None:
        """Reports each crash to the limit once, by the first call that fails."""
        if self._deaths < self._link.server.deaths:
            self._deaths = self._link.server.deaths
            if isinstance(self._limit, AdaptiveLimit):
                self._limit.lost(self.work_queue.in_flight)


class _TokenCount:
    """Counts tokens as they are streamed."""

    def __init__(self, turn: Turn, page: PageWork) -> None:
        self._turn = turn
        self._page = page
        self.tokens = 0

    def __call__(self, tokens: int) -> None:
        self.tokens = tokens
        self._turn.tokens_used = self._page.image_tokens + tokens


def adaptive(settings: AdaptiveSettings | None = None, scheduling: SchedulingSettings | None = None) -> NewPolicy:
    """inkgate with its default or the given settings."""
    return lambda link, _: Inkgate(link, AdaptiveLimit(settings or AdaptiveSettings()), scheduling)


def fixed(limit: int) -> NewPolicy:
    """inkgate with a fixed limit, as a baseline for the adaptive one."""
    return lambda link, _: Inkgate(link, FixedLimit(limit))


def _size_class(page: PageWork) -> int:
    """Groups pages by size in powers of two."""
    return round(math.log2(page.megapixels))
