"""Compares the embedded engine, in its three qualities, with other OCR packages, alone and behind HTTP.

    python -m benchmarks.engines --manifest MANIFEST --json FILE --markdown FILE

All variants alternate in rounds of one run, so that ratios hold on a busy machine. Rates are medians over rounds,
ratios medians of the rounds' ratios, and the latency of a page is its median over rounds. Documents: `sample`; peers:
inkgate_bench.accuracy.peers, and packages in environments of their own: benchmarks.engines.others. Memory, start-up
and priority: benchmarks.engines.service.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.engines import report
from benchmarks.engines.race import CLIENTS, race
from benchmarks.engines.sample import documents
from benchmarks.engines.targets import target_table
from benchmarks.figures import write_json
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.peers import PEERS
from inkgate_bench.accuracy.report import machine


def measure(options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The report as Markdown, and all values."""
    pages = documents(options.manifest, options.documents)
    peers = [PEERS[name] for name in options.peers or PEERS]
    others = {name: Path(python) for name, _, python in (each.partition("=") for each in options.others)}
    raced = anyio.run(partial(race, pages, options.rounds, peers, options.clients, others))
    targets = report.race_targets(raced)
    sections = (_heading(options, pages), target_table(targets), report.race_tables(raced, pages))
    values = {"targets": [target.as_json() for target in targets], "race": report.race_json(raced, pages)}
    return "\n\n".join(sections) + "\n", values


def _heading(options: argparse.Namespace, pages: Sequence[Entry]) -> str:
    on = machine()
    kinds = ", ".join(f"{sum(page.folder == name for page in pages)} {name}" for name in ("pages", "receipts"))
    return (
        f"{len(pages)} images of the development set ({kinds}), {options.rounds} rounds, on {on['cores']} cores of "
        f"{on['processor']}, Python {on['python']}.\n\n"
        f"    python -m benchmarks.engines --manifest MANIFEST --documents {options.documents} "
        f"--rounds {options.rounds}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=24, help="number of documents, evenly spread (24)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), help="default: all")
    parser.add_argument(
        "--others", nargs="*", default=[], metavar="NAME=PYTHON", help="tools of other_tool.py and who runs them"
    )
    parser.add_argument("--clients", nargs="*", type=int, default=CLIENTS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="file for the section of docs/contributing/benchmarks.md")
    options = parser.parse_args()
    text, values = measure(options)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    write_json(options.json, values)


if __name__ == "__main__":
    main()
