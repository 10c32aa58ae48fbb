"""Rules on vLLM servers: their images, KV cache, queue and speed, and the flags that they run with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inkgate.doctor.conditions import LIMITS
from inkgate.doctor.findings import Advice, Diagnosis, Evidence, over
from inkgate.doctor.load import embedded, loaded, mean, setting
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import InputRejected
from inkgate.model_servers.launch import Launch
from inkgate_client.telemetry.state import ReplicaReading, State

_MANAGED = "engine.vllm.managed"
_EXTRA = f"{_MANAGED}.extra_flags"
_SET_BY_US = ("max_num_seqs", "gpu_memory_utilization", "max_model_len", "max_num_batched_tokens")
"""Flags with a setting of `engine.vllm.managed`, which overrides the preset unless it is 0."""


def render_bound(state: State) -> Diagnosis | None:
    """Images wait longer than {render_s:g} s to be prepared."""
    slow = max(state.replicas, key=lambda replica: replica.render_s or 0.0, default=None)
    if slow is None or (slow.render_s or 0.0) <= LIMITS.render_s:
        return None
    wait = over(f"images wait at {slow.name} for", slow.render_s, LIMITS.render_s, "s")
    evidence = (wait, Evidence("requests running there", slow.running))
    now = parsed(slow.flags).get("--api-server-count", "")
    servers, path = (2 * int(now) if now.isdigit() else 4), f"{_MANAGED}.api_server_count"
    advice = Advice(f"Start vLLM with `--api-server-count {servers}`: each process prepares one image at a time.")
    if slow.flags:
        advice = Advice("Let vLLM prepare images in several processes.", path, servers, setting(state, path))
    return Diagnosis(evidence, (advice,))


def kv_bound(state: State) -> Diagnosis | None:
    """Under load, over {kv_usage:.0%} of the KV cache was used; or the server preempted at least {preemptions} requests
    and {preempted_share:.0%} of the pages.
    """
    usage = mean(loaded(state), lambda point: point.kv_usage) or 0.0
    full = usage > LIMITS.kv_usage
    least = max(LIMITS.preemptions, LIMITS.preempted_share * sum(state.work.pages.values()))
    preempting = [each for each in state.replicas if (each.preemptions or 0) >= least]
    if not full and not preempting:
        return None
    evidence = (
        over("KV cache in use", usage if full else None, LIMITS.kv_usage, "share"),
        *(Evidence(f"preemptions at {each.name}", each.preemptions) for each in preempting),
        *(Evidence(f"KV cache of {each.name}", each.kv_tokens, "tokens") for each in state.replicas),
    )
    return Diagnosis(evidence, _larger_kv_cache(state))


def _larger_kv_cache(state: State) -> tuple[Advice, ...]:
    another = Advice("Or add a model server and its address.", "engine.vllm.urls")
    if setting(state, "engine.vllm.urls"):
        text = "Start vLLM with more memory (`--gpu-memory-utilization`) or an 8-bit cache (`--kv-cache-dtype fp8`)."
        return Advice(text), another
    path = f"{_MANAGED}.gpu_memory_utilization"
    now = setting(state, path) or 0.9
    if now < 0.94:
        return Advice("Give vLLM more GPU memory.", path, 0.95, now), another
    flags = setting(state, _EXTRA) or ()
    return Advice("Use an 8-bit cache.", _EXTRA, _with_flag(flags, "--kv-cache-dtype", "fp8")), another


def queue_at_server(state: State) -> Diagnosis | None:
    """Requests wait over {queue_s:g} s in the server, and `engine.vllm.concurrent_requests` is fixed or other clients
    use the server.
    """
    fixed = setting(state, "engine.vllm.concurrent_requests")
    for replica in state.replicas:
        there = (replica.running or 0) + (replica.waiting or 0)
        shared = there - replica.in_flight > there / 2
        if (replica.queue_s or 0.0) <= LIMITS.queue_s or not (fixed or shared):
            continue
        wait = over(f"wait in the queue of {replica.name}", replica.queue_s, LIMITS.queue_s, "s")
        evidence = (wait, Evidence("requests there", there, against=f"{replica.in_flight} of them from inkgate"))
        adapt = Advice("Let inkgate adapt the limit.", "engine.vllm.concurrent_requests", 0, fixed)
        return Diagnosis(evidence, (adapt,) if fixed else ())
    return None


def replica_slow(state: State) -> Diagnosis | None:
    """The time between tokens of one server is over {slower:g} times the median of at least 3 servers."""
    busy = sorted((r for r in state.replicas if r.inter_token_s and r.running), key=_inter_token_s)
    if len(busy) < 3:
        return None
    slowest, median_s = busy[-1], _inter_token_s(busy[(len(busy) - 1) // 2])
    if _inter_token_s(slowest) <= LIMITS.slower * median_s:
        return None
    evidence = (
        Evidence(f"time between tokens of {slowest.name}", 1000 * _inter_token_s(slowest), "ms"),
        Evidence("median of all", 1000 * median_s, "ms"),
    )
    return Diagnosis(evidence)


def vllm_flags(state: State) -> Diagnosis | None:
    """A managed vLLM lacks a flag of its shipped preset or has another value, where no setting asks for it; or
    `engine.vllm.managed.extra_flags` changes one.
    """
    preset = str(setting(state, "engine.vllm.preset") or state.build.engine)
    launch = None if embedded(state) else _launch(preset)
    if launch is None:
        return None
    expected = parsed(replace(launch, newer_flags=()).arguments())  # an older vLLM runs without the newer ones
    configured = {f"--{name.replace('_', '-')}": setting(state, f"{_MANAGED}.{name}") for name in _SET_BY_US}
    expected |= {flag: f"{value:g}" for flag, value in configured.items() if value}
    advice = Advice("Keep the flags of the preset: the model was tested with them.", _EXTRA, "[]")
    for replica in state.replicas:
        running = parsed(replica.flags)
        changed = _differences({name: running.get(name, "missing") for name in expected}, expected)
        if replica.flags and changed:
            if [each.what for each in changed] == ["--max-num-seqs"]:  # lowered after vLLM ran out of memory
                text = "Give vLLM more GPU memory, or set what it can hold."
                advice = Advice(text, f"{_MANAGED}.max_num_seqs")
            return Diagnosis(changed, (advice,), title=f"vLLM at {replica.name} runs with other flags than `{preset}`.")
    extra = setting(state, _EXTRA) or ()
    changed = _differences(parsed([str(flag) for flag in extra]), parsed(launch.arguments()))
    if setting(state, "engine.vllm.urls") or not changed:
        return None
    return Diagnosis(changed, (advice,), title=f"`{_EXTRA}` changes flags of the preset `{preset}`.")


def parsed(flags: Sequence[str]) -> dict[str, str]:
    """The value of each flag by name; the last one wins. `--no-x` has the value `no`, a flag without a value `yes`."""
    values: dict[str, str] = {}
    for place, word in enumerate(flags):
        if not word.startswith("--"):
            continue
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if equals:
            values[name] = value
        elif place + 1 < len(flags) and not flags[place + 1].startswith("--"):
            values[name] = flags[place + 1]
        elif name.startswith("--no-"):
            values[f"--{name.removeprefix('--no-')}"] = "no"
        else:
            values[name] = "yes"
    return values


def _launch(preset: str) -> Launch | None:
    """How a shipped preset launches vLLM; None if there is no such preset."""
    try:
        return find_preset(preset).launch
    except InputRejected:
        return None


def _differences(flags: Mapping[str, str], expected: Mapping[str, str]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(name, value, against=f"the preset has {expected[name]}")
        for name, value in flags.items()
        if name in expected and value != expected[name]
    )


def _with_flag(flags: Sequence[str], name: str, value: str) -> str:
    """The flags as a TOML list, with this flag instead of any of its name."""
    others = [
        word
        for place, word in enumerate(flags)
        if word.partition("=")[0] != name and not (place and flags[place - 1] == name)
    ]
    return json.dumps([*others, name, value])


def _inter_token_s(replica: ReplicaReading) -> float:
    return replica.inter_token_s or 0.0
