"""Writes Grafana's dashboards as JSON, and Kubernetes' copy of Prometheus' rules, into deploy/monitoring.

python scripts/write_dashboards.py [FOLDER]

A test holds them current.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.engine import engine
from dashboards.overview import overview
from dashboards.tenants import tenants

MONITORING = Path(__file__).parent.parent / "deploy" / "monitoring"

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


def main(folder: Path) -> None:
    boards = folder / "grafana" / "dashboards"
    boards.mkdir(parents=True, exist_ok=True)
    for made in (overview(), engine(), tenants()):
        name = f"{str(made.uid).removeprefix('inkgate-')}.json"
        (boards / name).write_text(JSONEncoder(indent=2, sort_keys=True).encode(made) + "\n", encoding="utf-8")
    (folder / "kubernetes").mkdir(exist_ok=True)
    (folder / "kubernetes" / "prometheusrule.yaml").write_text(prometheus_rule(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else MONITORING)
