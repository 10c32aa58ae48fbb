"""The stack that reads pages is what its table says."""

from __future__ import annotations

import pytest

from inkgate.bootstrap.stack import build_parts
from inkgate.service.page import PageReader
from inkgate.serving.queue import WorkQueue
from inkgate.settings import load_settings

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


@pytest.mark.parametrize(
    ("engine", "pages"),
    [
        ({"name": "ppocr", "ppocr": {"concurrent_pages": 7, "workers": 0}}, 7),
        ({"name": "paddleocr-vl", "vllm": {"urls": ["http://127.0.0.1:9/v1"], "concurrent_pages": 5}}, 5),
        ({"name": "transformers", "transformers": {"preset": "paddleocr-vl"}, "vllm": {"concurrent_pages": 5}}, 2),
    ],
)
def test_no_more_pages_get_a_turn_than_the_engine_reads_at_once(engine: dict[str, object], pages: int) -> None:
    observed = build_parts(load_settings(None, engine=engine)).state_objects.pages
    assert isinstance(observed, WorkQueue)
    assert observed.limit.value == pages


@pytest.mark.parametrize("fallback", [True, False])
def test_the_embedded_engine_beside_a_model_has_one_queue_for_all_that_it_reads(*, fallback: bool) -> None:
    vllm = {"urls": ["http://127.0.0.1:9/v1"], "fallback": fallback}
    engine: dict[str, object] = {"name": "paddleocr-vl", "vllm": vllm}
    parts = build_parts(load_settings(None, engine=engine, fields={"grounding_engine": "embedded"}))
    reader, observed = parts.engine, parts.state_objects
    assert isinstance(reader, PageReader)
    assert reader.queue is not None
    assert reader.grounding_reader is not None
    assert reader.grounding_reader.queue is not None
    assert reader.embedded_queue is not None
    assert observed.embedded_pages is reader.grounding_reader.queue.work_queue is reader.embedded_queue.work_queue
    assert observed.embedded_pages is not reader.queue.work_queue
    assert reader.grounding_reader.queue.progress is not reader.queue.progress
