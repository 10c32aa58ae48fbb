"""docs/reference/metrics.md lists every metric and stage as the catalogue has them."""

from __future__ import annotations

import re
from pathlib import Path

from inkgate.telemetry.metrics import STAGES
from inkgate.telemetry.state_collector import CATALOG

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")


def test_every_metric_and_stage_is_listed() -> None:
    assert [
        name for name in (*CATALOG, *STAGES) if not re.search(rf"^- `{name}`(?: \(.+\))?: \w", PAGE, re.MULTILINE)
    ] == []
