"""PageReaders with the parts that a test names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from inkgate.caller import Caller
from inkgate.engines.base import Engine
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.evidence import Region
from inkgate.page import RgbArray
from inkgate.service.complete import Completion
from inkgate.service.page import EngineQueue, PageReader
from inkgate.service.readiness import EngineProgress
from inkgate.service.text_layer import TextLayers
from inkgate.serving.cache import Cache
from inkgate.serving.degradation import Degradation
from inkgate.serving.limits import FixedLimit
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import DegradationSettings, SchedulingSettings
from inkgate_client.types import PageResult

P = ParamSpec("P")
T = TypeVar("T")


class AtOnce(FairThreads):
    """Runs calls without a thread, as tests in virtual time need it."""

    async def run(self, caller: Caller, cost_ms: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


class NoRegions:
    """A layout model that finds nothing."""

    def find(self, pixels: RgbArray) -> list[Region]:
        return []


def text_layers() -> TextLayers:
    """Text layers without a layout model."""
    return TextLayers(PageAnalysis(NoRegions()), AtOnce(1))


def engine_queue(
    work_queue: WorkQueue | None = None,
    degradation: Degradation | None = None,
    **changes: Any,  # noqa: ANN401 - of several types
) -> EngineQueue:
    """A queue with room for a thousand pages at once, without degradation. `changes`: attributes of the EngineQueue."""
    settings = changes.pop("settings", DegradationSettings())
    work_queue = work_queue or WorkQueue(FixedLimit(1000), SchedulingSettings())
    degradation = degradation or Degradation(settings, lambda: 0.0, lambda: 0.0)
    return EngineQueue(work_queue, degradation, settings, changes.pop("progress", EngineProgress()), **changes)


def page_reader(engine: Engine, **parts: Any) -> PageReader:  # noqa: ANN401 - of several types
    """A PageReader with these parts. `codes`, `terms`: of its Completion. It has a queue, if not another one, where it
    has a breaker, a quarantine or an embedded engine: these are used in a page's turn.
    """
    completion = Completion(AtOnce(1), codes=parts.pop("codes", False), terms=parts.pop("terms", None))
    if {"breaker", "embedded", "quarantine"} & parts.keys():
        parts.setdefault("queue", engine_queue())
    if "embedded" in parts:
        degradation, settings = parts["queue"].degradation, parts["queue"].settings
        parts.setdefault("embedded_queue", engine_queue(None, degradation, settings=settings, generates=False))
    return PageReader(engine, completion, **parts)


def cache_of(reader: PageReader) -> Cache[PageResult]:
    """The cache of a reader that has one."""
    assert reader.cache is not None
    return reader.cache
