"""The stack that reads pages is what its table says."""

from __future__ import annotations

import pytest

from inkgate.bootstrap.stack import build_parts
from inkgate.engines.base import Engine, EngineWrapper
from inkgate.pipeline.asked_fields import AskedFields
from inkgate.pipeline.cached import Cached
from inkgate.pipeline.codes import CodesFound
from inkgate.pipeline.edges import CutLinesFlagged
from inkgate.pipeline.fallback import Fallback
from inkgate.pipeline.figure_images import FigureImages
from inkgate.pipeline.judged import Judged
from inkgate.pipeline.policies import Degrading, Guarded, ProgressRecorded, Quarantined, ScheduledPages
from inkgate.pipeline.text_layer import TextLayerFirst
from inkgate.pipeline.unread import UnreadFound
from inkgate.settings import load_settings

WRAPPERS: dict[str, type[EngineWrapper]] = {
    "images": FigureImages,
    "fields": AskedFields,
    "cache": Cached,
    "codes": CodesFound,
    "edges": CutLinesFlagged,
    "confidence": Judged,
    "text layer": TextLayerFirst,
    "unread": UnreadFound,
    "quarantine": Quarantined,
    "scheduler": ScheduledPages,
    "progress": ProgressRecorded,
    "degradation": Degrading,
    "breaker": Guarded,
    "fallback": Fallback,
}
VLLM: dict[str, object] = {"name": "paddleocr-vl", "vllm": {"urls": ["http://127.0.0.1:9/v1"]}}
ON_CPU = ("codes", "edges", "confidence", "text layer", "unread", "scheduler", "progress", "degradation")
ON_VLLM = (
    "codes",
    "edges",
    "confidence",
    "text layer",
    "unread",
    "quarantine",
    "scheduler",
    "progress",
    "degradation",
)


def layers(engine: Engine) -> list[type[Engine]]:
    """The types of the wrappers, outermost first."""
    found: list[type[Engine]] = []
    while isinstance(engine, EngineWrapper) and type(engine) in WRAPPERS.values():
        found.append(type(engine))
        engine = engine._inner
    return found


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, ("images", "cache", *ON_CPU, "ppocr")),
        ({"cache": {"enabled": False}}, ("images", *ON_CPU, "ppocr")),
        ({"engine": VLLM}, ("images", "fields", "cache", *ON_VLLM, "fallback", "breaker", "paddleocr-vl-1.6")),
        (
            {"engine": {**VLLM, "vllm": {"urls": ["http://127.0.0.1:9/v1"], "fallback": False}}},
            ("images", "fields", "cache", *ON_VLLM, "breaker", "paddleocr-vl-1.6"),
        ),
        (
            {"engine": VLLM, "cache": {"redis_url": "redis://127.0.0.1:9"}},
            ("images", "fields", "cache", *ON_VLLM, "fallback", "breaker", "paddleocr-vl-1.6"),
        ),
        (
            {"engine": {"name": "transformers", "transformers": {"preset": "paddleocr-vl"}}},
            ("images", "fields", "cache", *ON_CPU, "fallback", "paddleocr-vl-1.6"),
        ),
    ],
    ids=["embedded", "no cache", "vllm", "vllm alone", "vllm and redis", "transformers"],
)
def test_the_stack_that_is_shown_is_the_one_that_reads(
    flags: dict[str, dict[str, object]], expected: tuple[str, ...]
) -> None:
    parts = build_parts(load_settings(None, **flags))
    *shown, engine = parts.state_objects.build.pipeline
    assert ((*shown, engine), parts.engine.name) == (expected, engine)
    assert layers(parts.engine) == [WRAPPERS[name] for name in shown]
