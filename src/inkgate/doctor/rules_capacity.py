"""Rules on load: what the engine waits for, which limit holds it back, and what happens when it is full."""

from __future__ import annotations

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, Severity, over, under
from inkgate.doctor.load import (
    busy_share,
    cpu_share,
    embedded,
    lasting,
    loaded,
    mean,
    mean_waiting,
    on_cores,
    pressure,
    queue,
    recent,
    setting,
    stalled_share,
    waiting,
)
from inkgate.errors import CODES, Overloaded, RateLimited, ServiceFull, ShareExceeded, error_class
from inkgate_client.telemetry.history import Point
from inkgate_client.telemetry.state import State, degradation_effects


def preprocessing(state: State) -> Diagnosis | None:
    """For {sustained_s:g} s of the last minute, PDFs waited for a worker while the engine had free slots and under
    {cores_busy_share:.0%} of the cores were used; or pages waited, or documents were in flight and slots free, and the
    stages before the engine have taken longer than reading.
    """
    starved = lasting(p for p in recent(state) if p.pdf_waiting and not p.waiting and p.in_flight < p.limit)
    if state.pdf is not None and starved and (busy_share(state, starved) or 0.0) < LIMITS.cores_busy_share:
        evidence = (
            Evidence("PDF jobs waiting", mean(starved, lambda point: point.pdf_waiting)),
            Evidence("PDF workers", state.pdf.workers, against=f"{state.pdf.busy} of them busy now"),
            Evidence("pages at the engine", mean(starved, lambda point: point.in_flight)),
        )
        advice = Advice("Render more PDFs at once.", "pdf.workers", 2 * state.pdf.workers, state.pdf.workers)
        return Diagnosis(evidence, (advice,), title="The engine waits for PDFs: there are too few PDF workers.")
    return _slow_stages(state)


def _slow_stages(state: State) -> Diagnosis | None:
    spent = {stage: state.work.stage_s.get(stage, 0.0) for stage in _BEFORE_ENGINE}
    points = loaded(state)
    if points:
        del spent["receive"]  # uploads don't hold up pages that wait already
    points = points or _underused(state)
    engine_s = _engine_s(state)
    # A page's time is counted only when the engine returns it: the first ones would look slow.
    if not points or sum(spent.values()) <= engine_s or state.work.stage_count.get("engine", 0) < LIMITS.pages / 2:
        return None
    slowest = max(spent, key=lambda stage: spent[stage])
    evidence = (
        *(Evidence(f"time for {stage}", seconds, "s") for stage, seconds in spent.items() if seconds),
        Evidence("time for reading", engine_s, "s", "less than their sum"),
        Evidence("documents in flight", mean(points, lambda point: point.documents)),
    )
    text, path = _BEFORE_ENGINE[slowest]
    now = setting(state, path) if path else None
    advice = Advice(text, path, 2 * now, now) if isinstance(now, int) else Advice(text)
    cores_busy = on_cores(state) and (busy_share(state, points) or 0.0) >= LIMITS.cores_busy_share
    if path == "pdf.workers" and cores_busy:
        advice = Advice("All cores are busy: render fewer pixels.", "pdf.dpi", 150, setting(state, "pdf.dpi"))
    return Diagnosis(evidence, (advice,), title=f"The engine waits for pages: the slowest stage is `{slowest}`.")


def _underused(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which the engine had free slots although documents were there."""
    pages = queue(state, "pages")
    if pages is None or waiting(pages) or pages.in_flight >= pages.limit:
        return ()
    return lasting(p for p in recent(state) if p.documents > pages.limit and p.in_flight < p.limit and not p.waiting)


def _engine_s(state: State) -> float:
    """The engine's time, without rendering and preparing that happen while a page has its slot."""
    spent = state.work.stage_s
    whole = spent.get("engine", 0.0) - spent.get("render", 0.0) - spent.get("prepare", 0.0)
    return max(whole, sum(spent.get(stage, 0.0) for stage in ("layout", "detect", "recognize")))


def cores_short(state: State) -> Diagnosis | None:
    """Embedded engine. For {sustained_s:g} s of the last minute, the limit of concurrent pages was reduced because
    pages were late; or pages waited, other programs used {cores_others_share:.0%} of the cores or more, and the service
    under {cores_own_share:.0%}.
    """
    reduced, points = _reduced_limit(state), loaded(state)
    pages = queue(state, "pages")
    if reduced and pages is not None:
        own = cpu_share(state, reduced)
        evidence = (
            Evidence("concurrent pages", mean(reduced, lambda point: point.limit), against=f"of {pages.most}"),
            Evidence("cores used by the service", own, "share"),
        )
        advice = (_MORE_CORES,) if own is None or own >= LIMITS.cores_own_share else ()
        return Diagnosis(evidence, advice, title="Pages are late, so inkgate reads fewer at once.")
    own, total = cpu_share(state, points), busy_share(state, points)
    if not on_cores(state) or own is None or total is None or own >= LIMITS.cores_own_share:
        return None
    busy = total >= LIMITS.cores_busy_share or stalled_share(points) >= LIMITS.cores_stalled_share
    if total - own < LIMITS.cores_others_share or not busy:
        return None
    shares = (
        under("cores used by the service", own, LIMITS.cores_own_share, "share"),
        Evidence("cores used by all programs", total, "share"),
        Evidence("time in which something waited for a core", stalled_share(points), "share"),
        Evidence("pages waiting", mean_waiting(points)),
    )
    return Diagnosis(shares, title="Pages wait while other programs use the cores.")


def _reduced_limit(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which the embedded engine's limit was under its maximum."""
    pages = queue(state, "pages")
    if pages is None or not embedded(state):
        return ()
    return lasting(point for point in recent(state) if point.limit < pages.most)


def cores_unused(state: State) -> Diagnosis | None:
    """Embedded engine. Under load, under {cores_idle_share:.0%} of the cores were used and nothing waited for one."""
    points = loaded(state)
    share = busy_share(state, points)
    if not on_cores(state) or share is None or share >= LIMITS.cores_idle_share or _reduced_limit(state):
        return None
    if stalled_share(points) >= LIMITS.cores_stalled_share:
        return None
    evidence = (
        under("cores in use", share, LIMITS.cores_idle_share, "share"),
        Evidence("pages waiting", mean_waiting(points)),
    )
    return Diagnosis(evidence, (_use_cores(state),))


def _use_cores(state: State) -> Advice:
    threads, workers = setting(state, "engine.ppocr.threads"), setting(state, "engine.ppocr.workers")
    if threads and threads < state.build.cores / 2:
        return Advice("Let a model call use all cores.", "engine.ppocr.threads", 0, threads)
    if isinstance(workers, int) and workers and workers < state.build.cores / 16:
        return Advice("Run one worker process per 8 cores.", "engine.ppocr.workers", 0, workers)
    return _more_pages(state)


def batches_small(state: State) -> Diagnosis | None:
    """Under load, a call had under {lines_per_call:g} lines on average, on a GPU or because of a setting; a note if the
    cores are busy all the same. Also a note if nothing waits and `engine.ppocr.batching.max_batch` allows no more.
    """
    path = "engine.ppocr.batching.max_batch"
    most, points = setting(state, path), loaded(state)
    capped = embedded(state) and isinstance(most, int) and most < LIMITS.lines_per_call
    size, held_down = mean(points, lambda point: point.mean_batch), _batch_setting(state)
    # On a CPU, a call has lines of one page, so more pages at once would not help.
    if size is None or size >= LIMITS.lines_per_call or (held_down is None and on_cores(state)):
        advice = Advice("Allow larger batches.", path, 16, most)
        limit = under(path, most, LIMITS.lines_per_call) if capped else None
        title = "The settings limit the engine to few lines per call."
        return Diagnosis((limit,), (advice,), Severity.NOTE, title=title) if limit else None
    share = cpu_share(state, points)
    evidence = (under("lines per call", size, LIMITS.lines_per_call), Evidence("cores in use", share, "share"))
    busy = held_down is None and (share or 0.0) >= LIMITS.cores_busy_share
    advice = held_down or _more_pages(state)
    return Diagnosis(evidence, (advice,), Severity.NOTE if busy else None)


def _batch_setting(state: State) -> Advice | None:
    """The setting that keeps batches small, if one does."""
    for name, least, usual in (("max_batch", 8, 16), ("max_pixels", 200_000, 400_000)):
        path = f"engine.ppocr.batching.{name}"
        now = setting(state, path)
        if isinstance(now, int) and now < least:
            return Advice("Allow larger batches.", path, usual, now)
    return None


def limit_low(state: State) -> Diagnosis | None:
    """Under load, the limit of concurrent calls or pages was at its maximum while the engine had room; or
    `limits.max_in_flight` is below the number of concurrent pages.
    """
    points, calls, pages = loaded(state), queue(state, "calls"), queue(state, "pages")
    each = calls if waiting(calls) else pages
    room = _room(state, points)
    if points and room and each is not None and waiting(each) and each.in_flight >= each.limit >= each.most:
        evidence = (
            Evidence(f"{each.name} at the engine", each.in_flight, against=f"of {each.most}"),
            Evidence(f"{each.name} waiting", waiting(each)),
            room,
        )
        advice = _more_calls(state) if each is calls else _more_pages(state)
        return Diagnosis(
            evidence, (advice,), title=f"The engine has room, but the limit of concurrent {each.name} is reached."
        )
    documents, most = setting(state, "limits.max_in_flight"), setting(state, _concurrent_pages(state))
    if not isinstance(documents, int) or not isinstance(most, int) or documents >= most:
        return None
    shown = Evidence("limits.max_in_flight", documents, against=f"under {_concurrent_pages(state)}, {most}")
    advice = Advice("Accept more documents.", "limits.max_in_flight", 4 * most, documents)
    return Diagnosis((shown,), (advice,), title="The service accepts fewer documents than the engine can read at once.")


def _room(state: State, points: tuple[Point, ...]) -> Evidence | None:
    """What shows that the engine could do more; None if it couldn't."""
    if on_cores(state):
        share, busy = busy_share(state, points), LIMITS.cores_busy_share
        room = share is not None and LIMITS.cores_idle_share <= share < busy
        return under("cores in use", share, busy, "share") if room else None
    if not state.replicas:
        gpu, busy = mean(points, lambda point: point.gpu), LIMITS.gpu_busy_share
        return None if gpu is None or gpu >= busy else under("GPU in use", gpu, busy, "share")
    level = pressure(state)
    return None if level is None or level >= 1 else under("pressure", level, 1)


def _concurrent_pages(state: State) -> str:
    return f"engine.{'ppocr' if embedded(state) else 'vllm'}.concurrent_pages"


def _more_pages(state: State) -> Advice:
    path, pages = _concurrent_pages(state), queue(state, "pages")
    now = setting(state, path)
    if pages is not None:  # workers raise it above the setting; of model servers, each has its own
        now = max(1, pages.most // max(1, sum(replica.state == "up" for replica in state.replicas)))
    return Advice("Let the engine read more pages at once.", path, 2 * now if isinstance(now, int) else 4, now)


def _more_calls(state: State) -> Advice:
    fixed, most = setting(state, "engine.vllm.concurrent_requests"), setting(state, "serving.adaptive.most")
    if fixed:
        return Advice("Let inkgate adapt the limit.", "engine.vllm.concurrent_requests", 0, fixed)
    return Advice("Allow a higher limit.", "serving.adaptive.most", 2 * most if isinstance(most, int) else 512, most)


def gpu_idle(state: State) -> Diagnosis | None:
    """Under load, the busiest GPU was used under {gpu_idle_share:.0%} of the time."""
    points = loaded(state)
    used, pages = mean(points, lambda point: point.gpu), queue(state, "pages")
    if used is None or used >= LIMITS.gpu_idle_share:
        return None
    level = pressure(state)
    evidence = (
        under("GPU in use", used, LIMITS.gpu_idle_share, "share"),
        Evidence("waiting", mean_waiting(points)),
        Evidence("pressure of the model server", level),
    )
    if on_cores(state):
        advice = Advice("The embedded engine uses the CPU: use a model on vLLM.", "engine.name", "paddleocr-vl")
        return Diagnosis(evidence, (advice,), Severity.NOTE, title="Work waits and the GPU is unused.")
    limited = pages is not None and pages.in_flight >= pages.limit and (level or 0.0) < 1
    return Diagnosis(evidence, (_more_pages(state),) if limited else ())


def engine_busy(state: State) -> Diagnosis | None:
    """Under load, more pages waited than the engine has slots, and it used over {cores_busy_share:.0%} of the cores
    (embedded engine) or {gpu_busy_share:.0%} of a GPU, or a model server's pressure was over 1; or inkgate degrades
    results under load.
    """
    points, pages = loaded(state), queue(state, "pages")
    steps = state.degradation_levels[: state.degradation_level]
    taken = "; ".join(degradation_effects(steps, state.build.engine)) or str(state.degradation_level)
    degraded = [
        Evidence(
            "degradation steps in use", taken, against=f"{state.degradation_level} of {len(state.degradation_levels)}"
        )
    ]
    degraded = degraded if state.degradation_level > 0 else []
    depth = max(waiting(pages), mean_waiting(points))
    busy = _busy(state, points) if pages is not None and points and depth > pages.limit else []
    if not busy or pages is None:
        title = "inkgate degrades results to keep up with the load."
        return Diagnosis(degraded, _FULL_QUALITY, title=title) if degraded else None
    evidence = (over("pages waiting", depth, pages.limit), *busy, Evidence("time to read them", pages.backlog_s, "s"))
    return Diagnosis((*evidence, *degraded), (*_capacity(state), *(_FULL_QUALITY if degraded else ())))


def _busy(state: State, points: tuple[Point, ...]) -> list[Evidence]:
    """What shows that the engine is busy. Empty where the KV cache or rendering in vLLM says more."""
    if on_cores(state):
        share, limit = cpu_share(state, points), LIMITS.cores_busy_share
        return [] if share is None or share < limit else [over("cores in use", share, limit, "share")]
    render_s = max((replica.render_s or 0.0 for replica in state.replicas), default=0.0)
    if (mean(points, lambda point: point.kv_usage) or 0.0) >= LIMITS.kv_usage or render_s > LIMITS.render_s:
        return []
    gpu, level, limit = mean(points, lambda point: point.gpu), pressure(state), LIMITS.gpu_busy_share
    evidence = [] if gpu is None or gpu < limit else [over("GPU in use", gpu, limit, "share")]
    return evidence + ([] if level is None or level < 1 else [over("pressure", level, 1)])


def _capacity(state: State) -> tuple[Advice, ...]:
    if on_cores(state):
        fewer = Advice("Or render PDFs with fewer pixels, where small print allows it.", "pdf.dpi", 150)
        return Advice("Give the service more cores, or run another instance."), fewer
    if state.replicas:
        return (Advice("Add a model server and its address.", "engine.vllm.urls"),)
    return (Advice("Run another instance on another GPU, behind a load balancer."),)


def refusals(state: State) -> Diagnosis | None:
    """In the last minute, at least {refusals} requests and over {refused_share:.0%} were answered with 429 or 503."""
    points, admission = recent(state), state.admission
    refused = sum(point.refused * point.span_s for point in points)
    requests = sum(point.requests * point.span_s for point in points)
    if refused < LIMITS.refusals or refused <= LIMITS.refused_share * requests:
        return None
    by_code = {code: times for code, times in admission.refused.items() if issubclass(error_class(code), Overloaded)}
    code = max(by_code, key=lambda each: by_code[each]) if by_code else "service_full"
    evidence = (
        over("requests refused in the last minute", refused / max(requests, refused), LIMITS.refused_share, "share"),
        Evidence("most frequent code since the start", f"{code}, {by_code.get(code, 0)} times"),
        Evidence("documents in flight", admission.documents, against=f"of {admission.max_documents}"),
    )
    return Diagnosis(
        evidence,
        _on_refusals(code, state),
        title=f"Requests are refused: {CODES[code].title[0].lower()}{CODES[code].title[1:]}.",
    )


def _on_refusals(code: str, state: State) -> tuple[Advice, ...]:
    admission, pages = state.admission, queue(state, "pages")
    kind = error_class(code)
    if kind is RateLimited:
        now = setting(state, "rate_limit.per_key")
        return (Advice("Raise the rate limit, if the engine has room.", "rate_limit.per_key", None, now),)
    if kind is ShareExceeded:
        weights = "serving.scheduling.weights"
        return (
            Advice("Give the caller a larger share, if it should have one (`key:...` as in the log).", weights),
            Advice("Or ask the caller to send less at once: other callers are served."),
        )
    if kind is not ServiceFull:
        return ()
    if admission.body_bytes >= LIMITS.admission_share * admission.max_bytes:
        max_mb = round(2 * admission.max_bytes / 1_000_000)
        return (Advice("Allow more memory for request bodies.", "serving.admission.max_bytes_mb", max_mb),)
    few_wait = pages is None or waiting(pages) <= pages.limit
    if admission.documents >= LIMITS.admission_share * admission.max_documents and few_wait:
        now = setting(state, "limits.max_in_flight") or admission.max_documents
        return (Advice("Accept more documents: few wait for the engine.", "limits.max_in_flight", 2 * now, now),)
    return ()


_FULL_QUALITY = (
    Advice("Results have full quality again when fewer pages wait: add capacity."),
    Advice("Or forbid it, and pages wait longer.", "serving.degradation.enabled", value=False, now=True),
)
_MORE_CORES = Advice("Use more cores or another instance, or allow requests more time.")
_BEFORE_ENGINE = {
    "receive": ("Uploads are slow: send smaller images, or check the network and the proxy.", ""),
    "open": ("Render more PDFs at once.", "pdf.workers"),
    "render": ("Render more PDFs at once.", "pdf.workers"),
    "prepare": ("Prepare more pages at once.", "engine.vllm.encoding_threads"),
}
