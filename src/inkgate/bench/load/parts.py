"""One load, taken apart for several processes: one thread sends a few thousand requests a second at most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.plan import Arrivals, Load, Plan
from inkgate.bench.load.results import Axis


def parts_of(load: Load, count: int) -> tuple[Load, ...]:
    """Loads that are `load` together, `count` of them at most.

    Poisson arrivals of several senders are Poisson arrivals together; constant ones are sent in turns; clients are
    dealt out.

    Raises:
        LoadImpossible: of a recording, which one process replays.
    """
    if count > 1 and load.plan.arrivals == Arrivals.REPLAY:
        raise LoadImpossible("Recorded traffic is sent by one process: leave --processes out.")
    plans = _clients(load.plan, count) if load.plan.axis is Axis.CONCURRENCY else _rates(load.plan, count)
    return tuple(replace(load, plan=plan) for plan in plans)


def _clients(plan: Plan, count: int) -> Iterator[Plan]:
    clients = int(plan.level)
    parts = min(count, clients)
    for number in range(parts):
        level = clients // parts + (number < clients % parts)
        yield replace(plan, level=float(level), seed=_seed(plan, number))


def _rates(plan: Plan, count: int) -> Iterator[Plan]:
    for number in range(count):
        yield replace(
            plan,
            level=plan.level / count,
            until_level=None if plan.until_level is None else plan.until_level / count,
            max_in_flight=max(1, plan.max_in_flight // count),
            phase=(number + plan.phase) / count,
            seed=_seed(plan, number),
        )


def _seed(plan: Plan, number: int) -> int:
    """Of part `number`: far from those of runs whose seeds were counted up."""
    return plan.seed + 1_000_003 * number
