"""Rules on memory and the cache."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import linear_regression

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.load import lasting, mean, pressed, recent, uptime_s, value_of
from inkgate.telemetry.state import Point, State

_WARM_S = 300.0
"""Models load, compile for the shapes they meet, and workers start: memory grows for good reasons."""
_LONG_S = 480.0
_MB = 1_000_000


def memory_full(state: State) -> Finding | None:
    """The machine's memory is nearly used up. When: the service's processes have over 85 % of it (critical from 95 %);
    what they share is counted for each.
    """
    used, whole = sum(process.rss_bytes for process in state.processes), state.build.memory_bytes
    if not whole or used <= 0.85 * whole:
        return None
    largest = max(state.processes, key=lambda process: process.rss_bytes)
    evidence = (
        Evidence("memory of the service", used, "bytes", f"over 85 % of {whole / 1e9:.1f} GB"),
        Evidence(f"of that the largest process ({largest.kind})", largest.rss_bytes, "bytes"),
    )
    severity = Severity.CRITICAL if used > 0.95 * whole else Severity.WARNING
    workers = value_of(state.settings, "pdf.workers")
    advice = [Advice("Give it more memory.")]
    if isinstance(workers, int) and workers > 1:
        advice.append(Advice("Or run fewer PDF workers.", "pdf.workers", workers // 2, workers))
    return Finding("memory-full", severity, "The machine's memory is nearly used up.", evidence, tuple(advice))


def swapping(state: State) -> Finding | None:
    """The machine swaps: what is read back from a disk is waited for. When: over 1 MB a second came back from swap in
    the mean of 15 s and more of the last minute. Whose memory that was isn't known; in a container it is all of the
    machine's.
    """
    points = lasting(point for point in recent(state) if point.swap_in > 0)
    back = mean(points, lambda point: point.swap_in)
    if back is None or back <= _MB:
        return None
    evidence = [Evidence("read back from swap", round(back), "bytes a second", "over 1 MB")]
    if state.machine is not None:
        machine = state.machine
        evidence.append(
            Evidence("swap in use", machine.swap_used_bytes, "bytes", f"of {machine.swap_total_bytes / 1e9:.1f} GB")
        )
        evidence.append(Evidence("memory that can be had", machine.memory_available_bytes, "bytes"))
    evidence.append(Evidence("memory of the service", sum(p.rss_bytes for p in state.processes), "bytes"))
    advice = [Advice("Give the machine more memory, or take other work off it.")]
    workers = value_of(state.settings, "pdf.workers")
    if isinstance(workers, int) and workers > 1:
        advice.append(Advice("Or run fewer PDF workers.", "pdf.workers", workers // 2, workers))
    title = "The machine swaps: work waits for a disk instead of memory."
    return Finding("swapping", Severity.WARNING, title, tuple(evidence), tuple(advice))


def memory_leaking(state: State) -> Finding | None:
    """Memory grows under a level load. When: over at least 8 min, beginning 5 min after the start, the line through all
    points (least squares) rises by over 10 % and 64 MB beyond what the cache holds, each third of the time has a larger
    minimum than the one before, and the rates of both halves are within a factor of 1.5.
    """
    points = tuple(p for p in state.history if p.at > state.started_at + _WARM_S and p.rss_bytes > 0)
    if len(points) < 6 or points[-1].at - points[0].at < _LONG_S or not _level(points):
        return None
    rises = linear_regression([p.at for p in points], [float(p.rss_bytes) for p in points]).slope
    span_s = points[-1].at - points[0].at
    kept = (state.cache.bytes or 0) if state.cache is not None else 0
    grown = rises * span_s
    third = len(points) // 3
    lows = [min(p.rss_bytes for p in part) for part in (points[:third], points[third : 2 * third], points[2 * third :])]
    if grown <= max(0.1 * points[0].rss_bytes, 64 * _MB) + kept or not lows[0] < lows[1] < lows[2]:
        return None
    evidence = (
        Evidence("memory grows by", round(rises * 3600), "bytes an hour"),
        Evidence("from", points[0].rss_bytes, "bytes"),
        Evidence("to", points[-1].rss_bytes, "bytes", f"in {span_s / 60:.0f} min of level load"),
    )
    advice = (
        Advice("Restart the instance when it is in the way (SIGTERM lets it finish what it has)."),
        Advice("Report it with the output of `inkgate doctor --json`: it should not."),
    )
    return Finding("memory-leaking", Severity.WARNING, "Memory grows though the load doesn't.", evidence, advice)


def memory_fragmented(state: State) -> Finding | None:
    """Memory is not given back after a load. When: nothing was in the service for the last 2 min, and it has over 90 %
    of its peak of the last quarter of an hour, over twice and 512 MB more than at that time's quiet beginning; from 20
    min after the start.
    """
    idle = [p for p in state.history if p.at > state.at - 120]
    first = state.history[0] if state.history else None
    if first is None or first.documents or not idle or any(p.documents for p in idle) or uptime_s(state) < 1200:
        return None
    now, before = idle[-1].rss_bytes, first.rss_bytes
    peak = max(p.rss_bytes for p in state.history)
    if now <= 0.9 * peak or now <= max(2 * before, before + 512 * _MB):
        return None
    evidence = (
        Evidence("memory now, with nothing to do", now, "bytes"),
        Evidence("before the load", before, "bytes"),
        Evidence("at its peak", peak, "bytes"),
    )
    advice = (
        Advice("Start the service with `MALLOC_ARENA_MAX=1` in its environment: freed memory is in fewer pieces."),
        Advice("Large images need large memory: refuse them earlier.", "limits.max_pixels"),
    )
    title = "Memory of a load that is over is not given back: it is fragmented."
    return Finding("memory-fragmented", Severity.NOTE, title, evidence, advice)


def cache_too_small(state: State) -> Finding | None:
    """Results are dropped that are asked for again. When: the cache is full (90 %), and over 5 % of at least 100 pages
    were found in it or joined.
    """
    cache = state.cache
    if cache is None or not cache.max_bytes or cache.bytes is None or cache.bytes < 0.9 * cache.max_bytes:
        return None
    whole = sum(cache.found.values())
    again = whole - cache.found.get("run", 0)
    if whole < 100 or again <= 0.05 * whole:
        return None
    evidence = (
        Evidence("the cache holds", cache.bytes, "bytes", f"of {cache.max_bytes / 1e6:g} MB at most"),
        Evidence("pages asked for again", again / whole, "share", "over 5 %"),
    )
    now = value_of(state.settings, "cache.max_mb") or cache.max_bytes / _MB
    advice = Advice("Keep more, where there is memory for it.", "cache.max_mb", 4 * now, now)
    title = "The cache is full, though the same pages come again."
    return Finding("cache-too-small", Severity.NOTE, title, evidence, (advice,))


def cache_off(state: State) -> Finding | None:
    """Identical pages are read again each time. When: the cache is off (`cache.enabled`); a warning while pages wait
    (15 s of the last minute). How often pages come again is not known then.
    """
    if value_of(state.settings, "cache.enabled") is not False:
        return None
    depth = mean(pressed(state), lambda point: float(point.waiting))
    evidence = [Evidence("cache", "off")]
    if depth is not None:
        evidence.append(Evidence("pages waiting", round(depth)))
    severity = Severity.NOTE if depth is None else Severity.WARNING
    advice = Advice("Keep what was read, so that the same page is read once.", "cache.enabled", True, False)  # noqa: FBT003 - a value
    return Finding(
        "cache-off", severity, "The cache is off: the same page is read each time.", tuple(evidence), (advice,)
    )


def _level(points: Sequence[Point]) -> bool:
    half = len(points) // 2
    rates = sorted(mean(part, lambda point: point.pages) or 0.0 for part in (points[:half], points[half:]))
    return rates[1] <= 1.5 * rates[0] + 0.01
