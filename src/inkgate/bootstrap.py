"""The composition root: the only module that names concrete classes, and the order in which they start and stop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio

from inkgate.concurrency import Threads, single_error
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.fallback import Fallback
from inkgate.engines.on_demand import OnDemand
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.text_layer import TextLayerFirst
from inkgate.engines.transformers import hub
from inkgate.engines.transformers.engine import Transformers, asking_settings, weights_of
from inkgate.engines.transformers.in_process import InProcess
from inkgate.engines.vllm.engine import Others, Vllm
from inkgate.engines.vllm.managed.command import server_command
from inkgate.engines.vllm.managed.engine import Managed
from inkgate.engines.vllm.managed.supervisor import ManagedServer
from inkgate.engines.vllm.preset import Preset
from inkgate.engines.vllm.presets import find_preset
from inkgate.engines.vllm.server import ModelServer
from inkgate.engines.vllm.upstream import Upstream
from inkgate.errors import InputRejected
from inkgate.layout.cdla import CdlaLayout
from inkgate.reader import Reader
from inkgate.runtimes.memory import MemoryReturn
from inkgate.serving.balancer import Balanced, BalancerSettings
from inkgate.serving.limiter import FixedLimiter, Limiter
from inkgate.settings import EngineSettings, Settings


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a way in (HTTP, command line, evaluation) needs."""

    settings: Settings
    reader: Reader
    engine: Engine
    limiter: Limiter
    upstream: Upstream | None


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads, built and not started yet.

    Attributes:
        engine: the stack of handlers that reads pages.
        upstream: the model servers behind it, for chat requests that are passed through; None where it has none.
        background: runs from before the engine is started until after it is stopped; ended by cancelling it.
    """

    engine: Engine
    upstream: Upstream | None = None
    background: tuple[Callable[[], Coroutine[None, None, None]], ...] = ()


def build_parts(settings: Settings) -> Parts:
    """What the settings ask for.

    Raises:
        InputRejected: `engine.name` names no engine, or the engine lacks a setting.
    """
    ppocr = settings.engine.ppocr
    layout = CdlaLayout(threads=ppocr.threads)
    parts = Parts(PpOcr(ppocr, layout))
    if settings.engine.name != "ppocr":
        others = Others(layout, OnDemand(parts.engine) if settings.engine.vllm.fallback else None)
        parts = _behind(settings.engine, others)
        if others.embedded is not None:
            parts = replace(parts, engine=Fallback(parts.engine, others.embedded))
    first = TextLayerFirst(parts.engine, layout, Threads("text_layer", ppocr.concurrent_pages))
    return replace(parts, engine=first)


def _behind(engine: EngineSettings, others: Others) -> Parts:
    """The engine for a model by its preset: on vLLM, or in this process. Raises as build_parts."""
    if engine.name == "transformers":
        return _transformers(engine, _preset(engine, "transformers", engine.transformers.preset), others)
    return _vllm(engine, _preset(engine, "vllm", engine.vllm.preset), others)


def _preset(engine: EngineSettings, generic: str, named: str) -> Preset:
    """The preset called `named` where the engine is the `generic` one, else as the engine is. Raises as build_parts."""
    if engine.name == generic and not named:
        detail = f"The engine `{generic}` needs to know the model: set `engine.{generic}.preset`."
        raise InputRejected("engine_incomplete", detail)
    name = named if engine.name == generic else engine.name
    folder = engine.vllm.preset_folder
    try:
        return find_preset(name, Path(folder) if folder else None)
    except ValueError as error:
        raise InputRejected("engine_incomplete", f"`engine.vllm.preset_folder`: {error}.") from error
    except InputRejected as error:
        raise InputRejected("engine_unknown", f"There is no engine {name!r} but `ppocr`: {error.detail}.") from error


def _transformers(engine: EngineSettings, preset: Preset, others: Others) -> Parts:
    """The engine for a model in this process. Raises as build_parts."""
    own = engine.transformers
    model = InProcess(preset.served_names[0], partial(hub.load, weights_of(preset, own), own))
    inner = Vllm(preset, asking_settings(own, engine.vllm), model, others)
    return Parts(Transformers(model, inner), background=(model.run,))


def _vllm(engine: EngineSettings, preset: Preset, others: Others) -> Parts:
    """The engine for a model on vLLM, ours or another's."""
    vllm = engine.vllm
    key = vllm.api_key.get_secret_value()
    managed = None if vllm.urls else ManagedServer(server_command(preset, vllm), vllm.managed, key)
    urls = vllm.urls if managed is None else (managed.url,)
    servers = [ModelServer(url, vllm.connect_s, key) for url in urls]
    if managed is None:
        times, on_stalled = BalancerSettings(vllm.stalled_s, vllm.recover_s), None
    else:
        times, on_stalled = BalancerSettings(vllm.stalled_s, vllm.managed.recover_s), managed.restart_stalled
    balanced = Balanced(servers, times, on_stalled=on_stalled)
    parts = Parts(Vllm(preset, vllm, balanced, others), balanced, (balanced.run,))
    if managed is None:
        return parts
    return replace(parts, engine=Managed(managed, parts.engine), background=(managed.run, *parts.background))


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Service]:
    """A started service: models are loaded when this is entered, and everything is freed when it is left.

    Raises:
        EngineFailed: the engine did not start.
    """
    parts = build_parts(settings)
    engine = parts.engine
    limiter = FixedLimiter(settings.limits.max_in_flight)
    memory = MemoryReturn()
    with single_error():
        async with Opener(settings.limits, settings.pdf) as opener, anyio.create_task_group() as background:
            background.start_soon(memory.run, name="memory")
            for run in parts.background:
                background.start_soon(run)
            try:
                await engine.start()
                reader = Reader(opener, engine, settings.limits, after_page=memory.work_ended)
                yield Service(settings, reader, engine, limiter, parts.upstream)
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
