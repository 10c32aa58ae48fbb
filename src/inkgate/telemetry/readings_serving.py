"""Metrics of the service, its queues and its model servers: rows of label values and a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from inkgate.telemetry.state import Batches, CacheState, Queue, ReplicaReading, State

Rows = Iterator[tuple[tuple[str, ...], float]]
Reading = Callable[[State], Rows]

_BREAKER_STATES = ("closed", "open", "half_open")
_REPLICA_STATES = ("up", "out")


def one(value: Callable[[State], float | None]) -> Reading:
    """A number without labels; no row if it is unknown."""

    def rows(state: State) -> Rows:
        number = value(state)
        if number is not None:
            yield (), number

    return rows


def _of_queues(value: Callable[[Queue], float | None]) -> Reading:
    def rows(state: State) -> Rows:
        for queue in state.queues:
            number = value(queue)
            if number is not None:
                yield (queue.name,), number

    return rows


def _of_batches(value: Callable[[Batches], float]) -> Reading:
    def rows(state: State) -> Rows:
        for batches in state.batches:
            yield (batches.model,), value(batches)

    return rows


def _of_cache(value: Callable[[CacheState], float | None]) -> Reading:
    return one(lambda state: None if state.cache is None else value(state.cache))


def _of_replicas(value: Callable[[ReplicaReading], float | None]) -> Reading:
    def rows(state: State) -> Rows:
        for replica in state.replicas:
            number = value(replica)
            if number is not None:
                yield (replica.name,), number

    return rows


def _of(counts: Callable[[State], Mapping[str, float]]) -> Reading:
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


def _ledger(state: State) -> Rows:
    for queue in state.queues:
        yield (queue.name, "promised"), queue.tokens_promised
        yield (queue.name, "foreign"), queue.tokens_foreign
        if queue.tokens_capacity is not None:
            yield (queue.name, "capacity"), queue.tokens_capacity


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


SERVICE_READINGS: dict[str, Reading] = {
    "inkgate_build_info": _build,
    "inkgate_ready": one(lambda state: float(state.ready)),
    "inkgate_start_time_seconds": one(lambda state: state.started_at),
    "inkgate_documents": one(lambda state: state.admission.documents),
    "inkgate_documents_limit": one(lambda state: state.admission.max_documents),
    "inkgate_body_bytes": one(lambda state: state.admission.body_bytes),
    "inkgate_body_bytes_limit": one(lambda state: state.admission.max_bytes),
    "inkgate_tenants": one(lambda state: state.admission.tenants),
    "inkgate_documents_ended_total": _of(lambda state: state.admission.ended),
    "inkgate_degradation_step": one(lambda state: state.degradation_level),
    "inkgate_background_failures_total": _of(lambda state: {task.name: task.failures for task in state.background}),
}

SERVING_READINGS: dict[str, Reading] = {
    "inkgate_limit": _of_queues(lambda queue: queue.limit),
    "inkgate_limit_max": _of_queues(lambda queue: queue.most),
    "inkgate_in_flight": _of_queues(lambda queue: queue.in_flight),
    "inkgate_waiting": _waiting,
    "inkgate_longest_wait_seconds": _of_queues(lambda queue: queue.longest_wait_s),
    "inkgate_backlog_seconds": _of_queues(lambda queue: queue.backlog_s),
    "inkgate_ledger_tokens": _ledger,
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
}

REPLICA_READINGS: dict[str, Reading] = {
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
}
