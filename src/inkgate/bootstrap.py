"""The composition root: the only module that names concrete classes, and the order in which they start and stop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from inkgate.concurrency import Threads, single_error
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.text_layer import TextLayerFirst
from inkgate.errors import InputRejected
from inkgate.layout.cdla import CdlaLayout
from inkgate.reader import Reader
from inkgate.runtimes.memory import MemoryReturn
from inkgate.serving.limiter import FixedLimiter, Limiter
from inkgate.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a way in (HTTP, command line, evaluation) needs."""

    settings: Settings
    reader: Reader
    engine: Engine
    limiter: Limiter


def build_engine(settings: Settings) -> Engine:
    """The stack of handlers that reads pages.

    Raises:
        InputRejected: `engine.name` names no engine.
    """
    if settings.engine.name != "ppocr":
        raise InputRejected("engine_unknown", f"There is no engine {settings.engine.name!r}; there is `ppocr`.")
    ppocr = settings.engine.ppocr
    layout = CdlaLayout(threads=ppocr.threads)
    return TextLayerFirst(PpOcr(ppocr, layout), layout, Threads("text_layer", ppocr.concurrent_pages))


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Service]:
    """A started service: models are loaded when this is entered, and everything is freed when it is left.

    Raises:
        EngineFailed: the engine did not start.
    """
    engine = build_engine(settings)
    limiter = FixedLimiter(settings.limits.max_in_flight)
    memory = MemoryReturn()
    with single_error():
        async with Opener(settings.limits, settings.pdf) as opener, anyio.create_task_group() as background:
            background.start_soon(memory.run, name="memory")
            try:
                await engine.start()
                reader = Reader(opener, engine, settings.limits, after_page=memory.work_ended)
                yield Service(settings, reader, engine, limiter)
            finally:
                with anyio.CancelScope(shield=True):
                    await engine.stop()
                background.cancel_scope.cancel()


async def serve(settings: Settings, on_ready: Callable[[str], None] | None = None) -> None:
    """Runs the service over HTTP until a signal ends it. `on_ready` hears the URL once requests are accepted.

    The engine is started before the address is listened on: who can connect can be answered.

    Raises:
        EngineFailed: the engine did not start.
        SystemExit: the address can't be listened on.
    """
    # Here, so that reading files from the command line doesn't load a web framework.
    from inkgate.api import app, server

    async with running(settings) as service:
        await server.serve(app.create_app(service, settings), settings, on_ready=on_ready)
