"""Rules on what is down, or goes down again and again."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.load import more_often_than_hourly, uptime_s, value_of
from inkgate.errors import CODES, ENGINE_CODES
from inkgate.telemetry.state import State

_UP = "up"
_CLOSED = "closed"


def not_ready(state: State) -> Finding | None:
    """The service can't read. When: `/readyz` says so."""
    if state.ready:
        return None
    reasons = tuple(Evidence("reason", reason) for reason in state.reasons)
    advice = Advice("Read the reasons, and the findings below; the service's log has the details.")
    return Finding("not-ready", Severity.CRITICAL, "The service is not ready: it can't read.", reasons, (advice,))


def replica_out(state: State) -> Finding | None:
    """Model servers are taken out. When: the state of one is `out`; critical where none is left."""
    out = [replica for replica in state.replicas if replica.state == "out"]
    if not out:
        return None
    up = sum(replica.state == _UP for replica in state.replicas)
    evidence = (
        Evidence("model servers up", up, against=f"of {len(state.replicas)}"),
        *(Evidence(f"{replica.name} is out", replica.why or "no reason is known") for replica in out),
    )
    if value_of(state.settings, "engine.vllm.urls"):
        advice = Advice("Look at the log of the server, and start it again; it comes back by itself when it answers.")
    else:
        advice = Advice("vLLM is started again by itself; the service's log says why it stopped.")
    title = "No model server is up." if not up else f"{len(out)} of {len(state.replicas)} model servers is out."
    severity = Severity.WARNING if up else Severity.CRITICAL
    return Finding("replica-out", severity, title, evidence, (advice,))


def breaker_open(state: State) -> Finding | None:
    """A breaker keeps work away from what fails. When: one is open (critical) or tries again (half open: warning)."""
    tripped = [breaker for breaker in state.breakers if breaker.state != _CLOSED]
    if not tripped:
        return None
    worst = next((breaker for breaker in tripped if breaker.state == "open"), tripped[0])
    evidence = tuple(
        Evidence(f"breaker {breaker.name}", f"{breaker.state.replace('_', ' ')}, opened {breaker.opened} times so far")
        for breaker in tripped
    )
    if worst.name == "redis":
        title = "Redis fails and is left alone: results are neither kept nor found in it."
        advice = Advice("Start Redis, or correct the address, or keep results in memory.", "cache.redis_url", "")
        return Finding("breaker-open", Severity.WARNING, title, evidence, (advice,))
    if worst.state != "open":
        title = f"{worst.name} failed and is tried again; most pages are still refused."
        return Finding("breaker-open", Severity.WARNING, title, evidence, (_mend_engine(),))
    title = f"{worst.name} fails and is left alone: every page is refused at once."
    return Finding("breaker-open", Severity.CRITICAL, title, evidence, (_mend_engine(),))


def breaker_flapping(state: State) -> Finding | None:
    """A breaker opens again and again. When: closed now, opened at least 3 times and more than once an hour."""
    for breaker in state.breakers:
        if breaker.state == _CLOSED and more_often_than_hourly(breaker.opened, state):
            evidence = (Evidence(f"breaker {breaker.name} opened", breaker.opened, "times", _since_start(state)),)
            title = f"{breaker.name} fails again and again."
            return Finding("breaker-flapping", Severity.WARNING, title, evidence, (_mend_engine(),))
    return None


def replica_flapping(state: State) -> Finding | None:
    """A model server comes and goes. When: up now, taken out at least 3 times and more than once an hour."""
    for replica in state.replicas:
        if replica.state == _UP and more_often_than_hourly(replica.taken_out, state):
            evidence = (
                Evidence(f"{replica.name} taken out", replica.taken_out, "times", _since_start(state)),
                Evidence("the last time because of", replica.why or "no reason is known"),
            )
            advice = [Advice("Look at the log of the server: does it run out of memory, or is it restarted?")]
            stalled_s = value_of(state.settings, "engine.vllm.stalled_s")
            if "stall" in replica.why and isinstance(stalled_s, int | float):
                patience = Advice("Be more patient, where it is only slow.", "engine.vllm.stalled_s", 2 * stalled_s)
                advice.append(patience)
            title = f"The model server {replica.name} comes and goes."
            return Finding("replica-flapping", Severity.WARNING, title, evidence, tuple(advice))
    return None


def processes_restarted(state: State) -> Finding | None:
    """Processes of the service died. When: a model server or a worker of the engine once and more than once a day; a
    PDF worker at least 3 times and more than once an hour (documents that are meant to break it do).
    """
    died: dict[str, int] = {}
    for process in state.processes:
        died[process.kind] = died.get(process.kind, 0) + process.started - 1
    often = {kind: times for kind, times in died.items() if _too_often(kind, times, state)}
    if not often:
        return None
    evidence = tuple(
        Evidence(f"{kind} processes died", times, "times", _since_start(state)) for kind, times in often.items()
    )
    advice = tuple(_RESTART_ADVICE[kind] for kind in often if kind in _RESTART_ADVICE)
    title = f"Processes died and were started again: {', '.join(often)}."
    return Finding("processes-restarted", Severity.WARNING, title, evidence, advice)


def pages_failing(state: State) -> Finding | None:
    """Pages fail through no fault of theirs. When: over 5 % of at least 20 pages since the start ended with an error of
    the engine (docs/reference/errors.md, "Nothing you did").
    """
    whole = sum(state.work.pages.values())
    ours = {code: n for code, n in state.work.pages.items() if code in ENGINE_CODES}
    failed = sum(ours.values())
    if whole < 20 or failed <= 0.05 * whole:
        return None
    code = max(ours, key=lambda each: ours[each])
    evidence = (
        Evidence("pages failed", failed / whole, "share", "over 5 %"),
        Evidence("most often with", f"{code}, {ours[code]} of {whole} pages"),
    )
    title = f"Pages fail: {CODES[code].title[0].lower()}{CODES[code].title[1:]}."
    return Finding("pages-failing", Severity.WARNING, title, evidence, (_remedy(code, state),))


def _remedy(code: str, state: State) -> Advice:
    time_s = value_of(state.settings, "limits.time_s")
    if code == "service_timeout" and isinstance(time_s, int | float):
        return Advice("Give documents more time, or send shorter ones.", "limits.time_s", 2 * time_s, time_s)
    return Advice(CODES[code].remedy)


def _too_often(kind: str, times: int, state: State) -> bool:
    if kind == "pdf":
        return more_often_than_hourly(times, state)
    return times > uptime_s(state) / 86_400


def _since_start(state: State) -> str:
    return f"in {max(1, round(uptime_s(state) / 60))} min since the start"


def _mend_engine() -> Advice:
    return Advice("See why it fails: the model servers' log, and the errors in the service's own.")


_RESTART_ADVICE = {
    "pdf": Advice(
        "See the log for the documents; where they are only large, allow more.", "pdf.worker_memory_mb", 4096
    ),
    "engine": Advice("See the log: where the machine ran out of memory, run fewer workers.", "engine.ppocr.workers", 1),
    "vllm": Advice(
        "See the log: where vLLM ran out of memory, let it take less.",
        "engine.vllm.managed.gpu_memory_utilization",
        0.8,
    ),
}
