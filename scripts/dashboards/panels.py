"""Panels in the style of these dashboards, built with Grafana's builders."""

from __future__ import annotations

import string
from collections.abc import Sequence

from grafana_foundation_sdk.builders import bargauge, common, dashboard, gauge, heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    StackingMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = DataSourceRef("prometheus", "${datasource}")
HERE = 'job="inkgate", instance=~"$instance"'
"""Label matchers for the selected instances."""
PAGES = f'{HERE}, engine=~"$engine", model_version=~"$model"'
"""The same, for metrics with engine and model."""
NO_PROBES = 'endpoint!~"other|/(health|livez|readyz|state|docs|openapi.json)?"'
WINDOW = "$__rate_interval"

Query = tuple[str, str]
"""An expression and its legend: `{{label}}` stands for a label's value."""
Steps = Sequence[tuple[float, str]]
"""Colors by the value from which they apply; green below the first."""


def target(query: Query, ref_id: str) -> prometheus.Dataquery:
    expr, legend = query
    return prometheus.Dataquery().expr(expr).legend_format(legend).ref_id(ref_id).datasource(SOURCE).range()


def lines(
    title: str, description: str, unit: str, *queries: Query, stacked: bool = False, steps: Steps = ()
) -> timeseries.Panel:
    """Lines over time; `stacked`: stacked areas; `steps`: horizontal lines."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .line_width(1)
        .fill_opacity(40 if stacked else 8)
        .show_points(VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
        )
        .span(8)
        .height(8)
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL).group("A"))
    if steps:
        panel.thresholds(thresholds(steps))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(GraphTresholdsStyleMode.DASHED))
    for letter, query in zip(string.ascii_uppercase, queries, strict=False):
        panel.with_target(target(query, letter))
    return panel


def number(title: str, description: str, unit: str, expr: str, steps: Steps = ()) -> stat.Panel:
    """The last value, large, above its history."""
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .thresholds(thresholds(steps))
        .color_mode(BigValueColorMode.VALUE)
        .graph_mode(BigValueGraphMode.AREA)
        .reduce_options(_last())
        .span(3)
        .height(4)
        .with_target(target((expr, title), "A"))
    )


def yes_or_no(title: str, description: str, query: Query, *, yes: str, no: str) -> stat.Panel:
    """1 in green as `yes`, 0 in red as `no`; one field for each series."""
    words = ValueMap({"1": ValueMappingResult(yes, "green"), "0": ValueMappingResult(no, "red")})
    return (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit("bool")
        .mappings([words])
        .color_mode(BigValueColorMode.BACKGROUND)
        .graph_mode(BigValueGraphMode.NONE)
        .reduce_options(_last())
        .span(3)
        .height(4)
        .with_target(target(query, "A"))
    )


def dial(title: str, description: str, unit: str, query: Query, steps: Steps) -> gauge.Panel:
    """A gauge from 0 to 100, one for each series."""
    return (
        gauge.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .max(100)
        .thresholds(thresholds(steps))
        .show_threshold_markers(show_threshold_markers=True)
        .reduce_options(_last())
        .span(6)
        .height(8)
        .with_target(target(query, "A"))
    )


def bars(title: str, description: str, unit: str, query: Query, steps: Steps) -> bargauge.Panel:
    """A bar from 0 to 1 for each series."""
    return (
        bargauge.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .max(1)
        .thresholds(thresholds(steps))
        .display_mode(BarGaugeDisplayMode.LCD)
        .orientation(VizOrientation.HORIZONTAL)
        .reduce_options(_last())
        .span(6)
        .height(8)
        .with_target(target(query, "A"))
    )


def heat(title: str, description: str, unit: str, metric: str, matchers: str) -> heatmap.Panel:
    """How many observations of a histogram fell into each of its buckets, over time."""
    expr = f"sum by (le) (increase({metric}_bucket{{{matchers}}}[{WINDOW}]))"
    return (
        heatmap.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .unit("short")
        .calculate(calculate=False)
        .cell_gap(1)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64))
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .scale_distribution(common.ScaleDistributionConfig().type(ScaleDistribution.LINEAR))
        .show_legend()
        .show_tooltip()
        .span(8)
        .height(8)
        .with_target(target((expr, "{{le}}"), "A").format(PromQueryFormat.HEATMAP))
    )


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    """Thresholds of `steps`, green below the first."""
    ground = Threshold(None, "green")
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([ground, *(Threshold(value, colour) for value, colour in steps)])
    )


def share(part: str, whole: str) -> str:
    """`part` divided by `whole`: 0 if `part` has no series, no series if `whole` has none."""
    return f"({part} or 0 * {whole}) / {whole}"


def quantile(q: float, metric: str, matchers: str) -> str:
    return f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{{matchers}}}[{WINDOW}])))"


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(values=False)
