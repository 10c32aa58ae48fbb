"""Compares the embedded engine with rapidocr and tesseract, behind HTTP, step by step, and with the peak arithmetic.

    python -m benchmarks.engines --manifest MANIFEST --json FILE --markdown FILE

All variants alternate in rounds of one run, so that ratios hold on a busy machine. Rates are medians over rounds,
ratios medians of the rounds' ratios, and the latency of a page is its median over rounds. Documents: `sample`; peers:
inkgate_bench.accuracy.peers. Parts: `race` (engine, HTTP, peers), `steps`, `accuracy` (of the steps, on all documents,
regardless of --documents), `bound` (time by stage, arithmetic). Memory, start-up and priority:
benchmarks.engines.service.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.engines import report
from benchmarks.engines.bound import bound
from benchmarks.engines.own import DEFAULT, STEPS, Step, parsed_step
from benchmarks.engines.race import CLIENTS, race
from benchmarks.engines.sample import documents
from benchmarks.engines.steps import accuracies, climb
from benchmarks.engines.targets import Target, target_table
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.peers import PEERS
from inkgate_bench.accuracy.report import machine

PARTS = ("race", "steps", "accuracy", "bound")


class EngineResults:
    """Results so far; written after each part, so that an interrupted run keeps them."""

    def __init__(self, heading: str) -> None:
        self.json: dict[str, Any] = {"machine": machine()}
        self._sections = [heading]
        self._targets: list[Target] = []

    def add(self, name: str, title: str, text: str, targets: Sequence[Target], values: object) -> None:
        self.json[name] = values
        self._sections.append(f"### {title}\n\n{text}")
        self._targets += targets

    def markdown(self) -> str:
        self.json["targets"] = [target.as_json() for target in self._targets]
        asked = [f"### What issue 5 asks for\n\n{target_table(self._targets)}"] if self._targets else []
        return "\n\n".join([self._sections[0], *asked, *self._sections[1:]]) + "\n"

    def write(self, options: argparse.Namespace) -> None:
        text = self.markdown()
        if options.markdown:
            options.markdown.write_text(text, encoding="utf-8")
        if options.json:
            options.json.write_text(json.dumps(self.json, indent=2), encoding="utf-8")


def measure(options: argparse.Namespace) -> EngineResults:
    pages = documents(options.manifest, options.documents)
    every = documents(options.manifest, options.accuracy_documents)
    chosen: Sequence[Step] = (*STEPS, *map(parsed_step, options.step))
    found = EngineResults(_heading(options, pages))
    if "race" in options.parts:
        peers = [PEERS[name] for name in options.peers or PEERS]
        raced = anyio.run(partial(race, pages, options.rounds, peers, options.clients))
        text = report.race_tables(raced, pages)
        found.add("race", "Beside others", text, report.race_targets(raced), report.race_json(raced, pages))
        found.write(options)
    if "steps" in options.parts:
        climbed = anyio.run(partial(climb, chosen, pages, options.rounds))
        found.add("steps", "Step by step", report.steps_table(climbed, pages), (), report.steps_json(climbed, pages))
        found.write(options)
    if "accuracy" in options.parts:
        looked = anyio.run(partial(accuracies, (chosen[0], *chosen[len(STEPS) :], DEFAULT), every))
        title = f"What the steps cost in accuracy, {len(every)} documents"
        rows = [vars(each) for each in looked]
        found.add("accuracy", title, report.accuracy_table(looked), report.accuracy_targets(looked), rows)
        found.write(options)
    if "bound" in options.parts:
        bounded = anyio.run(partial(bound, pages))
        text = report.bound_tables(bounded)
        found.add("bound", "Time by stage, and the arithmetic bound", text, (), report.bound_json(bounded))
        found.write(options)
    return found


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
    parser.add_argument("--accuracy-documents", type=int, help="number of documents for the part `accuracy` (all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), help="default: all")
    parser.add_argument("--clients", nargs="*", type=int, default=CLIENTS)
    parser.add_argument("--step", action="append", default=[], help="an additional step: `NAME: setting=value ...`")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path, help="file for the section of docs/contributing/benchmarks.md")
    options = parser.parse_args()
    print(measure(options).markdown())


if __name__ == "__main__":
    main()
