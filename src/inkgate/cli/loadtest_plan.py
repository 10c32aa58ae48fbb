"""Which load the options of `inkgate loadtest` ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inkgate.bench.load.plan import Plan, Share


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options that say how much load, of which kind, and from whom."""

    clients: int | None
    rate: float | None
    ramp: str | None
    replay: Path | None
    speed: float
    arrivals: str
    priorities: str
    keys: tuple[str, ...]


def plan_of(wanted: Wanted, common: Plan) -> Plan:
    """The plan; `common` is what it has whatever the load is. Without any load asked for: one client.

    Raises:
        LoadImpossible: the options contradict each other, or make no sense.
    """
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.results import Axis

    given = {"--clients": wanted.clients, "--rate": wanted.rate, "--ramp": wanted.ramp, "--replay": wanted.replay}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise LoadImpossible(f"{' and '.join(named)} are different loads: give one of them.")
    mixed = replace(common, mix=mix_of(wanted.priorities, wanted.keys))
    if wanted.clients is not None or not named:
        plan = replace(mixed, axis=Axis.CONCURRENCY, level=float(wanted.clients or 1))
    else:
        plan = _open(wanted, replace(mixed, axis=Axis.RATE))
    plan.check()
    return plan


def _open(wanted: Wanted, plan: Plan) -> Plan:
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.plan import Arrivals, Share
    from inkgate.bench.load.replay import read_recorded

    if wanted.ramp is not None:
        first, last = _ends(wanted.ramp)
        return replace(plan, level=first, until_level=last, arrivals=Arrivals.RAMP)
    if wanted.replay is not None:
        recorded = read_recorded(wanted.replay, wanted.speed)
        said = {one.priority for one in recorded} - {share.priority for share in plan.mix}
        keys = dict.fromkeys(share.key for share in plan.mix)
        more = tuple(Share(priority, key, 0.0) for key in keys for priority in sorted(said))
        plan = replace(plan, arrivals=Arrivals.REPLAY, replay=recorded, mix=plan.mix + more)
        return replace(plan, level=len(recorded) / plan.window_s)
    if wanted.arrivals not in {"poisson", "constant"}:
        raise LoadImpossible(f"Arrivals are poisson or constant, not {wanted.arrivals!r}.")
    return replace(plan, level=wanted.rate or 0.0, arrivals=Arrivals(wanted.arrivals))


def _ends(ramp: str) -> tuple[float, float]:
    from inkgate.bench.load.impossible import LoadImpossible

    first, _, last = ramp.partition(":")
    try:
        return float(first), float(last)
    except ValueError as error:
        raise LoadImpossible(f"A ramp is written as two rates, such as 1:100, not {ramp!r}.") from error


def mix_of(priorities: str, keys: tuple[str, ...]) -> tuple[Share, ...]:
    """Who asks: each key equally often, and with each the classes of priority by their weights.

    Raises:
        LoadImpossible: `priorities` is not understood.
    """
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.plan import Share

    classes: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in priorities.split(","))):
        name, _, weight = part.partition("=")
        try:
            classes[name.strip()] = float(weight or 1)
        except ValueError as error:
            raise LoadImpossible(f"Priorities are written as interactive=3,batch=1, not {priorities!r}.") from error
    owners: tuple[str | None, ...] = keys or (None,)
    return tuple(Share(priority, key, weight) for key in owners for priority, weight in (classes or {"": 1.0}).items())
