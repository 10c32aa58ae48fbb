"""Rules on work that waits, is refused or is done with less care."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.load import (
    busy_share,
    cpu_share,
    embedded,
    mean,
    on_cores,
    pressed,
    pressure,
    queue,
    recent,
    value_of,
    waiting,
)
from inkgate.errors import OVERLOAD_CODES
from inkgate.telemetry.state import Point, State

BUSY = 0.8
"""Part of the cores from which they are busy: there is always some waiting of one stage for another."""


def refusals(state: State) -> Finding | None:
    """Requests are refused. When: over 5 % of those of the last minute, and at least 5, were answered 429 or 503."""
    points = recent(state)
    refused = sum(point.refused * point.span_s for point in points)
    whole = sum(point.requests * point.span_s for point in points)
    if refused < 5 or refused <= 0.05 * whole:
        return None
    by_code = {code: times for code, times in state.house.refused.items() if code in OVERLOAD_CODES}
    code = max(by_code, key=lambda each: by_code[each]) if by_code else "service_full"
    evidence = (
        Evidence("requests refused in the last minute", refused / max(whole, refused), "share", "over 5 %"),
        Evidence("most often since the start with", f"{code}, {by_code.get(code, 0)} times"),
        Evidence("documents in the service", state.house.documents, against=f"of {state.house.max_documents}"),
    )
    return Finding(
        "refusals", Severity.WARNING, _REFUSED.get(code, _REFUSED[""]), evidence, _refusal_advice(code, state)
    )


def degraded(state: State) -> Finding | None:
    """Care is given up under pressure. When: the degradation level is above 0 (docs/concepts/overload.md)."""
    if state.degradation_level <= 0:
        return None
    taken = ", ".join(state.degradation_levels[: state.degradation_level])
    wait_s = value_of(state.settings, "serving.degradation.target_wait_s")
    waits = [] if wait_s is None else [Evidence("taken where pages would wait longer than", wait_s, "s")]
    evidence = (
        Evidence(
            "steps taken",
            taken or state.degradation_level,
            against=f"{state.degradation_level} of {len(state.degradation_levels)}",
        ),
        *waits,
    )
    advice = Advice("Add capacity, as the other findings say; the steps are undone when the wait is short again.")
    return Finding("degraded", Severity.WARNING, "Under pressure, pages are read with less care.", evidence, (advice,))


def engine_busy(state: State) -> Finding | None:
    """The engine is what is waited for, and it is busy. When: for 15 s of the last minute more pages waited than can be
    at the engine at once, and 80 % of the cores (embedded engine), 85 % of a GPU or the pressure 1 of a model server
    (docs/concepts/overload.md) is reached. Not where its KV cache (85 %) or its rendering (1 s) says more.
    """
    points = pressed(state)
    pages = queue(state, "pages")
    depth = 0.0 if pages is None else max(waiting(pages), mean(points, lambda point: float(point.waiting)) or 0.0)
    if pages is None or not points or depth <= pages.limit:
        return None
    advice: tuple[Advice, ...]
    if on_cores(state):
        share = cpu_share(state, points)
        busy = [] if share is None or share < BUSY else [_cores(share, f"over {BUSY:.0%}")]
        advice = _FASTER_EMBEDDED
    else:
        busy = _busy_gpu(state, points)
        advice = _ANOTHER_SERVER if state.replicas else _ANOTHER_GPU
    if not busy:
        return None
    waits = [] if pages.backlog_s is None else [Evidence("until all had its turn", pages.backlog_s, "s")]
    evidence = (Evidence("pages waiting", round(depth), against=f"over {pages.limit} at the engine"), *busy, *waits)
    title = "The engine is busy: more comes than it can read."
    return Finding("engine-busy", Severity.WARNING, title, evidence, advice)


def limit_at_ceiling(state: State) -> Finding | None:
    """The limit may not rise though there is room. When: for 15 s of the last minute work waited, all places are taken,
    the limit is at the most that is set, and there is room: model servers under the pressure 1, or 50 to 80 % of the
    cores in use with the embedded engine (`cores-unused` says it of less).
    """
    points = pressed(state)
    if not points:
        return None
    calls, pages = queue(state, "calls"), queue(state, "pages")
    if calls is not None and waiting(calls):
        each, advice = calls, _more_calls(state)
    elif pages is not None and waiting(pages):
        each, advice = pages, _more_pages(state, pages.limit)
    else:
        return None
    room = _room(state, points)
    if room is None or each.in_flight < each.limit or each.limit < each.most:
        return None
    evidence = (
        Evidence(f"{each.name} at the engine", each.in_flight, against=f"of {each.most} at most"),
        Evidence(f"{each.name} waiting", waiting(each)),
        room,
    )
    title = f"The engine has room, and no more {each.name} may be there."
    return Finding("limit-at-ceiling", Severity.WARNING, title, evidence, (advice,))


def _room(state: State, points: tuple[Point, ...]) -> Evidence | None:
    if on_cores(state):
        share = busy_share(state, points)
        return None if share is None or not 0.5 <= share < BUSY else _cores(share, f"under {BUSY:.0%}")
    if not state.replicas:
        gpu = mean(points, lambda point: point.gpu)
        return None if gpu is None or gpu >= 0.85 else Evidence("GPU in use", round(gpu, 2), "share", "under 85 %")
    pressed_by = pressure(state)
    if pressed_by is None or pressed_by >= 1:
        return None
    return Evidence("pressure", round(pressed_by, 2), against="under 1")


def _more_calls(state: State) -> Advice:
    fixed = value_of(state.settings, "engine.vllm.concurrent_requests")
    if fixed:
        return Advice("Let the limit find itself.", "engine.vllm.concurrent_requests", 0, fixed)
    most = value_of(state.settings, "serving.adaptive.most")
    raised = 2 * most if isinstance(most, int) else 512
    return Advice("Let the limit rise further.", "serving.adaptive.most", raised, most)


def _more_pages(state: State, limit: int) -> Advice:
    name = "engine.ppocr.concurrent_pages" if embedded(state) else "engine.vllm.concurrent_pages"
    return Advice("Let more pages be at the engine at once.", name, 2 * limit, limit)


def _busy_gpu(state: State, points: tuple[Point, ...]) -> list[Evidence]:
    kv = mean(points, lambda point: point.kv_usage) or 0.0
    render_s = max((replica.render_s or 0.0 for replica in state.replicas), default=0.0)
    if kv >= 0.85 or render_s > 1.0:
        return []
    gpu, pressed_by = mean(points, lambda point: point.gpu), pressure(state)
    found = []
    if gpu is not None and gpu >= 0.85:
        found.append(Evidence("GPU in use", gpu, "share", "over 85 %"))
    if pressed_by is not None and pressed_by >= 1:
        found.append(Evidence("pressure", round(pressed_by, 2), against="over 1"))
    return found


def _cores(share: float, against: str) -> Evidence:
    return Evidence("cores in use", share, "share", against.replace("%", " %"))


def _refusal_advice(code: str, state: State) -> tuple[Advice, ...]:
    house = state.house
    if code == "rate_limited":
        asked = value_of(state.settings, "rate_limit.per_key")
        return (Advice("Allow more requests, where the engine has room for them.", "rate_limit.per_key", None, asked),)
    if code == "share_exceeded":
        return (
            Advice("Give the caller a larger share, where it shall have one (`key:...` as in the log).", _WEIGHTS),
            Advice("Else ask the caller to send less at once: the others are served."),
        )
    if code == "service_full" and house.body_bytes >= 0.9 * house.max_bytes:
        raised = round(2 * house.max_bytes / 1_000_000)
        return (Advice("Hold more of request bodies at once.", "serving.admission.max_bytes_mb", raised),)
    if code == "service_full" and house.documents >= 0.9 * house.max_documents and not _long_waits(state):
        now = house.max_documents
        return (Advice("Let more documents in: few wait for the engine.", "limits.max_in_flight", 2 * now, now),)
    return (Advice("Add capacity, as the other findings say; refusing is right while there is none."),)


def _long_waits(state: State) -> bool:
    pages = queue(state, "pages")
    return pages is not None and waiting(pages) > pages.limit


_WEIGHTS = "serving.scheduling.weights"
_REFUSED = {
    "": "Requests are refused, since there is too much to do.",
    "service_full": "Requests are refused, since the service is full.",
    "rate_limited": "Requests are refused by the rate limit.",
    "share_exceeded": "One caller is refused what is over its share, while others wait.",
    "engine_breaker_open": "Requests are refused while the engine is left alone.",
    "draining": "Requests are refused, since the service is about to stop.",
}
_ANOTHER_SERVER = (Advice("Add a model server, and name its address too.", "engine.vllm.urls"),)
_ANOTHER_GPU = (Advice("Run another instance on another GPU, behind a load balancer."),)
_FASTER_EMBEDDED = (
    Advice("Give the service more cores, or run another instance."),
    Advice("Or render PDFs with fewer pixels, where small print allows it.", "pdf.dpi", 150),
)
