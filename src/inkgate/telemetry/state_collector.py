"""The State of the service as metrics, read at each scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from inkgate.telemetry.catalog import STATE, Family, Kind
from inkgate.telemetry.readings_hardware import GPU_READINGS, PROCESS_READINGS
from inkgate.telemetry.readings_serving import REPLICA_READINGS, SERVICE_READINGS, SERVING_READINGS, Reading
from inkgate.telemetry.state import Batches, State

log = structlog.get_logger(__name__)

READINGS: Mapping[str, Reading] = (
    SERVICE_READINGS | PROCESS_READINGS | SERVING_READINGS | REPLICA_READINGS | GPU_READINGS
)
"""The rows of each metric for a State, except for batch sizes."""
BATCH_SIZE = "inkgate_batch_size"


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
        for labels, value in READINGS[name](state):
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
