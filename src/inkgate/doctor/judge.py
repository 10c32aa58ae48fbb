"""Judges a State: one rule for each condition that it can show. Apart from `conditions`, which the rules import."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inkgate.doctor import rules_availability, rules_capacity, rules_jobs, rules_resources, rules_vllm
from inkgate.doctor.conditions import BY_NAME, CONDITIONS
from inkgate.doctor.findings import Advice, Diagnosis, Finding, Severity
from inkgate_client.telemetry.state import State

Rule = Callable[[State], Diagnosis | None]

RULES: Mapping[str, Rule] = {
    "not-ready": rules_availability.not_ready,
    "replica-out": rules_availability.replica_out,
    "breaker-open": rules_availability.breaker_open,
    "processes-restarted": rules_availability.processes_restarted,
    "background-failing": rules_availability.background_failing,
    "pages-failing": rules_availability.pages_failing,
    "timeouts-short": rules_availability.timeouts_short,
    "metrics-off": rules_availability.metrics_off,
    "preprocessing": rules_capacity.preprocessing,
    "cores-short": rules_capacity.cores_short,
    "cores-unused": rules_capacity.cores_unused,
    "batches-small": rules_capacity.batches_small,
    "limit-low": rules_capacity.limit_low,
    "gpu-idle": rules_capacity.gpu_idle,
    "engine-busy": rules_capacity.engine_busy,
    "refusals": rules_capacity.refusals,
    "gpu-hot": rules_resources.gpu_hot,
    "gpu-memory-full": rules_resources.gpu_memory_full,
    "memory-full": rules_resources.memory_full,
    "memory-growing": rules_resources.memory_growing,
    "event-loop-late": rules_resources.event_loop_late,
    "accelerators-missing": rules_resources.accelerators_missing,
    "cache-small": rules_resources.cache_small,
    "render-bound": rules_vllm.render_bound,
    "kv-bound": rules_vllm.kv_bound,
    "queue-at-server": rules_vllm.queue_at_server,
    "replica-slow": rules_vllm.replica_slow,
    "vllm-flags": rules_vllm.vllm_flags,
    "jobs-store-unavailable": rules_jobs.jobs_store_unavailable,
    "jobs-packages-missing": rules_jobs.jobs_packages_missing,
    "jobs-on-network-disk": rules_jobs.jobs_on_network_disk,
    "jobs-disk-full": rules_jobs.jobs_disk_full,
    "uploads-missing": rules_jobs.uploads_missing,
    "outbox-stuck": rules_jobs.outbox_stuck,
    "dead-letters": rules_jobs.dead_letters,
    "jobs-waiting": rules_jobs.jobs_waiting,
    "leases-lost": rules_jobs.leases_lost,
    "lease-short": rules_jobs.lease_short,
    "webhooks-unsigned": rules_jobs.webhooks_unsigned,
}
_SEVERITIES = tuple(Severity)


def judge(state: State, rules: Mapping[str, Rule] = RULES) -> tuple[Finding, ...]:
    """The findings by severity, then in the order of the conditions; none if the service is healthy.

    A finding is left out if earlier ones already advise each setting that it advises: they have the same cause.
    """
    found = [
        finding(condition.name, diagnosis)
        for condition in CONDITIONS
        if condition.name in rules and (diagnosis := rules[condition.name](state)) is not None
    ]
    findings: list[Finding] = []
    advised: set[str] = set()
    for each in sorted(found, key=lambda each: _SEVERITIES.index(each.severity)):
        settings = {advice.setting for advice in each.advice}
        if settings and "" not in settings and settings <= advised:
            continue
        advised |= settings - {""}
        findings.append(each)
    return tuple(findings)


def finding(name: str, diagnosis: Diagnosis) -> Finding:
    """The diagnosis with what it leaves to the condition of this name."""
    condition = BY_NAME[name]
    return Finding(
        name,
        diagnosis.severity or condition.severity,
        diagnosis.title or condition.meaning,
        tuple(evidence for evidence in diagnosis.evidence if evidence.value is not None),
        tuple(diagnosis.advice) or (Advice(condition.remedy),),
        condition.runbook,
    )
