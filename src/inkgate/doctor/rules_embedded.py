"""Rules on the embedded engine: batches, cores, and what comes before and beside it."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.load import (
    WORTH_A_WORD,
    busy_share,
    cpu_share,
    embedded,
    lasting,
    mean,
    on_cores,
    pressed,
    queue,
    recent,
    stalled_share,
    value_of,
    waiting,
)
from inkgate.doctor.rules_load import BUSY
from inkgate.telemetry.state import Point, State

SMALL = 4.0
_ENOUGH_PAGES = 10
_OURS = 0.6
"""Part of the cores that the service uses where it is by itself, and busy."""
_OWN_CORES = (
    "Other programs, or a hypervisor's other guests, use the processors: give the service cores of its own, or move "
    "them or it."
)
_MORE_CORES = "Use more cores or another instance, or allow requests more time: pages are too long for what is left."


def batches_small(state: State) -> Finding | None:
    """The recogniser gets few lines at a time though pages wait. When: for 15 s of the last minute pages waited, and a
    call had under 4 lines in the mean. Only a note where 80 % of the cores are in use and no setting holds batches
    down: on few cores larger ones were no faster (docs/contributing/benchmarks.md).
    """
    points = pressed(state)
    size = mean(points, lambda point: point.mean_batch)
    if size is None or size >= SMALL:
        return None
    held_down = _batch_setting(state)
    share = cpu_share(state, points)
    severity = Severity.NOTE if held_down is None and (share or 0.0) >= BUSY else Severity.WARNING
    evidence = [Evidence("lines in a call", round(size, 1), against="under 4")]
    if share is not None:
        evidence.append(Evidence("cores in use", share, "share"))
    advice = held_down or _more_pages(state)
    title = "Batches are small: few lines of text are read in one call."
    return Finding("batches-small", severity, title, tuple(evidence), (advice,))


def cores_unused(state: State) -> Finding | None:
    """The embedded engine leaves cores idle though pages wait. When: for 15 s of the last minute pages waited, and
    under half of the cores were in use, whoever used them, and under half of the time anything waited for one. Where
    others use them, `cores-taken` or `places-fewer` says so.
    """
    points = pressed(state)
    share = busy_share(state, points)
    if not on_cores(state) or share is None or share >= 0.5 or stalled_share(points) >= 0.5 or _held_back(state):
        return None
    depth = mean(points, lambda point: float(point.waiting)) or 0.0
    evidence = (
        Evidence("cores in use", share, "share", f"under half of {state.build.cores}"),
        Evidence("pages waiting", round(depth)),
    )
    title = "Pages wait, and most of the cores are idle."
    return Finding("cores-unused", Severity.WARNING, title, evidence, (_more_cores(state),))


def cores_taken(state: State) -> Finding | None:
    """Pages wait for cores that others use. When: for 15 s of the last minute pages waited at the embedded engine, the
    service used under 60 % of its cores and others 20 % or more of them, and 80 % were in use together, or something
    waited for a core for half of the time. Where fewer pages are read at once for it, `places-fewer` says so.
    """
    points = pressed(state)
    ours, every = cpu_share(state, points), busy_share(state, points)
    if not on_cores(state) or ours is None or every is None or _held_back(state):
        return None
    if ours >= _OURS or every - ours < WORTH_A_WORD or (every < BUSY and stalled_share(points) < 0.5):
        return None
    evidence = (
        Evidence("cores in use by the service", ours, "share", f"under {_OURS:.0%}"),
        Evidence("cores in use by all", every, "share"),
        Evidence("time in which something waited for a core", stalled_share(points), "share"),
        Evidence("pages waiting", round(mean(points, lambda point: float(point.waiting)) or 0.0)),
    )
    title = "Pages wait, and other programs use the processors."
    return Finding("cores-taken", Severity.WARNING, title, evidence, (Advice(_OWN_CORES),))


def places_fewer(state: State) -> Finding | None:
    """Pages come too late at the embedded engine, so that fewer are there at once. When: for 15 s of the last minute
    the limit was under `engine.ppocr.concurrent_pages` (docs/concepts/overload.md, places for pages).
    """
    points = _held_back(state)
    pages, share = queue(state, "pages"), cpu_share(state, points)
    if pages is None or not points:
        return None
    ours = share is None or share >= _OURS
    evidence = [Evidence("places", round(mean(points, lambda p: float(p.limit)) or 0.0, 1), against=f"of {pages.most}")]
    if share is not None:
        evidence.append(Evidence("cores in use by the service", share, "share", "" if ours else f"under {_OURS:.0%}"))
    title = "Pages come too late at busy processors: fewer are read at once."
    advice = Advice(_MORE_CORES if ours else _OWN_CORES)
    return Finding("places-fewer", Severity.WARNING, title, tuple(evidence), (advice,))


def preprocessing(state: State) -> Finding | None:
    """Opening, rendering and preparing pages takes longer than reading them. When: since the start and for at least 10
    pages, these stages took longer than the rest of the engine's, and for 15 s of the last minute pages waited; or
    (then the arrival of bodies counts, too) there were more documents in the service than places at the engine, and
    places were free.
    """
    if state.work.stage_count.get("engine", 0) < _ENOUGH_PAGES:
        return None  # those that are in the engine for the first time are not counted there yet
    spent = {stage: state.work.stage_s.get(stage, 0.0) for stage in _BEFORE}
    points = pressed(state)
    if points:
        del spent["receive"]
    points = points or _hungry(state)
    engine_s = _engine_s(state)
    if not points or sum(spent.values()) <= engine_s:
        return None
    slowest = max(spent, key=lambda stage: spent[stage])
    evidence = (
        *(Evidence(f"time for {stage}", round(seconds, 1), "s") for stage, seconds in spent.items() if seconds),
        Evidence("time for reading", round(engine_s, 1), "s", "under the sum of these"),
        Evidence("documents in the service", round(mean(points, lambda p: float(p.documents)) or 0.0)),
    )
    title = f"The engine waits for documents: most time goes into the stage `{slowest}`."
    return Finding("preprocessing", Severity.WARNING, title, evidence, (_before_engine(slowest, state, points),))


def pdf_workers_few(state: State) -> Finding | None:
    """PDFs wait to be opened and rendered, and the engine for their pages. When: for 15 s of the last minute jobs of
    PDFs waited for a worker (`pdf.workers`), the engine had free places, and under 80 % of the cores were in use.
    """
    points = lasting(p for p in recent(state) if p.pdf_waiting and not p.waiting and p.in_flight < p.limit)
    share = cpu_share(state, points)
    if state.pdf is None or not points or (busy_share(state, points) or 0.0) >= BUSY:
        return None
    evidence = [
        Evidence("jobs of PDFs waiting", round(mean(points, lambda p: float(p.pdf_waiting)) or 0.0, 1)),
        Evidence("PDF workers", state.pdf.workers, against=f"{state.pdf.busy} of them busy now"),
        Evidence("pages at the engine", round(mean(points, lambda p: float(p.in_flight)) or 0.0, 1)),
    ]
    if share is not None:
        evidence.append(Evidence("cores in use", share, "share"))
    advice = Advice("Open and render more PDFs at once.", "pdf.workers", 2 * state.pdf.workers, state.pdf.workers)
    title = "There are too few PDF workers: the engine waits for pages that nobody renders."
    return Finding("pdf-workers-few", Severity.WARNING, title, tuple(evidence), (advice,))


def event_loop_late(state: State) -> Finding | None:
    """The event loop, which answers everybody, is late. When: by over 0.25 s at most, in the mean of 15 s and more of
    the last minute; an idle loop is late by milliseconds.
    """
    points = lasting(point for point in recent(state) if point.loop_lag_s is not None)
    late_s = mean(points, lambda point: point.loop_lag_s)
    if late_s is None or late_s <= 0.25:
        return None
    evidence = (
        Evidence("the event loop is late by", round(late_s, 2), "s", "over 0.25 s"),
        Evidence("requests", round(mean(points, lambda point: point.requests) or 0.0, 1), "a second"),
    )
    advice = Advice("Run several instances behind a load balancer, or leave a core to the service's own process.")
    title = "The service's own process can't keep up: everybody waits for its event loop."
    return Finding("event-loop-late", Severity.WARNING, title, evidence, (advice,))


def _batch_setting(state: State) -> Advice | None:
    """What keeps batches small, where a setting does."""
    for name, least, usual in (("max_batch", 8, 16), ("max_pixels", 200_000, 400_000)):
        path = f"engine.ppocr.batching.{name}"
        now = value_of(state.settings, path)
        if isinstance(now, int) and now < least:
            return Advice("Allow for larger batches.", path, usual, now)
    return None


def _more_pages(state: State) -> Advice:
    path = "engine.ppocr.concurrent_pages"
    pages = queue(state, "pages")  # more than is set, where there are workers
    now = value_of(state.settings, path) if pages is None else pages.most
    more = 2 * now if isinstance(now, int) else 4
    return Advice("Let more pages be at the engine at once, so that their lines are read together.", path, more, now)


def _more_cores(state: State) -> Advice:
    threads = value_of(state.settings, "engine.ppocr.threads")
    if threads and threads < state.build.cores / 2:
        return Advice("Let a model call use all of the cores.", "engine.ppocr.threads", 0, threads)
    workers = value_of(state.settings, "engine.ppocr.workers")
    if isinstance(workers, int) and workers and workers < state.build.cores / 16:
        return Advice("Run a worker process for each 8 cores.", "engine.ppocr.workers", 0, workers)
    return _more_pages(state)


def _hungry(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which the engine could have had more pages, of documents that are there."""
    pages = queue(state, "pages")
    if pages is None or waiting(pages) or pages.in_flight >= pages.limit:
        return ()
    return lasting(p for p in recent(state) if p.documents > pages.limit and p.in_flight < p.limit and not p.waiting)


def _held_back(state: State) -> tuple[Point, ...]:
    """The points of the last minute at which the embedded engine had fewer places than are set."""
    pages = queue(state, "pages")
    if pages is None or not embedded(state):
        return ()
    return lasting(point for point in recent(state) if point.limit < pages.most)


def _engine_s(state: State) -> float:
    """Without what is rendered and prepared while a page has its place at the engine."""
    spent = state.work.stage_s
    whole = spent.get("engine", 0.0) - spent.get("render", 0.0) - spent.get("prepare", 0.0)
    return max(whole, sum(spent.get(stage, 0.0) for stage in ("layout", "detect", "recognize")))


def _before_engine(stage: str, state: State, points: tuple[Point, ...]) -> Advice:
    text, setting = _BEFORE[stage]
    busy = on_cores(state) and (busy_share(state, points) or 0.0) >= BUSY
    if setting == "pdf.workers" and busy:
        return Advice("All cores are busy: render fewer pixels.", "pdf.dpi", 150, value_of(state.settings, "pdf.dpi"))
    now = value_of(state.settings, setting) if setting else None
    return Advice(text, setting, 2 * now, now) if isinstance(now, int) else Advice(text)


_BEFORE = {
    "receive": ("Bodies arrive slowly: send smaller images, or look at the network and the proxy before this.", ""),
    "open": ("Open and render more PDFs at once.", "pdf.workers"),
    "render": ("Open and render more PDFs at once.", "pdf.workers"),
    "prepare": ("Shrink and encode more pages at once.", "engine.vllm.encoding_threads"),
}
