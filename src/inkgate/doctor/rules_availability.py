"""Rules on what is down or fails: the service, model servers, breakers, processes, tasks, pages, timeouts."""

from __future__ import annotations

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, Severity, over, under
from inkgate.doctor.load import embedded, flaps, setting, since_start, uptime_s
from inkgate.errors import CODES, EngineFailed, ServiceTimeout, error_class
from inkgate_client.telemetry.state import BreakerReading, ReplicaReading, State

_DAY_S = 86_400
_UNKNOWN = "unknown"
_REDIS = "redis"
"""The breaker of the cache: pages are read without it."""


def not_ready(state: State) -> Diagnosis | None:
    """`/readyz` fails."""
    if state.ready:
        return None
    return Diagnosis(tuple(Evidence("reason", reason) for reason in state.reasons))


def replica_out(state: State) -> Diagnosis | None:
    """A server is out (critical if none is left) or was taken out at least {flaps} times and more than hourly."""
    out = [replica for replica in state.replicas if replica.state == "out"]
    if not out:
        flapping = [each for each in state.replicas if each.state == "up" and flaps(each.taken_out, state)]
        return _flapping_replica(flapping[0], state) if flapping else None
    up = sum(replica.state == "up" for replica in state.replicas)
    evidence = (
        Evidence("model servers up", up, against=f"of {len(state.replicas)}"),
        *(Evidence(f"{replica.name} is out", replica.why or _UNKNOWN) for replica in out),
    )
    managed = Advice("inkgate restarts vLLM by itself; the service's log shows why vLLM stopped.")
    title = "No model server is up." if not up else f"{len(out)} of {len(state.replicas)} model servers is out."
    advice = () if setting(state, "engine.vllm.urls") else (managed,)
    return Diagnosis(evidence, advice, Severity.WARNING if up else Severity.CRITICAL, title=title)


def _flapping_replica(replica: ReplicaReading, state: State) -> Diagnosis:
    evidence = (
        Evidence(f"{replica.name} taken out", replica.taken_out, "times", since_start(state)),
        Evidence("last reason", replica.why or _UNKNOWN),
    )
    advice = [Advice("Read the log of the model server: does it run out of memory, or is it restarted?")]
    stalled_s = setting(state, "engine.vllm.stalled_s")
    if "stall" in replica.why and isinstance(stalled_s, int | float):
        advice.append(Advice("If it is only slow, allow more time.", "engine.vllm.stalled_s", 2 * stalled_s, stalled_s))
    return Diagnosis(evidence, advice, title=f"The model server {replica.name} goes in and out of service.")


def breaker_open(state: State) -> Diagnosis | None:
    """A breaker is open, half open (warning), or opened at least {flaps} times and more than hourly (warning)."""
    tripped = sorted(
        (each for each in state.breakers if each.state != "closed"),
        key=lambda each: (each.name == _REDIS, each.state != "open"),
    )
    if not tripped:
        flapping = [each for each in state.breakers if flaps(each.opened, state)]
        return _flapping_breaker(flapping[0], state) if flapping else None
    evidence = tuple(
        Evidence(f"breaker {each.name}", f"{each.state.replace('_', ' ')}, opened {each.opened} times")
        for each in tripped
    )
    worst = tripped[0]
    others = "ppocr reads" if setting(state, "engine.vllm.fallback") else "inkgate refuses"
    if worst.name == _REDIS:
        advice = Advice("Start Redis, correct its address, or keep results in memory.", "cache.redis_url", "")
        return Diagnosis(evidence, (advice,), Severity.WARNING, title="Redis fails: the service skips its cache.")
    if worst.state != "open":
        title = f"{worst.name} failed; inkgate tries it again, and {others} most pages meanwhile."
        return Diagnosis(evidence, severity=Severity.WARNING, title=title)
    return Diagnosis(evidence, title=f"{worst.name} fails: {others} its pages.")


def _flapping_breaker(breaker: BreakerReading, state: State) -> Diagnosis:
    evidence = (Evidence(f"breaker {breaker.name} opened", breaker.opened, "times", since_start(state)),)
    return Diagnosis(evidence, severity=Severity.WARNING, title=f"{breaker.name} fails again and again.")


def processes_restarted(state: State) -> Diagnosis | None:
    """A vLLM or an engine worker died more than once a day, or a PDF worker at least {flaps} times and more than once
    an hour.
    """
    deaths: dict[str, int] = {}
    for process in state.processes:
        deaths[process.kind] = deaths.get(process.kind, 0) + process.started - 1
    often = {
        kind: times
        for kind, times in deaths.items()
        if (flaps(times, state) if kind == "pdf" else times > uptime_s(state) / _DAY_S)
    }
    if not often:
        return None
    evidence = tuple(Evidence(f"{kind} processes died", n, "times", since_start(state)) for kind, n in often.items())
    advice = tuple(_RESTARTED[kind] for kind in often if kind in _RESTARTED)
    return Diagnosis(evidence, advice, title=f"Processes died and were restarted: {', '.join(often)}.")


def background_failing(state: State) -> Diagnosis | None:
    """A task failed several times in a row; critical if pages can't be read without it."""
    failing = [task for task in state.background if task.keeps_failing]
    if not failing:
        return None
    evidence = tuple(Evidence(f"{task.name} failed", task.failures, "times", task.error) for task in failing)
    needed = [task.name for task in failing if task.needed]
    title = f"Background tasks keep failing: {', '.join(task.name for task in failing)}."
    return Diagnosis(evidence, severity=Severity.CRITICAL if needed else None, title=title)


def pages_failing(state: State) -> Diagnosis | None:
    """Since the start, of at least {pages} pages, over {failed_share:.0%} failed with an engine error, over
    {retried_share:.0%} were retried, or the model repeated itself on over {runaway_share:.0%}.
    """
    work, pages = state.work, sum(state.work.pages.values())
    codes = {code: count for code, count in work.pages.items() if code in CODES}
    failed = {code: count for code, count in codes.items() if issubclass(error_class(code), EngineFailed)}
    if pages < LIMITS.pages:
        return None
    found: list[tuple[str, Evidence, tuple[Advice, ...]]] = []
    if (share := sum(failed.values()) / pages) > LIMITS.failed_share:
        code = max(failed, key=lambda each: failed[each])
        title = f"Pages fail: {CODES[code].title[0].lower()}{CODES[code].title[1:]}."
        shown = over(f"pages failed, most with {code}", share, LIMITS.failed_share, "share")
        found.append((title, shown, (_remedy(code, state),)))
    if (share := work.runaways / pages) > LIMITS.runaway_share:
        shown = over("outputs that repeated themselves", share, LIMITS.runaway_share, "share")
        found.append(("The model repeats itself on many pages.", shown, _against_repetition(state)))
    if (share := sum(work.retries.values()) / pages) > LIMITS.retried_share:
        reason = max(work.retries, key=lambda each: work.retries[each])
        shown = over(f"pages retried, most because of {reason}", share, LIMITS.retried_share, "share")
        found.append(("Many pages need several attempts.", shown, ()))
    if not found:
        return None
    advice = tuple(each for _, _, advices in found for each in advices)
    return Diagnosis(tuple(evidence for _, evidence, _ in found), advice, title=found[0][0])


def _remedy(code: str, state: State) -> Advice:
    time_s = setting(state, "limits.time_s")
    if error_class(code) is ServiceTimeout and isinstance(time_s, int | float):
        return Advice("Give documents more time, or send shorter ones.", "limits.time_s", 2 * time_s, time_s)
    return Advice(CODES[code].remedy)


def _against_repetition(state: State) -> tuple[Advice, ...]:
    reading = setting(state, "engine.vllm.reading")
    now = reading if isinstance(reading, str) else None
    return (
        Advice("Check that the preset fits the served model: prompts and sampling differ between models."),
        Advice("Or read such documents block by block.", "engine.vllm.reading", "elements", now),
    )


def timeouts_short(state: State) -> Diagnosis | None:
    """`limits.time_s` or a timeout of the engine is under {timeout_s:g} s."""
    names = {"limits.time_s": 600}
    if embedded(state):
        names |= {"engine.ppocr.worker_timeout_s": 60} if setting(state, "engine.ppocr.workers") else {}
    elif state.build.engine != "transformers":
        names |= {"engine.vllm.first_token_s": 120, "engine.vllm.stalled_s": 60}
        names |= {} if setting(state, "engine.vllm.urls") else {"engine.vllm.managed.start_s": 900}
    set_to = {name: setting(state, name) for name in names}
    short = {name: s for name, s in set_to.items() if isinstance(s, int | float) and s < LIMITS.timeout_s}
    if not short:
        return None
    evidence = tuple(under(name, s, LIMITS.timeout_s, "s") for name, s in short.items())
    advice = tuple(Advice("Allow more time.", name, names[name], s) for name, s in short.items())
    return Diagnosis(evidence, advice)


def metrics_off(state: State) -> Diagnosis | None:
    """`metrics.enabled` is false."""
    if setting(state, "metrics.enabled") is not False:
        return None
    advice = Advice("Enable metrics; their cost is negligible.", "metrics.enabled", value=True, now=False)
    return Diagnosis((Evidence("metrics.enabled", "false"),), (advice,))


_RESTARTED = {
    "pdf": Advice(
        "Find the documents in the log; if they are only large, allow more memory.", "pdf.worker_memory_mb", 4096
    ),
    "engine": Advice("Read the log; if the machine ran out of memory, run fewer workers.", "engine.ppocr.workers", 1),
    "vllm": Advice(
        "Read the log; if vLLM ran out of memory, let it use less.", "engine.vllm.managed.gpu_memory_utilization", 0.8
    ),
}
