"""Comparisons to files: the kind of file by its suffix."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from inkgate.bench.reports.compare import AtLevel, Comparison
from inkgate.bench.reports.compare_charts import compare_charts
from inkgate.bench.reports.compare_html import comparison_html
from inkgate.bench.reports.differences import Ratio
from inkgate.bench.reports.files import ReportUnwritable, write_charts

_RATIO = TypeAdapter(Ratio)
_LEVELS = TypeAdapter(tuple[AtLevel, ...])
_ALL = TypeAdapter(dict[str, object])
FORMAT = "inkgate.comparison/1"


def write_comparison(found: Comparison, file: Path) -> None:
    """Writes it as `file`'s suffix says: .html, .svg, .png or .json; folders are made. Blocking, for seconds.

    Raises:
        ReportUnwritable: the suffix is none of these, or there is nothing to draw, or nothing to draw with.
        OSError: the file can't be written.
    """
    kind = file.suffix.lower()
    if kind not in {".html", ".svg", ".png", ".json"}:
        raise ReportUnwritable(f"{file.name} should end in .html, .svg, .png or .json.")
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".html":
        file.write_text(comparison_html(found), encoding="utf-8")
    elif kind == ".json":
        file.write_bytes(_ALL.dump_json(as_json(found), indent=1) + b"\n")
    else:
        write_charts(compare_charts(found), " and ".join(found.names), file, kind.removeprefix("."))


def as_json(found: Comparison) -> dict[str, object]:
    """What was found, without the two reports themselves."""
    return {
        "format": FORMAT,
        "names": found.names,
        "level": found.level,
        "goodput": _RATIO.dump_python(found.goodput, mode="json"),
        "p95": _RATIO.dump_python(found.p95, mode="json"),
        "levels": _LEVELS.dump_python(found.levels, mode="json"),
        "statement": found.statement,
        "concerns": found.concerns,
    }
