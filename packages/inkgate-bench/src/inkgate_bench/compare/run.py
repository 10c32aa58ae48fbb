"""The comparison: each contender is started, read with, put under the same load and stopped, one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio
import orjson

from inkgate.telemetry.gpu import GpuReader, GpuUnavailable, NvmlReader
from inkgate.telemetry.processes import tree_bytes
from inkgate_bench.accuracy.candidates import PageFailure, Transcript, transcript
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.scores import score
from inkgate_bench.accuracy.summary import summarize
from inkgate_bench.compare.contenders import Contender, RunningService
from inkgate_bench.compare.results import EngineAccuracy, EngineComparison, EngineResult
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.arrivals import LoadRequest
from inkgate_bench.load.pages import LoadPage, load_pages
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.protocols import stream_events
from inkgate_bench.load.readings import restarts_of
from inkgate_bench.load.results import Axis, MachineInfo, OwnLimits
from inkgate_bench.load.run import LoadResult, run
from inkgate_bench.load.samples import RequestOutcome
from inkgate_bench.load.sender import Sender
from inkgate_bench.load.service import ServiceNotStarted, ServiceProcess, serving
from inkgate_bench.load.target import ProtocolName, Target, TargetOptions, detect
from inkgate_bench.statistics import MIN_REPEATS
from inkgate_client import AsyncInkgateClient, ServiceError
from inkgate_client.codec import parse_document
from inkgate_client.concurrency import Threads, single_error

READ_PARALLEL = 4
"""Documents that are read at a time: few enough that no service refuses them."""
TIMEOUT_S = 660.0
"""Longer than inkgate's own limit for a document."""
_PLAN = Plan(Axis.CONCURRENCY, 1, 1.0, timeout_s=TIMEOUT_S)


class ResponseUnusable(Exception):
    """The response has no text; the message says why."""


@dataclass(frozen=True, slots=True)
class ServiceReader:
    """A Candidate: the service at `target`, which reads `parallel` documents at a time."""

    name: str
    target: Target
    files: Threads
    parallel: int = READ_PARALLEL
    version: str = ""

    async def read(self, entry: Entry) -> Transcript:
        """The document's text.

        Raises:
            ResponseUnusable, LoadImpossible: it was not read.
        """
        pages = await self.files.run(load_pages, entry.file)
        target = replace(self.target, task="parse") if entry.tests else self.target
        async with Sender(Load(target, pages, _PLAN)) as sender:
            sent = await sender.send(LoadRequest(sender.now(), 0, 0))
        response = sent.response
        if response is not None and target.protocol is ProtocolName.OCR and response.status == 200:
            return document_transcript(response.body)
        if response is None or sent.sample.outcome is not RequestOutcome.ANSWERED:
            raise ResponseUnusable(sent.sample.kind)
        chat = target.protocol is ProtocolName.CHAT
        return chat_transcript(response.body) if chat else simple_transcript(response.body)


async def measure_accuracy(name: str, target: Target, entries: Sequence[Entry]) -> EngineAccuracy:
    """How well the service reads the documents whose text is known."""
    reader = ServiceReader(name, target, Threads("compared_documents", 1))
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


def document_transcript(body: bytes) -> Transcript:
    """Lines, Markdown and failed pages of inkgate's document. Raises ResponseUnusable."""
    try:
        return transcript(parse_document(body))
    except ValueError as error:
        raise ResponseUnusable("the response is not a document") from error


def simple_transcript(body: bytes) -> Transcript:
    """The text under `text` or `result`. Raises ResponseUnusable."""
    parsed = orjson.loads(body)
    text = parsed.get("text", parsed.get("result")) if isinstance(parsed, dict) else None
    if not isinstance(text, str):
        raise ResponseUnusable("the response has neither `text` nor `result`")
    return Transcript(text, 1)


def chat_transcript(body: bytes) -> Transcript:
    """The text of a chat completion, streamed or not; taken as Markdown, which models write.

    Raises:
        ResponseUnusable: it is none.
    """
    events = [body] if body.lstrip().startswith(b"{") else stream_events(body)
    try:
        chunks = [orjson.loads(event) for event in events if event != b"[DONE]"]
        choices = [chunk["choices"][0] for chunk in chunks if chunk.get("choices")]
        parts = [(choice.get("delta") or choice.get("message") or {}).get("content") or "" for choice in choices]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResponseUnusable("the response is not a chat completion") from error
    text = "".join(parts)
    cut = any(choice.get("finish_reason") == "length" for choice in choices)
    return Transcript(text, 1, markdown=text, failures=(PageFailure(0, "output_truncated"),) if cut else ())


_SAMPLE_S = 0.5


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """What to compare. `target`: of contenders that are addresses."""

    entries: tuple[Entry, ...]
    plan: Plan
    rounds: int = MIN_REPEATS
    target: TargetOptions = TargetOptions()


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
    candidates = [_Candidate(contender, plan, pages, MemoryMonitor(gpus)) for contender in contenders]
    for number in range(plan.rounds):
        suffix = f", round {number + 1} of {plan.rounds}" if plan.rounds > 1 else ""
        for candidate in candidates if number % 2 == 0 else reversed(candidates):
            if not stop.is_set() and not candidate.result.why_not:
                await candidate.visit(stop, lambda text, suffix=suffix: report(text + suffix))  # type: ignore[misc]
    if stop.is_set():
        for candidate in candidates:
            if not candidate.result.runs:
                candidate.note("Interrupted before it was measured.")
    return EngineComparison(
        began=began,
        pages=len(pages),
        megabytes=sum(len(page.content) for page in pages) / 1e6,
        clients=int(plan.plan.level),
        seconds=plan.plan.seconds,
        rounds=plan.rounds,
        deadline_s=plan.plan.deadline_s,
        machine=machine,
        engines=tuple(candidate.result for candidate in candidates),
        partial=stop.is_set(),
    )


class _Candidate:
    """A contender, with what is known of it so far."""

    def __init__(
        self, contender: Contender, plan: ComparisonPlan, pages: Sequence[LoadPage], memory: MemoryMonitor
    ) -> None:
        self._contender = contender
        self._plan = plan
        self._pages = pages
        self._memory = memory
        self._loading = False
        self.result = EngineResult(contender.name)

    def _set(self, **fields: object) -> None:
        self.result = replace(self.result, **fields)  # type: ignore[arg-type]  # names and values go together

    def note(self, note: str) -> None:
        """Adds a note to the result, once."""
        if note not in self.result.notes:
            self._set(notes=(*self.result.notes, note))

    async def visit(self, stop: anyio.Event, report: Callable[[str], None]) -> None:
        """Measures it for one round. Any failure goes to the result's `why_not`."""
        self._loading = False
        try:
            with single_error():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._cancel_at_stop, stop, tasks.cancel_scope)
                    await self._measure(stop, lambda text: report(f"{self._contender.name}: {text}"))
                    tasks.cancel_scope.cancel()
        except (ServiceNotStarted, LoadImpossible, ServiceError) as error:
            self._set(why_not=str(error))

    async def _cancel_at_stop(self, stop: anyio.Event, scope: anyio.CancelScope) -> None:
        """A load ends by itself at a stop, with partial results; what comes before it has none."""
        await stop.wait()
        if not self._loading:
            scope.cancel()

    async def _measure(self, stop: anyio.Event, report: Callable[[str], None]) -> None:
        self._memory.begin()
        async with self._service(report) as (target, service):
            if not self.result.model:
                await self._describe(target)
            async with self._memory.running(lambda: None if service is None else service.pid):
                if self.result.accuracy is None and any(entry.scored for entry in self._plan.entries):
                    report("reads each document once")
                    self._set(accuracy=await measure_accuracy(self._contender.name, target, self._plan.entries))
                plan = self._plan.plan
                report(f"{plan.level:g} clients for {plan.seconds:g} s")
                self._loading = True
                result = await run(Load(target, self._pages, plan), stop=stop)
            self._add(result)
            if service is not None:
                self._set(memory_mb=self._memory.memory_mb, gpu_memory_mb=self._memory.gpu_memory_mb)
                await self._check_deaths(target, service)

    @asynccontextmanager
    async def _service(self, report: Callable[[str], None]) -> AsyncIterator[tuple[Target, ServiceProcess | None]]:
        service = self._contender.service
        if isinstance(service, RunningService):
            yield await detect(service.url, self._plan.target), None
            return
        report("starts")
        began = anyio.current_time()
        async with serving(service) as process:
            if self.result.start_s is None:
                self._set(started_here=True, start_s=anyio.current_time() - began)
            yield await detect(process.url, TargetOptions()), process

    async def _describe(self, target: Target) -> None:
        if target.protocol is not ProtocolName.OCR:
            self._set(model=target.model, engine=f"{target.protocol.value} at {target.origin}")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            state = await client.state()
        self._set(model=state.build.model, engine=state.build.inference_engine)

    async def _check_deaths(self, target: Target, service: ServiceProcess) -> None:
        """A model server or worker that dies is restarted: without this, only errors would show it."""
        if service.ended.is_set():
            self._set(why_not=f"It ended under load, with status {service.status}.")
            return
        async with AsyncInkgateClient(target.origin, target.key) as client:
            restarts = restarts_of(await client.state())
        if restarts:
            self.note(f"Its processes died and were restarted {restarts} times.")

    def _add(self, result: LoadResult) -> None:
        before = self.result
        if result.partial:
            self.note("A run was interrupted.")
            if before.runs and result.summary.seconds < self._plan.plan.seconds / 2:
                return  # too short to compare with whole runs
        self._set(runs=(*before.runs, result.summary), own=_worse(before.own, result.own))
        if result.summary.degraded:
            self.note("Some pages were read at a degraded level (docs/concepts/overload.md).")


def _worse(before: OwnLimits | None, now: OwnLimits) -> OwnLimits:
    if before is None or (now.bottleneck, now.late_p99_s) > (before.bottleneck, before.late_p99_s):
        return now
    return before


class MemoryMonitor:
    """Peaks of a process tree and of all GPUs, whoever uses them, sampled twice a second.

    `memory_mb`, `gpu_memory_mb`: in MB of a million bytes, None where unknown; of GPUs, beyond what was used before.
    """

    def __init__(self, gpus: GpuReader | None, resident: Callable[[int], int] = tree_bytes) -> None:
        self._gpus = gpus
        self._resident = resident
        self._threads = Threads("memory_monitor", 1)
        self._gpu_before = 0
        self.memory_mb: float | None = None
        self.gpu_memory_mb: float | None = None

    def begin(self) -> None:
        """Begins before the service starts: what GPUs hold by then is not its own. Blocks for milliseconds."""
        self._gpu_before = gpu_bytes(self._gpus) or 0

    async def sample(self, pid: int | None) -> None:
        """Reads both once."""
        await self._threads.run(self._sample, pid)

    def _sample(self, pid: int | None) -> None:
        resident = 0 if pid is None else self._resident(pid)
        if resident:
            self.memory_mb = max(self.memory_mb or 0.0, resident / 1e6)
        gpu = gpu_bytes(self._gpus)
        if gpu:
            self.gpu_memory_mb = max(self.gpu_memory_mb or 0.0, (gpu - self._gpu_before) / 1e6)

    @asynccontextmanager
    async def running(self, pid: Callable[[], int | None]) -> AsyncIterator[None]:
        """Samples while the block runs."""

        async def run() -> None:
            while True:
                await self.sample(pid())
                await anyio.sleep(_SAMPLE_S)

        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()


def gpu_bytes(reader: GpuReader | None) -> int | None:
    """Used memory of all GPUs; None where they don't report it. Blocks for milliseconds."""
    if reader is None:
        return None
    try:
        used = [gpu.memory_used for gpu in reader.read() if gpu.memory_used is not None]
    except GpuUnavailable:
        return None
    return sum(used) if used else None


def gpu_reader(stack: ExitStack) -> GpuReader | None:
    """NVIDIA's GPUs of this machine, until `stack` is left; None where there is none, or no library for them."""
    try:
        return stack.enter_context(NvmlReader())
    except GpuUnavailable:
        return None
