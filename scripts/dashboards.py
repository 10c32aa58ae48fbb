"""Grafana dashboards from their descriptions in deploy/monitoring/source, by Grafana's builders.

A description names rows of panels. A panel begins with its kind (`_KINDS`) and title. `queries` are expressions by
their legends, where `{{label}}` stands for a label's value. `steps` are colors by the value from which they apply, a
number or the name of one of the doctor's limits; green below the first. In expressions, `@name` is one of `_MATCHERS`;
in texts, `@{name}` is a limit.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    gauge,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from inkgate.doctor.conditions import LIMITS

Spec = Mapping[str, Any]
AnyPanel = timeseries.Panel | stat.Panel | gauge.Panel | bargauge.Panel | heatmap.Panel | table.Panel
SOURCE = models.DataSourceRef("prometheus", "${datasource}")
_MATCHERS = {
    "here": 'job="inkgate", instance=~"$instance"',
    "pages": 'job="inkgate", instance=~"$instance", engine=~"$engine", model_version=~"$model"',
    "engine_here": 'job="inkgate", instance=~"$instance", engine=~"$engine"',
    "no_probes": 'endpoint!~"other|/(health|livez|readyz|state|docs|openapi.json)?"',
    "window": "$__rate_interval",
}
"""Label matchers for the selected instances, engines and models, and the span of rates."""
_COLUMNS = (
    ("Up", "bool", "max by (instance) (up{@here})"),
    ("Ready", "bool", "max by (instance) (inkgate_ready{@here})"),
    ("Requests/s", "reqps", "sum by (instance) (qps{@here})"),
    ("In flight", "short", "sum by (instance) (inkgate_in_flight{@here})"),
    ("Limit", "short", "sum by (instance) (inkgate_limit{@here})"),
    ("Waiting", "short", "sum by (instance) (inkgate_waiting{@here})"),
    ("Memory", "bytes", "sum by (instance) (inkgate_process_resident_bytes{@here})"),
    ("Uptime", "s", "max by (instance) (time() - inkgate_start_time_seconds{@here})"),
)
"""Of the table of instances, after those of `_BUILD`."""
_BUILD = "max by (instance, version, engine, model_version, inference_engine) (inkgate_build_info{@here})"


def board(file: Path) -> models.Dashboard:
    """The dashboard that a file describes."""
    spec = yaml.safe_load(file.read_text(encoding="utf-8"))
    made = (
        dashboard.Dashboard(spec["title"])
        .uid(spec["uid"])
        .description(spec["about"])
        .tags(["inkgate"])
        .timezone("browser")
        .time("now-30m", "now")
        .refresh("5s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            dashboard.DashboardLink("inkgate")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags(["inkgate"])
            .as_dropdown(as_dropdown=True)
            .include_vars(include_vars=True)
            .keep_time(keep_time=True)
        )
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(_choice("instance", "Instance", "label_values(inkgate_ready, instance)"))
        .with_variable(_choice("engine", "Engine", 'label_values(inkgate_pages_total{instance=~"$instance"}, engine)'))
        .with_variable(
            _choice("model", "Model", 'label_values(inkgate_pages_total{instance=~"$instance"}, model_version)')
        )
    )
    number = 0
    for row, panels in spec["rows"].items():
        number += 1
        made.with_row(dashboard.Row(row).id(number))
        for each in panels:
            number += 1
            made.with_panel(_panel(each).id(number))
    return made.build()


def with_limits(text: str) -> str:
    """The text with the doctor's limits in place of `@{name}`."""
    return re.sub(r"@{(\w+)}", lambda found: f"{getattr(LIMITS, found[1]):g}", text)


def _choice(name: str, label: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .query(query)
        .datasource(SOURCE)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
        .current(models.VariableOption(text="All", value="$__all", selected=True))
    )


def _panel(spec: Spec) -> AnyPanel:
    kind, title = next(iter(spec.items()))
    panel, width, height = _KINDS[kind](spec)
    panel.title(title).description(with_limits(spec["about"])).datasource(SOURCE)
    panel.span(spec.get("span", width)).height(spec.get("height", height))
    if kind not in {"heat", "instances"}:
        if kind != "yes_or_no":
            panel.unit(spec["unit"])
        if kind != "yes_or_no" and ("steps" in spec or kind != "lines"):
            panel.thresholds(_thresholds(spec))
        if kind != "lines":
            panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(values=False))
        queries = spec.get("queries") or {title: spec["query"]}
        for letter, (legend, expr) in zip(string.ascii_uppercase, queries.items(), strict=False):
            panel.with_target(_target(expr, legend, letter))
    return panel


def _lines(spec: Spec) -> tuple[timeseries.Panel, int, int]:
    """Lines over time; `stacked`: stacked areas; `steps`: horizontal lines."""
    panel = (
        timeseries.Panel()
        .min(0)
        .line_width(1)
        .fill_opacity(40 if "stacked" in spec else 8)
        .show_points(looks.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(looks.LegendDisplayMode.LIST)
            .placement(looks.LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
        )
    )
    if "max" in spec:
        panel.max(spec["max"])
    if "stacked" in spec:
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL).group("A"))
    if "steps" in spec:
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(looks.GraphTresholdsStyleMode.DASHED))
    return panel, 8, 8


def _number(_: Spec) -> tuple[stat.Panel, int, int]:
    """The last value, large, above its history."""
    panel = stat.Panel().color_mode(looks.BigValueColorMode.VALUE).graph_mode(looks.BigValueGraphMode.AREA)
    return panel, 3, 4


def _yes_or_no(spec: Spec) -> tuple[stat.Panel, int, int]:
    """1 in green as `good`, 0 in red as `bad`; one field for each series."""
    panel = stat.Panel().unit("bool").mappings([_words(spec["good"], spec["bad"])])
    return panel.color_mode(looks.BigValueColorMode.BACKGROUND).graph_mode(looks.BigValueGraphMode.NONE), 3, 4


def _dial(_: Spec) -> tuple[gauge.Panel, int, int]:
    """A gauge from 0 to 100, one for each series."""
    return gauge.Panel().min(0).max(100).show_threshold_markers(show_threshold_markers=True), 6, 8


def _bars(_: Spec) -> tuple[bargauge.Panel, int, int]:
    """A bar from 0 to 1 for each series."""
    panel = bargauge.Panel().min(0).max(1).display_mode(looks.BarGaugeDisplayMode.LCD)
    return panel.orientation(looks.VizOrientation.HORIZONTAL), 6, 8


def _heat(spec: Spec) -> tuple[heatmap.Panel, int, int]:
    """How many observations of a histogram (`query`: its buckets) fell into each bucket, over time."""
    expr = f"sum by (le) (increase({spec['query']}[@window]))"
    panel = (
        heatmap.Panel()
        .unit("short")
        .calculate(calculate=False)
        .cell_gap(1)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
        .y_axis(heatmap.YAxisConfig().unit(spec["unit"]))
        .scale_distribution(common.ScaleDistributionConfig().type(looks.ScaleDistribution.LINEAR))
        .show_legend()
        .show_tooltip()
        .with_target(_target(expr, "{{le}}", "A").format(PromQueryFormat.HEATMAP))
    )
    return panel, 8, 8


def _instances(_: Spec) -> tuple[table.Panel, int, int]:
    """A table with one query a column, merged by instance."""
    panel = table.Panel().unit("short").show_header(show_header=True)
    queries = [_BUILD, *(expr for _, _, expr in _COLUMNS)]
    for letter, expr in zip(string.ascii_uppercase, queries, strict=False):
        panel.with_target(_target(expr, "", letter).instant().format(PromQueryFormat.TABLE))
    # The values of a query are in the column of its letter; those of the first are always 1.
    named = {
        **{f"Value #{letter}": title for letter, (title, _, _) in zip("BCDEFGHI", _COLUMNS, strict=True)},
        "instance": "Instance",
        "version": "Version",
        "engine": "Engine",
        "model_version": "Model",
        "inference_engine": "Inference engine",
    }
    yes_no = [
        models.DynamicConfigValue("mappings", [_words("yes", "no")]),
        models.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]
    for title, unit, _ in _COLUMNS:
        panel.override_by_name(title, yes_no if unit == "bool" else [models.DynamicConfigValue("unit", unit)])
    options = {"excludeByName": {"Time": True, "Value #A": True}, "indexByName": {}, "renameByName": named}
    panel.with_transformation(models.DataTransformerConfig("merge", options={}))
    return panel.with_transformation(models.DataTransformerConfig("organize", options=options)), 24, 8


_KINDS: Mapping[str, Callable[[Spec], tuple[AnyPanel, int, int]]] = {
    "lines": _lines,
    "number": _number,
    "yes_or_no": _yes_or_no,
    "dial": _dial,
    "bars": _bars,
    "heat": _heat,
    "instances": _instances,
}
"""Makes the panel of each kind, with its usual width and height. A row is 24 wide."""


def _target(expr: str, legend: str, ref_id: str) -> prometheus.Dataquery:
    filled = re.sub(r"@(\w+)", lambda found: _MATCHERS[found[1]], expr)
    return prometheus.Dataquery().expr(filled).legend_format(legend).ref_id(ref_id).datasource(SOURCE).range()


def _words(yes: str, no: str) -> models.ValueMap:
    return models.ValueMap({"1": models.ValueMappingResult(yes, "green"), "0": models.ValueMappingResult(no, "red")})


def _thresholds(spec: Spec) -> dashboard.ThresholdsConfig:
    steps = [models.Threshold(None, "green")]
    for value, colour in spec.get("steps", ()):
        steps.append(models.Threshold(getattr(LIMITS, value) if isinstance(value, str) else value, colour))
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
