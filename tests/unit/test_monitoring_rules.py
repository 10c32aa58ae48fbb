"""The rules of deploy/monitoring: valid for Prometheus' own tools, each alert seen firing and silent, and explained."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inkgate.telemetry.catalog import CATALOG
from support.monitoring import MONITORING, ROOT, RULES, metrics_in, program, rule_groups, rules

SERIES = tuple(sorted((ROOT / "tests" / "data" / "alert_rules").glob("*.yml")))
ALERTS = rules("alert")
NAMES = [rule["alert"] for rule in ALERTS]


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
        "runbook_url": texts.get("runbook_url") == f"docs/operations/runbooks.md#{alert['alert'].lower()}",
    }
    return [f"{alert['alert']}: {rule}" for rule, kept in rules.items() if not kept]


def test_each_alert_says_how_bad_what_why_and_where_to_read_on() -> None:
    assert [problem for alert in ALERTS for problem in problems(alert)] == []


def test_the_runbooks_have_one_section_for_each_alert_and_say_what_to_do() -> None:
    page = (ROOT / "docs" / "operations" / "runbooks.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert list(sections) == NAMES
    for name, text in sections.items():
        assert all(f"**{word}**" in text for word in ("Means", "Look at", "Do")), name


def test_rules_ask_for_metrics_that_the_service_has() -> None:
    asked = {name for group in rule_groups() for rule in group["rules"] for name in metrics_in(rule["expr"])}
    assert asked - set(CATALOG) == set()
    assert len(asked) > 25


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
