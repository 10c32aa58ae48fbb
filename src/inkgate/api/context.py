"""What the routes share: the service behind them, and the parts of HTTP that hold state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from starlette.requests import Request

from inkgate.api.chat_images import UNKNOWN_MODEL
from inkgate.api.decoding import BodyThreads
from inkgate.api.drain import Drain
from inkgate.api.files import FileStore
from inkgate.api.leaving import EarlyBodies
from inkgate.api.served import ServedModels
from inkgate.api.sources import Sources
from inkgate.api.webpage import WebPage
from inkgate.concurrency import Threads
from inkgate.engines.base import Engine
from inkgate.engines.vllm.images import ImageLimits
from inkgate.engines.vllm.upstream import Upstream
from inkgate.reader import Reader
from inkgate.serving.limiter import Limiter
from inkgate.serving.readiness import Readiness
from inkgate.serving.waiting_room import WaitingRoom
from inkgate.settings import Settings
from inkgate.supervision import Supervisor
from inkgate.telemetry.observer import Observer
from inkgate.telemetry.state import State


class Observatory(Protocol):
    """Says what the service is doing."""

    def state(self, *, history: bool = True) -> State:
        """Now; with the last quarter of an hour, where that is wanted."""
        ...

    def ask_also(self, reasons: Callable[[], Sequence[str]]) -> None:
        """Has `reasons` asked, too, why the service is not ready: empty when it is."""
        ...


class Service(Protocol):
    """What this layer needs of the service; bootstrap.py builds it."""

    @property
    def settings(self) -> Settings: ...

    @property
    def reader(self) -> Reader: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def limiter(self) -> Limiter: ...

    @property
    def upstream(self) -> Upstream | None:
        """The model servers, for requests that are passed through; None for an engine without any."""
        ...

    @property
    def observer(self) -> Observer:
        """Who is told of requests."""
        ...

    @property
    def observatory(self) -> Observatory: ...

    @property
    def readiness(self) -> Readiness: ...

    @property
    def supervisor(self) -> Supervisor:
        """What keeps background tasks running."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """One for each app.

    Attributes:
        threads: where answers are rendered.
        bodies: where bodies are decoded.
        waiting_room: where chat requests wait for room.
        early_bodies: what they send meanwhile.
        image_limits: of images in chat requests.
    """

    service: Service
    settings: Settings
    drain: Drain
    files: FileStore
    sources: Sources
    served: ServedModels
    threads: Threads
    bodies: BodyThreads
    waiting_room: WaitingRoom
    early_bodies: EarlyBodies
    image_limits: ImageLimits = UNKNOWN_MODEL
    page: WebPage = field(default_factory=WebPage)


def context_of(request: Request) -> Context:
    """The Context of the app that `request` came to."""
    context = request.app.state.context
    if not isinstance(context, Context):
        raise TypeError("the app was not made by create_app")
    return context


def caller_of(request: Request) -> str:
    """Who is asking, as auth.py found it."""
    return str(request.scope["state"]["caller"])
