"""What was found as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from inkgate.doctor.findings import Advice, Evidence, Finding, Number
from inkgate.doctor.load import mean, recent, uptime_s, waiting
from inkgate.telemetry.state import State

HEALTHY = "Nothing holds it back."
_WIDTH = 100


def text(state: State, findings: Sequence[Finding], where: str, *, running: bool = True) -> str:
    """A page for people: what was looked at, its numbers, then what was found. `where`: an address, or a file."""
    build = state.build
    head = f"inkgate {build.version} {where}: {build.engine}"
    head += f" ({', '.join(part for part in (build.model, build.inference_engine) if part)})" if running else ""
    parts = [head, *_lines("", "; ".join(_said(each) for each in numbers(state, running=running)))]
    if not findings:
        return "\n".join(
            [*parts, "", HEALTHY if running else "Nothing is wrong with the settings, nor is anything missing."]
        )
    for number, finding in enumerate(findings, 1):
        parts += ["", *_finding(number, finding)]
    return "\n".join(parts)


def as_json(state: State, findings: Sequence[Finding], where: str, *, running: bool = True) -> dict[str, Any]:
    """The same for programs; docs/doctor.md describes it."""
    return {
        "where": where,
        "running": running,
        "version": state.build.version,
        "engine": state.build.engine,
        "at": state.at if running else None,
        "healthy": not findings,
        "findings": [asdict(finding) for finding in findings],
        "numbers": [asdict(number) for number in numbers(state, running=running)],
    }


def numbers(state: State, *, running: bool = True) -> tuple[Evidence, ...]:
    """What a look at the service should show first, of the last minute; of a machine, what it has."""
    return tuple(_of_running(state) if running else _of_machine(state))


def _of_machine(state: State) -> Iterator[Evidence]:
    yield Evidence("cores", state.build.cores)
    yield Evidence("memory", state.build.memory_bytes, "bytes")
    for gpu in state.gpus:
        yield Evidence(f"GPU {gpu.index}", gpu.name or "there")
    yield Evidence("Python", state.build.python)


def _of_running(state: State) -> Iterator[Evidence]:
    points = recent(state)
    yield Evidence("up for", uptime_s(state), "s")
    for what, rate in (("pages", mean(points, lambda p: p.pages)), ("requests", mean(points, lambda p: p.requests))):
        yield Evidence(what, round(rate or 0.0, 2), "a second")
    slow = [point.p95_s for point in points if point.p95_s is not None]
    if slow:
        yield Evidence("slowest of 20 requests", round(max(slow), 2), "s")
    for each in state.queues:
        at_engine = Evidence(f"{each.name} at the engine", each.in_flight, against=f"of {each.limit}")
        yield from (at_engine, Evidence(f"{each.name} waiting", waiting(each)))
    cores = mean(points, lambda point: point.cpu)
    if cores is not None:
        yield Evidence("cores in use", round(cores, 1), against=f"of {state.build.cores}")
    yield Evidence(
        "memory", sum(process.rss_bytes for process in state.processes), "bytes", _of(state.build.memory_bytes)
    )
    gpu = mean(points, lambda point: point.gpu)
    if gpu is not None:
        yield Evidence("GPU in use", gpu, "share")


def _of(memory_bytes: int) -> str:
    return f"of {_amount(memory_bytes, 'bytes')}" if memory_bytes else ""


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield from _lines(f"{number}. {finding.severity.value.upper()}: ", finding.title)
    yield from _lines("   Seen: ", "; ".join(_said(each) for each in finding.evidence))
    for place, advice in enumerate(finding.advice):
        yield from _lines("   Do:   " if not place else "         ", _advised(advice))
    yield f"   ({finding.code})"


def _lines(begin: str, words: str) -> list[str]:
    return wrap(
        words,
        _WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _said(evidence: Evidence) -> str:
    amount = evidence.value if isinstance(evidence.value, str) else _amount(evidence.value, evidence.unit)
    if evidence.against.startswith("of "):
        return f"{evidence.what}: {amount} {evidence.against}"
    return f"{evidence.what}: {amount}" + (f" ({evidence.against})" if evidence.against else "")


def _advised(advice: Advice) -> str:
    if not advice.setting:
        return advice.text
    if advice.value is None:
        return f"{advice.text} Set `{advice.setting}`."
    now = "" if advice.now is None else f" (now {_toml(advice.now)})"
    return f"{advice.text} Set `{advice.setting} = {_toml(advice.value)}`{now}."


def _toml(value: Number | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value.startswith("[") else f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _amount(value: Number, unit: str) -> str:
    """A number with its unit, as people say it: 1.5 GB, 2 h 5 min, 40 %."""
    if unit.startswith("share"):
        return f"{value * 100:.0f} %{unit.removeprefix('share')}"
    if unit.startswith("bytes"):
        size, name = next((s, n) for s, n in ((1e9, "GB"), (1e6, "MB"), (0, "bytes")) if abs(value) >= s)
        shown = f"{value / size:.1f}" if size == 1e9 else f"{value / (size or 1):.0f}"
        return f"{shown} {name}{unit.removeprefix('bytes')}"
    if unit == "s":
        return _duration(value)
    return f"{value:g} {unit}".rstrip()


def _duration(seconds: Number) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days"
