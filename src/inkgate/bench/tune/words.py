"""Why settings were chosen, and what others lose, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.bench.tune.results import Outcome, Purpose
from inkgate.bench.tune.score import outcome, unit
from inkgate.bench.tune.space import Key
from inkgate.bench.tune.standing import SURE, Standing, shown

_WORTH_SAYING = 0.05
"""Share of the score from which a neighbour's loss is told."""
_BETTER_TOLD = 3


def reasons(standing: Standing, chosen: Key) -> tuple[str, ...]:
    """Why `chosen`, with numbers."""
    return (
        _itself(standing, chosen),
        *_better_but_out(standing, chosen),
        *_alike(standing, chosen),
        *_neighbours(standing, chosen),
        *_heaviest(standing, chosen),
        *_accuracy(standing, chosen),
    )


def none_found(standing: Standing) -> tuple[str, ...]:
    """Why nothing is recommended."""
    if not standing.tried:
        return ("Nothing was tried: there was no time.",)
    said = [f"{standing.named(key)}: {standing.judged(key).why_not}." for key in sorted(standing.tried)]
    return ("Nothing that was tried kept to the targets.", *said)


def loses(standing: Standing, chosen: Key | None) -> str:
    """What the current settings lose against `chosen`; "" while they were not tried."""
    current = standing.current
    if not standing.trials(current):
        return ""
    name = f"The current settings ({standing.named(current)})"
    why = standing.judged(current).why_not
    if current == chosen:
        return f"{name} are the best that was found."
    if chosen is None or not standing.measured(current):
        return f"{name}: {why}." if why else ""
    if why:
        return f"{name} answer {_more_or_less(standing, current, chosen)}, and are not allowed: {why}."
    lost, low, high = _lost(standing, current, chosen)
    if low > 0:
        return f"{name} lose {_percent_of(lost)} ({_percent(low, high)})."
    return f"{name} lose nothing that can be told from noise: {_percent(low, high)}."


def _itself(standing: Standing, chosen: Key) -> str:
    judged = standing.judged(chosen)
    runs = len(standing.measured(chosen))
    return (
        f"{standing.named(chosen)} gives {judged.score:.3g} {unit(standing.task.targets)} (95 %: {judged.low:.3g} to "
        f"{judged.high:.3g}), from {runs} {'run' if runs == 1 else 'runs'} of it and those of its neighbours."
    )


def _better_but_out(standing: Standing, chosen: Key) -> list[str]:
    """Those that would answer more and are not allowed, and those next above that died."""
    known = [key for key in standing.tried if key != chosen and standing.barred(key)]
    measured = sorted((key for key in known if standing.measured(key)), key=lambda key: _lost(standing, key, chosen)[0])
    better = [key for key in measured if _lost(standing, key, chosen)[0] < 0][:_BETTER_TOLD]
    said = [
        f"{_short(standing, key, chosen)} answers {_more_or_less(standing, key, chosen)}, "
        f"but {standing.judged(key).why_not}."
        for key in better
    ]
    died = [key for key in known if not standing.measured(key) and key in standing.out]
    nearest = sorted(died, key=standing.space.weight)[: _BETTER_TOLD - len(said)]
    return said + [f"{_short(standing, key, chosen)} {standing.out[key]}." for key in nearest]


def _alike(standing: Standing, chosen: Key) -> list[str]:
    """The best one, where a safer one was taken instead."""
    best = standing.ranking()[0]
    if best == chosen:
        return []
    lost, low, high = _lost(standing, chosen, best)
    if low > 0:
        return []
    more = f"{_percent_of(max(lost, 0))} more ({_percent(low, high)})"
    said = f"{_short(standing, best, chosen)} may answer {more}, which can't be told from nothing"
    return [f"{said}, and asks more of the machine."]


def _neighbours(standing: Standing, chosen: Key) -> list[str]:
    """On each dial, the nearest tried values on both sides that lose enough to be worth saying."""
    said = []
    for number in range(len(standing.space.dials)):
        here = [
            key
            for key in standing.tried
            if standing.measured(key)
            and not standing.barred(key)
            and key[number] != chosen[number]
            and all(key[other] == chosen[other] for other in range(len(key)) if other != number)
            and _lost(standing, key, chosen)[1] > 0
            and _lost(standing, key, chosen)[0] >= _WORTH_SAYING
        ]
        below = max((key for key in here if key[number] < chosen[number]), default=None)
        above = min((key for key in here if key[number] > chosen[number]), default=None)
        for key in (below, above):
            if key is not None:
                lost, low, high = _lost(standing, key, chosen)
                said.append(f"{_short(standing, key, chosen)} loses {_percent_of(lost)} ({_percent(low, high)}).")
    return said


def _heaviest(standing: Standing, chosen: Key) -> list[str]:
    runs = [trial for trial in standing.trials(chosen) if trial.purpose is Purpose.HEAVIEST]
    stayed = [trial for trial in runs if outcome(trial) is Outcome.MEASURED]
    if not runs:
        asked = "no time was left" if standing.task.heaviest else "that was not asked for"
        return [f"It was not tried under the heaviest images that pages and limits allow: {asked}."]
    servers = [trial.server for trial in stayed if trial.server is not None]
    memory = max((server.memory_mb for server in servers if server.memory_mb is not None), default=None)
    share = max((server.gpu_memory_share for server in servers if server.gpu_memory_share is not None), default=None)
    used = [f"{memory:,.0f} MB of memory"] if memory is not None else []
    used += [f"{100 * share:.0f} % of the GPU's memory"] if share is not None else []
    with_ = f", with up to {' and '.join(used)}" if used else ""
    count = "its only run" if len(runs) == 1 else f"{len(stayed)} of {len(runs)} runs"
    return [f"Under the heaviest images that pages and limits allow it stayed up in {count}{with_}."]


def _accuracy(standing: Standing, chosen: Key) -> list[str]:
    known = [trial.accuracy for trial in standing.measured(chosen) if trial.accuracy is not None]
    return [f"It reads {100 * sum(known) / len(known):.1f} % of characters right."] if known else []


def _lost(standing: Standing, key: Key, chosen: Key) -> tuple[float, float, float]:
    """Share of the score of `chosen` that `key` loses, and its 95 % interval."""
    estimate = standing.estimate([chosen, key])
    lost, sd = estimate.difference(0, 1)
    whole = max(float(estimate.mean[0]), 1e-9)
    return lost / whole, (lost - SURE * sd) / whole, (lost + SURE * sd) / whole


def _more_or_less(standing: Standing, key: Key, chosen: Key) -> str:
    lost = _lost(standing, key, chosen)[0]
    return f"{_percent_of(abs(lost))} {'less' if lost > 0 else 'more'}"


def _short(standing: Standing, key: Key, chosen: Key) -> str:
    """What is other than in `chosen`: the value alone, where there is one dial."""
    settings = standing.space.settings(key)
    if len(settings) == 1:
        return ", ".join(shown(value) for value in settings.values())
    other = [dial.path for number, dial in enumerate(standing.space.dials) if key[number] != chosen[number]]
    return ", ".join(f"{path.rpartition('.')[2]} = {shown(settings[path])}" for path in other)


def _percent_of(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1f} %"


def _percent(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def summary_of(standing: Standing) -> Sequence[str]:
    """How the scores were come by."""
    if standing.surface is None:
        return ()
    shape = standing.surface.shape
    drift = f"the machine's speed changed by some {100 * shape.drift:.0f} %" if shape.drift else "no drift was found"
    return (
        "Scores are those of one smooth surface through all trials, with 95 % intervals (docs/guides/tuning.md).",
        f"Runs of the same settings differ by some {100 * shape.noise:.0f} % (standard deviation); {drift}.",
    )
