"""The dashboards of deploy/monitoring: valid, complete, and of metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from inkgate.telemetry.state_collector import CATALOG
from support.monitoring import DASHBOARDS, metrics_in, panel_queries, panels, program, rules

WIDTH = 24


def test_grafanas_types_take_each_dashboard_and_lose_nothing() -> None:
    assert [path.stem for path in DASHBOARDS] == ["engine", "jobs", "overview", "tenants"]
    register_default_plugins()
    read = [json.loads(path.read_text(encoding="utf-8")) for path in DASHBOARDS]
    encoded = [json.loads(JSONEncoder().encode(Dashboard.from_json(board))) for board in read]
    assert encoded == read


def test_panels_have_numbers_of_their_own_and_lie_beside_each_other() -> None:
    misplaced = []
    for path in DASHBOARDS:
        covered: set[tuple[int, int]] = set()
        for number, panel in enumerate(panels(path), 1):
            at = panel["gridPos"]
            cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
            if panel["id"] != number or at["x"] + at["w"] > WIDTH or covered & cells:
                misplaced.append((path.stem, panel["title"]))
            covered |= cells
    assert misplaced == []


def problems(panel: dict[str, Any]) -> list[str]:
    letters = [target["refId"] for target in panel["targets"]]
    rules = {
        "description": len(panel["description"]) > 10 and panel["description"].endswith("."),
        "unit": bool(panel["fieldConfig"]["defaults"]["unit"]),
        "queries": letters and letters == sorted(set(letters)),
    }
    return [rule for rule, holds in rules.items() if not holds]


def test_panels_say_what_they_show_and_in_which_unit() -> None:
    for path in DASHBOARDS:
        shown = [panel for panel in panels(path) if panel["type"] != "row"]
        assert len({panel["title"] for panel in shown}) == len(shown), path.stem
        assert [(path.stem, panel["title"], found) for panel in shown if (found := problems(panel))] == []


def test_instance_engine_and_model_can_be_chosen() -> None:
    names = ["datasource", "instance", "engine", "model"]
    for path in DASHBOARDS:
        board = json.loads(path.read_text(encoding="utf-8"))
        assert [variable["name"] for variable in board["templating"]["list"]] == names, path.stem
        used = " ".join(query.expr for query in panel_queries() if query.where.startswith(path.stem))
        assert [name for name in names[1:] if f"${name}" not in used] == [], path.stem


def test_what_people_look_for_is_there() -> None:
    kinds = {(panel["type"], panel["title"]) for path in DASHBOARDS for panel in panels(path)}
    assert {
        ("timeseries", "QPS"),
        ("timeseries", "Limit and in flight"),
        ("heatmap", "Distribution of page times"),
        ("table", "Instances"),
        ("gauge", "GPU utilization"),
        ("bargauge", "GPU memory"),
    } <= kinds
    (gauge,) = [panel for path in DASHBOARDS for panel in panels(path) if panel["type"] == "gauge"]
    assert len(gauge["fieldConfig"]["defaults"]["thresholds"]["steps"]) == 3


@pytest.mark.real
def test_every_query_is_promql(tmp_path: Path) -> None:
    queries = [query.with_values() for query in panel_queries()]
    records = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(queries)]
    checked = tmp_path / "queries.yml"
    checked.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": records}]}), encoding="utf-8")
    ended = subprocess.run([program("promtool"), "check", "rules", checked], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    assert f"{len(records)} rules found" in ended.stdout.decode()


def test_queries_ask_for_what_the_service_has_and_the_rules_record() -> None:
    recorded = {rule["record"] for rule in rules("record")}
    for query in panel_queries():
        assert metrics_in(query.expr) - set(CATALOG) == set(), query.where
        assert set(re.findall(r"(?:job_instance|job|inkgate):[\w:]+", query.expr)) <= recorded, query.where


def test_every_metric_is_shown_somewhere() -> None:
    shown = {name for query in panel_queries() for name in metrics_in(query.expr)}
    assert {name for name, family in CATALOG.items() if family.panel} == shown
