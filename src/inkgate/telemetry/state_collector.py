"""The State of the service as metrics, read at each scrape.

Each metric has a function from a State to its rows: label values and a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from inkgate.telemetry.catalog import STATE, Family, Kind
from inkgate.telemetry.state import (
    Batches,
    CacheState,
    Gpu,
    JobsState,
    Process,
    Queue,
    ReplicaReading,
    State,
    StoredJobs,
)

log = structlog.get_logger(__name__)

Rows = Iterator[tuple[tuple[str, ...], float]]
RowsOf = Callable[[State], Rows]

BATCH_SIZE = "inkgate_batch_size"
_BREAKER_STATES = ("closed", "open", "half_open")
_REPLICA_STATES = ("up", "out", "leaving")
_THROTTLED_BY = ("thermal", "power")
_MIB = 2**20


class StateCollector(Collector):
    """A Collector of the metrics of `state`. If `state` raises, its metrics are missing and the error is logged."""

    def __init__(self, state: Callable[[], State]) -> None:
        self._state = state

    def describe(self) -> Iterator[Metric]:
        """All families, without samples and without reading a state."""
        for family in STATE.values():
            yield _empty(family)

    def collect(self) -> Iterator[Metric]:
        """All families, including those without samples."""
        try:
            state = self._state()
        except Exception:  # any part of the service may raise: export the other metrics
            log.exception("state_not_read")
            return
        yield from families_of(state)


def families_of(state: State) -> Iterator[Metric]:
    """Each family of the catalogue that comes from the state."""
    for name, family in STATE.items():
        if name == BATCH_SIZE:
            yield _batch_sizes(family, state)
            continue
        metric = _empty(family)
        for labels, value in ROWS[name](state):
            metric.add_metric(labels, value)
        yield metric


def _empty(family: Family) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    return kind(family.name, family.help, labels=family.labels)


def _batch_sizes(family: Family, state: State) -> HistogramMetricFamily:
    metric = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    for batches in state.batches:
        metric.add_metric([batches.model], list(_buckets(family, batches)), _total(batches))
    return metric


def _buckets(family: Family, batches: Batches) -> Iterator[tuple[str, float]]:
    for bound in family.buckets:
        yield f"{float(bound)}", sum(calls for size, calls in batches.sizes.items() if size <= bound)
    yield "+Inf", sum(batches.sizes.values())


def _total(batches: Batches) -> float:
    return sum(size * calls for size, calls in batches.sizes.items())


def _one(value: Callable[[State], float | None]) -> RowsOf:
    """A number without labels; no row if it is unknown."""

    def rows(state: State) -> Rows:
        number = value(state)
        if number is not None:
            yield (), number

    return rows


def _of_queues(value: Callable[[Queue], float | None]) -> RowsOf:
    def rows(state: State) -> Rows:
        for queue in state.queues:
            number = value(queue)
            if number is not None:
                yield (queue.name,), number

    return rows


def _of_batches(value: Callable[[Batches], float]) -> RowsOf:
    def rows(state: State) -> Rows:
        for batches in state.batches:
            yield (batches.model,), value(batches)

    return rows


def _of_cache(value: Callable[[CacheState], float | None]) -> RowsOf:
    return _one(lambda state: None if state.cache is None else value(state.cache))


def _of_replicas(value: Callable[[ReplicaReading], float | None]) -> RowsOf:
    def rows(state: State) -> Rows:
        for replica in state.replicas:
            number = value(replica)
            if number is not None:
                yield (replica.name,), number

    return rows


def _of(counts: Callable[[State], Mapping[str, float]]) -> RowsOf:
    """Numbers by one label."""

    def rows(state: State) -> Rows:
        for name, number in counts(state).items():
            yield (name,), number

    return rows


def _build(state: State) -> Rows:
    build = state.build
    yield (build.version, build.engine, build.model, build.inference_engine), 1.0


def _waiting(state: State) -> Rows:
    for queue in state.queues:
        for priority, count in queue.waiting.items():
            yield (queue.name, priority), count


def _breaker_states(state: State) -> Rows:
    for breaker in state.breakers:
        for name in _BREAKER_STATES:
            yield (breaker.name, name), float(breaker.state == name)


def _replica_states(state: State) -> Rows:
    for replica in state.replicas:
        for name in _REPLICA_STATES:
            yield (replica.name, name), float(replica.state == name)


def _pixels(state: State) -> Rows:
    for batches in state.batches:
        yield (batches.model, "content"), batches.content_pixels
        yield (batches.model, "padding"), max(batches.cost_pixels - batches.content_pixels, 0)


def _by_kind(value: Callable[[Process], float]) -> RowsOf:
    """The sum over the processes of a kind."""

    def rows(state: State) -> Rows:
        sums: dict[str, float] = {}
        for process in state.processes:
            sums[process.kind] = sums.get(process.kind, 0.0) + value(process)
        for kind, total in sums.items():
            yield (kind,), total

    return rows


def _of_gpus(value: Callable[[Gpu], float | None], times: float = 1) -> RowsOf:
    def rows(state: State) -> Rows:
        for gpu in state.gpus:
            number = value(gpu)
            if number is not None:
                yield (str(gpu.index),), number * times

    return rows


def _throttled(state: State) -> Rows:
    for gpu in state.gpus:
        for reason in _THROTTLED_BY:
            yield (str(gpu.index), reason), float(reason in gpu.throttled)


def _gpu_names(state: State) -> Rows:
    for gpu in state.gpus:
        yield (str(gpu.index), gpu.name), 1.0


def _of_jobs(value: Callable[[JobsState], float | None]) -> RowsOf:
    return _one(lambda state: None if state.jobs is None else value(state.jobs))


def _of_stored(value: Callable[[StoredJobs], float | None]) -> RowsOf:
    return _of_jobs(lambda jobs: None if jobs.stored is None else value(jobs.stored))


def _by(counts: Callable[[JobsState], Mapping[str, float]]) -> RowsOf:
    return _of(lambda state: {} if state.jobs is None else counts(state.jobs))


def _by_two(counts: Callable[[JobsState], Mapping[str, Mapping[str, int]]]) -> RowsOf:
    """Counts of jobs by two labels."""

    def rows(state: State) -> Rows:
        for name, outcomes in {} if state.jobs is None else counts(state.jobs).items():
            for outcome, count in outcomes.items():
                yield (name, outcome), count

    return rows


ROWS: Mapping[str, RowsOf] = {
    "inkgate_build_info": _build,
    "inkgate_ready": _one(lambda state: float(state.ready)),
    "inkgate_start_time_seconds": _one(lambda state: state.started_at),
    "inkgate_documents": _one(lambda state: state.admission.documents),
    "inkgate_documents_limit": _one(lambda state: state.admission.max_documents),
    "inkgate_body_bytes": _one(lambda state: state.admission.body_bytes),
    "inkgate_body_bytes_limit": _one(lambda state: state.admission.max_bytes),
    "inkgate_tenants": _one(lambda state: state.admission.tenants),
    "inkgate_documents_ended_total": _of(lambda state: state.admission.ended),
    "inkgate_degradation_step": _one(lambda state: state.degradation_level),
    "inkgate_background_failures_total": _of(lambda state: {task.name: task.failures for task in state.background}),
    "inkgate_limit": _of_queues(lambda queue: queue.limit),
    "inkgate_limit_max": _of_queues(lambda queue: queue.most),
    "inkgate_in_flight": _of_queues(lambda queue: queue.in_flight),
    "inkgate_waiting": _waiting,
    "inkgate_longest_wait_seconds": _of_queues(lambda queue: queue.longest_wait_s),
    "inkgate_backlog_seconds": _of_queues(lambda queue: queue.backlog_s),
    "inkgate_breaker_open": _of(lambda state: {each.name: float(each.state == "open") for each in state.breakers}),
    "inkgate_breaker_state": _breaker_states,
    "inkgate_breaker_opened_total": _of(lambda state: {each.name: each.opened for each in state.breakers}),
    "inkgate_batch_pixels_total": _pixels,
    "inkgate_batch_wait_seconds_total": _of_batches(lambda batches: batches.wait_s),
    "inkgate_batch_busy_seconds_total": _of_batches(lambda batches: batches.busy_s),
    "inkgate_batch_items_total": _of_batches(lambda batches: batches.items),
    "inkgate_batch_dropped_total": _of_batches(lambda batches: batches.dropped),
    "inkgate_batch_retried_total": _of_batches(lambda batches: batches.retried),
    "inkgate_cache_results_total": _of(lambda state: {} if state.cache is None else state.cache.found),
    "inkgate_cache_entries": _of_cache(lambda cache: cache.entries),
    "inkgate_cache_bytes": _of_cache(lambda cache: cache.bytes),
    "inkgate_cache_bytes_limit": _of_cache(lambda cache: cache.max_bytes),
    "inkgate_load_servers": _one(lambda state: state.load_servers),
    "inkgate_replica_up": _of_replicas(lambda replica: float(replica.state == "up")),
    "inkgate_replica_state": _replica_states,
    "inkgate_replica_in_flight": _of_replicas(lambda replica: replica.in_flight),
    "inkgate_replica_running": _of_replicas(lambda replica: replica.running),
    "inkgate_replica_waiting": _of_replicas(lambda replica: replica.waiting),
    "inkgate_replica_kv_usage_ratio": _of_replicas(lambda replica: replica.kv_usage),
    "inkgate_replica_preemptions_total": _of_replicas(lambda replica: replica.preemptions),
    "inkgate_replica_generation_tokens_total": _of_replicas(lambda replica: replica.generation_tokens),
    "inkgate_replica_queue_seconds": _of_replicas(lambda replica: replica.queue_s),
    "inkgate_replica_render_seconds": _of_replicas(lambda replica: replica.render_s),
    "inkgate_replica_pressure": _of_replicas(lambda replica: replica.pressure),
    "inkgate_replica_taken_out_total": _of_replicas(lambda replica: replica.taken_out),
    "inkgate_process_resident_bytes": _by_kind(lambda process: process.rss_bytes),
    "inkgate_process_cpu_seconds_total": _by_kind(lambda process: process.cpu_s),
    "inkgate_processes": _by_kind(lambda process: process.pid != 0),
    "inkgate_process_restarts_total": _by_kind(lambda process: process.started - 1),
    "inkgate_event_loop_lag_seconds": _one(lambda state: state.history[-1].loop_lag_s if state.history else None),
    "gpu_utilization_percent": _of_gpus(lambda gpu: gpu.utilisation, times=100),
    "gpu_memory_used_mb": _of_gpus(lambda gpu: gpu.memory_used, times=1 / _MIB),
    "inkgate_gpu_memory_used_bytes": _of_gpus(lambda gpu: gpu.memory_used),
    "inkgate_gpu_memory_total_bytes": _of_gpus(lambda gpu: gpu.memory_total),
    "inkgate_gpu_temperature_celsius": _of_gpus(lambda gpu: gpu.temperature_c),
    "inkgate_gpu_power_watts": _of_gpus(lambda gpu: gpu.power_w),
    "inkgate_gpu_clock_hertz": _of_gpus(lambda gpu: gpu.clock_mhz, times=1e6),
    "inkgate_gpu_throttled": _throttled,
    "inkgate_gpu_info": _gpu_names,
    "inkgate_jobs_store_up": _of_jobs(lambda jobs: jobs.up),
    "inkgate_jobs": _by(lambda jobs: {} if jobs.stored is None else jobs.stored.by_state),
    "inkgate_jobs_oldest_queued_seconds": _of_stored(lambda stored: stored.oldest_s),
    "inkgate_jobs_backlog_pages": _of_stored(lambda stored: stored.backlog_pages),
    "inkgate_jobs_backlog_seconds": _of_stored(lambda stored: stored.backlog_s),
    "inkgate_jobs_abandoned": _of_stored(lambda stored: stored.abandoned),
    "inkgate_outbox_waiting": _of_stored(lambda stored: stored.outbox_waiting),
    "inkgate_outbox_dead": _of_stored(lambda stored: stored.outbox_dead),
    "inkgate_outbox_oldest_seconds": _of_stored(lambda stored: stored.outbox_oldest_s),
    "inkgate_jobs_running": _of_jobs(lambda jobs: jobs.running),
    "inkgate_jobs_ended_total": _by(lambda jobs: jobs.ended),
    "inkgate_job_pages_total": _by(lambda jobs: jobs.pages),
    "inkgate_job_claims_total": _by(lambda jobs: jobs.claims),
    "inkgate_job_leases_lost_total": _of_jobs(lambda jobs: jobs.leases_lost),
    "inkgate_deliveries_total": _by_two(lambda jobs: jobs.deliveries),
    "inkgate_intake_events_total": _by_two(lambda jobs: jobs.events),
    "inkgate_intake_paused": _by(lambda jobs: {name: float(name in jobs.paused) for name in jobs.events}),
}
"""The rows of each metric of the State, except for batch sizes."""
