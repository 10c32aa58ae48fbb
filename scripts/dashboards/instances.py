"""The table of instances."""

from __future__ import annotations

import string

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.models.dashboard import (
    DataTransformerConfig,
    DynamicConfigValue,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.panels import HERE, NO_PROBES, SOURCE, target

_COLUMNS = (
    ("Up", "bool", f"max by (instance) (up{{{HERE}}})"),
    ("Ready", "bool", f"max by (instance) (inkgate_ready{{{HERE}}})"),
    ("Requests/s", "reqps", f"sum by (instance) (qps{{{HERE}, {NO_PROBES}}})"),
    ("In flight", "short", f"sum by (instance) (inkgate_in_flight{{{HERE}}})"),
    ("Limit", "short", f"sum by (instance) (inkgate_limit{{{HERE}}})"),
    ("Waiting", "short", f"sum by (instance) (inkgate_waiting{{{HERE}}})"),
    ("Memory", "bytes", f"sum by (instance) (inkgate_process_resident_bytes{{{HERE}}})"),
    ("Uptime", "s", f"max by (instance) (time() - inkgate_start_time_seconds{{{HERE}}})"),
)
_BUILD = f"max by (instance, version, engine, model_version, inference_engine) (inkgate_build_info{{{HERE}}})"
_YES_NO = ValueMap({"1": ValueMappingResult("yes", "green"), "0": ValueMappingResult("no", "red")})


def instances() -> table.Panel:
    """One query a column, merged by instance."""
    panel = (
        table.Panel()
        .title("Instances")
        .description("Version and state of each instance. Up: Prometheus can scrape it; ready: it can read pages.")
        .datasource(SOURCE)
        .unit("short")
        .show_header(show_header=True)
        .span(24)
        .height(8)
    )
    queries = [_BUILD, *(expr for _, _, expr in _COLUMNS)]
    for letter, expr in zip(string.ascii_uppercase, queries, strict=False):
        panel.with_target(target((expr, ""), letter).instant().format(PromQueryFormat.TABLE))
    # The values of a query are in the column of its letter; those of the first are always 1.
    names = {
        f"Value #{letter}": title for letter, (title, _, _) in zip(string.ascii_uppercase[1:], _COLUMNS, strict=False)
    }
    named = names | {
        "instance": "Instance",
        "version": "Version",
        "engine": "Engine",
        "model_version": "Model",
        "inference_engine": "Inference engine",
    }
    for title, unit, _ in _COLUMNS:
        panel.override_by_name(title, _looks(unit))
    return panel.with_transformation(DataTransformerConfig("merge", options={})).with_transformation(
        DataTransformerConfig(
            "organize",
            options={"excludeByName": {"Time": True, "Value #A": True}, "indexByName": {}, "renameByName": named},
        )
    )


def _looks(unit: str) -> list[DynamicConfigValue]:
    if unit == "bool":
        return [
            DynamicConfigValue("mappings", [_YES_NO]),
            DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
        ]
    return [DynamicConfigValue("unit", unit)]
