"""The stack that reads pages, as one table: an engine, and the policies around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from inkgate.concurrency import Threads
from inkgate.engines.base import Engine
from inkgate.fields.terms import Terms
from inkgate.layout.analysis import PageAnalysis
from inkgate.pipeline.asked_fields import AskedFields
from inkgate.pipeline.cached import Cached
from inkgate.pipeline.codes import CodesFound
from inkgate.pipeline.edges import CutLinesFlagged
from inkgate.pipeline.fallback import Fallback
from inkgate.pipeline.figure_images import FigureImages
from inkgate.pipeline.judged import Judged
from inkgate.pipeline.policies import (
    Degrading,
    EngineProgress,
    Guarded,
    ProgressRecorded,
    Quarantined,
    ScheduledPages,
)
from inkgate.pipeline.terms import TermsCorrected
from inkgate.pipeline.text_layer import TextLayerFirst
from inkgate.pipeline.unread import UnreadFound
from inkgate.serving.breaker import Breaker
from inkgate.serving.cache import Cache
from inkgate.serving.degradation import Degradation
from inkgate.serving.quarantine import Quarantine
from inkgate.serving.scheduler import Scheduler
from inkgate.settings import DegradationSettings
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate.types import PageResult


@dataclass(frozen=True, slots=True)
class FieldWitness:
    """What reads the lines in which a model's values are looked up. `engine`: None: the model itself."""

    engine: Engine | None


@dataclass(frozen=True, slots=True)
class Policies:
    """What the layers of a stack work with.

    Attributes:
        analysis, analysis_threads: for pages that are answered from their text layer; the threads also judge pages and
            look at their ink.
        cache: of page results; None: pages are not cached.
        revision: identifies everything else that changes results; see Cached.
        quarantine: of pages that crash model servers; None for an engine without model servers.
        breaker: of the engine; None for an engine without model servers.
        embedded: the engine that reads what the model can't, and batches under load; None: there is no other.
        fields: an engine that is asked for fields has a witness; None: it can't be asked.
        extensions: wrappers of other packages, by name, outermost first.
        codes: QR codes and bar codes are sought.
        terms: of the domain, which doubtful words become; None: there are none.
        page_time_s: of a page at the engine if its caller has no deadline.
    """

    analysis: PageAnalysis
    analysis_threads: Threads
    scheduler: Scheduler
    progress: EngineProgress
    degradation: Degradation
    degradation_settings: DegradationSettings
    cache: Cache[PageResult] | None = None
    revision: str = ""
    quarantine: Quarantine | None = None
    breaker: Breaker | None = None
    embedded: Engine | None = None
    fields: FieldWitness | None = None
    extensions: Mapping[str, Callable[[Engine], Engine]] = field(default_factory=dict)
    codes: bool = False
    terms: Terms | None = None
    observer: Observer = NO_OBSERVER
    page_time_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Layer:
    """A line of the table. `wrap`: puts the layer around an engine; None: it is not used."""

    name: str
    wrap: Callable[[Engine], Engine] | None


def layers_of(policies: Policies) -> tuple[Layer, ...]:
    """All layers, outermost first."""
    p = policies
    degrade = partial(Degrading, degradation=p.degradation, settings=p.degradation_settings, embedded=p.embedded)
    schedule = partial(
        ScheduledPages, scheduler=p.scheduler, degradation=p.degradation, observer=p.observer, time_s=p.page_time_s
    )
    return (
        *(Layer(name, wrap) for name, wrap in p.extensions.items()),
        Layer("images", partial(FigureImages, threads=p.analysis_threads)),
        Layer("fields", None if p.fields is None else partial(AskedFields, witness=_witness(p, p.fields))),
        Layer("cache", None if p.cache is None else partial(Cached, cache=p.cache, revision=p.revision)),
        Layer("codes", partial(CodesFound, threads=p.analysis_threads) if p.codes else None),
        Layer("edges", partial(CutLinesFlagged, threads=p.analysis_threads)),
        Layer("confidence", partial(Judged, threads=p.analysis_threads)),
        Layer("terms", None if p.terms is None else partial(TermsCorrected, terms=p.terms, threads=p.analysis_threads)),
        Layer("text layer", partial(TextLayerFirst, analysis=p.analysis, threads=p.analysis_threads)),
        Layer("unread", partial(UnreadFound, threads=p.analysis_threads)),
        Layer("quarantine", None if p.quarantine is None else partial(Quarantined, quarantine=p.quarantine)),
        Layer("scheduler", schedule),
        Layer("progress", partial(ProgressRecorded, progress=p.progress)),
        Layer("degradation", degrade),
        Layer("fallback", None if p.embedded is None else partial(Fallback, other=p.embedded)),
        Layer("breaker", None if p.breaker is None else partial(Guarded, breaker=p.breaker)),
    )


def _witness(p: Policies, fields: FieldWitness) -> Engine | None:
    """The witness with what belongs around an engine that has limits of its own."""
    if fields.engine is None:
        return None
    engine: Engine = TextLayerFirst(fields.engine, p.analysis, p.analysis_threads)
    corrected = engine if p.terms is None else TermsCorrected(engine, p.terms, p.analysis_threads)
    judged = Judged(corrected, p.analysis_threads)
    return judged if p.cache is None else Cached(judged, p.cache, p.revision)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A stack.

    Attributes:
        engine: the outermost layer.
        names: of the layers in use, outermost first, and of the engine.
    """

    engine: Engine
    names: tuple[str, ...]


def build_pipeline(engine: Engine, policies: Policies) -> Pipeline:
    """The stack around `engine`."""
    used = [(layer.name, layer.wrap) for layer in layers_of(policies) if layer.wrap is not None]
    outermost = engine
    for _, wrap in reversed(used):
        outermost = wrap(outermost)
    return Pipeline(outermost, (*(name for name, _ in used), engine.name))
