"""The live objects that a State is read from."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.bootstrap.batchers import Batchers
from inkgate.bootstrap.calls import ModelServers
from inkgate.bootstrap.gpus import LastRead
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.workers.pool import WorkerPool
from inkgate.runtimes.base import Runtime
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.breaker import Breaker, BreakerState
from inkgate.serving.cache import Cache
from inkgate.serving.degradation import Degradation, SheddingLimiter
from inkgate.serving.scheduler import Scheduler
from inkgate.serving.store import MemoryStore
from inkgate.supervision import Supervisor
from inkgate.telemetry.state import Build
from inkgate.types import PageResult


@dataclass(frozen=True, slots=True)
class KeptPages:
    """The cache of page results.

    Attributes:
        store: None for a remote store, which has `breaker` before it.
    """

    cache: Cache[PageResult]
    store: MemoryStore | None = None
    breaker: Breaker | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """The parts of the service; None for those that it does not use.

    Attributes:
        breaker: of the engine.
        workers: of the embedded engine.
    """

    build: Build
    runtime: Runtime
    admission: AdmissionLimiter
    door: SheddingLimiter
    pages: Scheduler
    degradation: Degradation
    batchers: Batchers
    kept: KeptPages | None = None
    breaker: Breaker | None = None
    workers: WorkerPool | None = None
    servers: ModelServers | None = None
    gpus: LastRead | None = None
    supervisor: Supervisor | None = None


def faults(seen: Observed) -> list[str]:
    """Known reasons why no page can be read, without a probe of the engine."""
    found = []
    if seen.breaker is not None and seen.breaker.state is BreakerState.OPEN:
        found.append(f"engine: calls to {seen.breaker.name} are stopped: {seen.breaker.why}")
    if seen.servers is not None and not seen.servers.monitor.up:
        found.append("engine: no model server takes calls")
    if seen.workers is not None and seen.build.engine == PpOcr.name and not seen.workers.pids:
        found.append("engine: none of its workers is ready")
    return found + ([] if seen.supervisor is None else seen.supervisor.complaints(needed=True))
