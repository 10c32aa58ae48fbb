"""Writes the Grafana dashboards, the alert rules, and a copy of all rules for Kubernetes to deploy/monitoring.

python scripts/write_dashboards.py [--check]
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards import board, with_limits
from generated import ROOT, write_or_check
from inkgate.doctor.conditions import CONDITIONS

MONITORING = ROOT / "deploy" / "monitoring"
SOURCE = MONITORING / "source"
BOARDS = ("overview", "engine", "jobs", "tenants")

PROMETHEUS_RULE = """\
# Written by scripts/write_dashboards.py from deploy/monitoring/rules: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: inkgate
  labels:
    app.kubernetes.io/name: inkgate
spec:
  groups:
"""


ALERTS = "# Written by scripts/write_dashboards.py from deploy/monitoring/source/alerts.yml: change it there.\n"
GUIDE = "http://127.0.0.1:7860/docs/guide/"
"""Documentation served by an instance on the same machine; docs/guides/monitoring.md tells how to change it."""


def alerts() -> str:
    """The template with the thresholds of the doctor's conditions, and the runbook of each alert's condition."""
    runbooks = {alert: GUIDE + condition.runbook for condition in CONDITIONS for alert in condition.alerts}
    template = (SOURCE / "alerts.yml").read_text(encoding="utf-8")
    before, *rules = re.split(r"(?<=- alert: )", template)
    rules = [rule.replace("@{runbook}", runbooks[rule.partition("\n")[0]]) for rule in rules]
    return ALERTS + with_limits(before + "".join(rules))


def prometheus_rule() -> str:
    """All rules in one object."""
    recording = (MONITORING / "rules" / "recording.yml").read_text(encoding="utf-8")
    groups = [text.split("\ngroups:\n")[1] for text in (alerts(), recording)]
    return PROMETHEUS_RULE + "".join(textwrap.indent(each, "  ") for each in groups)


def files() -> dict[Path, str]:
    """The text of each file."""
    folder = MONITORING / "grafana" / "dashboards"
    encoder = JSONEncoder(indent=2, sort_keys=True)
    texts = {folder / f"{name}.json": encoder.encode(board(SOURCE / f"{name}.yml")) + "\n" for name in BOARDS}
    rules = {"rules/alerts.yml": alerts(), "kubernetes/prometheusrule.yaml": prometheus_rule()}
    return texts | {MONITORING / name: text for name, text in rules.items()}


if __name__ == "__main__":
    write_or_check(files())
