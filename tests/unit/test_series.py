"""Counters and histograms, against those of Prometheus' client library."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.registry import Collector

from inkgate.telemetry.catalog import CATALOG, Family, Kind
from inkgate.telemetry.series import Counts, Distribution

COUNTER = Family("asked_total", Kind.COUNTER, "Asked.", ("who", "how"))
HISTOGRAM = Family("took_seconds", Kind.HISTOGRAM, "Took.", ("who",), (0.1, 1, 10))
NAMES = st.sampled_from(["a", "b", "c"])
SECONDS = st.one_of(st.sampled_from(HISTOGRAM.buckets), st.floats(0, 100))


class SingleFamily(Collector):
    """A Collector of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family]


def samples(collector: Collector) -> set[tuple[str, frozenset[tuple[str, str]], float]]:
    """Of each sample its name, its labels and its value, in whatever order."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return {
        (sample.name, frozenset(sample.labels.items()), round(sample.value, 6))
        for family in registry.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 5))))
def test_counters_are_shown_as_the_library_would(events: list[tuple[str, str, int]]) -> None:
    own, library = Counts(COUNTER), Counter(COUNTER.name, COUNTER.help, COUNTER.labels, registry=None)
    for who, how, count in events:
        own.add((who, how), count)
        library.labels(who, how).inc(count)
    assert samples(SingleFamily(own.family())) == samples(library)
    assert sum(own.by("who").values()) == sum(own.by().values()) == sum(count for *_, count in events)


@given(st.lists(st.tuples(NAMES, SECONDS)))
def test_histograms_are_shown_as_the_library_would(events: list[tuple[str, float]]) -> None:
    own = Distribution(HISTOGRAM)
    library = Histogram(HISTOGRAM.name, HISTOGRAM.help, HISTOGRAM.labels, buckets=HISTOGRAM.buckets, registry=None)
    for who, seconds in events:
        own.add((who,), seconds)
        library.labels(who).observe(seconds)
    assert samples(SingleFamily(own.family())) == samples(library)
    assert sum(own.counts_by("who").values()) == len(events)
    assert sum(own.sums_by("who").values()) == pytest.approx(sum(seconds for _, seconds in events))


def test_sums_are_by_the_labels_that_are_asked_for() -> None:
    counts = Counts(COUNTER)
    for labels in (("a", "x"), ("a", "y"), ("b", "x")):
        counts.add(labels, 2)
    assert counts.by("who") == {"a": 4, "b": 2}
    assert counts.by("how", "who") == {"x a": 2, "y a": 2, "x b": 2}


def test_a_metric_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="is a gauge"):
        Counts(CATALOG["qps"])
    with pytest.raises(TypeError, match="is a counter"):
        Distribution(COUNTER)
