"""Builds the parts of the service from its settings: the engine, the stack around it, admission, and their tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b

import anyio

from inkgate.bootstrap.state import PageCache, StateObjects, build_of, demand_for, faults
from inkgate.engines.base import Engine
from inkgate.engines.choose import (
    ChosenEngine,
    choose_engine,
    embedded_engine,
    others,
    own_model,
    page_analysis,
    runtime_of,
)
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.ppocr.worker import worker_pool
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.workers.model import ModelWorkers
from inkgate.engines.workers.shares import usable_cpus, worker_count
from inkgate.model_servers.upstream import Upstream
from inkgate.service.complete import Completion
from inkgate.service.figures import Figures
from inkgate.service.page import CurrentQueue, EngineQueue, PageReader
from inkgate.service.page_cache import page_cache
from inkgate.service.readiness import EngineProgress, Probe, Readiness, blank_page_probe, either_probe
from inkgate.service.starting import OnDemand, StartsLater, UpstreamOnceStarted
from inkgate.service.terms import load_terms
from inkgate.service.text_layer import TextLayers
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.batching import Batchers
from inkgate.serving.breaker import Breaker
from inkgate.serving.cache import SPARING, BreakingStore, MemoryStore
from inkgate.serving.degradation import Degradation
from inkgate.serving.gpu_watch import gpu_watch
from inkgate.serving.limits import AimdLimit, FixedLimit, Limit
from inkgate.serving.quarantine import Quarantine
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import CacheSettings, PpocrSettings, Provider, SchedulingSettings, Settings, VllmSettings
from inkgate.settings.extensions import LAYER_PORT, make_extension
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.telemetry.metrics import Metrics
from inkgate.telemetry.observer import NO_OBSERVER, Observer, SafeObserver, TracingObserver
from inkgate.telemetry.processes import Processors
from inkgate_client.concurrency import Threads


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The engine, the admission limiter and what belongs to them, not started yet.

    Attributes:
        background: tasks that run from before the engine starts until after it stops, and end by cancellation.
        metrics: empty if the settings disable metrics.
        observer: `metrics`, traces, both, or none.
        state_objects: what State is read from.
        supervisor: runs `background`.
        readiness: of the service.
        later: the engine, if the service listens without its server.
    """

    engine: Engine
    limiter: AdmissionLimiter
    upstream: Upstream | None
    background: tuple[BackgroundTask, ...]
    metrics: Metrics
    observer: Observer
    state_objects: StateObjects
    supervisor: Supervisor
    readiness: Readiness
    later: StartsLater | None = None


def build_parts(
    settings: Settings, supervisor: Supervisor | None = None, *, listens_first: bool = False
) -> ServiceParts:
    """The parts that the settings choose. `supervisor` runs background tasks. `listens_first`: an engine with a model
    server may start later.

    Raises:
        InputRejected: `engine.name` names no engine, the engine lacks a setting, or an extension can't be used.
        EngineFailed: "layout_model_unusable".
    """
    revision, settings = _revision(settings), with_workers(settings)
    ppocr, vllm = settings.engine.ppocr, settings.engine.vllm
    metrics = Metrics()
    observer = _observer(settings, metrics)
    supervisor = supervisor or Supervisor()

    runtime = runtime_of(settings)
    analysis = page_analysis(settings, runtime)
    batchers = Batchers(ppocr.batching, across_pages=runtime.gpu, observer=observer)
    workers = pool_of(ppocr, supervisor)
    own = embedded_engine(settings, analysis, workers or runtime, batchers)
    quarantine = Quarantine()
    beside = _Beside()
    limit: Limit
    if settings.engine.name == "ppocr":
        limit, looking = _embedded_limit(ppocr.concurrent_pages)
        chosen = ChosenEngine(own, model=own_model(runtime), background=looking)
    else:
        beside = _beside_a_model(settings, OnDemand(own))
        blocks = BlockReaders(analysis.layout, beside.fallback, beside.queue)
        chosen = choose_engine(settings, blocks, quarantine.died, observer)
        limit = _pages_limit(chosen, chosen.pages_at_once or vllm.concurrent_pages)
    remote = chosen.upstream is not None
    chosen, upstream, later = _listening_first(chosen, vllm) if listens_first else (chosen, chosen.upstream, None)

    breaker = _breaker(chosen) if remote else None
    gpus = gpu_watch(settings, breaker)
    progress, probe = _progress(chosen, beside.fallback)
    cached = _page_cache(settings.cache, settings.serving.scheduling) if settings.cache.enabled else None
    threads = FairThreads(ppocr.concurrent_pages, settings.serving.scheduling)
    cache = None if cached is None else cached.results
    layers = TextLayers(analysis, threads)
    completion = Completion(threads, codes=settings.engine.codes, terms=load_terms(settings.terms.files, "terms.files"))
    queues = _queues(settings, limit, breaker, progress, observer, beside)
    queue, work_queue, degradation = queues.engine, queues.engine.work_queue, queues.engine.degradation
    reader = PageReader(
        chosen.engine,
        completion,
        layers,
        Figures(threads, settings.serving.scheduling),
        cache,
        revision,
        quarantine=quarantine if remote else None,
        queue=queue,
        breaker=breaker,
        embedded=beside.fallback,
        embedded_queue=queues.embedded,
        asks_for_fields=settings.engine.name != "ppocr",
        grounding_reader=None
        if beside.grounding_engine is None
        else PageReader(
            beside.grounding_engine,
            completion,
            layers,
            None,
            cache,
            revision,
            queue=queues.grounding,
            observer=observer,
        ),
        observer=observer,
    )
    name = chosen.engine.name
    limiter = _admission(settings, chosen, queues.current, degradation)
    metrics.reads_with(name, {**others(own_model(runtime)), name: chosen.model})
    demand = None
    if chosen.servers is not None:
        demand = demand_for(chosen.servers, work_queue, limiter, vllm.concurrent_pages)
        chosen.servers.monitor.after_reading.append(work_queue.wake)
    objects = StateObjects(
        build=build_of((*settings.engine.layers, *reader.steps), chosen.model, runtime.name),
        runtime=runtime,
        admission=limiter,
        pages=work_queue,
        degradation=degradation,
        batchers=batchers,
        cache=cached,
        breaker=breaker,
        workers=workers,
        servers=chosen.servers,
        gpus=gpus,
        supervisor=supervisor,
        demand=demand,
        later=later,
        falls_back=remote and beside.fallback is not None,
        has_fallback=beside.fallback is not None,
        embedded_pages=None if queues.embedded is None else queues.embedded.work_queue,
    )
    readiness = Readiness(name, progress, probe, partial(faults, objects), settings.limits.time_s)
    tasks = (
        *(() if workers is None else (BackgroundTask("engine_workers", workers.run, needed=True),)),
        *chosen.background,
        *(() if gpus is None else (BackgroundTask("gpu_watch", gpus.run),)),
        *(() if cached is None else (BackgroundTask("shared_reads", cached.results.run),)),
        BackgroundTask("readiness", readiness.run),
        *(() if demand is None else (BackgroundTask("demand", demand.run),)),
    )
    return ServiceParts(
        _extended(reader, settings), limiter, upstream, tasks, metrics, observer, objects, supervisor, readiness, later
    )


def _extended(engine: Engine, settings: Settings) -> Engine:
    """The engine in the wrappers of other packages, the first of which is the outermost."""
    for name in reversed(settings.engine.layers):
        engine = make_extension(name, "engine.layers", engine, port=LAYER_PORT)
    return engine


@dataclass(frozen=True, slots=True)
class _Beside:
    """The embedded engine beside a model.

    Attributes:
        fallback: the engine if it reads what the model can't.
        grounding_engine: the engine if it is the grounding engine of fields.
        queue: of all that it reads. Whole pages in it hold no slot at the model; single blocks wait in it within
            the model's turn.
    """

    fallback: Engine | None = None
    grounding_engine: Engine | None = None
    queue: WorkQueue | None = None


def _beside_a_model(settings: Settings, own: Engine) -> _Beside:
    fallback = own if settings.engine.vllm.fallback else None
    grounding_engine = own if settings.fields.grounding_engine == "embedded" else None
    pages = FixedLimit(settings.engine.ppocr.concurrent_pages)
    queue = WorkQueue(pages, settings.serving.scheduling, extra=True) if fallback or grounding_engine else None
    return _Beside(fallback, grounding_engine, queue)


@dataclass(frozen=True, slots=True)
class _Queues:
    """The queues of the engine, and of the embedded engine beside a model and as the grounding engine of fields."""

    engine: EngineQueue
    embedded: EngineQueue | None
    grounding: EngineQueue | None
    current: CurrentQueue


def _queues(
    settings: Settings,
    limit: Limit,
    breaker: Breaker | None,
    progress: EngineProgress,
    observer: Observer,
    beside: _Beside,
) -> _Queues:
    """The queues of one service."""
    serving, time_s = settings.serving, settings.limits.time_s
    work_queue = WorkQueue(limit, serving.scheduling, extra=True)
    current = CurrentQueue(work_queue, beside.queue if beside.fallback else None, breaker)
    degradation = Degradation(serving.degradation, lambda: current.queue_s)
    # Calls to a model server wait within the page's turn, and have limits of their own.
    page_time_s = time_s if breaker is None else math.inf
    generates = settings.engine.name != PpOcr.name
    queue = EngineQueue(work_queue, degradation, serving.degradation, progress, observer, page_time_s, generates)
    if beside.queue is None:
        return _Queues(queue, None, None, current)
    embedded = replace(queue, work_queue=beside.queue, page_time_s=time_s, generates=False)
    # The grounding engine's pages say nothing about the model's progress.
    return _Queues(queue, embedded, replace(embedded, progress=EngineProgress()), current)


def _breaker(chosen: ChosenEngine) -> Breaker:
    """The breaker before the engine. It tries pages again as soon as a model server is back."""
    breaker = Breaker(chosen.engine.name)
    if chosen.servers is not None:
        chosen.servers.balanced.events.on_back = breaker.recovered
    return breaker


def _listening_first(
    chosen: ChosenEngine, vllm: VllmSettings
) -> tuple[ChosenEngine, Upstream | None, StartsLater | None]:
    """The engine and its upstream, which may start after the service listens if they need model servers."""
    upstream, servers = chosen.upstream, chosen.servers
    if upstream is None or servers is None:
        return chosen, upstream, None
    later = StartsLater(chosen.engine, vllm.listen_after_s, retries=not servers.managed)
    runs = (*chosen.background, BackgroundTask("engine_start", later.run, needed=True))
    return replace(chosen, engine=later, background=runs), UpstreamOnceStarted(upstream, later), later


def _admission(
    settings: Settings, chosen: ChosenEngine, pages: CurrentQueue, degradation: Degradation
) -> AdmissionLimiter:
    in_flight = _pages_limit(chosen, settings.limits.max_in_flight)
    admission, of_model = settings.serving.admission, pages.of_model
    return AdmissionLimiter(lambda: in_flight.value, admission, pages, degradation, relay_backlog=of_model)


def _pages_limit(chosen: ChosenEngine, each: int) -> Limit:
    """Returns a limit of `each` for every model server in service; just `each` without model servers."""
    return FixedLimit(each) if chosen.servers is None else chosen.servers.limit_of(each)


def _observer(settings: Settings, metrics: Metrics) -> Observer:
    """Metrics, traces, both, or NO_OBSERVER, by the settings."""
    observers: list[Observer] = [metrics] if settings.metrics.enabled else []
    if settings.tracing.endpoint:
        observers.append(TracingObserver())
    return SafeObserver(*observers) if observers else NO_OBSERVER


def _progress(chosen: ChosenEngine, embedded: Engine | None) -> tuple[EngineProgress, Probe]:
    """The progress of pages at the engine, and a probe that bypasses the queue. `embedded` takes over its page, as
    any other page.
    """
    if chosen.servers is None:
        probe = blank_page_probe(chosen.engine)
        return EngineProgress(), probe if embedded is None else either_probe(probe, blank_page_probe(embedded))
    balanced = chosen.servers.balanced
    progress = EngineProgress(lambda: balanced.responded_at)
    return progress, balanced.probe if embedded is None else either_probe(balanced.probe, blank_page_probe(embedded))


def _embedded_limit(most: int) -> tuple[Limit, tuple[BackgroundTask, ...]]:
    """A limit of at most `most` pages, and the background task that measures processor utilization for it."""
    processors = Processors()

    async def look() -> None:
        threads = Threads("processors", 1)
        while True:
            await anyio.sleep(_LOOK_EVERY_S)
            await threads.run(processors.look)

    return AimdLimit(most, lambda: processors.busy), (BackgroundTask("processors", look),)


_LOOK_EVERY_S = 1.0


def _page_cache(settings: CacheSettings, scheduling: SchedulingSettings) -> PageCache:
    """The cache, in memory or in Redis."""
    url = settings.redis_url.get_secret_value()
    if not url:
        memory = MemoryStore(int(settings.max_mb * 1_000_000))
        return PageCache(page_cache(memory, settings.ttl_s, scheduling), memory)
    # Imported here: the Redis client is an extra.
    from inkgate.storage.redis import RedisStore

    breaker = Breaker("redis", SPARING)
    store = BreakingStore(RedisStore(url, secret=settings.secret.get_secret_value()), breaker)
    return PageCache(page_cache(store, settings.ttl_s, scheduling), breaker=breaker)


def _revision(settings: Settings) -> str:
    """The settings that change the result of a page, as JSON, and a digest of the terms of the domain."""
    engine = settings.engine.model_dump_json(exclude={"ppocr": {"cache"}, "vllm": {"urls", "api_key", "managed"}})
    terms = load_terms(settings.terms.files, "terms.files")
    return engine if terms is None else f"{engine} {blake2b(repr(terms.forms).encode(), digest_size=16).hexdigest()}"


def with_workers(settings: Settings, cores: int | None = None) -> Settings:
    """The settings with workers and their concurrency filled in for this many cores. Higher configured values stay.

    A worker runs one call at a time. To keep all busy, each model may have one call for each worker, and there are two
    pages for each worker: one is preprocessed or postprocessed while a model runs on the other.

    With a GPU there are no workers by default: each would hold its own context and tensors on it.
    """
    ppocr = settings.engine.ppocr
    cores = cores or len(usable_cpus())
    gpu = ppocr.onnxruntime.provider in (Provider.CUDA, Provider.TENSORRT)
    workers = worker_count(ppocr.workers, 1 if gpu else cores)
    if not workers:
        return _changed(settings, ppocr.model_copy(update={"workers": 0}))
    chosen = {
        "workers": workers,
        "threads": ppocr.threads or max(cores // workers, 1),
        "concurrent_pages": max(ppocr.concurrent_pages, 2 * workers),
        "batching": ppocr.batching.model_copy(update={"parallel": max(ppocr.batching.parallel, workers)}),
    }
    return _changed(settings, ppocr.model_copy(update=chosen))


def pool_of(ppocr: PpocrSettings, supervisor: Supervisor | None = None) -> ModelWorkers | None:
    """A pool of the workers that `with_workers` configured, if any."""
    return worker_pool(ppocr, supervisor) if ppocr.workers else None


def _changed(settings: Settings, ppocr: PpocrSettings) -> Settings:
    return settings.model_copy(update={"engine": settings.engine.model_copy(update={"ppocr": ppocr})})
