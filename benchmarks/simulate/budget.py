"""Simulates inkgate with and without its KV cache budget (serving/ledger.py) and learned estimates of output lengths.

    python -m benchmarks.simulate.budget [--seconds 60] [--seeds 8]

The card never runs out of memory here: crashes, which a KV cache budget can't prevent, would hide all differences.
Prints responses in time a second, with the standard deviation over seeds, how many seeds were better than the product
as it is, and preemptions per run.
"""

from __future__ import annotations

import argparse
from collections.abc import Hashable
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from benchmarks.simulate.inkgate import Inkgate
from benchmarks.simulate.policies import NewPolicy
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import Link, Run, Scenario
from benchmarks.simulate.workload import Pages, Tenant
from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.ledger import Ledger
from inkgate.settings import AdaptiveSettings

WARM_UP_S = 30.0
_CONSTANT = (512, 1024)
"""Mean and most tokens of an answer, if they are not learned."""


class NoBudget(Ledger):
    """Counts tokens, and refuses none."""

    def fits(self, tokens: int, margin: int = 0, growing: int = 0) -> bool:
        return True


class ConstantEstimates(OutputEstimates):
    """The same estimate for every page."""

    def estimates(self, key: Hashable, cap: int) -> tuple[int, int]:
        mean, most = _CONSTANT
        return min(mean, cap), min(most, cap)


@dataclass(frozen=True, slots=True)
class BudgetCase:
    """A load. `kv_tokens`: of the card's cache."""

    name: str
    rate: float
    kv_tokens: int
    pages: Pages = Pages()
    patience_s: float = 10.0
    gateways: int = 1

    def scenario(self, seconds: float, seed: int) -> Scenario:
        tenant = Tenant("all", [(0.0, self.rate)], pages=self.pages, patience_s=self.patience_s)
        scenario = Scenario([tenant], WARM_UP_S + seconds, WARM_UP_S, gateways=self.gateways, seed=seed)
        return replace(scenario, card=replace(scenario.card.undying(), kv_tokens=self.kv_tokens))


_LONG = Pages(output_tokens=800.0, output_tokens_sigma=1.0)
CASES = (
    BudgetCase("cache of 120,000 tokens, twice the capacity", 60.0, 120_000),
    BudgetCase("cache of 20,000 tokens, twice the capacity", 40.0, 20_000),
    BudgetCase("cache of 20,000 tokens, five times the capacity", 100.0, 20_000),
    BudgetCase("long answers, cache of 40,000 tokens, twice the capacity", 9.0, 40_000, _LONG, 30.0),
    BudgetCase("the same with two gateways", 9.0, 40_000, _LONG, 30.0, gateways=2),
)


def policy(*, budget: bool, learned: bool) -> NewPolicy:
    """inkgate with its adaptive limit."""

    def new(link: Link, seed: int) -> Inkgate:
        return Inkgate(
            link,
            AdaptiveLimit(AdaptiveSettings()),
            seed,
            ledger=Ledger(None) if budget else NoBudget(None),
            estimates=OutputEstimates() if learned else ConstantEstimates(),
        )

    return new


POLICIES = {
    "as it is": policy(budget=True, learned=True),
    "constant estimates": policy(budget=True, learned=False),
    "without the budget": policy(budget=False, learned=True),
    "without both": policy(budget=False, learned=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="simulated, after a warm-up")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each, at least 2")
    args = parser.parse_args()
    print("| load | policy | responses in time/s | better seeds | preemptions |\n| --- | --- | --- | --- | --- |")
    for case in CASES:
        before: list[float] = []
        for name, new_policy in POLICIES.items():
            runs: list[Run] = [simulate(case.scenario(args.seconds, seed), new_policy) for seed in range(args.seeds)]
            goodputs = [run.goodput() for run in runs]
            before = before or goodputs
            better = sum(now > then for now, then in zip(goodputs, before, strict=True))
            goodput = f"{fmean(goodputs):.1f} ± {stdev(goodputs):.1f}"
            preemptions = fmean(run.preemptions for run in runs)
            print(f"| {case.name} | {name} | {goodput} | {better} of {args.seeds} | {preemptions:.0f} |", flush=True)


if __name__ == "__main__":
    main()
