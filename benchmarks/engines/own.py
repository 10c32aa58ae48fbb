"""inkgate's embedded engine in this process, from a file's bytes to its text: without HTTP, policies or cache."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from benchmarks.engines.closed import Read
from benchmarks.engines.sample import data_of
from inkgate.bootstrap.stack import pool_of, with_workers
from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.engines.base import Engine
from inkgate.engines.choose import embedded_engine, page_analysis, runtime_of
from inkgate.runtimes.base import ColumnModel, Model, Runtime
from inkgate.runtimes.onnx import OnnxColumns
from inkgate.serving.batching import Batchers, BatchFigures
from inkgate.settings import Settings, load_settings
from inkgate.types import Document, Task
from inkgate_bench.accuracy.manifest import Entry


@dataclass(frozen=True)
class Step:
    """A configuration of the engine.

    `settings`: of engine.ppocr. `across_pages`: lines of several pages share calls. `whole_softmax`: the recognizer
    returns its whole output, and NumPy finds the maxima.
    """

    name: str
    settings: dict[str, object] = field(default_factory=dict)
    across_pages: bool = False
    whole_softmax: bool = False

    def all_settings(self) -> Settings:
        return load_settings(None, engine={"ppocr": self.settings}) if self.settings else load_settings(None)


DEFAULT = Step("inkgate")
STEPS = (
    Step("ONNX Runtime, f32", {"runtime": "onnxruntime"}),
    Step("OpenVINO, f32", {"runtime": "openvino", "precision": "f32"}, whole_softmax=True),
    Step("+ arg-max in the graph", {"runtime": "openvino", "precision": "f32"}),
    Step("+ bf16", {"runtime": "openvino", "precision": "bf16"}),
    Step("+ batching across pages", {"runtime": "openvino", "precision": "bf16"}, across_pages=True),
    Step("+ int8, of the recogniser's wide convolutions", {"runtime": "openvino", "precision": "int8"}),
    Step("the same in 1 worker of 2 threads", {"precision": "int8", "workers": 1, "threads": 2}),
    Step("the same in 2 workers of 1 thread", {"precision": "int8", "workers": 2, "threads": 1}),
)


def parsed_step(text: str) -> Step:
    """Parses a step of the command line: `NAME: setting=value ...`, settings of engine.ppocr, dotted if nested."""
    name, _, words = text.partition(":")
    settings: dict[str, object] = {}
    for word in words.replace(",", " ").split():
        path, _, value = word.partition("=")
        *branches, last = path.split(".")
        inner = settings
        for branch in branches:
            inner = inner.setdefault(branch, {})  # type: ignore[assignment]  # branches hold branches
        inner[last] = value
    return Step(name.strip(), settings)


@dataclass
class OwnEngine:
    """A started engine. `figures`: of its recognizer's batcher."""

    engine: Engine
    opener: Opener
    runtime: str
    figures: BatchFigures

    async def read(self, entry: Entry) -> Read:
        document = Document(data_of(entry.file), entry.file.name)
        async with self.opener.open(document) as opened:
            result = await self.engine.read(await opened.page(0), Task(), NO_CALLER)
        return Read(result.text, dict(result.timings_ms))


@asynccontextmanager
async def started(step: Step, around: Runtime | None = None) -> AsyncIterator[OwnEngine]:
    """The engine of a step, with loaded models. `around`: a runtime to use instead of the one in its settings."""
    settings = with_workers(step.all_settings())
    runtime: Runtime = around or runtime_of(settings)
    workers = None if around else pool_of(settings.engine.ppocr)
    if step.whole_softmax:
        runtime = WholeSoftmax(runtime)
    batchers = Batchers(settings.engine.ppocr.batching, across_pages=step.across_pages)
    async with Opener(settings.limits, settings.pdf) as opener, anyio.create_task_group() as background:
        if workers:
            background.start_soon(workers.run)
        await anyio.wait_all_tasks_blocked()
        analysis = page_analysis(settings, runtime)
        engine = embedded_engine(settings, analysis, workers or runtime, batchers)
        await engine.start()
        name = f"{runtime.name}, {settings.engine.ppocr.workers} workers" if workers else runtime.name
        yield OwnEngine(engine, opener, name, batchers.by_model["recognizer"])
        await engine.stop()
        background.cancel_scope.cancel()


class WholeSoftmax:
    """A Runtime whose column models return their whole softmax."""

    def __init__(self, runtime: Runtime) -> None:
        self.name = f"{runtime.name}, softmax read back"
        self.fell_back = runtime.fell_back
        self.gpu = runtime.gpu
        self._runtime = runtime

    def open(self, path: Path) -> Model:
        return self._runtime.open(path)

    def open_columns(self, path: Path) -> ColumnModel:
        return OnnxColumns(self._runtime.open(path))  # type: ignore[arg-type]  # it needs what every Model has
