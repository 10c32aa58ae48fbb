"""The conditions that the doctor, the alerts and the runbooks share, and every threshold, once.

scripts/write_docs.py writes docs/operations/doctor.md from this module, scripts/write_dashboards.py the alert rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.doctor.findings import Severity

_CRITICAL, _WARNING, _NOTE = Severity.CRITICAL, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of rules and alerts. Docstrings of rules and the alert template name them; a share is a part of 1.

    `kv_usage` and `render_s` equal the targets of model_servers/evidence.py, which hold the limit of concurrent calls.
    """

    recent_s: float = 60.0
    sustained_s: float = 15.0
    flaps: int = 3
    pages: int = 20
    failed_share: float = 0.05
    retried_share: float = 0.1
    runaway_share: float = 0.05
    refusals: int = 5
    refused_share: float = 0.05
    admission_share: float = 0.95
    cores_busy_share: float = 0.8
    cores_idle_share: float = 0.5
    cores_own_share: float = 0.6
    cores_others_share: float = 0.2
    cores_stalled_share: float = 0.5
    lines_per_call: float = 4.0
    loop_lag_s: float = 0.25
    gpu_busy_share: float = 0.85
    gpu_idle_share: float = 0.5
    gpu_hot_c: float = 85.0
    gpu_margin_c: float = 5.0
    gpu_memory_share: float = 0.97
    memory_share: float = 0.85
    memory_critical_share: float = 0.95
    swap_in_mb_per_s: float = 1.0
    growth_share: float = 0.1
    growth_mb: float = 64.0
    retained_mb: float = 512.0
    kv_usage: float = 0.85
    preemptions: int = 10
    preempted_share: float = 0.01
    render_s: float = 1.0
    queue_s: float = 5.0
    slower: float = 2.0
    timeout_s: float = 60.0
    cache_full_share: float = 0.9
    cache_pages: int = 100
    cache_again_share: float = 0.05
    backlog_s: float = 3600.0
    job_wait_s: float = 3600.0
    outbox_s: float = 300.0
    lease_s: float = 15.0
    jobs_disk_share: float = 0.05
    jobs_disk_mb: float = 1000.0


LIMITS = Thresholds()


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a service that an operator should know of.

    Attributes:
        name: the code of the doctor's finding, and the anchor of its section in the runbooks.
        severity: unless a diagnosis says otherwise.
        meaning: one sentence.
        remedy: what to do, unless a diagnosis says it more exactly.
        alerts: the alerts on this condition.
    """

    name: str
    severity: Severity
    meaning: str
    remedy: str
    alerts: tuple[str, ...] = ()

    @property
    def runbook(self) -> str:
        """The condition's section in the runbooks, relative to the base of the documentation; empty without an
        alert.
        """
        return f"operations/runbooks/#{self.name}" if self.alerts else ""


CONDITIONS: tuple[Condition, ...] = (
    Condition(
        "cant-start",
        _CRITICAL,
        "The service can't start with these settings.",
        "Correct the setting, or install what is missing (docs/guides/vllm.md).",
    ),
    Condition(
        "target-down",
        _CRITICAL,
        "Prometheus can't scrape the service.",
        "Start the service, or correct the scrape configuration.",
        ("InkgateTargetDown", "InkgateNoTarget"),
    ),
    Condition(
        "not-ready",
        _CRITICAL,
        "The service runs but can't read pages.",
        "Fix the reasons that `/readyz` lists; the service's log has the details.",
        ("InkgateNotReady",),
    ),
    Condition(
        "replica-out",
        _WARNING,
        "A model server gets no requests, or goes in and out of service.",
        "Start the model server, or correct its address in `engine.vllm.urls`; its log says why it failed. inkgate "
        "uses it again when it responds.",
        ("InkgateReplicaOut", "InkgateNoReplica"),
    ),
    Condition(
        "replica-stalled",
        _CRITICAL,
        "A model server has requests but generates no tokens.",
        "Restart the model server.",
        ("InkgateNoTokenProgress",),
    ),
    Condition(
        "breaker-open",
        _CRITICAL,
        "A circuit breaker blocks calls to something that fails.",
        "Find out why calls fail: read the log of the model server and the errors in the service's own log.",
        ("InkgateBreakerOpen",),
    ),
    Condition(
        "gpu-hot",
        _WARNING,
        "A GPU is hot, and its clocks may be reduced.",
        "Cool the GPU: airflow, fans, or a lower power limit (`nvidia-smi -pl`).",
        ("InkgateGpuHot", "InkgateGpuThrottled"),
    ),
    Condition(
        "gpu-memory-full",
        _WARNING,
        "GPU memory is nearly full.",
        "Let vLLM use less memory, or stop other processes on the GPU.",
        ("InkgateGpuMemoryNearFull",),
    ),
    Condition(
        "memory-full",
        _WARNING,
        "The machine is nearly out of memory, or swaps.",
        "Give the machine more memory, or move other programs away.",
    ),
    Condition(
        "processes-restarted",
        _WARNING,
        "Processes of the service died and were restarted.",
        "Read the log for the exit status of the process.",
        ("InkgateEngineRestarting",),
    ),
    Condition(
        "background-failing",
        _WARNING,
        "A background task keeps failing.",
        "Fix the error that the log shows (`background_task_failed`); the task restarts by itself.",
        ("InkgateBackgroundFailing",),
    ),
    Condition(
        "jobs-store-unavailable",
        _CRITICAL,
        "The database of jobs does not respond.",
        "Start the database, or correct `jobs.database`; the log has the error (`jobs_unavailable`).",
        ("InkgateJobsStoreDown",),
    ),
    Condition(
        "jobs-packages-missing",
        _CRITICAL,
        "A package that the settings of jobs need is not installed.",
        "Install the extra into the service's environment.",
    ),
    Condition(
        "jobs-on-network-disk",
        _CRITICAL,
        "The SQLite database of jobs is on a network file system, where SQLite may lose or corrupt it.",
        "Keep it on a local disk, or use PostgreSQL.",
    ),
    Condition(
        "jobs-disk-full",
        _CRITICAL,
        "The disk of jobs is nearly full.",
        "Free space on the disk, or keep results and uploads for less time.",
    ),
    Condition(
        "uploads-missing",
        _WARNING,
        "Uploads are not where this process looks for them.",
        "Give all gateways and workers one `jobs.uploads`, or one folder (docs/guides/object-storage.md).",
    ),
    Condition(
        "outbox-stuck",
        _CRITICAL,
        "Results of jobs are not delivered.",
        "Start a process that runs jobs (`jobs.work`, `inkgate work`), and read its log.",
        ("InkgateOutboxStuck",),
    ),
    Condition(
        "dead-letters",
        _WARNING,
        "Results of jobs, or events, could not be delivered or used.",
        "Correct the receiver, then `inkgate jobs redeliver --all`.",
        ("InkgateDeadLetters", "InkgateEventsDead"),
    ),
    Condition(
        "requests-failing",
        _CRITICAL,
        "Too many requests fail because of the service.",
        "502 and 504: look at the model server. 500: report it with the log.",
        ("InkgateErrorsFast", "InkgateErrorsSlow"),
    ),
    Condition(
        "pages-slow",
        _CRITICAL,
        "Too many pages take longer than the latency target.",
        "Find the slowest stage; add capacity if it is `wait`.",
        ("InkgateSlowFast", "InkgateSlowSlow"),
    ),
    Condition(
        "pages-failing",
        _WARNING,
        "Pages fail, or need several attempts.",
        "Read the log of the model server; each retry costs engine time again.",
        ("InkgatePagesFailing",),
    ),
    Condition(
        "render-bound",
        _WARNING,
        "vLLM prepares images too slowly, and its GPU waits for them.",
        "Start vLLM with more API processes (`--api-server-count`): each prepares one image at a time.",
    ),
    Condition(
        "kv-bound",
        _WARNING,
        "The KV cache of a model server is too small for the load.",
        "Give the KV cache more memory, or add a model server.",
        ("InkgateKvCacheFull",),
    ),
    Condition(
        "preprocessing",
        _WARNING,
        "The engine waits for pages to be received, rendered or prepared.",
        "Prepare more pages at once (`pdf.workers`, `engine.vllm.encoding_threads`).",
    ),
    Condition(
        "cores-short",
        _WARNING,
        "Pages are late because the cores are busy.",
        "Give the service cores of its own, or move other programs away.",
    ),
    Condition(
        "cores-unused", _WARNING, "Pages wait while most cores are idle.", "Let the engine read more pages at once."
    ),
    Condition(
        "batches-small",
        _WARNING,
        "The engine recognizes few lines of text per call.",
        "Let the engine read more pages at once, so that it reads their lines together.",
    ),
    Condition("limit-low", _WARNING, "A limit keeps the engine from being fully used.", "Raise the limit."),
    Condition(
        "gpu-idle",
        _WARNING,
        "The GPU is idle while work waits.",
        "Look for the bottleneck before the GPU: rendering in vLLM (`--api-server-count`), encoding, the network.",
        ("InkgateGpuIdleUnderLoad",),
    ),
    Condition(
        "engine-busy",
        _WARNING,
        "More pages arrive than the engine can read.",
        "Add capacity: another model server or instance.",
        ("InkgateSaturated", "InkgateDegraded"),
    ),
    Condition(
        "refusals",
        _WARNING,
        "The service refuses requests.",
        "Add capacity; without it, refusing early is right.",
        ("InkgateRefusals", "InkgateConcurrencyLimitReached"),
    ),
    Condition(
        "jobs-waiting",
        _WARNING,
        "Jobs wait for long.",
        "Start more processes with `inkgate work` and the same database.",
        ("InkgateJobsBacklog", "InkgateJobsWaiting"),
    ),
    Condition(
        "leases-lost",
        _WARNING,
        "Jobs are taken over from processes that are alive, so that pages are read twice.",
        "Raise `jobs.lease_s`, or find out what holds the process or the database.",
        ("InkgateLeasesLost",),
    ),
    Condition(
        "event-loop-late",
        _WARNING,
        "The gateway's event loop is late, which delays every request.",
        "Run several instances behind a load balancer, or leave the gateway a core of its own.",
        ("InkgateEventLoopLag",),
    ),
    Condition(
        "memory-growing",
        _WARNING,
        "The service's memory grows, or isn't returned after a load.",
        "Restart the instance (SIGTERM drains it), and report the leak with the output of `inkgate doctor --json`.",
        ("InkgateMemoryGrowing",),
    ),
    Condition(
        "requests-low",
        _WARNING,
        "The service gets unusually few requests.",
        "Check the load balancer, the network and the clients.",
        ("InkgateQpsLow",),
    ),
    Condition("timeouts-short", _WARNING, "Timeouts are so short that slow pages fail.", "Raise the timeout."),
    Condition(
        "queue-at-server",
        _WARNING,
        "Requests queue inside a model server, where inkgate can't prioritize them.",
        "Give inkgate a model server of its own, or send all requests through inkgate.",
    ),
    Condition(
        "replica-slow",
        _WARNING,
        "One model server is much slower than the others.",
        "Check its machine: does the GPU throttle, or do others use it?",
    ),
    Condition(
        "accelerators-missing",
        _WARNING,
        "The service could be faster: an accelerator is missing or failed.",
        "Install the accelerator into the service's environment.",
    ),
    Condition(
        "cache-small",
        _NOTE,
        "The cache is off or too small, so that pages are read again.",
        "Enable or enlarge the cache.",
    ),
    Condition(
        "vllm-flags",
        _NOTE,
        "vLLM runs with other flags than the model's preset.",
        "Keep the flags of the preset: the model was tested with them.",
    ),
    Condition(
        "lease-short",
        _NOTE,
        "The lease of jobs is so short that a pause lets others take jobs over.",
        "Raise the lease.",
    ),
    Condition(
        "webhooks-unsigned",
        _NOTE,
        "Webhooks are configured without a secret, so that jobs can't name one.",
        "Set a secret: `whsec_` and the output of `openssl rand -base64 32`.",
    ),
    Condition(
        "metrics-off",
        _NOTE,
        "Metrics are off, so that nothing can monitor the service.",
        "Enable metrics; their cost is negligible.",
    ),
)
"""All conditions in order of importance: among findings of one severity, causes come before their effects."""

BY_NAME = {condition.name: condition for condition in CONDITIONS}
