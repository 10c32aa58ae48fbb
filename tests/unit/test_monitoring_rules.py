"""The rules of deploy/monitoring: valid for Prometheus' own tools, each alert seen firing and silent, and explained."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inkgate.cli.configure import setting_fields
from inkgate.doctor.conditions import CONDITIONS
from inkgate.telemetry.state_collector import CATALOG
from support.monitoring import DASHBOARDS, MONITORING, ROOT, RULES, metrics_in, panels, program, rule_groups, rules

SERIES = tuple(sorted((ROOT / "tests" / "data" / "alert_rules").glob("*.yml")))
ALERTS = rules("alert")
NAMES = [rule["alert"] for rule in ALERTS]
GUIDE = "http://127.0.0.1:7860/docs/guide/operations/runbooks/"


def run(*command: str | Path) -> None:
    ended = subprocess.run([program(str(command[0])), *command[1:]], capture_output=True, check=False, timeout=120)
    assert ended.returncode == 0, (ended.stdout + ended.stderr).decode()


@pytest.mark.real
def test_prometheus_takes_the_configuration_and_the_rules() -> None:
    run("promtool", "check", "config", MONITORING / "prometheus.yml")


@pytest.mark.real
def test_alertmanager_takes_its_configuration() -> None:
    run("amtool", "check-config", MONITORING / "alertmanager.yml")


@pytest.mark.real
@pytest.mark.parametrize("series", SERIES, ids=lambda path: path.stem)
def test_alerts_fire_on_what_they_are_for_and_on_nothing_else(series: Path) -> None:
    run("promtool", "test", "rules", series)


def _checks() -> list[tuple[str, bool]]:
    """Of all tests of rules: which alert is looked for, and whether it is to fire."""
    found = []
    for path in SERIES:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            for check in test["promql_expr_test"]:
                name = re.search(r'alertname="(\w+)", alertstate="firing"', check["expr"])
                if name is not None:
                    found.append((name.group(1), bool(check["exp_samples"])))
    return found


def test_each_alert_and_no_other_is_tested_firing_and_silent() -> None:
    assert set(_checks()) == {(name, fires) for name in NAMES for fires in (True, False)}


def problems(alert: dict[str, Any]) -> list[str]:
    texts = alert["annotations"]
    rules = {
        "severity": alert["labels"]["severity"] in {"critical", "warning"},
        "annotations": set(texts) == {"summary", "description", "runbook_url"},
        "description": len(texts.get("description", "")) > 40,
        "runbook_url": texts.get("runbook_url") in {f"{GUIDE}#{anchor}" for anchor in sections()},
    }
    return [f"{alert['alert']}: {rule}" for rule, holds in rules.items() if not holds]


def test_each_alert_says_how_bad_what_why_and_where_to_read_on() -> None:
    assert [problem for alert in ALERTS for problem in problems(alert)] == []


def sections() -> dict[str, str]:
    """The text of each section of the runbooks by its heading, which is its anchor."""
    page = (ROOT / "docs" / "operations" / "runbooks.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))


def test_the_runbooks_have_a_section_for_each_condition_with_alerts() -> None:
    texts = sections()
    conditions = {condition.name: condition.alerts for condition in CONDITIONS if condition.alerts}
    assert set(texts) == set(conditions)
    assert sorted(alert for alerts in conditions.values() for alert in alerts) == sorted(NAMES)
    words = ("Symptom", "Cause", "Confirm", "Remedy")
    incomplete = [
        name
        for name, text in texts.items()
        if not all(f"**{word}**" in text for word in words)
        or not all(f"`{alert}`" in text for alert in conditions[name])
    ]
    assert not incomplete


def test_settings_and_panels_in_the_runbooks_exist() -> None:
    known = {".".join(path) for path, _ in setting_fields()}
    titles = {panel["title"] for path in DASHBOARDS for panel in panels(path)}
    text = "".join(sections().values())
    named = set(re.findall(r"`((?:engine|serving|limits|pdf|cache|metrics)\.[a-z_.]+?)(?: = .*?)?`", text))
    shown = {
        title for found in re.findall(r"the panels? ([\w, ]+?)(?: has the|;|\.)", text) for title in titles_in(found)
    }
    assert len(named) > 10
    assert (named - known, shown - titles) == (set(), set())


def titles_in(words: str) -> list[str]:
    return re.split(r", | and ", words)


def test_rules_ask_for_metrics_that_the_service_has() -> None:
    queried = {name for group in rule_groups() for rule in group["rules"] for name in metrics_in(rule["expr"])}
    assert queried - set(CATALOG) == set()
    assert len(queried) > 25


def test_rules_use_recorded_series_that_are_recorded() -> None:
    recorded = {rule["record"] for rule in rules("record")}
    used = {
        name
        for group in rule_groups()
        for rule in group["rules"]
        for name in re.findall(r"(?:job_instance|job|inkgate):[\w:]+", rule["expr"])
    }
    assert used - recorded == set()


def test_kubernetes_has_the_same_rules() -> None:
    text = (MONITORING / "kubernetes" / "prometheusrule.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["spec"]["groups"] == rule_groups()
    assert len(RULES) == 2


def test_kubernetes_scrapes_as_the_configuration_does() -> None:
    configuration = yaml.safe_load((MONITORING / "prometheus.yml").read_text(encoding="utf-8"))
    manifests = (MONITORING / "kubernetes" / "servicemonitor.yaml").read_text(encoding="utf-8")
    service, monitor = yaml.safe_load_all(manifests)
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["interval"] == configuration["global"]["scrape_interval"] == "5s"
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    # The alerts go by the job's name, which is the value of this label.
    job = service["metadata"]["labels"][monitor["spec"]["jobLabel"]]
    assert job == configuration["scrape_configs"][0]["job_name"] == "inkgate"
    assert monitor["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]


def test_compose_mounts_what_is_there_and_listens_on_loopback_alone() -> None:
    services = yaml.safe_load((MONITORING / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"prometheus", "alertmanager", "grafana"}
    for service in services.values():
        assert re.fullmatch(r"[\w/]+:v?\d+\.\d+\.\d+", service["image"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith("./") or (MONITORING / source).exists(), volume
    for name in ("prometheus", "alertmanager"):
        (address,) = [flag for flag in services[name]["command"] if flag.startswith("--web.listen-address=")]
        assert "=127.0.0.1:" in address
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
