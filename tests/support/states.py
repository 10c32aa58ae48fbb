"""States of a service: a healthy one, and variants with one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inkgate.settings import Settings, load_settings
from inkgate_client.telemetry.history import Point, WorkTotals
from inkgate_client.telemetry.state import (
    AdmissionState,
    Build,
    CacheState,
    Machine,
    PdfJobs,
    Process,
    Queue,
    ReplicaReading,
    State,
)

NOW = 1_800_000_000.0
UP_S = 7200.0
GB = 1_000_000_000


def point(seconds_ago: float, **changes: Any) -> Point:  # noqa: ANN401 - any field of Point
    """Five seconds of a service that reads one page at a time."""
    usual = Point(
        at=NOW - seconds_ago,
        span_s=5.0,
        requests=1.0,
        pages=1.0,
        refused=0.0,
        failed=0.0,
        p50_s=0.4,
        p95_s=0.9,
        documents=1,
        in_flight=1,
        limit=2,
        waiting=0,
        mean_batch=6.0,
        cache_share=0.0,
        cpu=2.5,
        rss_bytes=GB,
        loop_lag_s=0.01,
    )
    return replace(usual, **changes)


def history(seconds: float = 60.0, **changes: Any) -> tuple[Point, ...]:  # noqa: ANN401
    """Equal points for this many seconds until now."""
    return tuple(point(ago, **changes) for ago in range(int(seconds) - 5, -1, -5))


def embedded_state(settings: Mapping[str, Any] | None = None, **changes: Any) -> State:  # noqa: ANN401
    """A healthy service with the embedded engine on 8 cores, two hours after its start. `settings` as in a file."""
    healthy = State(
        at=NOW,
        started_at=NOW - UP_S,
        build=Build("0.1.0", "ppocr", "PP-OCRv6 small", "openvino bf16", "3.11", "Linux", 8, 16 * GB, _FAST),
        ready=True,
        reasons=(),
        admission=AdmissionState(1, 64, 200_000, 1024_000_000, 1, {}, {"ok": 500}),
        queues=(pages_queue(),),
        work=WorkTotals(
            requests={"POST /ocr 200": 500},
            pages={"ok": 498, "image_corrupt": 2},
            stage_s={"open": 2.0, "render": 20.0, "engine": 200.0},
            stage_count={"open": 500, "render": 500, "engine": 500},
        ),
        processes=(Process("gateway", 10, GB, 900.0), Process("pdf", 11, GB // 10, 30.0)),
        machine=Machine(12 * GB, 4 * GB, 0, 0),
        pdf=PdfJobs(2, 0, 0),
        degradation_levels=("image", "output", "embedded", "shed"),
        cache=CacheState({"run": 490, "kept": 9, "joined": 1}, 490, 2_000_000, 64_000_000),
        settings=dumped(load_settings(None, **{name: dict(branch) for name, branch in (settings or {}).items()})),
        history=history(900),
    )
    return replace(healthy, **changes)


def vllm_state(settings: Mapping[str, Any] | None = None, **changes: Any) -> State:  # noqa: ANN401
    """The same with a model on two external vLLM servers."""
    urls = {"name": "paddleocr-vl", "vllm": {"urls": ["http://a:8000/v1", "http://b:8000/v1"]}}
    state = embedded_state({"engine": urls} | dict(settings or {}))
    vllm = replace(
        state,
        build=replace(state.build, engine="paddleocr-vl", model="PaddleOCR-VL-1.6", inference_engine="vllm"),
        queues=(pages_queue(limit=16, most=16, in_flight=4), calls_queue()),
        replicas=(replica("a"), replica("b")),
        load_servers=1.5,
        history=history(900, kv_usage=0.3, mean_batch=None, limit=32, in_flight=4, cpu=0.5),
    )
    return replace(vllm, **changes)


def managed_state(**changes: Any) -> State:  # noqa: ANN401
    """The same with a managed vLLM, with its preset's flags."""
    state = vllm_state({"engine": {"name": "paddleocr-vl"}})
    return replace(state, **{"replicas": (replica("a", flags=PRESET_FLAGS),)} | changes)


def pages_queue(waiting: int = 0, limit: int = 2, most: int = 2, in_flight: int = 1) -> Queue:
    return Queue("pages", limit, most, in_flight, {"interactive": 0, "normal": waiting}, 0.0, waiting / 2)


def calls_queue(waiting: int = 0, limit: int = 32, most: int = 256, in_flight: int = 4) -> Queue:
    return Queue("calls", limit, most, in_flight, {"normal": waiting}, 0.0, None)


def replica(name: str, **changes: Any) -> ReplicaReading:  # noqa: ANN401
    usual = ReplicaReading(
        name,
        "up",
        "",
        0,
        2,
        running=2,
        waiting=0,
        kv_usage=0.3,
        kv_tokens=65_536,
        preemptions=0,
        generation_tokens=100_000,
        queue_s=0.01,
        render_s=0.1,
        inter_token_s=0.01,
        pressure=0.4,
    )
    return replace(usual, **changes)


def dumped(settings: Settings) -> dict[str, Any]:
    return settings.model_dump(mode="json")


PRESET_FLAGS = (
    "--trust-remote-code",
    "--max-num-batched-tokens",
    "16384",
    "--no-enable-prefix-caching",
    "--mm-processor-cache-gb",
    "0",
    "--max-model-len",
    "16384",
    "--gpu-memory-utilization",
    "0.9",
    "--max-num-seqs",
    "16",
)
"""Of paddleocr-vl, as they stand on vLLM's command line."""
_FAST = {"uvloop": True, "openvino": True}
