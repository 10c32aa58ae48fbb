"""Writes Grafana's dashboards as JSON, and Kubernetes' copy of Prometheus' rules, into deploy/monitoring.

python scripts/write_dashboards.py [--check]
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.engine import engine
from dashboards.overview import overview
from dashboards.tenants import tenants
from generated import ROOT, write_or_check

MONITORING = ROOT / "deploy" / "monitoring"

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


def prometheus_rule() -> str:
    """The rule files, one after the other, in one object."""
    text = PROMETHEUS_RULE
    for path in sorted((MONITORING / "rules").glob("*.yml")):
        _, groups = path.read_text(encoding="utf-8").split("\ngroups:\n")
        text += textwrap.indent(groups, "  ")
    return text


def files() -> dict[Path, str]:
    """The text of each file."""
    boards = {
        MONITORING / "grafana" / "dashboards" / f"{str(board.uid).removeprefix('inkgate-')}.json": board
        for board in (overview(), engine(), tenants())
    }
    texts = {path: JSONEncoder(indent=2, sort_keys=True).encode(board) + "\n" for path, board in boards.items()}
    return {**texts, MONITORING / "kubernetes" / "prometheusrule.yaml": prometheus_rule()}


if __name__ == "__main__":
    write_or_check(files())
