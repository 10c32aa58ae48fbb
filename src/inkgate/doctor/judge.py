"""The rules, in order of importance, and what they find together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inkgate.doctor import (
    rules_availability,
    rules_embedded,
    rules_gpu,
    rules_load,
    rules_memory,
    rules_settings,
    rules_vllm,
)
from inkgate.doctor.findings import Finding, Severity
from inkgate.telemetry.state import State

Rule = Callable[[State], Finding | None]

RULES: tuple[Rule, ...] = (
    rules_availability.not_ready,
    rules_availability.replica_out,
    rules_availability.breaker_open,
    rules_gpu.gpu_hot,
    rules_gpu.gpu_memory_full,
    rules_memory.memory_full,
    rules_memory.swapping,
    rules_availability.processes_restarted,
    rules_availability.replica_flapping,
    rules_availability.breaker_flapping,
    rules_availability.pages_failing,
    rules_vllm.render_bound,
    rules_vllm.kv_bound,
    rules_settings.gpu_fell_back,
    rules_embedded.preprocessing,
    rules_embedded.pdf_workers_few,
    rules_embedded.places_fewer,
    rules_embedded.cores_taken,
    rules_embedded.cores_unused,
    rules_embedded.batches_small,
    rules_load.limit_at_ceiling,
    rules_gpu.gpu_idle,
    rules_load.engine_busy,
    rules_load.refusals,
    rules_load.degraded,
    rules_embedded.event_loop_late,
    rules_memory.memory_leaking,
    rules_settings.timeouts_short,
    rules_settings.house_small,
    rules_vllm.preemptions,
    rules_vllm.queue_at_server,
    rules_vllm.replica_slow,
    rules_vllm.runaways,
    rules_vllm.retries,
    rules_settings.accelerators_missing,
    rules_memory.cache_off,
    rules_memory.cache_too_small,
    rules_vllm.vllm_flags,
    rules_settings.vllm_flags_overridden,
    rules_settings.batches_capped,
    rules_memory.memory_fragmented,
    rules_settings.metrics_off,
)
"""Of findings of one severity, the earlier comes first: causes before what follows from them."""
_ORDER = tuple(Severity)


def judge(state: State, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """What holds the service back, the most important first; nothing where it is healthy.

    A finding that advises nothing but to set what one before it advises to set is left out: it is the same cause.
    """
    found = [finding for rule in rules if (finding := rule(state)) is not None]
    kept: list[Finding] = []
    advised: set[str] = set()
    for finding in sorted(found, key=lambda finding: _ORDER.index(finding.severity)):
        settings = {advice.setting for advice in finding.advice}
        if settings and "" not in settings and settings <= advised:
            continue
        advised |= settings - {""}
        kept.append(finding)
    return tuple(kept)


def code_of(rule: Callable[..., Finding | None]) -> str:
    """The code of what the rule finds: its name, with hyphens."""
    return str(rule.__name__).replace("_", "-")
