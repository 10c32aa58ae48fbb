"""Metrics of the client library, as this service counts with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram
from prometheus_client.core import Metric

from inkgate.telemetry.catalog import Family, Kind

MetricT = TypeVar("MetricT", Counter, Histogram)


class Series(Generic[MetricT]):
    """The series of a metric by their label values. Each is looked up in the library once: that takes as long as it
    takes to count. There are as many as the callers name, so they name what is of closed sets alone.
    """

    def __init__(self, metric: MetricT) -> None:
        self._metric = metric
        self._known: dict[tuple[str | int, ...], MetricT] = {}

    def __call__(self, *labels: str | int) -> MetricT:
        """The series with these values, in the order of the catalogue."""
        found = self._known.get(labels)
        if found is None:
            found = self._known[labels] = self._metric.labels(*labels) if labels else self._metric
        return found

    def families(self) -> Iterator[Metric]:
        """All of it, without the time at which each series began: nobody asks for it, and it doubles them."""
        for family in self._metric.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family

    def sums(self, suffix: str, *labels: str) -> dict[str, float]:
        """The samples that end so, added up over all other labels."""
        sums: dict[str, float] = {}
        for family in self._metric.collect():
            for sample in family.samples:
                if sample.name.endswith(suffix):
                    key = " ".join(sample.labels[label] for label in labels)
                    sums[key] = sums.get(key, 0.0) + sample.value
        return sums

    def counts(self, *labels: str, suffix: str = "_total") -> dict[str, int]:
        """The same of what is counted in whole numbers."""
        return {key: int(value) for key, value in self.sums(suffix, *labels).items()}


def counter(family: Family) -> Series[Counter]:
    """That of the catalogue, without any series yet."""
    return Series(Counter(family.name, _text(family, Kind.COUNTER), family.labels, registry=None))


def histogram(family: Family) -> Series[Histogram]:
    """As `counter`."""
    text = _text(family, Kind.HISTOGRAM)
    return Series(Histogram(family.name, text, family.labels, buckets=family.buckets, registry=None))


def _text(family: Family, kind: Kind) -> str:
    if family.kind is not kind:
        raise TypeError(f"{family.name} is a {family.kind}")
    return family.help
