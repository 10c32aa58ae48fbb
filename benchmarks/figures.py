"""What benchmarks make of their measurements: quantiles, tables, and JSON files that name the machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from inkgate_bench.accuracy.report import machine


def quantile(values: Iterable[float], share: float) -> float:
    """The quantile of values (nearest rank); NaN if there are none."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1] if ordered else math.nan


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write_json(file: Path | None, results: Mapping[str, object]) -> None:
    """Writes the results with the machine that they are of. `file`: None writes nothing."""
    if file is not None:
        file.write_text(json.dumps({"machine": machine(), **results}, indent=2) + "\n", encoding="utf-8")
