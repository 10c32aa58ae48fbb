"""Measures what `inkgate batch` adds to a document: starting, listing, journal, rows and markers, without any OCR.

python benchmarks/batch_overhead.py [--documents 500 2000 8000] [--runs 3]

The documents are read by a stand-in at once. What counts is CPU time, which other work on the machine hardly
changes. The slope over the numbers of documents is the cost of one, the intercept that of a run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import linear_regression, median

ROOT = Path(__file__).parents[1]
COMMAND = "from support.batch_child import run_command; run_command()"


def run_s(documents: int, rows: str) -> float:
    """CPU seconds of one run, in all of its processes, over `documents` small files."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        source.mkdir()
        for number in range(documents):
            (source / f"{number:06}.png").write_text(f"text {number} " * 200)
        path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", COMMAND, "batch", source, Path(folder) / "out", "-f", rows],
            check=True,
            env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[500, 2000, 8000])
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    for rows in ("jsonl", "parquet"):
        seconds = [median(run_s(count, rows) for _ in range(arguments.runs)) for count in arguments.documents]
        slope, intercept = linear_regression(arguments.documents, seconds)
        results[rows] = {"cpu_ms_a_document": round(1000 * slope, 2), "cpu_s_a_run": round(intercept, 2)}
        print(rows, *(f"{count}: {took:.1f} s;" for count, took in zip(arguments.documents, seconds, strict=True)))
    print(json.dumps({"runs": arguments.runs, "documents": arguments.documents, **results}))


if __name__ == "__main__":
    main()
