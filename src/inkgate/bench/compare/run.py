"""The comparison itself: each contender is started, read with, put under the same load, and stopped, in turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio

from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.compare.contenders import Contender, Given
from inkgate.bench.compare.documents import load_of
from inkgate.bench.compare.memory import MB, MemoryWatch
from inkgate.bench.compare.results import Accuracy, EngineComparison, EngineMeasured
from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.plan import Load, Plan
from inkgate.bench.load.readings import restarts_of
from inkgate.bench.load.results import Machine, OwnLimits
from inkgate.bench.load.run import Measured, run
from inkgate.bench.load.service import ServiceNotStarted, ServiceProcess, serving
from inkgate.bench.load.target import PROMPT, ProtocolName, Target, detect
from inkgate.client import AsyncInkgateClient, ServiceError
from inkgate.concurrency import single_error
from inkgate.telemetry.gpu import GpuReader

READ_AT_ONCE = 4
"""Documents that are read at once for accuracy: few enough that nobody refuses them."""

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Comparing:
    """What is asked for. `key`, `model`, `prompt`, `max_tokens`: for contenders that are addresses."""

    entries: tuple[Entry, ...]
    plan: Plan
    rounds: int = 1
    key: str = ""
    model: str = ""
    prompt: str = PROMPT
    max_tokens: int | None = None


@dataclass(slots=True)
class _Found:
    """What is known of a contender so far."""

    measured: EngineMeasured

    def add(self, **fields: object) -> None:
        self.measured = replace(self.measured, **fields)  # type: ignore[arg-type]  # names and values go together

    def note(self, *notes: str) -> None:
        fresh = [note for note in notes if note and note not in self.measured.notes]
        self.add(notes=(*self.measured.notes, *fresh))


async def compare(
    contenders: Sequence[Contender],
    comparing: Comparing,
    machine: Machine,
    gpus: GpuReader | None,
    stop: anyio.Event,
    told: Told,
) -> EngineComparison:
    """Measures them one after the other, every second round in the other order, so that a machine that slows down is
    unfair to none. Once `stop` is set it ends early, with what there is. `told` hears in words what is going on.

    Raises:
        LoadImpossible, ManifestInvalid: of the documents.
    """
    began = datetime.now(UTC).isoformat(timespec="seconds")
    pages = load_of(comparing.entries)
    found = {contender.name: _Found(EngineMeasured(contender.name)) for contender in contenders}
    for number in range(comparing.rounds):
        for contender in contenders if number % 2 == 0 else tuple(reversed(contenders)):
            one = found[contender.name]
            if stop.is_set() or one.measured.why_not:
                continue
            where = f", round {number + 1} of {comparing.rounds}" if comparing.rounds > 1 else ""
            await _Visit(contender, comparing, one, told, where).make(pages, gpus, stop)
    partial = stop.is_set()
    if partial:
        for one in found.values():
            one.note("" if one.measured.runs else "Interrupted before it was measured.")
    return EngineComparison(
        began=began,
        pages=len(pages),
        megabytes=sum(len(page.content) for page in pages) / MB,
        clients=int(comparing.plan.level),
        seconds=comparing.plan.seconds,
        rounds=comparing.rounds,
        deadline_s=comparing.plan.deadline_s,
        machine=machine,
        engines=tuple(found[contender.name].measured for contender in contenders),
        partial=partial,
    )


class _Visit:
    """One contender in one round."""

    def __init__(self, contender: Contender, comparing: Comparing, found: _Found, told: Told, where: str) -> None:
        self._contender = contender
        self._comparing = comparing
        self._found = found
        self._told = told
        self._where = where
        self._loading = False

    async def make(self, pages: Sequence[LoadPage], gpus: GpuReader | None, stop: anyio.Event) -> None:
        """Whatever goes wrong is told in `why_not`."""
        try:
            with single_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._give_up, stop, tasks.cancel_scope)
                    await self._measure(pages, MemoryWatch(gpus), stop)
                    tasks.cancel_scope.cancel()
        except (ServiceNotStarted, LoadImpossible, ServiceError) as error:
            self._found.add(why_not=str(error))

    async def _give_up(self, stop: anyio.Event, scope: anyio.CancelScope) -> None:
        """A load ends by itself when it is told to stop, and has something to show; what comes before has not."""
        await stop.wait()
        if not self._loading:
            scope.cancel()

    async def _measure(self, pages: Sequence[LoadPage], memory: MemoryWatch, stop: anyio.Event) -> None:
        async with self._placed() as (url, service):
            target = await self._target(url)
            if not self._found.measured.model:
                await self._ask_about(target)
            async with memory.watching(lambda: None if service is None else service.pid):
                if self._found.measured.accuracy is None and any(entry.scored for entry in self._comparing.entries):
                    self._say("reads each document once")
                    self._found.add(accuracy=await _accuracy(self._contender.name, target, self._comparing.entries))
                plan = self._comparing.plan
                self._say(f"{plan.level:g} clients for {plan.seconds:g} s")
                self._loading = True
                measured = await run(Load(target, pages, plan), stop=stop)
            self._keep(measured)
            if service is not None:
                self._keep_memory(memory)
                await self._ask_for_deaths(target, service)

    @asynccontextmanager
    async def _placed(self) -> AsyncIterator[tuple[str, ServiceProcess | None]]:
        place = self._contender.place
        if isinstance(place, Given):
            yield place.url, None
            return
        self._say("starts")
        began = anyio.current_time()
        async with serving(place) as service:
            if self._found.measured.start_s is None:
                self._found.add(started_here=True, start_s=anyio.current_time() - began)
            yield service.url, service

    async def _target(self, url: str) -> Target:
        given = isinstance(self._contender.place, Given)
        asked = self._comparing
        target = await detect(url, asked.key if given else "", model=asked.model if given else "")
        return replace(target, prompt=asked.prompt, max_tokens=asked.max_tokens)

    async def _ask_about(self, target: Target) -> None:
        if target.protocol is not ProtocolName.OCR:
            self._found.add(model=target.model, engine=f"{target.protocol.value} at {target.origin}")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            state = await client.state()
        self._found.add(model=state.build.model, engine=state.build.inference_engine)

    async def _ask_for_deaths(self, target: Target, service: ServiceProcess) -> None:
        """A model server or a worker that dies is started again: nothing of it is seen but errors."""
        if service.ended.is_set():
            self._found.add(why_not=f"It ended under load, with status {service.status}.")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            deaths = restarts_of(await client.state())
        if deaths:
            self._found.note(f"Processes of it died, and were started again: {deaths}.")

    def _keep_memory(self, memory: MemoryWatch) -> None:
        before = self._found.measured
        self._found.add(
            memory_mb=_most(before.memory_mb, memory.memory_mb),
            gpu_memory_mb=_most(before.gpu_memory_mb, memory.gpu_memory_mb),
        )

    def _keep(self, measured: Measured) -> None:
        before = self._found.measured
        self._found.add(runs=(*before.runs, measured.summary), own=_worse(before.own, measured.own))
        if measured.summary.degraded:
            self._found.note("Some answers were read with less care than asked for (docs/concepts/overload.md).")
        if measured.partial:
            self._found.note("A run was interrupted.")

    def _say(self, what: str) -> None:
        self._told(f"{self._contender.name}: {what}{self._where}")


async def _accuracy(name: str, target: Target, entries: Sequence[Entry]) -> Accuracy:
    from inkgate.bench.accuracy.scores import score, summarize
    from inkgate.bench.compare.asked import Asked

    async with Asked(name, target, READ_AT_ONCE) as asked:
        scores = await score(asked, entries, lambda *_: None)
    summary = summarize(scores.files)
    return Accuracy(
        documents=summary.files,
        unread=summary.failed,
        cer=summary.cer,
        f1=summary.f1,
        line_recall=summary.line_recall,
        tests_passed=summary.tests_passed,
        tests=summary.tests,
    )


def _most(before: float | None, now: float | None) -> float | None:
    known = [value for value in (before, now) if value is not None]
    return max(known) if known else None


def _worse(before: OwnLimits | None, now: OwnLimits) -> OwnLimits:
    if before is None or (now.bottleneck, now.late_p99_s) > (before.bottleneck, before.late_p99_s):
        return now
    return before
