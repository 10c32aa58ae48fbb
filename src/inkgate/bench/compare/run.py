"""The comparison: each contender is started, read with, put under the same load and stopped, one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio

from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.compare.contenders import Contender, RunningService
from inkgate.bench.compare.memory import MemoryMonitor
from inkgate.bench.compare.results import EngineAccuracy, EngineComparison, EngineResult
from inkgate.bench.load import LoadImpossible
from inkgate.bench.load.pages import LoadPage, load_pages
from inkgate.bench.load.plan import Load, Plan
from inkgate.bench.load.readings import restarts_of
from inkgate.bench.load.results import MachineInfo, OwnLimits
from inkgate.bench.load.run import LoadResult, run
from inkgate.bench.load.service import ServiceNotStarted, ServiceProcess, serving
from inkgate.bench.load.target import PROMPT, ProtocolName, Target, detect
from inkgate.bench.statistics import LEAST_REPEATS
from inkgate.client import AsyncInkgateClient, ServiceError
from inkgate.concurrency import Threads, single_error
from inkgate.telemetry.gpu import GpuReader

READ_PARALLEL = 4
"""Documents that are read at a time for accuracy: few enough that no service refuses them."""


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """What to compare. `key`, `model`, `prompt`, `max_tokens`: for contenders that are addresses."""

    entries: tuple[Entry, ...]
    plan: Plan
    rounds: int = LEAST_REPEATS
    key: str = ""
    model: str = ""
    prompt: str = PROMPT
    max_tokens: int | None = None


@dataclass(slots=True)
class _EngineRecord:
    """What is known of a contender so far."""

    result: EngineResult

    def add(self, **fields: object) -> None:
        self.result = replace(self.result, **fields)  # type: ignore[arg-type]  # names and values go together

    def note(self, note: str) -> None:
        if note not in self.result.notes:
            self.add(notes=(*self.result.notes, note))


async def compare(
    contenders: Sequence[Contender],
    plan: ComparisonPlan,
    machine: MachineInfo,
    gpus: GpuReader | None,
    stop: anyio.Event,
    report: Callable[[str], None],
) -> EngineComparison:
    """Measures them one after the other, every second round in reverse order, so that a machine that slows down is
    unfair to none. Setting `stop` ends it early, with what there is. `report` is called with what begins, in words.

    Raises:
        LoadImpossible, ManifestInvalid: a document can't be sent.
    """
    began = datetime.now(UTC).isoformat(timespec="seconds")
    pages = tuple(page for entry in plan.entries for page in load_pages(entry.file))
    records = {contender.name: _EngineRecord(EngineResult(contender.name)) for contender in contenders}
    for number in range(plan.rounds):
        suffix = f", round {number + 1} of {plan.rounds}" if plan.rounds > 1 else ""
        for contender in contenders if number % 2 == 0 else tuple(reversed(contenders)):
            record = records[contender.name]
            if not stop.is_set() and not record.result.why_not:
                visit = _Visit(contender, plan, record, lambda text, suffix=suffix: report(text + suffix))  # type: ignore[misc]
                await visit.run(pages, gpus, stop)
    if stop.is_set():
        for record in records.values():
            if not record.result.runs:
                record.note("Interrupted before it was measured.")
    return EngineComparison(
        began=began,
        pages=len(pages),
        megabytes=sum(len(page.content) for page in pages) / 1e6,
        clients=int(plan.plan.level),
        seconds=plan.plan.seconds,
        rounds=plan.rounds,
        deadline_s=plan.plan.deadline_s,
        machine=machine,
        engines=tuple(record.result for record in records.values()),
        partial=stop.is_set(),
    )


class _Visit:
    """One contender in one round."""

    def __init__(
        self, contender: Contender, plan: ComparisonPlan, record: _EngineRecord, report: Callable[[str], None]
    ) -> None:
        self._contender = contender
        self._plan = plan
        self._record = record
        self._report = report
        self._loading = False

    async def run(self, pages: Sequence[LoadPage], gpus: GpuReader | None, stop: anyio.Event) -> None:
        """Any failure goes to `why_not`."""
        try:
            with single_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._cancel_at_stop, stop, tasks.cancel_scope)
                    await self._measure(pages, MemoryMonitor(gpus), stop)
                    tasks.cancel_scope.cancel()
        except (ServiceNotStarted, LoadImpossible, ServiceError) as error:
            self._record.add(why_not=str(error))

    async def _cancel_at_stop(self, stop: anyio.Event, scope: anyio.CancelScope) -> None:
        """A load ends by itself at a stop, with partial results; what comes before it has none."""
        await stop.wait()
        if not self._loading:
            scope.cancel()

    async def _measure(self, pages: Sequence[LoadPage], memory: MemoryMonitor, stop: anyio.Event) -> None:
        async with self._service() as (url, service):
            target = await self._target(url)
            if not self._record.result.model:
                await self._describe(target)
            async with memory.running(lambda: None if service is None else service.pid):
                if self._record.result.accuracy is None and any(entry.scored for entry in self._plan.entries):
                    self._report(f"{self._contender.name}: reads each document once")
                    accuracy = await _accuracy(self._contender.name, target, self._plan.entries)
                    self._record.add(accuracy=accuracy)
                plan = self._plan.plan
                self._report(f"{self._contender.name}: {plan.level:g} clients for {plan.seconds:g} s")
                self._loading = True
                result = await run(Load(target, pages, plan), stop=stop)
            self._add(result)
            if service is not None:
                self._add_memory(memory)
                await self._check_deaths(target, service)

    @asynccontextmanager
    async def _service(self) -> AsyncIterator[tuple[str, ServiceProcess | None]]:
        service = self._contender.service
        if isinstance(service, RunningService):
            yield service.url, None
            return
        self._report(f"{self._contender.name}: starts")
        began = anyio.current_time()
        async with serving(service) as process:
            if self._record.result.start_s is None:
                self._record.add(started_here=True, start_s=anyio.current_time() - began)
            yield process.url, process

    async def _target(self, url: str) -> Target:
        plan, given = self._plan, isinstance(self._contender.service, RunningService)
        target = await detect(url, plan.key if given else "", model=plan.model if given else "")
        return replace(target, prompt=plan.prompt, max_tokens=plan.max_tokens)

    async def _describe(self, target: Target) -> None:
        if target.protocol is not ProtocolName.OCR:
            self._record.add(model=target.model, engine=f"{target.protocol.value} at {target.origin}")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            state = await client.state()
        self._record.add(model=state.build.model, engine=state.build.inference_engine)

    async def _check_deaths(self, target: Target, service: ServiceProcess) -> None:
        """A model server or worker that dies is restarted: without this, only errors would show it."""
        if service.ended.is_set():
            self._record.add(why_not=f"It ended under load, with status {service.status}.")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            restarts = restarts_of(await client.state())
        if restarts:
            self._record.note(f"Its processes died and were restarted {restarts} times.")

    def _add_memory(self, memory: MemoryMonitor) -> None:
        before = self._record.result
        self._record.add(
            memory_mb=_larger(before.memory_mb, memory.memory_mb),
            gpu_memory_mb=_larger(before.gpu_memory_mb, memory.gpu_memory_mb),
        )

    def _add(self, result: LoadResult) -> None:
        before = self._record.result
        self._record.add(runs=(*before.runs, result.summary), own=_worse(before.own, result.own))
        if result.summary.degraded:
            self._record.note("Some pages were read at a degraded level (docs/concepts/overload.md).")
        if result.partial:
            self._record.note("A run was interrupted.")


async def _accuracy(name: str, target: Target, entries: Sequence[Entry]) -> EngineAccuracy:
    from inkgate.bench.accuracy.scores import score, summarize
    from inkgate.bench.compare.reader import ServiceReader

    reader = ServiceReader(name, target, Threads("compared_documents", 1), READ_PARALLEL)
    scores = await score(reader, entries, lambda *_: None)
    summary = summarize(scores.files)
    return EngineAccuracy(
        documents=summary.files,
        unread=summary.failed,
        cer=summary.cer,
        f1=summary.f1,
        line_recall=summary.line_recall,
        tests_passed=summary.tests_passed,
        tests=summary.tests,
    )


def _larger(before: float | None, now: float | None) -> float | None:
    return max((value for value in (before, now) if value is not None), default=None)


def _worse(before: OwnLimits | None, now: OwnLimits) -> OwnLimits:
    if before is None or (now.bottleneck, now.late_p99_s) > (before.bottleneck, before.late_p99_s):
        return now
    return before
