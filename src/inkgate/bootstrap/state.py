"""Collects the State of the running service on request."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import Protocol

import anyio
import psutil

from inkgate import __version__
from inkgate.doctor.conditions import BY_NAME
from inkgate.doctor.rules_jobs import full_disks
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.workers.model import ModelWorkers
from inkgate.engines.workers.shares import usable_cpus
from inkgate.model_servers.managed import supervisor
from inkgate.model_servers.replica import Replica, ReplicaState
from inkgate.model_servers.servers import ModelServers
from inkgate.runtimes.base import Runtime
from inkgate.service.readiness import ServiceWarning
from inkgate.service.starting import StartsLater
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.batching import Batchers, BatchFigures
from inkgate.serving.breaker import Breaker, BreakerState
from inkgate.serving.cache import Cache, CacheSource, MemoryStore
from inkgate.serving.degradation import DEGRADATION_LEVELS, Degradation, DegradationLevel
from inkgate.serving.demand import Demand, DemandCounts, UsableSlots
from inkgate.serving.gpu_watch import GpuWatch
from inkgate.serving.queue import WorkQueue
from inkgate.settings import Settings
from inkgate.settings.shown import shown_flags, shown_settings, without_password
from inkgate.supervision import Supervisor
from inkgate.telemetry.metrics import Metrics, ModelName
from inkgate.telemetry.processes import Processes, ProcessSlot, machine
from inkgate_client.telemetry.family import read_from
from inkgate_client.telemetry.history import History, WorkTotals
from inkgate_client.telemetry.jobs_state import JobsState
from inkgate_client.telemetry.state import (
    AdmissionState,
    Batches,
    BreakerReading,
    Build,
    CacheState,
    PdfJobs,
    Queue,
    ReplicaReading,
    ResultsState,
    State,
    TaskReading,
    degradation_effects,
)
from inkgate_client.types import PageResult


def build_of(pipeline: tuple[str, ...], model: ModelName, runtime: str) -> Build:
    """The Build. `pipeline`: the layers, with the engine's name as the last. `model`: its model. `runtime`: of the
    embedded engine's models.
    """
    return Build(
        version=__version__,
        engine=pipeline[-1],
        model=model.version,
        inference_engine=model.inference_engine,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        pipeline=pipeline,
        cores=len(usable_cpus()),
        memory_bytes=psutil.virtual_memory().total,
        accelerators={"uvloop": find_spec("uvloop") is not None, "openvino": runtime.startswith("openvino")},
    )


@dataclass(frozen=True, slots=True)
class PageCache:
    """The cache of page results.

    Attributes:
        store: None for a remote store, which has `breaker` before it.
    """

    results: Cache[PageResult]
    store: MemoryStore | None = None
    breaker: Breaker | None = None


@dataclass(frozen=True, slots=True)
class StateObjects:
    """The parts of the service; None for those that it does not use.

    Attributes:
        breaker: of the engine.
        workers: of the embedded engine.
        later: the engine, if the service listens without its server.
        falls_back: without a model server, the embedded engine reads.
        has_fallback: the embedded engine reads what the model doesn't.
        embedded_pages: the queue of the embedded engine beside a model's.
    """

    build: Build
    runtime: Runtime
    admission: AdmissionLimiter
    pages: WorkQueue
    degradation: Degradation
    batchers: Batchers
    cache: PageCache | None = None
    breaker: Breaker | None = None
    workers: ModelWorkers | None = None
    servers: ModelServers | None = None
    gpus: GpuWatch | None = None
    supervisor: Supervisor | None = None
    demand: Demand | None = None
    later: StartsLater | None = None
    falls_back: bool = False
    has_fallback: bool = False
    embedded_pages: WorkQueue | None = None


def demand_counts(servers: ModelServers, pages: WorkQueue, admission: AdmissionLimiter) -> DemandCounts:
    """What arrived for the model servers since the start of the service."""
    return servers.upstream.arrived.added(
        DemandCounts(
            pages=pages.started,
            pages_refused=pages.refused,
            documents=admission.ended.total() + admission.documents,
            documents_refused=admission.refused.total(),
        )
    )


def demand_for(servers: ModelServers, pages: WorkQueue, admission: AdmissionLimiter, pages_each: int) -> Demand:
    """The load of the model servers. `pages_each`: maximum pages at once for each server."""
    slots = UsableSlots(
        servers.slots_each,
        pages_each,
        lambda: pages.in_flight,
        lambda: servers.work_queue.in_flight,
        servers.others_each,
    )
    return Demand(partial(demand_counts, servers, pages, admission), slots)


def faults(parts: StateObjects) -> list[str]:
    """Known reasons why no page can be read, without a probe of the engine."""
    found = [] if parts.falls_back else [f"engine: {why}" for _, why in _model_faults(parts)]
    if parts.workers is not None and parts.build.engine == PpOcr.name and not parts.workers.pids:
        found.append("engine: none of its workers is ready")
    return found + ([] if parts.supervisor is None else parts.supervisor.complaints(needed=True))


def _model_faults(parts: StateObjects) -> list[tuple[str, str]]:
    """Why the model reads no pages: codes of the doctor, and texts. A half-open breaker needs pages to close: the
    service must be ready for them, unless the embedded engine reads the others.
    """
    found = []
    states = {BreakerState.OPEN, BreakerState.HALF_OPEN} if parts.falls_back else {BreakerState.OPEN}
    if parts.breaker is not None and parts.breaker.state in states:
        found.append(("breaker-open", f"calls to {parts.breaker.name} are stopped: {parts.breaker.why}"))
    if parts.later is not None and not parts.later.is_started:
        found.append(("replica-out", f"{parts.later.name} is waiting for its model server{_out(parts)}"))
    elif parts.servers is not None and not parts.servers.monitor.up:
        found.append(("replica-out", f"no model server takes calls{_out(parts)}"))
    return found


def _out(parts: StateObjects) -> str:
    """Why its servers are out, in brackets. Without their addresses, as `/readyz` needs no key."""
    replicas = () if parts.servers is None else parts.servers.replicas
    reasons = dict.fromkeys(each.why for each in replicas if each.why)
    return f" ({', '.join(reasons)})" if reasons else ""


class PdfWork(Protocol):
    """The opener and renderer of PDFs: Opener."""

    @property
    def worker_lives(self) -> Iterable[tuple[int, int]]:
        """Yields for each worker slot: the process id, 0 for none, and the number of processes started so far."""
        ...

    @property
    def pdf_jobs(self) -> tuple[int, int, int]:
        """Number of worker slots, of busy ones, and of waiting jobs."""
        ...


_VLLM_RUNS = frozenset({supervisor.ManagedState.STARTING, supervisor.ManagedState.READY})


def now() -> float:
    """Seconds since the epoch."""
    return datetime.now(UTC).timestamp()


class StateReader:
    """Reads the parts, which don't depend on it. Used from one event loop; a State takes about a millisecond.

    Its background task is `run`: it records the history.
    """

    def __init__(
        self, parts: StateObjects, settings: Settings, work: Metrics, pdf: PdfWork, clock: Callable[[], float] = now
    ) -> None:
        """`clock`: seconds since the epoch."""
        self._parts = parts
        self._settings = shown_settings(settings)
        self._work = work
        self._pdf = pdf
        self._clock = clock
        self._started_at = clock()
        self._why_not: list[Callable[[], Iterable[str]]] = []
        self._jobs: Callable[[], JobsState | None] = lambda: None
        self._results: AdmissionLimiter | None = None
        self._processes = Processes(self._slots)
        self._history = History(self._read, work.take_durations)

    def add_reasons(self, reasons: Callable[[], Sequence[str]]) -> None:
        """Adds a source of reasons why the service is not ready; empty while it is."""
        self._why_not.append(reasons)

    def warnings(self) -> list[ServiceWarning]:
        """What works worse than it could: the embedded engine reads the model's pages, or all are read at reduced
        quality, or there is little room for jobs.
        """
        faults = _model_faults(self._parts) if self._parts.falls_back else ()
        found = [
            ServiceWarning(code, f"engine: {why}; {PpOcr.name} reads its pages, less accurately", BY_NAME[code].remedy)
            for code, why in faults
        ]
        levels = list(DEGRADATION_LEVELS[: self._parts.degradation.level])
        if not self._parts.has_fallback and DegradationLevel.EMBEDDED in levels:
            levels.remove(DegradationLevel.EMBEDDED)
        if effects := "; ".join(degradation_effects([level.value for level in levels], self._parts.build.engine)):
            remedy = (
                f"{BY_NAME['engine-busy'].remedy} Or set `serving.degradation.enabled = false`: pages then wait longer."
            )
            found.append(ServiceWarning("engine-busy", f"engine: overloaded, so quality is reduced: {effects}", remedy))
        jobs = self._jobs()
        if (
            free := []
            if jobs is None
            else [f"{disk.free_bytes / 1e6:.0f} MB for {disk.use}" for disk in full_disks(jobs)]
        ):
            detail = f"jobs: their disk is nearly full ({', '.join(free)}); without room, jobs are refused"
            found.append(ServiceWarning("jobs-disk-full", detail, BY_NAME["jobs-disk-full"].remedy))
        if jobs is not None and jobs.uploads_missing:
            detail = f"jobs: {jobs.uploads_missing} uploads were not found since the start"
            found.append(ServiceWarning("uploads-missing", detail, BY_NAME["uploads-missing"].remedy))
        return found

    def watch_jobs(self, jobs: Callable[[], JobsState]) -> None:
        """Adds the state of jobs."""
        self._jobs = jobs

    def watch_results(self, results: AdmissionLimiter) -> None:
        """Adds the limiter of results that are sent."""
        self._results = results

    async def run(self) -> None:
        """Records the history until cancelled."""
        await self._history.run()

    def state(self, *, history: bool = True) -> State:
        """The current State."""
        state = self._read()
        return replace(state, history=self._history.points) if history else state

    def measured(self) -> State:
        """The current State for /metrics: without what no metric of the State is made of, which is half of the work
        of reading one. The counters of work are metrics of their own.
        """
        return replace(self._read(whole=False), history=self._history.points[-1:])

    def _read(self, *, whole: bool = True) -> State:
        parts = self._parts
        reasons = tuple(reason for ask in self._why_not for reason in ask())
        return State(
            at=self._clock(),
            started_at=self._started_at,
            build=replace(parts.build, fell_back=parts.runtime.fell_back),
            ready=not reasons,
            reasons=reasons,
            admission=_admission(parts.admission),
            queues=tuple(self._queues()),
            work=self._work.work() if whole else WorkTotals(),
            processes=self._processes.read(),
            machine=machine() if whole else None,
            pdf=PdfJobs(*self._pdf.pdf_jobs),
            degradation_level=parts.degradation.level,
            degradation_levels=tuple(level.value for level in DEGRADATION_LEVELS),
            batches=tuple(_batches(figures) for figures in parts.batchers.by_model.values()),
            cache=None if parts.cache is None else _cache(parts.cache),
            breakers=tuple(read_from(BreakerReading, each, state=each.state.value) for each in self._breakers()),
            replicas=() if parts.servers is None else tuple(_replicas(parts.servers)),
            load_servers=None if parts.demand is None else parts.demand.servers,
            background=() if parts.supervisor is None else tuple(_background(parts.supervisor)),
            gpus=() if parts.gpus is None else parts.gpus.readings,
            results=None if self._results is None else _results(self._results),
            jobs=self._jobs(),
            settings=self._settings,
        )

    def _queues(self) -> Iterator[Queue]:
        if self._parts.embedded_pages is not None:
            yield _queue("embedded", self._parts.embedded_pages)
        yield _queue("pages", self._parts.pages)
        servers = self._parts.servers
        if servers is not None:
            yield _queue("calls", servers.work_queue)

    def _breakers(self) -> Iterator[Breaker]:
        cache = self._parts.cache
        for breaker in (self._parts.breaker, None if cache is None else cache.breaker):
            if breaker is not None:
                yield breaker

    def _slots(self) -> Iterator[ProcessSlot]:
        parts = self._parts
        for pid, started in self._pdf.worker_lives:
            yield ProcessSlot("pdf", pid, started)
        for pid, started in () if parts.workers is None else parts.workers.lives:
            if started:
                yield ProcessSlot("engine", pid, started)
        for managed in () if parts.servers is None else parts.servers.managed:
            vllm_pid = managed.pid if managed.state in _VLLM_RUNS else None
            yield ProcessSlot("vllm", vllm_pid or 0, managed.restarts + 1, with_children=True)


def _admission(limiter: AdmissionLimiter) -> AdmissionState:
    ended = {outcome.value: count for outcome, count in limiter.ended.items()}
    return read_from(AdmissionState, limiter, refused=dict(limiter.refused), ended=ended)


def _results(limiter: AdmissionLimiter) -> ResultsState:
    return ResultsState(
        sent=limiter.documents,
        max_sent=limiter.max_documents,
        held_bytes=limiter.body_bytes,
        max_bytes=limiter.max_bytes,
        tenants=limiter.tenants,
        refused=dict(limiter.refused),
    )


def _background(supervisor: Supervisor) -> Iterator[TaskReading]:
    now = anyio.current_time()
    for task in supervisor.tasks:
        state = "running" if task.running else "ended" if task.next_try_at is None else "waiting"
        next_try_s = None if task.next_try_at is None else max(0.0, task.next_try_at - now)
        failing = supervisor.keeps_failing(task)
        yield read_from(TaskReading, task, state=state, keeps_failing=failing, next_try_s=next_try_s)


def _queue(name: str, work_queue: WorkQueue) -> Queue:
    waiting = {priority.value: count for priority, count in work_queue.waiting_by_class.items()}
    limit = work_queue.limit
    return read_from(Queue, work_queue, name=name, limit=limit.value, most=limit.most, waiting=waiting)


def _batches(figures: BatchFigures) -> Batches:
    pixels = {"cost_pixels": figures.cost, "content_pixels": figures.content}
    return read_from(Batches, figures, **pixels, sizes=dict(figures.sizes))


def _cache(cache: PageCache) -> CacheState:
    store = cache.store
    return CacheState(
        {source.value: cache.results.found[source] for source in CacheSource},
        entries=None if store is None else len(store),
        bytes=None if store is None else store.bytes,
        max_bytes=None if store is None else store.max_bytes,
    )


def _replicas(servers: ModelServers) -> Iterator[ReplicaReading]:
    flags = {each.url: tuple(shown_flags(each.flags)) for each in servers.managed}
    for replica in servers.replicas:
        yield _replica(replica, servers, flags.get(replica.name, ()))


def _replica(replica: Replica, servers: ModelServers, flags: tuple[str, ...]) -> ReplicaReading:
    name, in_flight = without_password(replica.name), len(replica.leases)
    found = ReplicaReading(name, replica.state.value, replica.why, replica.taken_out, in_flight, flags=flags)
    read = servers.monitor.read.get(replica)
    if read is None or replica.state is ReplicaState.OUT:
        return found
    reading, pressure = read
    found = replace(
        found,
        running=reading.running,
        waiting=reading.waiting,
        kv_usage=reading.kv_usage,
        kv_tokens=reading.kv_tokens,
        preemptions=round(reading.preemptions),
        generation_tokens=round(reading.generation_tokens),
    )
    if pressure is None:
        return found
    return replace(
        found,
        queue_s=pressure.waited_s,
        render_s=pressure.render_s,
        inter_token_s=pressure.inter_token_s,
        pressure=pressure.u,
    )
