"""A dashboard: its variables and its rows of numbered panels."""

from __future__ import annotations

from grafana_foundation_sdk.builders import bargauge, dashboard, gauge, heatmap, stat, table, timeseries
from grafana_foundation_sdk.models import dashboard as models

from dashboards.panels import SOURCE

AnyPanel = timeseries.Panel | stat.Panel | gauge.Panel | bargauge.Panel | heatmap.Panel | table.Panel
Rows = dict[str, list[AnyPanel]]
"""Panels by the title of their row, from left to right; a line is 24 wide."""


def board(uid: str, title: str, description: str, rows: Rows) -> models.Dashboard:
    """A dashboard. `uid`: its identity in Grafana, and the name of its file."""
    made = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
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
    for row, panels in rows.items():
        number += 1
        made.with_row(dashboard.Row(row).id(number))
        for panel in panels:
            number += 1
            made.with_panel(panel.id(number))
    return made.build()


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
