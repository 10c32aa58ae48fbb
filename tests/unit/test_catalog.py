"""The catalogue of metrics keeps Prometheus' rules for names, and is whole."""

from __future__ import annotations

import re

from inkgate.telemetry.catalog import CATALOG, EVENTS, STATE, Family, Kind
from inkgate.telemetry.state_collector import BATCH_SIZE, ROWS

GIVEN = {"http_requests_total", "qps", "gpu_utilization_percent", "gpu_memory_used_mb"}
"""Named by others, who have dashboards of them."""
RESERVED = {"le", "quantile", "job", "instance"}
NO_BASE_UNITS = ("_ms", "_milliseconds", "_minutes", "_mb", "_kb", "_percent", "_mhz", "_count", "_sum", "_bucket")


def problems(family: Family) -> list[str]:
    given = family.name in GIVEN
    rules = {
        "name": re.fullmatch(r"[a-z][a-z0-9_]*", family.name) and (given or family.name.startswith("inkgate_")),
        "a counter, and no other, ends in _total": family.name.endswith("_total") == (family.kind is Kind.COUNTER),
        "unit": given or not family.name.endswith(NO_BASE_UNITS),
        "help": family.help.endswith("."),
        "labels": all(re.fullmatch(r"[a-z][a-z_]*", label) for label in family.labels)
        and len(set(family.labels)) == len(family.labels)
        and not RESERVED & set(family.labels),
        "a histogram, and no other, has buckets": bool(family.buckets) == (family.kind is Kind.HISTOGRAM),
        "buckets in order": list(family.buckets) == sorted(set(family.buckets)),
    }
    return [f"{family.name}: {rule}" for rule, kept in rules.items() if not kept]


def test_families_are_as_prometheus_wants_them() -> None:
    assert [problem for family in CATALOG.values() for problem in problems(family)] == []


def test_each_metric_is_in_one_group_and_has_what_makes_it() -> None:
    assert len(CATALOG) == len(EVENTS) + len(STATE)
    assert ROWS.keys() | {BATCH_SIZE} == STATE.keys()
