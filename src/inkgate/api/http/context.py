"""Context of the routes: the service and the stateful parts of the HTTP layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from inkgate.api.http.decoding import BodyThreads
from inkgate.api.http.drain import Drain
from inkgate.api.http.leaving import EarlyBodies
from inkgate.api.http.served import ServedModels
from inkgate.api.http.sources import Sources
from inkgate.engines.base import Engine
from inkgate.engines.vlm.images import ImageLimits
from inkgate.extraction.finder import FieldFinder
from inkgate.jobs.intake.arrivals import Intake
from inkgate.jobs.service import JobService
from inkgate.model_servers.upstream import Upstream
from inkgate.service.gateway import Gateway
from inkgate.service.readiness import Readiness, ServiceWarning
from inkgate.serving.admission import AdmissionLimiter
from inkgate.serving.sending import SendingRoom
from inkgate.serving.threads import FairThreads
from inkgate.settings import Settings
from inkgate.storage.files import FileStore
from inkgate.supervision import Supervisor
from inkgate.telemetry.observer import Observer
from inkgate_client.telemetry.state import State


class StateSource(Protocol):
    """Reports the service's state."""

    def state(self, *, history: bool = True) -> State:
        """The state now, with the last 15 minutes on request."""
        ...

    def warnings(self) -> list[ServiceWarning]:
        """What works worse than it could: another engine reads, quality is reduced, there is little room for jobs."""
        ...

    def watch_results(self, results: AdmissionLimiter) -> None:
        """Adds the limiter of results that are sent to the state."""
        ...

    def add_reasons(self, reasons: Callable[[], Sequence[str]]) -> None:
        """Adds a check to readiness: `reasons` returns why the service is not ready, empty if it is."""
        ...


class ServiceView(Protocol):
    """What the HTTP layer needs of the service; `bootstrap` builds it."""

    @property
    def settings(self) -> Settings: ...

    @property
    def gateway(self) -> Gateway: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def upstream(self) -> Upstream | None:
        """The model servers, for relayed requests; None for an engine without model servers."""
        ...

    @property
    def observer(self) -> Observer:
        """Counts requests."""
        ...

    @property
    def observatory(self) -> StateSource: ...

    @property
    def readiness(self) -> Readiness: ...

    @property
    def supervisor(self) -> Supervisor:
        """Runs background tasks."""
        ...

    @property
    def fields(self) -> FieldFinder:
        """Finds fields in documents."""
        ...

    @property
    def jobs(self) -> JobService | None:
        """Adds and shows jobs; None if the settings disable them."""
        ...

    @property
    def intake(self) -> Intake | None:
        """Adds jobs for events; None if the settings disable jobs."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """State of one app.

    Attributes:
        threads: render responses.
        bodies: decode bodies.
        early_bodies: the bodies of chat requests that wait for admission.
        image_limits: limits of images in chat requests.
        room: for results of jobs and files that are sent.
    """

    service: ServiceView
    settings: Settings
    drain: Drain
    files: FileStore
    sources: Sources
    served: ServedModels
    threads: FairThreads
    bodies: BodyThreads
    early_bodies: EarlyBodies
    image_limits: ImageLimits
    room: SendingRoom
    has_page: bool = False


def context_of(request: Request) -> Context:
    """The Context of the request's app."""
    context = request.app.state.context
    if not isinstance(context, Context):
        raise TypeError("`app` was not made by create_app")
    return context


def tenant_of(request: Request) -> str:
    """The tenant of the request, which the access log shows as `caller`."""
    return str(request.scope["state"]["caller"])
