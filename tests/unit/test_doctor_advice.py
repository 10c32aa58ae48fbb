"""What the doctor advises fits what the service has set."""

from __future__ import annotations

from dataclasses import replace

from inkgate.doctor.conditions import BY_NAME
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, Finding, Severity
from inkgate.doctor.judge import Rule, judge
from inkgate_client.telemetry.history import WorkTotals
from inkgate_client.telemetry.state import BreakerReading, Gpu, State
from support.states import (
    PRESET_FLAGS,
    calls_queue,
    embedded_state,
    history,
    managed_state,
    pages_queue,
    replica,
    vllm_state,
)

HEALTHY = embedded_state()
VLLM = vllm_state()
EXTRA = "engine.vllm.managed.extra_flags"


def only(state: State) -> Finding:
    (finding,) = judge(state)
    return finding


def settings_of(finding: Finding) -> list[tuple[str, object]]:
    return [(advice.setting, advice.value) for advice in finding.advice]


def test_a_batch_that_a_setting_holds_down_is_told_to_raise_it() -> None:
    slow = embedded_state(
        {"engine": {"ppocr": {"batching": {"max_batch": 1}}}},
        history=history(waiting=9, cpu=7.5, mean_batch=1.0),
    )
    finding = judge(slow)[0]
    assert (finding.code, finding.severity) == ("batches-small", Severity.WARNING)
    assert settings_of(finding) == [("engine.ppocr.batching.max_batch", 16)]


def test_small_batches_on_busy_cores_are_only_a_note() -> None:
    on_gpu = replace(HEALTHY.build, inference_engine="onnxruntime cuda f32")
    busy = replace(HEALTHY, build=on_gpu, history=history(waiting=2, cpu=7.5, mean_batch=2.0))
    assert only(busy).severity is Severity.NOTE


def test_threads_that_leave_cores_idle_are_told_to_be_all() -> None:
    narrow = embedded_state({"engine": {"ppocr": {"threads": 1}}}, history=history(waiting=9, cpu=1.5))
    assert settings_of(only(narrow)) == [("engine.ppocr.threads", 0)]


def test_places_that_others_cost_are_told_apart_from_too_few_cores() -> None:
    fewer = (pages_queue(waiting=9, limit=3, most=8),)
    beside_others = replace(HEALTHY, history=history(waiting=2, limit=3, in_flight=3, cpu=2.0), queues=fewer)
    finding = only(beside_others)
    assert finding.code == "cores-short"
    assert "other programs" in finding.advice[0].text
    alone = replace(HEALTHY, history=history(waiting=2, limit=3, in_flight=3, cpu=7.5), queues=fewer)
    assert "another instance" in judge(alone)[0].advice[0].text


def test_pages_that_wait_before_idle_model_servers_are_let_nearer() -> None:
    kept_out = replace(
        VLLM,
        history=history(waiting=0, pages_waiting=40, documents=60, in_flight=2, limit=32),
        # of two servers
        queues=(pages_queue(waiting=40, limit=4, most=4, in_flight=4), calls_queue(in_flight=2)),
    )
    finding = only(kept_out)
    assert finding.code == "limit-low"
    assert settings_of(finding) == [("engine.vllm.concurrent_pages", 4)]


def test_a_fixed_limit_is_told_to_find_itself() -> None:
    fixed = vllm_state(
        {"engine": {"name": "paddleocr-vl", "vllm": {"urls": ["http://a/v1"], "concurrent_requests": 2}}},
        history=history(waiting=20, in_flight=2, limit=2),
        queues=(pages_queue(), calls_queue(20, 2, 2, 2)),
    )
    assert settings_of(only(fixed)) == [("engine.vllm.concurrent_requests", 0)]


def test_a_vllm_of_ours_that_renders_slowly_gets_more_api_servers() -> None:
    flags = (*PRESET_FLAGS, "--api-server-count", "2")
    finding = only(managed_state(replicas=(replica("a", flags=flags, render_s=2.0),)))
    assert settings_of(finding) == [("engine.vllm.managed.api_server_count", 4)]


def test_a_vllm_of_others_that_renders_slowly_is_theirs_to_start_anew() -> None:
    finding = only(replace(VLLM, replicas=(replica("a", render_s=2.0),)))
    assert "--api-server-count 4" in finding.advice[0].text


def test_a_full_kv_cache_of_ours_gets_memory_first_and_then_eight_bits() -> None:
    full = history(waiting=9, kv_usage=0.95)
    assert settings_of(only(managed_state(history=full)))[0] == ("engine.vllm.managed.gpu_memory_utilization", 0.95)
    given = managed_state(history=full)
    most = {"engine": {"vllm": {"managed": {"gpu_memory_utilization": 0.95, "extra_flags": ["--seed", "1"]}}}}
    flags = tuple("0.95" if flag == "0.9" else flag for flag in PRESET_FLAGS)
    given = replace(given, settings=most, replicas=(replica("a", flags=flags),))
    assert settings_of(only(given))[0] == (EXTRA, '["--seed", "1", "--kv-cache-dtype", "fp8"]')


def test_a_busy_gpu_of_the_embedded_engine_is_not_judged_by_cores() -> None:
    on_gpu = replace(HEALTHY, build=replace(HEALTHY.build, inference_engine="onnxruntime cuda"))
    waiting = (pages_queue(20, in_flight=2),)
    idle = replace(on_gpu, history=history(waiting=20, cpu=1.0, gpu=0.2), queues=waiting)
    assert settings_of(only(idle)) == [("engine.ppocr.concurrent_pages", 4)]
    busy = replace(on_gpu, history=history(waiting=20, cpu=1.0, gpu=0.95), queues=waiting)
    assert (only(busy).code, settings_of(only(busy))) == ("engine-busy", [("", None)])


def test_a_busy_gpu_is_no_fault_of_settings() -> None:
    busy = replace(VLLM, history=history(waiting=40, gpu=0.97), queues=(pages_queue(16, 16), calls_queue(40)))
    finding = only(busy)
    assert finding.code == "engine-busy"
    assert settings_of(finding) == [("engine.vllm.urls", None)]


def test_a_share_that_is_too_small_is_told_apart_from_a_full_house() -> None:
    refusing = history(requests=10.0, refused=5.0)
    shares = replace(HEALTHY.admission, refused={"share_exceeded": 90, "service_full": 1})
    assert "share" in only(replace(HEALTHY, history=refusing, admission=shares)).title
    full = replace(HEALTHY.admission, refused={"service_full": 90}, documents=64)
    assert settings_of(only(replace(HEALTHY, history=refusing, admission=full))) == [("limits.max_in_flight", 128)]


def test_a_breaker_of_redis_keeps_nobody_from_reading() -> None:
    finding = only(replace(HEALTHY, breakers=(BreakerReading("redis", "open", 1),)))
    assert finding.severity is Severity.WARNING
    assert settings_of(finding) == [("cache.redis_url", "")]


def test_an_open_breaker_tells_who_reads_its_pages() -> None:
    tripped = (BreakerReading("paddleocr-vl", "open", 1),)
    alone = vllm_state({"engine": {"name": "paddleocr-vl", "vllm": {"urls": ["http://a/v1"], "fallback": False}}})
    assert only(replace(VLLM, breakers=tripped)).title == "paddleocr-vl fails: ppocr reads its pages."
    assert only(replace(alone, breakers=tripped)).title == "paddleocr-vl fails: inkgate refuses its pages."


def test_a_breaker_of_redis_does_not_hide_that_of_the_engine() -> None:
    tripped = (BreakerReading("redis", "open", 1), BreakerReading("paddleocr-vl", "open", 2))
    finding = only(replace(VLLM, breakers=tripped))
    assert finding.severity is Severity.CRITICAL
    assert "paddleocr-vl" in finding.title
    assert len(finding.evidence) == 2


def test_degradation_is_shown_beside_a_finding_with_the_same_advice() -> None:
    preempting = replace(replica("a", pressure=1.2), preemptions=100)
    state = replace(VLLM, history=history(waiting=40), replicas=(preempting,), degradation_level=1)
    assert [finding.code for finding in judge(state)] == ["kv-bound", "engine-busy"]


def test_a_machine_that_swaps_is_found_without_a_known_process() -> None:
    assert only(replace(HEALTHY, history=history(swap_in=2e6), processes=())).code == "memory-full"


def test_rendering_that_holds_up_gets_workers_or_fewer_pixels_where_cores_are_busy() -> None:
    work = WorkTotals(stage_s={"render": 300.0, "engine": 360.0}, stage_count={"engine": 50})
    slow = embedded_state(work=work, history=history(waiting=2, cpu=5.0), queues=(pages_queue(2, in_flight=2),))
    assert settings_of(judge(slow)[0]) == [("pdf.workers", 4)]
    assert settings_of(judge(replace(slow, history=history(waiting=2, cpu=7.9)))[0]) == [("pdf.dpi", 150)]


def test_slow_uploads_hold_nobody_up_while_pages_wait() -> None:
    work = WorkTotals(stage_s={"receive": 900.0, "engine": 100.0}, stage_count={"engine": 50})
    idle = replace(HEALTHY, work=work, history=history(documents=9, in_flight=0))
    finding = only(idle)
    assert (finding.code, settings_of(finding)) == ("preprocessing", [("", None)])
    assert judge(replace(idle, history=history(documents=9, in_flight=2, waiting=2, cpu=7.9))) == ()


def test_without_any_model_server_it_is_critical() -> None:
    finding = only(replace(VLLM, replicas=(replica("a", state="out", why="upstream_unreachable"),)))
    assert finding.severity is Severity.CRITICAL
    assert Evidence("a is out", "upstream_unreachable") in finding.evidence


def test_a_card_that_throttles_below_the_limit_is_a_warning() -> None:
    gpu = Gpu(0, temperature_c=83.0, throttled=("thermal",), clock_mhz=900.0)
    assert only(replace(VLLM, gpus=(gpu,))).severity is Severity.WARNING


def test_limits_of_a_gpu_below_the_usual_are_kept() -> None:
    settings = dict(VLLM.settings)
    settings["serving"] = settings["serving"] | {"gpu": {"temperature_c": 80.0, "memory": 0.9}}
    state = replace(VLLM, settings=settings)
    assert only(replace(state, gpus=(Gpu(0, temperature_c=76.0),))).severity is Severity.WARNING
    assert only(replace(state, gpus=(Gpu(0, temperature_c=80.0),))).severity is Severity.CRITICAL
    full = only(replace(state, gpus=(Gpu(0, memory_used=92, memory_total=100),)))
    assert full.severity is Severity.CRITICAL
    assert full.evidence[0].against == "over 90%"


def test_what_is_advised_once_is_not_advised_again() -> None:
    advice = Advice("More.", "engine.vllm.urls")
    rules: dict[str, Rule] = {
        "cache-small": lambda _: Diagnosis((), (advice, Advice("Or that.")), Severity.NOTE),
        "engine-busy": lambda _: Diagnosis((), (advice,), Severity.CRITICAL),
        "metrics-off": lambda _: Diagnosis((), (advice,), Severity.NOTE),
        "not-ready": lambda _: None,
    }
    assert [finding.code for finding in judge(HEALTHY, rules)] == ["engine-busy", "cache-small"]


def test_a_diagnosis_leaves_the_rest_to_its_condition() -> None:
    (finding,) = judge(HEALTHY, {"gpu-hot": lambda _: Diagnosis((Evidence("a", 1), Evidence("b", None)))})
    condition = BY_NAME["gpu-hot"]
    assert finding == Finding(
        "gpu-hot",
        condition.severity,
        condition.meaning,
        (Evidence("a", 1),),
        (Advice(condition.remedy),),
        "operations/runbooks/#gpu-hot",
    )
