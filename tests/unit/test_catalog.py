"""The catalogue of metrics keeps Prometheus' rules for names, and is whole."""

from __future__ import annotations

import re

import pytest

from inkgate.telemetry.catalog import CATALOG, EVENTS, STATE, Family, Kind
from inkgate.telemetry.state_collector import BATCH_SIZE, READINGS

GIVEN = {"http_requests_total", "qps", "gpu_utilization_percent", "gpu_memory_used_mb"}
"""Named by others, who have dashboards of them."""
RESERVED = {"le", "quantile", "job", "instance"}
NO_BASE_UNITS = ("_ms", "_milliseconds", "_minutes", "_mb", "_kb", "_percent", "_mhz", "_count", "_sum", "_bucket")


@pytest.mark.parametrize("family", CATALOG.values(), ids=lambda family: family.name)
def test_names_and_labels_are_as_prometheus_wants_them(family: Family) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", family.name)
    assert family.name.startswith("inkgate_") or family.name in GIVEN
    assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert family.name in GIVEN or not family.name.endswith(NO_BASE_UNITS)
    assert family.help.endswith(".")
    assert len(set(family.labels)) == len(family.labels)
    assert not RESERVED & set(family.labels)
    assert all(re.fullmatch(r"[a-z][a-z_]*", label) for label in family.labels)


@pytest.mark.parametrize("family", CATALOG.values(), ids=lambda family: family.name)
def test_histograms_alone_have_buckets_in_order(family: Family) -> None:
    assert bool(family.buckets) == (family.kind is Kind.HISTOGRAM)
    assert list(family.buckets) == sorted(set(family.buckets))


def test_each_metric_is_in_one_group_and_has_what_makes_it() -> None:
    assert len(CATALOG) == len(EVENTS) + len(STATE)
    assert READINGS.keys() | {BATCH_SIZE} == STATE.keys()
