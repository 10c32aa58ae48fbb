"""Rules on model servers: where vLLM itself is short of something, and how it was started."""

from __future__ import annotations

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.flags import flag_value, strayed, with_flag
from inkgate.doctor.load import mean, pressed, value_of
from inkgate.telemetry.state import ReplicaReading, State

_FULL = 0.85
_RENDER_S = 1.0
"""Both as serving/pressure.py has them: there, too, they are what is still healthy."""
_SOME_PAGES = 20


def kv_bound(state: State) -> Finding | None:
    """The KV cache of a model server is full. When: for 15 s of the last minute work waited, and over 85 % of the cache
    was in use in the mean (from there on vLLM preempts).
    """
    usage = mean(pressed(state), lambda point: point.kv_usage)
    if usage is None or usage <= _FULL:
        return None
    fullest = max(state.replicas, key=lambda replica: replica.kv_usage or 0.0, default=None)
    evidence = [Evidence("KV cache in use", usage, "share", "over 85 %")]
    if fullest is not None and fullest.kv_tokens:
        evidence.append(Evidence("it holds", fullest.kv_tokens, "tokens"))
    title = "The KV cache of the model server is full: it can't work on more pages at once."
    return Finding("kv-bound", Severity.WARNING, title, tuple(evidence), _more_kv(state))


def preemptions(state: State) -> Finding | None:
    """A vLLM interrupts answers and computes them again, for want of KV cache. When: at least 10 preemptions of a
    server since its start, and over 1 % of the pages that were read.
    """
    pages = sum(state.work.pages.values())
    for replica in state.replicas:
        times = replica.preemptions or 0
        if times >= 10 and times > 0.01 * pages:
            evidence = (
                Evidence(f"preemptions of {replica.name}", times, "", "over 1 % of pages"),
                Evidence("pages", pages),
            )
            title = "vLLM interrupts answers and begins them again: its KV cache is too small for what is there."
            return Finding("preemptions", Severity.WARNING, title, evidence, _more_kv(state))
    return None


def render_bound(state: State) -> Finding | None:
    """A vLLM prepares images more slowly than it reads them. When: images wait over 1 s for it, by Little's law
    (docs/concepts/overload.md). One process of vLLM's API prepares one image at a time; more of them is what helps.
    """
    slow = max(state.replicas, key=lambda replica: replica.render_s or 0.0, default=None)
    if slow is None or (slow.render_s or 0.0) <= _RENDER_S:
        return None
    now = flag_value(slow.flags, "--api-server-count")
    servers = 2 * int(now) if now is not None and now.isdigit() else 4
    evidence = (
        Evidence(f"images wait at {slow.name} for", round(slow.render_s or 0.0, 1), "s", "over 1 s"),
        *([] if slow.running is None else [Evidence("answers under way there", slow.running)]),
    )
    if slow.flags:
        text = "Let vLLM prepare images in several processes."
        path = "engine.vllm.managed.api_server_count"
        advice = Advice(text, path, servers, value_of(state.settings, path))
    else:
        advice = Advice(f"Start vLLM with `--api-server-count {servers}`: one process prepares one image at a time.")
    title = "vLLM prepares images too slowly: the GPU waits for them."
    return Finding("render-bound", Severity.WARNING, title, evidence, (advice,))


def queue_at_server(state: State) -> Finding | None:
    """Requests queue inside a model server, where they can't be put in order. When: for over 5 s in the mean there, and
    the limit is fixed (`engine.vllm.concurrent_requests`) or others use the server too.
    """
    for replica in state.replicas:
        if (replica.queue_s or 0.0) <= 5.0:
            continue
        fixed = value_of(state.settings, "engine.vllm.concurrent_requests")
        there = (replica.running or 0) + (replica.waiting or 0)
        others = there - replica.in_flight
        if not fixed and others <= there / 2:
            continue
        evidence = (
            Evidence(f"wait in the queue of {replica.name}", round(replica.queue_s or 0.0, 1), "s", "over 5 s"),
            Evidence("requests there", there, against=f"{replica.in_flight} of them ours"),
        )
        if fixed:
            advice = Advice("Let the limit find itself.", "engine.vllm.concurrent_requests", 0, fixed)
        else:
            advice = Advice("Give inkgate a server of its own, or lead all clients through inkgate.")
        title = "Requests queue inside the model server, where nobody can put them in order."
        return Finding("queue-at-server", Severity.WARNING, title, evidence, (advice,))
    return None


def replica_slow(state: State) -> Finding | None:
    """One model server is slower than the others. When: its tokens come at over twice the median time of all of them,
    of at least 3 that work.
    """
    working = sorted((r for r in state.replicas if r.inter_token_s and r.running), key=_inter_token_s)
    if len(working) < 3:
        return None
    slowest, usual = working[-1], _inter_token_s(working[(len(working) - 1) // 2])
    if _inter_token_s(slowest) <= 2 * usual:
        return None
    evidence = (
        Evidence(f"time between tokens of {slowest.name}", round(1000 * _inter_token_s(slowest)), "ms"),
        Evidence("the median of all", round(1000 * usual), "ms", "over twice that"),
    )
    advice = Advice("Look at its machine: does its GPU throttle, or do others use it?")
    title = "One model server is much slower than the others."
    return Finding("replica-slow", Severity.WARNING, title, evidence, (advice,))


def runaways(state: State) -> Finding | None:
    """The model runs in circles. When: over 5 % of at least 20 pages since the start had an answer that was stopped."""
    pages, stopped = sum(state.work.pages.values()), state.work.runaways
    if pages < _SOME_PAGES or stopped <= 0.05 * pages:
        return None
    evidence = (
        Evidence("answers stopped because they repeated themselves", stopped / pages, "share of pages", "over 5 %"),
    )
    advice = (
        Advice("Check that the preset fits the model that the server has: prompts and sampling are particular to it."),
        Advice("Or read such documents block by block.", "engine.vllm.reading", "elements", _reading(state)),
    )
    title = "The model runs in circles on many pages."
    return Finding("runaways", Severity.WARNING, title, evidence, advice)


def retries(state: State) -> Finding | None:
    """Much is read again. When: over 10 % of at least 20 pages since the start were asked for once more."""
    pages, again = sum(state.work.pages.values()), sum(state.work.retries.values())
    if pages < _SOME_PAGES or again <= 0.1 * pages:
        return None
    reason = max(state.work.retries, key=lambda each: state.work.retries[each])
    evidence = (
        Evidence("read again", again / pages, "share of pages", "over 10 %"),
        Evidence("most often because of", f"{reason}, {state.work.retries[reason]} times"),
    )
    advice = Advice("Find out why from the model servers' log; each retry takes the engine's time a second time.")
    return Finding("retries", Severity.WARNING, "Much work is done twice.", evidence, (advice,))


def vllm_flags(state: State) -> Finding | None:
    """A vLLM runs with other flags than the model's preset says. When: one is missing or has another value, at a
    server that was started by inkgate and whose preset is shipped. Fewer sequences than set is what is left after vLLM
    ran out of memory.
    """
    name = str(value_of(state.settings, "engine.vllm.preset") or state.build.engine)
    for replica in state.replicas:
        evidence = strayed(replica.flags, name, state.settings)
        if replica.flags and evidence:
            advice = Advice("Leave them as the preset has them: it is what the model was tried with.", _EXTRA, "[]")
            title = f"The vLLM at {replica.name} was started with other flags than the preset `{name}` has."
            return Finding("vllm-flags", Severity.NOTE, title, evidence, (_memory_or(advice, evidence),))
    return None


def _memory_or(advice: Advice, evidence: tuple[Evidence, ...]) -> Advice:
    if [each.what for each in evidence] != ["--max-num-seqs"]:
        return advice
    return Advice("Give vLLM more of the GPU's memory, or set what it bears.", "engine.vllm.managed.max_num_seqs")


def _more_kv(state: State) -> tuple[Advice, ...]:
    another = Advice("Or add a model server, and name its address too.", "engine.vllm.urls")
    if value_of(state.settings, "engine.vllm.urls"):
        text = "Start vLLM with more memory (`--gpu-memory-utilization`) or a smaller cache (`--kv-cache-dtype fp8`)."
        return Advice(text), another
    path = "engine.vllm.managed.gpu_memory_utilization"
    now = value_of(state.settings, path) or 0.9
    if now < 0.94:
        return Advice("Give vLLM more of the GPU's memory.", path, 0.95, now), another
    return Advice("Keep the cache in 8 bits.", _EXTRA, with_flag(_extra(state), "--kv-cache-dtype", "fp8")), another


def _extra(state: State) -> tuple[str, ...]:
    flags = value_of(state.settings, _EXTRA)
    return tuple(str(flag) for flag in flags) if isinstance(flags, list | tuple) else ()


def _reading(state: State) -> str | None:
    now = value_of(state.settings, "engine.vllm.reading")
    return now if isinstance(now, str) else None


def _inter_token_s(replica: ReplicaReading) -> float:
    return replica.inter_token_s or 0.0


_EXTRA = "engine.vllm.managed.extra_flags"
