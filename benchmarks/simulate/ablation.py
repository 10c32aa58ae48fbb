"""What each part of the adaptive limit is for: the simulated server with and without it.

    python -m benchmarks.simulate.ablation [--seeds 3]

Each part is switched off alone, in the scenario that it was made for. Uses the slow 4090D of `steps`, which never runs
out of memory.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from statistics import fmean
from unittest.mock import PropertyMock, patch

from benchmarks.simulate.batch import Flags
from benchmarks.simulate.inkgate import adaptive
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import End, Run, Scenario
from benchmarks.simulate.steps import CARD, slowed
from benchmarks.simulate.workload import Tenant
from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.evidence import SustainedConcurrency, ThroughputGain
from inkgate.settings import AdaptiveSettings

LARGE_CACHE = dataclasses.replace(CARD, kv_tokens=3_000_000)
MINUTE_S = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Ablation:
    """A part of the limit, and the scenario that it was made for.

    Attributes:
        scenario: makes the scenario from a seed.
        initial: the limit at the start.
        off: patches that switch the part off.
    """

    scenario: Callable[[int], Scenario]
    initial: int
    off: Mapping[str, Callable[[], AbstractContextManager[object]]]


def pages(rate: float, patience_s: float) -> list[Tenant]:
    """One tenant that sends `rate` single pages a second, each with this deadline."""
    return [Tenant("all", [(0.0, rate)], patience_s=patience_s)]


ABLATIONS = {
    "floor of what the engine runs (SustainedConcurrency); the server is 3 times slower for 100 s": Ablation(
        lambda seed: Scenario(
            pages(11.0, MINUTE_S), until_s=300.0, card=CARD, events=[slowed(100, 3), slowed(200, 1)], seed=seed
        ),
        16,
        {
            "observe": lambda: patch.object(SustainedConcurrency, "observe"),
            "recent": lambda: patch.object(SustainedConcurrency, "recent", return_value=0.0),
        },
    ),
    "end of growth without gain (ThroughputGain); a cache of any size, minutes 20 to 25": Ablation(
        lambda seed: Scenario(
            pages(11.0, MINUTE_S),
            from_s=20 * MINUTE_S,
            until_s=25 * MINUTE_S,
            card=LARGE_CACHE,
            flags=Flags(max_num_seqs=1024),
            seed=seed,
        ),
        16,
        {"gain": lambda: patch.object(ThroughputGain, "limit_before_useless_growth", return_value=None)},
    ),
    "cuts and no growth on timeouts; deadlines of 8 s, the limit starts at 200": Ablation(
        lambda seed: Scenario(pages(15.0, 8.0), from_s=40.0, until_s=200.0, card=LARGE_CACHE, seed=seed),
        200,
        {
            "cuts": lambda: patch.object(AdaptiveLimit, "_timed_out"),
            "growth": lambda: patch.object(AdaptiveLimit, "_few_late", new_callable=PropertyMock, return_value=True),
        },
    ),
}


def row(name: str, runs: list[Run]) -> str:
    """A line of the table: successful responses a second, the limit, and the times of responses."""
    times = [run.times(End.ANSWERED) for run in runs]
    limits = [fmean(run.limits(run.scenario.from_s, run.scenario.until_s)) for run in runs]
    p50, p95 = (fmean(each[int(part * len(each))] for each in times) for part in (0.5, 0.95))
    return f"| {name} | {fmean(run.goodput() for run in runs):.2f} | {fmean(limits):.0f} | {p50:.1f} s | {p95:.1f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each")
    args = parser.parse_args()
    print(
        "| part and scenario | in time a second | limit | median | 95th percentile |\n| --- | --- | --- | --- | --- |"
    )
    for name, ablation in ABLATIONS.items():
        policy = adaptive(AdaptiveSettings(initial=ablation.initial))
        whole = [simulate(ablation.scenario(seed), policy) for seed in range(args.seeds)]
        print(row(name, whole), flush=True)
        with ExitStack() as patches:
            for switch in ablation.off.values():
                patches.enter_context(switch())
            print(
                row("without it", [simulate(ablation.scenario(seed), policy) for seed in range(args.seeds)]), flush=True
            )


if __name__ == "__main__":
    main()
