"""Each rule of the doctor finds its fault, and nothing where the fault is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inkgate.doctor.findings import Severity
from inkgate.doctor.judge import RULES, judge
from inkgate_client.telemetry.history import WorkTotals
from inkgate_client.telemetry.jobs_state import JobsDisk, JobsState, StoredJobs
from inkgate_client.telemetry.state import (
    BreakerReading,
    CacheState,
    Gpu,
    Machine,
    PdfJobs,
    Process,
    State,
    TaskReading,
)
from support.states import (
    GB,
    NOW,
    PRESET_FLAGS,
    calls_queue,
    embedded_state,
    history,
    managed_state,
    pages_queue,
    point,
    replica,
    vllm_state,
)

HEALTHY = embedded_state()
VLLM = vllm_state()
WAITING = history(waiting=20, documents=22, in_flight=2, cpu=7.5)
FULL_PAGES = (pages_queue(waiting=20, in_flight=2),)


def changed(state: State, **changes: Any) -> State:  # noqa: ANN401 - any field of State
    return replace(state, **changes)


def set_to(state: State, **branches: dict[str, Any]) -> State:
    return replace(state, settings=dict(state.settings) | branches)


def built(state: State, **changes: Any) -> State:  # noqa: ANN401 - any field of Build
    return replace(state, build=replace(state.build, **changes))


def with_history(state: State, **points: Any) -> State:  # noqa: ANN401 - any field of Point
    return replace(state, history=history(**points))


def batching(**values: int) -> dict[str, Any]:
    return {"ppocr": {"batching": {"max_batch": 16, "max_pixels": 400_000} | values, "concurrent_pages": 2}}


def memory(megabytes_a_minute: float, pages: float = 1.0) -> State:
    points = tuple(
        point(ago, rss_bytes=GB + round((600 - ago) / 60 * megabytes_a_minute * 1e6), pages=pages)
        for ago in range(595, -1, -5)
    )
    return changed(HEALTHY, history=points)


def gpu(**values: Any) -> tuple[Gpu, ...]:  # noqa: ANN401 - any field of Gpu
    usual = Gpu(0, "H200", 0.8, 60 * GB, 140 * GB, 60.0, 400.0, 1700.0)
    return (replace(usual, **values),)


STORED = StoredJobs({"queued": 3}, 40, 20.0, 6.0, 0, 2, 0, 0.5)
LOCAL = JobsDisk("database", "/var/lib/inkgate/jobs.db", "ext4", 50 * GB, 100 * GB)


def jobs(**values: Any) -> State:  # noqa: ANN401 - any field of JobsState
    usual = JobsState("sqlite", up=True, stored=STORED, disks=(LOCAL,), events={"scans": {"added": 5, "dead": 0}})
    return changed(HEALTHY, jobs=replace(usual, **values))


def stored(**values: Any) -> State:  # noqa: ANN401 - any field of StoredJobs
    return jobs(stored=replace(STORED, **values))


SITUATIONS: dict[str, tuple[State, Severity]] = {
    "not-ready": (changed(HEALTHY, ready=False, reasons=("engine: it failed",)), Severity.CRITICAL),
    "replica-out": (
        changed(VLLM, replicas=(replica("a"), replica("b", state="out", why="upstream_unreachable"))),
        Severity.WARNING,
    ),
    "breaker-open": (changed(VLLM, breakers=(BreakerReading("paddleocr-vl", "open", 2),)), Severity.CRITICAL),
    "gpu-hot": (changed(VLLM, gpus=gpu(temperature_c=92.0)), Severity.CRITICAL),
    "gpu-memory-full": (changed(VLLM, gpus=gpu(memory_used=139 * GB)), Severity.CRITICAL),
    "gpu-memory-full: nearly": (changed(VLLM, gpus=gpu(memory_used=136.5 * GB)), Severity.WARNING),
    "gpu-hot: warning": (changed(VLLM, gpus=gpu(temperature_c=86.0)), Severity.WARNING),
    "memory-full": (changed(HEALTHY, processes=(Process("gateway", 1, 14 * GB, 1.0),)), Severity.WARNING),
    "memory-full: swaps": (
        changed(with_history(HEALTHY, swap_in=20e6), machine=Machine(GB // 10, 4 * GB, 2 * GB, 9 * GB)),
        Severity.WARNING,
    ),
    "accelerators-missing: fell back": (
        built(HEALTHY, inference_engine="onnxruntime f32", fell_back="CUDAExecutionProvider can't be used"),
        Severity.WARNING,
    ),
    "preprocessing: PDF workers": (
        changed(with_history(HEALTHY, pdf_waiting=6, documents=8, cpu=2.5), pdf=PdfJobs(2, 2, 6)),
        Severity.WARNING,
    ),
    "background-failing": (
        changed(HEALTHY, background=(TaskReading("history", "waiting", False, True, 4, "OSError", 9.0),)),
        Severity.WARNING,
    ),
    "background-failing: needed": (
        changed(HEALTHY, background=(TaskReading("batcher_recognizer", "waiting", True, True, 4, "OSError", 9.0),)),
        Severity.CRITICAL,
    ),
    "processes-restarted": (changed(HEALTHY, processes=(Process("engine", 1, GB, 1.0, started=3),)), Severity.WARNING),
    "replica-out: flaps": (
        changed(VLLM, replicas=(replica("a", taken_out=9, why="upstream_stalled"),)),
        Severity.WARNING,
    ),
    "breaker-open: flaps": (changed(VLLM, breakers=(BreakerReading("paddleocr-vl", "closed", 9),)), Severity.WARNING),
    "pages-failing": (
        changed(VLLM, work=WorkTotals(pages={"ok": 80, "upstream_stalled": 20, "image_corrupt": 10})),
        Severity.WARNING,
    ),
    "render-bound": (changed(VLLM, replicas=(replica("a", render_s=3.2, pressure=3.2),)), Severity.WARNING),
    "kv-bound": (with_history(VLLM, waiting=9, kv_usage=0.97), Severity.WARNING),
    "limit-low": (
        changed(
            with_history(VLLM, waiting=40, in_flight=8, limit=8),
            queues=(pages_queue(limit=64), calls_queue(40, 8, 8, 8)),
        ),
        Severity.WARNING,
    ),
    "preprocessing": (
        changed(
            with_history(HEALTHY, documents=9, in_flight=1, cpu=7.0),
            work=WorkTotals(
                stage_s={"receive": 5.0, "open": 9.0, "render": 300.0, "engine": 360.0}, stage_count={"engine": 50}
            ),
        ),
        Severity.WARNING,
    ),
    "cores-short: reduced limit": (
        changed(with_history(HEALTHY, limit=3, in_flight=3, cpu=2.0), queues=(pages_queue(limit=3, most=8),)),
        Severity.WARNING,
    ),
    "cores-short": (
        changed(with_history(HEALTHY, waiting=20, cpu=2.0, cpu_all=0.97), queues=FULL_PAGES),
        Severity.WARNING,
    ),
    "cores-unused": (
        changed(with_history(HEALTHY, waiting=20, cpu=2.0), queues=FULL_PAGES),
        Severity.WARNING,
    ),
    "gpu-idle": (with_history(VLLM, waiting=20, gpu=0.18), Severity.WARNING),
    "batches-small": (
        changed(
            with_history(built(HEALTHY, inference_engine="onnxruntime cuda f32"), waiting=20, mean_batch=1.4, cpu=5.0),
            queues=FULL_PAGES,
        ),
        Severity.WARNING,
    ),
    "engine-busy": (changed(HEALTHY, history=WAITING, queues=FULL_PAGES), Severity.WARNING),
    "refusals": (
        changed(
            with_history(HEALTHY, requests=10.0, refused=6.0),
            admission=replace(HEALTHY.admission, refused={"share_exceeded": 300, "service_full": 10}),
        ),
        Severity.WARNING,
    ),
    "engine-busy: degraded": (changed(HEALTHY, degradation_level=2), Severity.WARNING),
    "event-loop-late": (with_history(HEALTHY, loop_lag_s=0.8), Severity.WARNING),
    "memory-growing": (memory(megabytes_a_minute=40), Severity.WARNING),
    "timeouts-short": (set_to(HEALTHY, limits={"time_s": 20.0}), Severity.WARNING),
    "limit-low: documents": (
        set_to(VLLM, limits={"max_in_flight": 4}, engine={"vllm": {"concurrent_pages": 16}}),
        Severity.WARNING,
    ),
    "kv-bound: preemptions": (changed(VLLM, replicas=(replica("a", preemptions=70),)), Severity.WARNING),
    "queue-at-server": (
        changed(VLLM, replicas=(replica("a", queue_s=12.0, running=60, in_flight=4),)),
        Severity.WARNING,
    ),
    "replica-slow": (
        changed(VLLM, replicas=(replica("a"), replica("b"), replica("c", inter_token_s=0.05))),
        Severity.WARNING,
    ),
    "pages-failing: runaways": (changed(VLLM, work=WorkTotals(pages={"ok": 100}, runaways=12)), Severity.WARNING),
    "pages-failing: retries": (
        changed(VLLM, work=WorkTotals(pages={"ok": 100}, retries={"upstream_cut_off": 30})),
        Severity.WARNING,
    ),
    "accelerators-missing": (built(HEALTHY, accelerators={"uvloop": True, "openvino": False}), Severity.WARNING),
    "cache-small: off": (set_to(HEALTHY, cache={"enabled": False}), Severity.NOTE),
    "cache-small": (
        changed(HEALTHY, cache=CacheState({"run": 900, "kept": 60, "joined": 90}, 700, 63_900_000, 64_000_000)),
        Severity.NOTE,
    ),
    "vllm-flags": (managed_state(replicas=(replica("a", flags=(*PRESET_FLAGS[:-1], "4")),)), Severity.NOTE),
    "vllm-flags: extra": (
        set_to(managed_state(), engine={"vllm": {"managed": {"extra_flags": ["--mm-processor-cache-gb", "4"]}}}),
        Severity.NOTE,
    ),
    "batches-small: capped": (set_to(HEALTHY, engine=batching(max_batch=1)), Severity.NOTE),
    "memory-growing: fragmented": (
        changed(
            HEALTHY,
            history=tuple(
                point(ago, documents=int(200 < ago < 600), rss_bytes=3 * GB if ago < 600 else GB)
                for ago in range(895, -1, -5)
            ),
        ),
        Severity.NOTE,
    ),
    "metrics-off": (set_to(HEALTHY, metrics={"enabled": False}), Severity.NOTE),
    "jobs-store-unavailable": (jobs(up=False, stored=None), Severity.CRITICAL),
    "jobs-packages-missing": (jobs(missing=("`sinks.shop` needs psycopg",)), Severity.CRITICAL),
    "jobs-on-network-disk": (jobs(disks=(replace(LOCAL, file_system="nfs4"),)), Severity.CRITICAL),
    "jobs-on-network-disk: FUSE": (jobs(disks=(replace(LOCAL, file_system="fuse.s3fs"),)), Severity.CRITICAL),
    "uploads-missing": (jobs(uploads_missing=3), Severity.WARNING),
    "jobs-disk-full": (jobs(disks=(replace(LOCAL, use="uploads", free_bytes=GB // 2),)), Severity.CRITICAL),
    "outbox-stuck": (stored(outbox_oldest_s=400.0, outbox_waiting=9), Severity.CRITICAL),
    "dead-letters": (stored(outbox_dead=2), Severity.WARNING),
    "dead-letters: events": (jobs(events={"scans": {"dead": 4}}), Severity.WARNING),
    "jobs-waiting": (stored(oldest_s=8000.0, backlog_s=None, abandoned=2), Severity.WARNING),
    "jobs-waiting: backlog": (stored(backlog_s=9000.0, backlog_pages=90_000), Severity.WARNING),
    "leases-lost": (jobs(leases_lost=9), Severity.WARNING),
    "lease-short": (set_to(jobs(), jobs={"lease_s": 5.0}), Severity.NOTE),
    "lease-short: slow pages": (
        changed(
            set_to(jobs(), jobs={"lease_s": 60.0}),
            work=WorkTotals(stage_s={"engine": 9000.0}, stage_count={"engine": 100}),
        ),
        Severity.NOTE,
    ),
    "webhooks-unsigned": (set_to(jobs(), webhooks={"allow_hosts": ["hooks"], "secrets": []}), Severity.NOTE),
}


def test_each_fault_is_found_alone_with_evidence_and_remedies() -> None:
    wrong = []
    for name, (state, severity) in SITUATIONS.items():
        found = judge(state)
        explained = all(each.evidence and each.advice and each.title.endswith(".") for each in found)
        if [(each.code, each.severity) for each in found] != [(name.partition(":")[0], severity)] or not explained:
            wrong.append((name, found))
    assert not wrong


def test_every_rule_has_a_situation() -> None:
    assert {name.partition(":")[0] for name in SITUATIONS} == set(RULES)


@pytest.mark.parametrize("state", [HEALTHY, VLLM, managed_state()], ids=["embedded", "vllm", "managed"])
def test_a_healthy_service_has_no_finding(state: State) -> None:
    assert judge(state) == ()


HARMLESS: dict[str, State] = {
    "just started, without history": changed(HEALTHY, started_at=NOW - 1, history=(), work=WorkTotals()),
    "idle": with_history(HEALTHY, documents=0, in_flight=0, pages=0.0, requests=0.0, cpu=0.0, mean_batch=None),
    "one long document waits for itself": changed(
        with_history(HEALTHY, waiting=2, in_flight=2, cpu=7.0), queues=(pages_queue(2, in_flight=2),)
    ),
    "waited for ten seconds": changed(
        HEALTHY, history=(*history(60)[:-2], *history(10, waiting=50, cpu=1.0)), queues=FULL_PAGES
    ),
    "waited five minutes ago": changed(
        HEALTHY, history=tuple(point(ago, waiting=50 * (ago > 300), cpu=0.5) for ago in range(895, -1, -5))
    ),
    "small batches and nobody waits": with_history(HEALTHY, mean_batch=1.1),
    "small batches of single pages on the CPU": with_history(HEALTHY, mean_batch=1.1, cpu=7.8),
    "busy cores and nobody waits": with_history(HEALTHY, cpu=8.0),
    "a breaker opened once, days ago": changed(
        VLLM, started_at=NOW - 9e5, breakers=(BreakerReading("paddleocr-vl", "closed", 5),)
    ),
    "PDF workers killed by a few documents": changed(HEALTHY, processes=(Process("pdf", 1, 1, 1.0, started=2),)),
    "PDFs wait for rendering, and the engine is full all the same": with_history(HEALTHY, pdf_waiting=6, in_flight=2),
    "PDFs wait for rendering, and all cores are busy": with_history(HEALTHY, pdf_waiting=6, cpu=7.8),
    "some memory lies in swap, and stays there": changed(HEALTHY, machine=Machine(8 * GB, 4 * GB, GB, 3 * GB)),
    "a little comes back from swap": with_history(HEALTHY, swap_in=50_000.0),
    "broken images": changed(HEALTHY, work=WorkTotals(pages={"ok": 50, "image_corrupt": 50})),
    "few refusals": with_history(HEALTHY, requests=100.0, refused=1.0),
    "a GPU at its power limit": changed(VLLM, gpus=gpu(throttled=("power",), temperature_c=80.0)),
    "the GPU is idle with nobody waiting": with_history(VLLM, gpu=0.0),
    "memory grows with the load": changed(
        HEALTHY,
        history=tuple(
            point(ago, rss_bytes=GB + (600 - ago) * 1_000_000, pages=1 + (600 - ago) / 60) for ago in range(595, -1, -5)
        ),
    ),
    "memory grows slowly": memory(megabytes_a_minute=1),
    "memory grows while it warms up": changed(memory(megabytes_a_minute=40), started_at=NOW - 620),
    "the cache is full and nothing comes again": changed(
        HEALTHY, cache=CacheState({"run": 900, "kept": 2, "joined": 0}, 700, 63_900_000, 64_000_000)
    ),
    "CUDA on a machine without a GPU": built(VLLM, accelerators={"cuda": False, "tensorrt": False, "openvino": False}),
    "flags as the settings ask": changed(
        set_to(managed_state(), engine={"vllm": {"managed": {"max_num_seqs": 4}}}),
        replicas=(replica("a", flags=(*PRESET_FLAGS[:-1], "4")),),
    ),
    "the first pages are still being read": changed(
        with_history(HEALTHY, waiting=2, cpu=7.0), work=WorkTotals(stage_s={"open": 9.0, "render": 3.0})
    ),
    "others use the cores and nobody waits": with_history(HEALTHY, cpu=0.5, cpu_all=1.0, cpu_stalled=0.9),
    "jobs in order": jobs(),
    "jobs before the database was asked": jobs(up=None, stored=None, disks=()),
    "no rate, and nothing old": stored(backlog_s=None, backlog_pages=3, abandoned=1),
    "SQLite in a container": jobs(disks=(replace(LOCAL, file_system="fuse.fuse-overlayfs"),)),
    "uploads on NFS": jobs(disks=(replace(LOCAL, use="uploads", file_system="nfs"),)),
    "a small disk with room": jobs(disks=(replace(LOCAL, free_bytes=GB // 2, total_bytes=GB),)),
    "a lease lost once": jobs(leases_lost=1),
    "signed webhooks": set_to(jobs(), webhooks={"allow_hosts": ["hooks"], "secrets": ["***"]}),
    "documents arrive and few wait": with_history(HEALTHY, documents=2, in_flight=1),
}


def test_usual_states_have_no_finding() -> None:
    assert {name: found for name, state in HARMLESS.items() if (found := judge(state))} == {}


def codes(**points: float) -> set[str]:
    state = changed(with_history(HEALTHY, waiting=20, **points), queues=FULL_PAGES)
    return {finding.code for finding in judge(state)}


def test_cores_that_others_use_are_neither_idle_nor_room_for_more_pages() -> None:
    assert "cores-unused" in codes(cpu=2.0)
    assert "cores-unused" in codes(cpu=2.0, cpu_all=0.3, cpu_stalled=0.05)
    assert codes(cpu=2.0, cpu_all=0.97, cpu_stalled=0.6) & {"cores-unused", "cores-short"} == {"cores-short"}
    assert codes(cpu=2.0, cpu_all=0.5, cpu_stalled=0.7) & {"cores-unused", "cores-short"} == {"cores-short"}
    assert "cores-unused" not in codes(cpu=2.0, cpu_all=0.3, cpu_stalled=0.7)
    full = (pages_queue(waiting=20, in_flight=2, limit=2, most=2),)
    for share, room in ((0.6, True), (0.97, False)):
        state = changed(with_history(HEALTHY, waiting=20, cpu=4.8, cpu_all=share), queues=full)
        assert any(finding.code == "limit-low" for finding in judge(state)) is room
