"""Values that the modules of this package pass to each other."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.bootstrap.background import Background
from inkgate.bootstrap.calls import ModelServers
from inkgate.bootstrap.observed import Observed
from inkgate.engines.base import Engine
from inkgate.engines.vllm.upstream import Upstream
from inkgate.serving.limiter import Limiter
from inkgate.serving.readiness import Readiness
from inkgate.supervision import Supervisor
from inkgate.telemetry.metrics import NO_MODEL, Metrics, ModelName
from inkgate.telemetry.observer import Observer


@dataclass(frozen=True, slots=True)
class Reading:
    """An engine without policies.

    Attributes:
        upstream: its model servers, for chat requests that are passed through; None if it has none.
        model: its model, as named in the settings.
        servers: the parts of `upstream`.
    """

    engine: Engine
    upstream: Upstream | None = None
    background: Background = ()
    model: ModelName = NO_MODEL
    servers: ModelServers | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The engine, the admission limiter and what belongs to them, not started yet.

    Attributes:
        metrics: empty if the settings disable metrics.
        observer: `metrics`, traces, both, or none.
        observed: the objects for State.
        supervisor: runs `background`.
        readiness: of the service.
    """

    engine: Engine
    limiter: Limiter
    upstream: Upstream | None
    background: Background
    metrics: Metrics
    observer: Observer
    observed: Observed
    supervisor: Supervisor
    readiness: Readiness
