"""The findings as text for people and as JSON for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Evidence, Finding, Number, amount, duration
from inkgate.doctor.load import busy_share, cpu_share, mean, recent, setting, uptime_s, waiting
from inkgate_client.telemetry.history import Point
from inkgate_client.telemetry.jobs_state import JobsState
from inkgate_client.telemetry.state import State

HEALTHY = "No problems found."
SOUND = "No problems found in the settings and on this machine."
_WIDTH = 100


def text(state: State, findings: Sequence[Finding], where: str, *, running: bool = True, guide: str = "") -> str:
    """The service and its numbers, then the findings. `where`: the service's address, or a machine. `guide`: the base
    of the links to runbooks; without it there are none.
    """
    up = f", up for {duration(uptime_s(state))}" if running else ""
    parts = [f"inkgate {state.build.version} {where}{up}"]
    for name, text in _facts(state, running=running):
        parts += _lines(f"   {name:8}", text)
    if not findings:
        parts += ["", HEALTHY if running else SOUND]
    for number, finding in enumerate(findings, 1):
        parts += ["", *_finding(number, finding, guide)]
    return "\n".join(parts)


def as_json(state: State, findings: Sequence[Finding], where: str, *, running: bool = True) -> dict[str, Any]:
    """The same for programs, as docs/operations/doctor.md describes it."""
    return {
        "where": where,
        "running": running,
        "version": state.build.version,
        "engine": state.build.engine,
        "at": state.at if running else None,
        "healthy": not findings,
        "findings": [asdict(finding) for finding in findings],
        "numbers": [asdict(number) for number in numbers(state)] if running else [],
    }


def guide_of(state: State, url: str) -> str:
    """The base of the documentation's addresses: as set, or the pages that the service at `url` serves."""
    base: str = setting(state, "docs.url") or f"{url.rstrip('/')}/docs/guide"
    return f"{base.rstrip('/')}/"


def numbers(state: State) -> tuple[Evidence, ...]:
    """The numbers of the service: rates and times are of the last minute, all others are current."""
    return tuple(_numbers(state))


def _numbers(state: State) -> Iterator[Evidence]:
    points = recent(state)
    yield Evidence("uptime", round(uptime_s(state), 1), "s")
    rates: dict[str, Callable[[Point], float | None]] = {
        "pages a second": lambda point: point.pages,
        "requests a second": lambda point: point.requests,
        "cores in use": lambda point: point.cpu,
        "GPU in use": lambda point: point.gpu,
    }
    for what, rate in rates.items():
        if (value := mean(points, rate)) is not None:
            yield Evidence(what, round(value, 2))
    if (p95_s := _p95_s(state)) is not None:
        yield Evidence("highest 95th percentile of request times", round(p95_s, 3), "s")
    for each in state.queues:
        yield Evidence(f"{each.name} at the engine", each.in_flight, against=f"of {each.limit}")
        yield Evidence(f"{each.name} waiting", waiting(each))
    if state.jobs is not None and (stored := state.jobs.stored) is not None:
        yield Evidence("pages of jobs to read", stored.backlog_pages)
        if stored.backlog_s is not None:
            yield Evidence("backlog of jobs", round(stored.backlog_s, 1), "s")
        yield Evidence("oldest queued job", round(stored.oldest_s, 1), "s")
        yield Evidence("deliveries waiting", stored.outbox_waiting)
    yield Evidence("memory", _memory_bytes(state), "bytes")


def _facts(state: State, *, running: bool) -> Iterator[tuple[str, str]]:
    """The service and its numbers in words: a name and a line each."""
    build, points = state.build, recent(state)
    made_of = ", ".join(part for part in (build.model, build.inference_engine) if part)
    yield "engine", build.engine + (f" ({made_of})" if made_of else "")
    if build.pipeline:
        yield "layers", " > ".join(build.pipeline)
    if not running:
        gpus = ", ".join(f"GPU {gpu.index} {gpu.name}".strip() for gpu in state.gpus) or "no readable GPU"
        yield "machine", f"{_count(build.cores, 'core')}, {amount(build.memory_bytes, 'bytes')} of memory, {gpus}"
        return
    p95_s = _p95_s(state)
    within = "" if p95_s is None else f", 95% of them within {duration(p95_s)}"
    pages, requests = mean(points, lambda p: p.pages) or 0.0, mean(points, lambda p: p.requests) or 0.0
    yield "work", f"{pages:.2g} pages and {requests:.2g} requests a second in the last minute{within}"
    queues = (f"{q.in_flight} of {q.limit} {q.name} at the engine, {waiting(q)} waiting" for q in state.queues)
    yield "queue", "; ".join((f"{_count(state.admission.documents, 'document')} in flight", *queues))
    if state.jobs is not None:
        yield "jobs", _jobs(state.jobs)
    used = mean(points, lambda point: point.cpu)
    cores = f"{build.cores} cores" if used is None else f"{used:.1f} of {build.cores} cores"
    others = (busy_share(state, points) or 0.0) - (cpu_share(state, points) or 0.0)
    if others >= LIMITS.cores_others_share:
        cores += f" (other programs use {others * build.cores:.1f})"
    gpu = mean(points, lambda point: point.gpu)
    whole = f" of {amount(build.memory_bytes, 'bytes')}" if build.memory_bytes else ""
    memory = f", {amount(_memory_bytes(state), 'bytes')}{whole} of memory"
    yield "machine", cores + memory + ("" if gpu is None else f", GPU in use {amount(gpu, 'share')} of the time")


def _jobs(jobs: JobsState) -> str:
    """The queue and the outbox in words."""
    stored = jobs.stored
    if stored is None:
        known = "does not respond" if jobs.up is False else "was not asked yet"
        return f"{jobs.running} running in this process; the database {known}"
    live = (f"{stored.by_state.get(name, 0)} {name}" for name in ("queued", "running"))
    backlog = f"{_count(stored.backlog_pages, 'page')} to read"
    if stored.backlog_pages and stored.backlog_s is not None:
        backlog += f" in about {duration(stored.backlog_s)}"
    deliveries = f"{stored.outbox_waiting} deliveries waiting, {stored.outbox_dead} given up"
    return ", ".join((*live, backlog)) + f"; {deliveries}"


def _memory_bytes(state: State) -> int:
    return sum(process.rss_bytes for process in state.processes)


def _p95_s(state: State) -> float | None:
    return max((point.p95_s for point in recent(state) if point.p95_s is not None), default=None)


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _finding(number: int, finding: Finding, guide: str) -> Iterator[str]:
    yield from _lines(f"{number}. {finding.severity.value.upper()}: ", f"{finding.title} ({finding.code})")
    for place, evidence in enumerate(finding.evidence):
        yield from _lines("   found   " if not place else " " * 11, _shown(evidence))
    for place, advice in enumerate(finding.advice):
        yield from _lines("   do      " if not place else " " * 11, _linked(_instruction(advice), guide))
    if guide and finding.runbook:
        yield f"   more    {guide}{finding.runbook}"


def _linked(words: str, guide: str) -> str:
    """The words with the address of each page of the documentation instead of its file."""
    return re.sub(r"docs/([\w/-]+)\.md", rf"{guide}\1/", words) if guide else words


def _lines(begin: str, words: str) -> list[str]:
    return wrap(
        words,
        _WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * min(len(begin), 11),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _shown(evidence: Evidence) -> str:
    shown = amount(evidence.value, evidence.unit)
    if evidence.against.startswith("of "):
        return f"{evidence.what}: {shown} {evidence.against}"
    return f"{evidence.what}: {shown}" + (f" ({evidence.against})" if evidence.against else "")


def _instruction(advice: Advice) -> str:
    if not advice.setting:
        return advice.text
    if advice.value is None:
        return f"{advice.text.removesuffix('.')}: set `{advice.setting}`."
    now = "" if advice.now is None else f" (now {_toml(advice.now)})"
    return f"{advice.text.removesuffix('.')}: set `{advice.setting} = {_toml(advice.value)}`{now}."


def _toml(value: Number | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value.startswith("[") else f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value)
