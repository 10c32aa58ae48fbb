"""The embedded engine's worker processes, if the machine has enough cores or the settings ask for them."""

from __future__ import annotations

from inkgate.engines.ppocr.worker import worker_pool
from inkgate.engines.workers.model import ModelWorkers
from inkgate.engines.workers.shares import usable_cpus, worker_count
from inkgate.settings import PpocrSettings, Provider, Settings
from inkgate.supervision import Supervisor


def with_workers(settings: Settings, cores: int | None = None) -> Settings:
    """The settings with workers and their concurrency filled in for this many cores. Higher configured values are kept.

    A worker runs one call at a time. To keep all busy, each model may have one call for each worker, and there are two
    pages for each worker: one is preprocessed or postprocessed while a model runs on the other.

    With a GPU there are no workers by default: each would hold its own context and tensors on it.
    """
    asked = settings.engine.ppocr
    cores = cores or len(usable_cpus())
    gpu = asked.onnxruntime.provider in (Provider.CUDA, Provider.TENSORRT)
    workers = worker_count(asked.workers, 1 if gpu else cores)
    if not workers:
        return _changed(settings, asked.model_copy(update={"workers": 0}))
    chosen = {
        "workers": workers,
        "threads": asked.threads or max(cores // workers, 1),
        "concurrent_pages": max(asked.concurrent_pages, 2 * workers),
        "batching": asked.batching.model_copy(update={"parallel": max(asked.batching.parallel, workers)}),
    }
    return _changed(settings, asked.model_copy(update=chosen))


def pool_of(ppocr: PpocrSettings, supervisor: Supervisor | None = None) -> ModelWorkers | None:
    """A pool of the workers that `with_workers` configured, if any."""
    return worker_pool(ppocr, supervisor) if ppocr.workers else None


def _changed(settings: Settings, ppocr: PpocrSettings) -> Settings:
    return settings.model_copy(update={"engine": settings.engine.model_copy(update={"ppocr": ppocr})})
