"""Measures the service: start-up, memory, and an urgent receipt beside sixteen clients.

    python -m benchmarks.engines.service --manifest MANIFEST --json FILE --markdown FILE

Runs `inkgate serve` on loopback with its defaults, but without cache. Parts: `start` (repeated, with an empty disk
cache before the first), `memory` (maximum resident memory while sixteen clients send whole pages), `growth` (over 2,000
requests with small crops of receipts, sampled after each tenth while nothing is in flight; the first tenth is the
baseline), `urgent` (receipts at `interactive`, alone and beside sixteen clients at `normal`; without degradation, so
that both are read at the same quality).
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.engines import checks
from benchmarks.engines.sample import documents
from benchmarks.engines.targets import Target, target_table
from benchmarks.figures import quantile, write_json

PARTS = ("start", "memory", "growth", "urgent")


def measure(options: argparse.Namespace) -> tuple[list[Target], list[str], dict[str, Any]]:
    """Returns the targets, further notes, and all values."""
    pages = documents(options.manifest, options.documents)
    receipts = documents(options.manifest, max(2, options.documents // 2), ("receipts",))
    targets: list[Target] = []
    notes: list[str] = []
    values: dict[str, Any] = {}
    if "start" in options.parts:
        seconds = checks.starts()
        targets.append(Target("second start to ready", seconds[1], " s", most=3))
        notes.append(f"Starts one after the other: {', '.join(f'{each:.2f}' for each in seconds)} s.")
        values["starts_s"] = seconds
    if "memory" in options.parts:
        memory = anyio.run(checks.memory, pages)
        targets.append(Target("most resident memory, 16 clients", memory.most_mb, " MB", most=1500, digits=0))
        notes.append(f"Resident memory when ready: {memory.ready_mb:.0f} MB.")
        values["memory"] = asdict(memory)
    if "growth" in options.parts:
        growth = anyio.run(partial(checks.growth, receipts, options.requests))
        what = f"growth of resident memory over {growth.requests} requests"
        targets.append(Target(what, growth.per_cent, " %", most=2))
        notes.append(f"Memory after each tenth: {', '.join(f'{each:.0f}' for each in growth.looks_mb)} MB.")
        values["growth"] = asdict(growth)
    if "urgent" in options.parts:
        urgent = anyio.run(partial(checks.urgent, receipts, pages, options.rounds))
        for name, share in (("median", 0.5), ("95 %", 0.95)):
            alone, beside = (quantile(each, share) for each in (urgent.unloaded_s, urgent.loaded_s))
            targets.append(Target(f"urgent receipt beside 16 clients to alone, {name}", beside / alone, most=3))
            notes.append(f"Urgent receipts, {name}: {alone:.2f} s alone, {beside:.2f} s beside 16 clients.")
        values["urgent"] = asdict(urgent)
    values["targets"] = [target.as_json() for target in targets]
    return targets, notes, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=24, help="number of pages of the load, evenly spread (24)")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of the part `urgent`")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    targets, notes, values = measure(options)
    text = f"### The service\n\n{target_table(targets)}\n\n" + "\n".join(notes) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    write_json(options.json, values)


if __name__ == "__main__":
    main()
