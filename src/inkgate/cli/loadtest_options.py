"""The load that the options of `inkgate loadtest` describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inkgate.bench.load.knee import Steps
    from inkgate.bench.load.plan import CallerShare, Plan


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options that say how much load, of which kind, and from whom."""

    clients: int | None
    rate: float | None
    ramp: str | None
    replay: Path | None
    speed: float
    arrivals: str
    priorities: str
    keys: tuple[str, ...]


def plan_of(options: LoadOptions, common: Plan) -> Plan:
    """The plan; `common` holds what is the same for every kind of load. Without any load option: one client.

    Raises:
        LoadImpossible: the options contradict each other, or make no sense.
    """
    from inkgate.bench.load import LoadImpossible
    from inkgate.bench.load.results import Axis

    loads = {"--clients": options.clients, "--rate": options.rate, "--ramp": options.ramp, "--replay": options.replay}
    given = [name for name, value in loads.items() if value is not None]
    if len(given) > 1:
        raise LoadImpossible(f"Give only one of {' and '.join(given)}.")
    mixed = replace(common, mix=mix_of(options.priorities, options.keys))
    if options.clients is not None or not given:
        plan = replace(mixed, axis=Axis.CONCURRENCY, level=float(options.clients or 1))
    else:
        plan = _open_loop(options, replace(mixed, axis=Axis.RATE))
    plan.check()
    return plan


def _open_loop(options: LoadOptions, plan: Plan) -> Plan:
    from inkgate.bench.load.arrivals import read_recording
    from inkgate.bench.load.plan import Arrivals, CallerShare

    if options.ramp is not None:
        first, last = _ramp_rates(options.ramp)
        return replace(plan, level=first, until_level=last, arrivals=Arrivals.RAMP)
    if options.replay is not None:
        recorded = read_recording(options.replay, options.speed)
        missing = {request.priority for request in recorded} - {share.priority for share in plan.mix}
        keys = dict.fromkeys(share.key for share in plan.mix)
        more = tuple(CallerShare(priority, key, 0.0) for key in keys for priority in sorted(missing))
        plan = replace(plan, arrivals=Arrivals.REPLAY, replay=recorded, mix=plan.mix + more)
        return replace(plan, level=len(recorded) / plan.window_s)
    return replace(plan, level=options.rate or 0.0, arrivals=Arrivals(options.arrivals))


def _ramp_rates(ramp: str) -> tuple[float, float]:
    from inkgate.bench.load import LoadImpossible

    first, _, last = ramp.partition(":")
    try:
        return float(first), float(last)
    except ValueError as error:
        raise LoadImpossible(f"--ramp takes two rates, such as 1:100, not {ramp!r}.") from error


def mix_of(priorities: str, keys: tuple[str, ...]) -> tuple[CallerShare, ...]:
    """The callers: all keys equally often, each with the priorities by their weights.

    Raises:
        LoadImpossible: `priorities` can't be parsed.
    """
    from inkgate.bench.load import LoadImpossible
    from inkgate.bench.load.plan import CallerShare

    weights: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in priorities.split(","))):
        name, _, weight = part.partition("=")
        try:
            weights[name.strip()] = float(weight or 1)
        except ValueError as error:
            raise LoadImpossible(f"--priorities looks like interactive=3,batch=1, not {priorities!r}.") from error
    senders: tuple[str | None, ...] = keys or (None,)
    return tuple(CallerShare(name, key, weight) for key in senders for name, weight in (weights or {"": 1.0}).items())


def steps_of(levels: str | None, rates: str | None, repeats: int | None, plan: Plan) -> tuple[Steps | None, Plan]:
    """The steps of `--steps` and `--rate-steps`, None without them, and the plan along their axis.

    Raises:
        LoadImpossible: they contradict each other or the plan, or can't be parsed.
    """
    from inkgate.bench.load import LoadImpossible
    from inkgate.bench.load.knee import Steps, parse_steps
    from inkgate.bench.load.plan import Arrivals
    from inkgate.bench.load.results import Axis
    from inkgate.bench.statistics import LEAST_REPEATS

    if levels is None and rates is None:
        if repeats is not None:
            raise LoadImpossible("--repeats needs --steps or --rate-steps.")
        return None, plan
    if levels is not None and rates is not None:
        raise LoadImpossible("Give only one of --steps and --rate-steps.")
    if plan.arrivals in {Arrivals.RAMP, Arrivals.REPLAY}:
        raise LoadImpossible("A ramp or a replay can't be run in steps.")
    axis = Axis.CONCURRENCY if levels is not None else Axis.RATE
    parsed = parse_steps(levels or rates or "", axis)
    first = plan.level if plan.axis is axis else 1.0
    steps = Steps(parsed, LEAST_REPEATS if repeats is None else repeats, first)
    return steps, replace(plan, axis=axis, level=parsed[0] if parsed else first)
