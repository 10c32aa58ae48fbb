"""The embedded engine's worker processes, where the machine has cores enough for them or the settings ask."""

from __future__ import annotations

from inkgate.engines.ppocr.worker import worker_pool
from inkgate.engines.workers.pool import WorkerPool
from inkgate.engines.workers.shares import usable_cpus, worker_count
from inkgate.settings import PpocrSettings, Provider, Settings
from inkgate.supervision import Supervisor


def with_workers(settings: Settings, cores: int | None = None) -> Settings:
    """The settings for so many cores: workers counted, and their work spread. Those asked for stay where they are more.

    A worker has one call at a time. For all to be busy, each model may have as many calls at once as there are
    workers, and there are two pages for each of them: one is cut up or put together while another is computed.

    On a GPU the cores don't count: each worker would hold a context and all tensors of its own there.
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


def pool_of(ppocr: PpocrSettings, supervisor: Supervisor | None = None) -> WorkerPool | None:
    """The workers that `with_workers` counted."""
    return worker_pool(ppocr, supervisor) if ppocr.workers else None


def _changed(settings: Settings, ppocr: PpocrSettings) -> Settings:
    return settings.model_copy(update={"engine": settings.engine.model_copy(update={"ppocr": ppocr})})
