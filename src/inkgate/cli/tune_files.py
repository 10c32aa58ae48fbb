"""The files that a search leaves behind."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from inkgate.bench.reports.files import write_report
from inkgate.bench.tune.results import TuneReport
from inkgate.cli.outputs import write_whole

REPORT = "report.json"
FRAGMENT = "inkgate.toml"
PAGE = "report.html"
_REPORT = TypeAdapter(TuneReport)


def write_results(report: TuneReport, folder: Path) -> None:
    """Writes the report as JSON and as an HTML page, and the recommended settings, if any.

    Raises:
        OSError: a file can't be written.
    """
    write_whole(folder / REPORT, _REPORT.dump_json(report, indent=1) + b"\n")
    if report.chosen is not None:
        write_whole(folder / FRAGMENT, report.fragment.encode())
    write_report(report, folder / PAGE)  # last: drawing takes seconds
