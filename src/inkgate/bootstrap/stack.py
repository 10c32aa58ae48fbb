"""Builds the stack that reads pages: an engine, and policies around it."""

from __future__ import annotations

from functools import partial

from inkgate.bootstrap.background import Background
from inkgate.bootstrap.batchers import Batchers
from inkgate.bootstrap.build import build_of
from inkgate.bootstrap.engines import Embedded, embedded_engine, page_layout, reading, runtime_of
from inkgate.bootstrap.gpus import gpu_background, last_read
from inkgate.bootstrap.model_names import others, own_model
from inkgate.bootstrap.observed import KeptPages, Observed, faults
from inkgate.bootstrap.parts import Parts, Reading
from inkgate.bootstrap.places import embedded_places
from inkgate.bootstrap.workers import pool_of, with_workers
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine
from inkgate.engines.on_demand import OnDemand
from inkgate.engines.probe import Probe, blank_page_probe
from inkgate.engines.text_layer import TextLayerFirst
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.breaker import Breaker
from inkgate.serving.cached import Cached
from inkgate.serving.degradation import Degradation, SheddingLimiter
from inkgate.serving.degrading import Degrading
from inkgate.serving.guarded import Guarded
from inkgate.serving.ledger import Ledger
from inkgate.serving.limits import FixedLimit
from inkgate.serving.quarantine import Quarantine, Quarantined
from inkgate.serving.rate import TokenRate
from inkgate.serving.readiness import EngineProgress, Readiness
from inkgate.serving.scheduled_pages import ScheduledPages
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.store import SPARING, BreakingStore, MemoryStore
from inkgate.settings import CacheSettings, Settings
from inkgate.supervision import BackgroundTask, Supervisor
from inkgate.telemetry.metrics import Metrics
from inkgate.telemetry.observer import NO_OBSERVER, Observer, SafeObserver, TracingObserver


def build_parts(settings: Settings, supervisor: Supervisor | None = None) -> Parts:
    """The parts that the settings choose. `supervisor` runs background tasks.

    Raises:
        InputRejected: `engine.name` names no engine, or the engine lacks a setting.
        EngineFailed: "layout_model_unusable".
    """
    revision, settings = _revision(settings), with_workers(settings)
    ppocr = settings.engine.ppocr
    runtime = runtime_of(settings)
    layout = page_layout(settings, runtime)
    metrics = Metrics()
    observer = _observer(settings, metrics)
    supervisor = supervisor or Supervisor()
    batchers = Batchers(ppocr.batching, observer, supervisor)
    workers = pool_of(ppocr, supervisor)
    own = embedded_engine(settings, layout, workers or runtime, batchers)
    quarantine = Quarantine()
    if settings.engine.name == "ppocr":
        places, looking = embedded_places(ppocr.concurrent_pages)
        embedded, found = None, Reading(own, model=own_model(runtime), background=looking)
    else:
        embedded = OnDemand(own) if settings.engine.vllm.fallback else None
        found = reading(settings, Embedded(layout, embedded), quarantine.died, observer)
        places = FixedLimit(settings.engine.vllm.concurrent_pages)
    engine: Engine = found.engine
    breaker: Breaker | None = None
    gpus = last_read(settings)
    own_tasks = () if workers is None else (BackgroundTask("engine_workers", workers.run, needed=True),)
    background: Background = (*own_tasks, BackgroundTask("batchers", batchers.run, needed=True), *found.background)
    if found.upstream is not None:
        breaker = Breaker(engine.name)
        engine = Guarded(engine, breaker)
    background = (*background, *gpu_background(settings, gpus, breaker))
    scheduler = Scheduler(places, Ledger(None), TokenRate(), settings.serving.scheduling)
    degradation = Degradation(settings.serving.degradation, lambda: scheduler.queue_s)
    progress, probe = _progress(Degrading(engine, degradation, settings.serving.degradation, embedded), found)
    engine = ScheduledPages(progress, scheduler, degradation, observer)
    if found.upstream is not None:
        engine = Quarantined(engine, quarantine)
    engine = TextLayerFirst(engine, layout, Threads("text_layer", ppocr.concurrent_pages))
    kept: KeptPages | None = None
    if settings.cache.enabled:
        cached, kept = _cached(engine, settings.cache, revision)
        engine, background = cached, (*background, BackgroundTask("shared_reads", cached.run))
    limiter = AdmissionLimiter(settings.limits.max_in_flight, settings.serving.admission, scheduler)
    metrics.reads_with(engine.name, {**others(own_model(runtime)), engine.name: found.model})
    door = SheddingLimiter(limiter, degradation)
    observed = Observed(
        build_of(engine.name, found.model, runtime.name),
        runtime,
        limiter,
        door,
        scheduler,
        degradation,
        batchers,
        kept,
        breaker,
        workers,
        found.servers,
        gpus,
        supervisor,
    )
    readiness = Readiness(progress, probe, partial(faults, observed), settings.limits.time_s)
    tasks = (*background, BackgroundTask("readiness", readiness.run))
    return Parts(engine, door, found.upstream, tasks, metrics, observer, observed, supervisor, readiness)


def _observer(settings: Settings, metrics: Metrics) -> Observer:
    """Metrics, traces, both, or NO_OBSERVER, by the settings."""
    observer: Observer = metrics if settings.metrics.enabled else NO_OBSERVER
    if settings.tracing.endpoint:
        observer = TracingObserver(observer)
    return observer if observer is NO_OBSERVER else SafeObserver(observer)


def _progress(engine: Engine, found: Reading) -> tuple[EngineProgress, Probe]:
    """The progress of pages at `engine`, and a probe that bypasses the queue."""
    if found.servers is None:
        return EngineProgress(engine), blank_page_probe(found.engine)
    balanced = found.servers.balanced
    return EngineProgress(engine, lambda: balanced.responded_at), balanced.probe


def _cached(engine: Engine, cache: CacheSettings, revision: str) -> tuple[Cached, KeptPages]:
    url = cache.redis_url.get_secret_value()
    if not url:
        memory = MemoryStore(int(cache.max_mb * 1_000_000))
        cached = Cached(engine, memory, cache.ttl_s, revision)
        return cached, KeptPages(cached.cache, memory)
    # Imported here: the Redis client is an extra.
    from inkgate.storage.redis import RedisStore

    breaker = Breaker("redis", SPARING)
    cached = Cached(
        engine, BreakingStore(RedisStore(url, secret=cache.secret.get_secret_value()), breaker), cache.ttl_s, revision
    )
    return cached, KeptPages(cached.cache, breaker=breaker)


def _revision(settings: Settings) -> str:
    """The settings that change the result of a page, as JSON."""
    return settings.engine.model_dump_json(exclude={"ppocr": {"cache"}, "vllm": {"urls", "api_key", "managed"}})
