"""The engine that the settings choose, without policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from inkgate.engines.base import Engine
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.engines.ppocr.models import shape_ranges
from inkgate.engines.transformers import hub
from inkgate.engines.transformers.engine import (
    PAGES_AT_ONCE,
    InProcessUpstream,
    TransformersEngine,
    call_settings,
    weights_of,
)
from inkgate.engines.vlm.elements import BlockReaders
from inkgate.engines.vlm.engine import ServerPool, VlmEngine
from inkgate.engines.vlm.preset import Preset
from inkgate.engines.vlm.presets import find_preset, preset_names
from inkgate.engines.workers.model import ModelWorkers
from inkgate.errors import InputRejected
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.evidence import Layout
from inkgate.layout.regions.cdla import CdlaLayout
from inkgate.layout.regions.doclayout import DocLayout
from inkgate.layout.tables.slanet import SlanetTables
from inkgate.model_servers.managed.command import server_commands
from inkgate.model_servers.managed.supervisor import ManagedServer
from inkgate.model_servers.replica import OnOut
from inkgate.model_servers.server import ImageRequest
from inkgate.model_servers.servers import ModelServers, model_servers
from inkgate.model_servers.upstream import Upstream
from inkgate.runtimes.base import Runtime
from inkgate.runtimes.choose import open_runtime
from inkgate.runtimes.compiled import compiled_folder
from inkgate.runtimes.providers import ProviderRequest
from inkgate.serving.batching import Batchers
from inkgate.settings import EngineSettings, Settings, TransformersSettings, VllmSettings
from inkgate.settings.extensions import ENGINE_PORT, ENGINES, is_extension, make_extension, registered
from inkgate.supervision import BackgroundTask
from inkgate.telemetry.metrics import NO_MODEL, ModelName
from inkgate.telemetry.observer import NO_OBSERVER, Observer

_PPOCR = "PP-OCRv6 small"


def own_model(runtime: Runtime) -> ModelName:
    """The embedded engine's model."""
    return ModelName(_PPOCR, runtime.name)


def served_model(preset: Preset, vllm: VllmSettings) -> ModelName:
    """A model on vLLM, by its name on the server."""
    return ModelName(vllm.model or preset.served_names[0], "vllm")


def loaded_model(preset: Preset, transformers: TransformersSettings) -> ModelName:
    """A model in this process."""
    return ModelName(transformers.model or preset.served_names[0], "transformers")


def others(own: ModelName) -> Mapping[str, ModelName]:
    """Models of other engines that may read pages, by engine name. `own`: of the embedded engine."""
    return {"ppocr": own, "text_layer": NO_MODEL}


@dataclass(frozen=True, slots=True)
class ChosenEngine:
    """An engine without policies.

    Attributes:
        upstream: its model servers, for chat requests that are passed through; None if it has none.
        background: tasks that run from before the engine starts until after it stops.
        model: its model, as named in the settings.
        servers: the parts of `upstream`.
        pages_at_once: maximum pages at it at once; None: `engine.vllm.concurrent_pages`, for each server.
    """

    engine: Engine
    upstream: Upstream | None = None
    background: tuple[BackgroundTask, ...] = ()
    model: ModelName = NO_MODEL
    servers: ModelServers | None = None
    pages_at_once: int | None = None


def runtime_of(settings: Settings) -> Runtime:
    """The runtime of the models in this process. Raises EngineFailed("provider_unavailable")."""
    chosen = settings.engine.ppocr
    cache = compiled_folder(chosen.cache)
    request = ProviderRequest(chosen.onnxruntime, shape_ranges(), cache)
    return open_runtime(chosen.runtime, chosen.precision, chosen.threads, cache, request)


def embedded_engine(
    settings: Settings, analysis: PageAnalysis, models: Runtime | ModelWorkers, batchers: Batchers | None = None
) -> PpOcr:
    """The embedded engine, which needs no configuration. `batchers`: see PpOcr."""
    return PpOcr(settings.engine.ppocr, analysis, models, batchers)


def page_layout(settings: Settings, runtime: Runtime) -> Layout:
    """The layout model: from the file in the settings, else the built-in one.

    Raises:
        EngineFailed: "layout_model_unusable": the file can't be used.
    """
    chosen, threads = settings.engine.layout, settings.engine.ppocr.threads
    if not chosen.model:
        return CdlaLayout(runtime)
    return DocLayout(Path(chosen.model), threads, chosen.min_confidence)


def page_analysis(settings: Settings, runtime: Runtime) -> PageAnalysis:
    """What looks at pages beside their text, with the models in the settings. Raises as `page_layout`."""
    chosen = settings.engine
    return PageAnalysis(
        page_layout(settings, runtime), SlanetTables(chosen.ppocr.threads) if chosen.layout.tables else None
    )


def choose_engine(
    settings: Settings, blocks: BlockReaders, on_out: OnOut, observer: Observer = NO_OBSERVER
) -> ChosenEngine:
    """The engine that the settings choose, unless it is the embedded one. `blocks`: read pages block by block.
    `on_out`: see ReplicaEvents.

    Raises:
        InputRejected: `engine.name` names no engine, or the engine lacks a setting.
    """
    engine = settings.engine
    if is_extension(engine.name) or engine.name in registered(ENGINES):
        return _extension(settings)
    if engine.name == "transformers":
        return _transformers(engine, _preset(engine, "transformers", engine.transformers.preset), blocks)
    return _vllm(settings, _preset(engine, "vllm", engine.vllm.preset), blocks, on_out, observer)


def _extension(settings: Settings) -> ChosenEngine:
    """The engine of another package: `engine.name` names a function of the Settings that makes it."""
    name = settings.engine.name
    engine: Engine = make_extension(name, "engine.name", settings, port=ENGINE_PORT)
    return ChosenEngine(engine, model=ModelName(engine.name, name))


def _preset(engine: EngineSettings, generic: str, named: str) -> Preset:
    """The preset `named` if the engine is `generic`, else the one with the engine's name. Raises as `choose_engine`."""
    if engine.name == generic and not named:
        detail = f"The engine `{generic}` needs a model: set `engine.{generic}.preset`."
        raise InputRejected("engine_incomplete", detail)
    name = named if engine.name == generic else engine.name
    folder = engine.vllm.preset_folder
    try:
        return find_preset(name, own := Path(folder) if folder else None)
    except ValueError as error:
        raise InputRejected("engine_incomplete", f"`engine.vllm.preset_folder`: {error}.") from error
    except InputRejected as error:
        names = ", ".join(["ppocr", "transformers", *preset_names(own), *registered(ENGINES)])
        raise InputRejected("engine_unknown", f"Unknown engine {name!r}. Available engines: {names}.") from error


def _transformers(chosen: EngineSettings, preset: Preset, blocks: BlockReaders) -> ChosenEngine:
    """The engine for a model in this process. Raises as `choose_engine`."""
    own = chosen.transformers
    model = InProcessUpstream(preset.served_names[0], partial(hub.load, weights_of(preset, own), own))
    inner = VlmEngine(preset, call_settings(own, chosen.vllm), model, blocks)
    background = (BackgroundTask("transformers", model.run, needed=True),)
    engine, named = TransformersEngine(model, inner), loaded_model(preset, own)
    return ChosenEngine(engine, background=background, model=named, pages_at_once=PAGES_AT_ONCE)


def _vllm(settings: Settings, preset: Preset, blocks: BlockReaders, on_out: OnOut, observer: Observer) -> ChosenEngine:
    """The engine for a model on vLLM, managed or external."""
    vllm = settings.engine.vllm
    key = vllm.api_key.get_secret_value()
    commands = () if vllm.urls else server_commands(preset, vllm, settings.tracing)
    managed = tuple(ManagedServer(command, vllm.managed, key) for command in commands)
    servers = model_servers(settings, managed, preset.names_on_server(vllm.model), on_out, observer)

    def found(model: str, request: ImageRequest | None) -> None:
        servers.balanced.expect((model,))
        servers.pages.request = request

    pool = ServerPool(found, managed)
    engine = VlmEngine(preset, vllm, servers.upstream, blocks, pool, settings.serving.scheduling)
    background = servers.background
    if managed:
        names = ("managed_vllm", *(f"managed_vllm_{number}" for number in range(2, len(managed) + 1)))
        runs = (BackgroundTask(name, each.run, needed=True) for name, each in zip(names, managed, strict=True))
        background = (*runs, *background)
    return ChosenEngine(engine, servers.upstream, background, served_model(preset, vllm), servers)
