"""What the modules of this package hand to each other."""

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
        upstream: the model servers behind it, for chat requests that are passed through; None where it has none.
        model: what reads, as far as the settings say.
        servers: what stands before `upstream`.
    """

    engine: Engine
    upstream: Upstream | None = None
    background: Background = ()
    model: ModelName = NO_MODEL
    servers: ModelServers | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads, and who may have something read: built and not started yet.

    Attributes:
        metrics: of what the parts do; nothing, where the settings say that nothing is measured.
        observer: who is told of it: `metrics`, or nobody.
        observed: what the service says of itself is made of these.
        supervisor: keeps `background` running.
        readiness: whether documents should be sent here.
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
