"""Fails if a recognised line is not in the Markdown exactly once, and not in `left_out` either.

    inkgate eval MANIFEST --json REPORT
    python -m benchmarks.structure.kept_lines REPORT

Prints the lines that are lost or doubled, by document, of inkgate's own candidates; exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MAX_QUOTED = 5


def odd_documents(report: Mapping[str, Any]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Path, lost lines and doubled lines of each document that has any, with or without ground truth."""
    files = [file for candidate in report["candidates"] for file in candidate["files"]]
    for file in (*files, *report["unscored"]):
        if file["lost"] or file["doubled"]:
            yield file["path"], file["lost"], file["doubled"]


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    report = json.loads(parser.parse_args().report.read_text(encoding="utf-8"))
    odd = list(odd_documents(report))
    for path, lost, doubled in odd:
        print(f"{path}: {len(lost)} lost, {len(doubled)} doubled, such as {[*lost, *doubled][:MAX_QUOTED]}")
    lines = sum(candidate["line_accounts"]["lines"] for candidate in report["candidates"])
    print(f"Of {lines} lines, {sum(len(o[1]) for o in odd)} lost and {sum(len(o[2]) for o in odd)} doubled.")
    return 1 if odd or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
