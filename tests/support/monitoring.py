"""Reads deploy/monitoring: rules, and the queries of dashboards."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from inkgate.telemetry.state_collector import CATALOG

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
RULES = tuple(sorted((MONITORING / "rules").glob("*.yml")))
DASHBOARDS = tuple(sorted((MONITORING / "grafana" / "dashboards").glob("*.json")))

Json = dict[str, Any]
_METRIC = re.compile(r"(?<![\w:\"./-])(?:inkgate_\w+|gpu_(?:utilization|memory)_\w+|http_requests_total|qps)(?![\w:])")
_PARTS = {f"{name}_{part}": name for name in CATALOG for part in ("bucket", "count", "sum")}
"""The series of histograms, with the metric of each."""


@dataclass(frozen=True)
class PanelQuery:
    """A query of a panel. `where`: dashboard, panel and letter, for failure messages."""

    where: str
    expr: str

    def with_values(self, instance: str = ".*", window: str = "1m") -> str:
        """The query as Grafana sends it, with these values for its variables and `All` for the others."""
        values = {"$instance": instance, "$engine": ".*", "$model": ".*", "$__rate_interval": window}
        expr = self.expr
        for variable, value in values.items():
            expr = expr.replace(variable, value)
        assert "$" not in expr, expr
        return expr


def program(name: str) -> str:
    """Path of the program; skips the test if it is missing, unless INKGATE_REQUIRE_ALL is set."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


def rule_groups() -> list[Json]:
    """All groups of all rule files."""
    return [group for path in RULES for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]


def rules(kind: str) -> list[Json]:
    """`alert`s, or rules that `record`."""
    return [rule for group in rule_groups() for rule in group["rules"] if kind in rule]


def panels(path: Path) -> list[Json]:
    """All panels of a dashboard, rows too."""
    found: list[Json] = json.loads(path.read_text(encoding="utf-8"))["panels"]
    return found


def panel_queries() -> Iterator[PanelQuery]:
    for path in DASHBOARDS:
        for panel in panels(path):
            for target in panel.get("targets", ()):
                yield PanelQuery(f"{path.stem} / {panel['title']} / {target['refId']}", target["expr"])


def metrics_in(expr: str) -> set[str]:
    """The service's metrics in an expression, by their names in the catalogue."""
    return {_PARTS.get(name, name) for name in _METRIC.findall(expr)}
