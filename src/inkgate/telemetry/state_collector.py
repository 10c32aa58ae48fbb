"""The State of the service as metrics, read at each scrape: those that the fields of its classes are declared as.

Apart from `state`, which clients load without prometheus-client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import structlog
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from inkgate.telemetry.metrics import EVENTS
from inkgate_client.telemetry.family import Family, Kind, declaration_of
from inkgate_client.telemetry.state import State

log = structlog.get_logger(__name__)

_Samples = dict[str, dict[tuple[str, ...], Any]]
"""Values by labels, by metric."""


class StateCollector(Collector):
    """A Collector of the metrics of `state`. If `state` raises, its metrics are missing and the error is logged."""

    def __init__(self, state: Callable[[], State], kind: type[State] = State) -> None:
        """`kind`: the class of the state."""
        self._state = state
        self._readings = _Readings(kind)

    def describe(self) -> Iterator[Metric]:
        """All families, without samples and without reading a state."""
        for family in self._readings.families:
            yield _metric(family, {})

    def collect(self) -> Iterator[Metric]:
        """All families, including those without samples."""
        try:
            state = self._state()
        except Exception:  # any part of the service may raise: export the other metrics
            log.exception("state_not_read")
            return
        samples: _Samples = {family.name: {} for family in self._readings.families}
        self._readings.add(state, samples)
        for family in self._readings.families:
            yield _metric(family, samples[family.name])


class _Readings:
    """The metrics of a class of readings, and of the readings in its fields.

    Attributes:
        families: all of them, with all labels, in the order of the fields.
    """

    def __init__(self, kind: type[Any], section: str = "The service") -> None:
        """`section`: the heading of the metrics of fields that have none."""
        hints: dict[str, Any] = get_type_hints(kind)
        declarations = {each.name: declaration_of(each) for each in fields(kind)}
        labels = {name: declaration.label for name, declaration in declarations.items() if declaration.label}
        self.families: list[Family] = []
        self._labels = tuple(labels)
        self._metrics: list[tuple[str, Family]] = []
        self._parts: list[tuple[str, _Readings, bool]] = []
        for name, declaration in declarations.items():
            title = declaration.section or section
            for family in declaration.families:
                whole = replace(family, labels=(*labels.values(), *family.labels), section=title)
                self._metrics.append((name, whole))
                self.families.append(whole)
            for inner in (hints[name], *get_args(hints[name])):
                part = _Readings(inner, title) if isinstance(inner, type) and is_dataclass(inner) else None
                if part is not None and part.families:
                    self._parts.append((name, part, declaration.latest))
                    self.families += part.families

    def add(self, reading: object, samples: _Samples) -> None:
        """Adds the samples of a reading; those with equal labels are summed."""
        labels = tuple([str(getattr(reading, name)) for name in self._labels])
        for name, family in self._metrics:
            value = getattr(reading, name)
            if value is None:
                continue
            if family.whole is not None:
                value = family.whole(reading)
            elif family.value is not None:
                value = family.value(value)
            rows = samples[family.name]
            if len(family.labels) > len(labels):
                _add(rows, len(family.labels), labels, value)
            elif family.kind is Kind.HISTOGRAM:
                rows[labels] = value
            else:
                rows[labels] = rows.get(labels, 0) + value
        for name, part, latest in self._parts:
            inner = getattr(reading, name)
            each = inner if isinstance(inner, tuple) else () if inner is None else (inner,)
            for found in each[-1:] if latest else each:
                part.add(found, samples)


def _add(rows: dict[tuple[str, ...], Any], count: int, labels: tuple[str, ...], values: Mapping[str, Any]) -> None:
    """Adds numbers that have `count` labels, of which `labels` are the first."""
    for key, value in values.items():
        whole = (*labels, key)
        if len(whole) < count:
            _add(rows, count, whole, value)
        else:
            rows[whole] = rows.get(whole, 0) + value


def _metric(family: Family, rows: Mapping[tuple[str, ...], Any]) -> Metric:
    if family.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
        for labels, sizes in rows.items():
            histogram.add_metric(labels, list(_buckets(family, sizes)), sum(size * sizes[size] for size in sizes))
        return histogram
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = kind(family.name, family.help, labels=family.labels)
    for labels, value in rows.items():
        metric.add_metric(labels, value)
    return metric


def _buckets(family: Family, sizes: Mapping[int, int]) -> Iterator[tuple[str, float]]:
    for bound in family.buckets:
        yield f"{float(bound)}", sum(count for size, count in sizes.items() if size <= bound)
    yield "+Inf", sum(sizes.values())


def catalog_of(kind: type[State]) -> dict[str, Family]:
    """All metrics of a service with this State, by name."""
    return {family.name: family for family in (*EVENTS, *_Readings(kind).families)}


CATALOG = catalog_of(State)
