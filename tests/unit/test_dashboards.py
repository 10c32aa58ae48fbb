"""The dashboards of deploy/monitoring: as the script makes them, valid, complete, and of metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from inkgate.telemetry.catalog import CATALOG
from support.monitoring import DASHBOARDS, MONITORING, ROOT, metrics_in, panel_queries, panels, program, rules

WIDTH = 24


def test_the_files_are_what_the_script_writes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "write_dashboards.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, timeout=60)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 4
    for path in written:
        assert (MONITORING / path).read_bytes() == (tmp_path / path).read_bytes(), path
    assert [path.stem for path in DASHBOARDS] == ["engine", "overview", "tenants"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_grafanas_types_take_it_and_lose_nothing(path: Path) -> None:
    register_default_plugins()
    read = json.loads(path.read_text(encoding="utf-8"))
    decoded = Dashboard.from_json(read)
    assert json.loads(JSONEncoder().encode(decoded)) == read


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_have_numbers_of_their_own_and_lie_beside_each_other(path: Path) -> None:
    numbers = [panel["id"] for panel in panels(path)]
    assert numbers == list(range(1, len(numbers) + 1))
    covered: set[tuple[int, int]] = set()
    for panel in panels(path):
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH, panel["title"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not covered & cells, panel["title"]
        covered |= cells


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_say_what_they_show_and_in_which_unit(path: Path) -> None:
    shown = [panel for panel in panels(path) if panel["type"] != "row"]
    assert len({panel["title"] for panel in shown}) == len(shown)
    for panel in shown:
        assert len(panel["description"]) > 10, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["targets"], panel["title"]
        letters = [target["refId"] for target in panel["targets"]]
        assert letters == sorted(set(letters)), panel["title"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_instance_engine_and_model_can_be_chosen(path: Path) -> None:
    board = json.loads(path.read_text(encoding="utf-8"))
    names = [variable["name"] for variable in board["templating"]["list"]]
    assert names == ["datasource", "instance", "engine", "model"]
    used = " ".join(query.expr for query in panel_queries() if query.where.startswith(path.stem))
    assert all(f"${name}" in used for name in names[1:])


def test_what_people_look_for_is_there() -> None:
    kinds = {(panel["type"], panel["title"]) for path in DASHBOARDS for panel in panels(path)}
    assert {
        ("timeseries", "QPS"),
        ("timeseries", "Limit against in flight"),
        ("heatmap", "Page time, all of it"),
        ("table", "Instances"),
        ("gauge", "GPU utilisation"),
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
    # What a line over time or a table wouldn't say better than another that is shown.
    left_out = {
        "inkgate_breaker_state",
        "inkgate_breaker_opened_total",
        "inkgate_cache_entries",
        "inkgate_cache_bytes",
        "inkgate_cache_bytes_limit",
        "inkgate_gpu_info",
    }
    assert set(CATALOG) - shown == left_out
