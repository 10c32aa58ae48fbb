"""Offers half to ten times the capacity of a real vLLM, alone and behind each of four gateways.

    python -m benchmarks.overload --peers PEERS/bin --json FILE --svg FILE

Goodput is responses within the deadline, at which clients disconnect. Capacity is the throughput of vLLM alone in a
closed loop of sixteen clients, measured first. Every system gets a new vLLM, kept busy for `--warm-s` seconds before
the first row (it is slower at first), and the same requests at the same times. Repeated loads are combined to one row:
`--loads 2 1 5 10 10 5 1 2` compensates for a machine that slows down.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.figures import table, write_json
from benchmarks.overload.systems import NAMES, RunningSystem, running
from benchmarks.overload.traffic import Result, closed, offered, poisson

LOADS = (0.5, 1.0, 2.0, 5.0, 10.0)
WARMING_CLIENTS = 16


@dataclass(frozen=True)
class Row:
    """One system under one load. Times in seconds; goodput in responses a second.

    `answered`: share of all requests with a response in time; `answered_longest`: of the quarter with most tokens.
    """

    system: str
    load: float
    offered: int
    good: int
    late: int
    refused: int
    failed: int
    goodput: float
    share_of_capacity: float
    good_tokens_per_s: float
    answered: float
    answered_longest: float
    p50_s: float | None
    p99_s: float | None
    refusal_p50_ms: float | None
    refusal_p99_ms: float | None
    without_retry_after: int
    preemptions: int
    dead: bool


def row_of(system: RunningSystem, load: float, capacity: float, result: Result, preemptions: int) -> Row:
    results = result.results
    p50, p99 = result.quantile(0.5, "good"), result.quantile(0.99, "good")
    refusal_p50, refusal_p99 = result.quantile(0.5, "refused"), result.quantile(0.99, "refused")
    return Row(
        system.name,
        load,
        len(results),
        result.count("good"),
        result.count("late"),
        result.count("refused"),
        result.count("failed"),
        round(result.goodput, 2),
        round(result.goodput / capacity, 3),
        round(result.good_tokens),
        round(result.answered(1.0), 3),
        round(result.answered(0.25), 3),
        None if p50 is None else round(p50, 2),
        None if p99 is None else round(p99, 2),
        None if refusal_p50 is None else round(1000 * refusal_p50, 1),
        None if refusal_p99 is None else round(1000 * refusal_p99, 1),
        sum(each.outcome == "refused" and not each.retry_after for each in results),
        preemptions,
        system.dead,
    )


async def measured(
    system: RunningSystem, loads: tuple[float, ...], capacity: float, options: argparse.Namespace
) -> list[Row]:
    together: dict[float, Result] = {}
    preempted: dict[float, int] = {}
    await closed(system.url, WARMING_CLIENTS, options.warm_s)
    for turn, load in enumerate(loads):
        before = system.preemptions()
        asks = poisson(load * capacity, options.seconds, seed=int(load * 100) + loads[:turn].count(load))
        result = await offered(system.url, asks, options.seconds, options.deadline_s)
        await asyncio.sleep(3)
        after = before if system.dead else system.preemptions()
        print(row_of(system, load, capacity, result, after - before), file=sys.stderr, flush=True)
        together[load] = together[load].followed_by(result) if load in together else result
        preempted[load] = preempted.get(load, 0) + after - before
    return [row_of(system, load, capacity, together[load], preempted[load]) for load in dict.fromkeys(loads)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="folder of the program `litellm`")
    parser.add_argument("--systems", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--loads", nargs="*", type=float, default=LOADS)
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of each load")
    parser.add_argument("--warm-s", type=float, default=60.0, help="warm-up time of vLLM")
    parser.add_argument("--deadline-s", type=float, default=10.0)
    parser.add_argument("--capacity", type=float, help="responses a second; default: measured")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    capacity = options.capacity
    if capacity is None:
        with running("vLLM alone", None) as bare:
            asyncio.run(closed(bare.url, 16, 5))
            capacity = asyncio.run(closed(bare.url, 16, options.seconds))
        print(f"capacity: {capacity:.2f} answers a second", file=sys.stderr, flush=True)
    rows: list[Row] = []
    for name in options.systems:
        with running(name, options.peers) as system:
            rows += asyncio.run(measured(system, tuple(options.loads), capacity, options))
    show(rows, capacity)
    write_json(options.json, {"capacity": capacity, "rows": [asdict(row) for row in rows]})
    if options.svg:
        from benchmarks.plots import overload

        overload([(row.system, row.load, row.share_of_capacity) for row in rows], options.svg)


def show(rows: list[Row], capacity: float) -> None:
    """The table for docs/contributing/benchmarks.md."""
    print(f"capacity {capacity:.2f} answers a second\n")
    head = ("system", "load", "good", "late", "refused", "failed", "goodput / capacity", "tokens / s", "p50, p99 s")
    more = ("refusal p50, p99 ms", "preemptions", "dead")
    cells = [
        (
            row.system,
            f"{row.load:g}",
            *(row.good, row.late, row.refused, row.failed),
            f"{row.share_of_capacity:.2f}",
            f"{row.good_tokens_per_s:.0f}",
            f"{row.p50_s}, {row.p99_s}",
            f"{row.refusal_p50_ms}, {row.refusal_p99_ms}",
            row.preemptions,
            "yes" if row.dead else "no",
        )
        for row in rows
    ]
    print(table((*head, *more), cells))


if __name__ == "__main__":
    main()
