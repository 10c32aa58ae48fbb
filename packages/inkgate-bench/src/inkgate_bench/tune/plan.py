"""What to try next: a pure function of the task, the trials so far and the time that is left.

1. The current settings.
2. Octaves of each parameter in turn (half, twice, four times its current value), nearest to the best first.
   Then the values halfway between the best and its neighbours, until there are none.
3. The best settings against the runner-up, in the order A B B A.
4. The choice under the heaviest images; if it dies, the next best.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from inkgate_bench.statistics import MIN_REPEATS
from inkgate_bench.tune.history import FALLEN, TrialHistory
from inkgate_bench.tune.results import Purpose, SearchTask, Step, Trial, TrialOutcome
from inkgate_bench.tune.score import SATURATED, answered_share
from inkgate_bench.tune.space import Key

DEMAND_FACTOR = 2.0
"""Requests offered for each that can be answered. More would cost the machine too much in refusals."""
MEMORY_MARGIN = 1.25
"""Free memory for each MB that two services took in their trials, for them to be up side by side."""
_ALL = 0.9
"""Share of the offered requests from which the answers don't even hint at what the settings can do."""
_FIRST_OVERHEAD_S = 40.0
"""Start and stop of a service, before any was seen."""
_MIN_S, _MAX_S = 8.0, 60.0
_LOADS = 60
"""Loads that would fill the budget by themselves: at 15 minutes each lasts 15 s."""
_TRIALS_WANTED = 12
"""Number of trials from which each is as long as planned; if there is time for fewer, each is made shorter."""
_TOO_FEW = 4
"""Trials in all below which other values are tried first, and nothing is kept free to confirm them."""
_OVERHEAD_MARGIN = 1.1
_ROUND = 4
_DECIDED = 2.5
"""Standard errors by which the best has to be above every rival for the search to end early."""
_WORSE = 0.7
"""Share of the best score below which an octave ends the walk in its direction."""
_HOPELESS = 0.1
"""Share of the offered requests: half of them are answered with good settings."""
_MAX_HEAVIEST = 8
"""Runs under the heaviest images, if the search is decided early: deaths are a matter of chance."""
_MAX_REPEATS = 3
"""Trials of settings whose load was no fair test."""


def _pace(task: SearchTask, trials: Sequence[Trial]) -> tuple[float, float]:
    """Seconds of load in the next trial, and seconds that it takes with start and stop."""
    first_s = min(max(task.budget_s / _LOADS, _MIN_S), _MAX_S)
    overheads_s = [max(trial.took_s - trial.seconds, 0.0) for trial in trials if trial.outcome is TrialOutcome.MEASURED]
    if not overheads_s:
        return first_s, _OVERHEAD_MARGIN * _FIRST_OVERHEAD_S + first_s
    overhead_s = median(overheads_s)
    load_s = max(_MIN_S, min(first_s, task.budget_s / _TRIALS_WANTED - overhead_s))
    return load_s, _OVERHEAD_MARGIN * overhead_s + load_s


def _reserve(total: int, *, heaviest: bool) -> tuple[int, int]:
    """How many of the last trials are kept free: to confirm, and after that for the heaviest images."""
    if total < _TOO_FEW:
        return 0, 0
    most = 4 if total >= 24 else 2 if total >= 18 else 1
    return _ROUND if total >= _TRIALS_WANTED else 2, most if heaviest else 0


def next_step(task: SearchTask, trials: Sequence[Trial], spent_s: float) -> Step | None:
    """None when the search is over: everything is decided, no time is left, or nothing starts."""
    load_s, trial_s = _pace(task, trials)
    to_go = int((task.budget_s - spent_s) / trial_s)
    if spent_s >= task.budget_s or (to_go < 1 and trials):
        return None
    history = TrialHistory(task, trials)
    keys, purpose = _next(history, to_go)
    if not keys:
        return None
    turns = tuple(history.space.settings(key) for key in keys)
    together = len(keys) > 1 and _fit_together(history, keys)
    return Step(turns, purpose, load_s, demand(task, history), together)


def demand(task: SearchTask, history: TrialHistory) -> float:
    """Requests a second for the next trial: twice what any settings answered that may be capable of more."""
    if not task.rises:
        return task.demand
    raised = [task.demand]
    for trial in history.all:
        share = answered_share(trial)
        if share > SATURATED and trial.summary is not None:
            factor = DEMAND_FACTOR if share < _ALL else 2 * DEMAND_FACTOR
            raised.append(factor * trial.summary.goodput)
    return max(raised)


def _next(history: TrialHistory, to_go: int) -> tuple[list[Key], Purpose]:
    """The settings of the next trials, if any, and what they are for."""
    if not history.trials(history.current):
        return [history.current], Purpose.CURRENT
    confirm, heaviest = _reserve(len(history.all) + to_go, heaviest=history.task.heaviest)
    if not history.ranking():  # nothing to confirm yet
        confirm = heaviest = 0
    began_heaviest = any(trial.purpose is Purpose.HEAVIEST for trial in history.all)
    if to_go > (heaviest if began_heaviest else heaviest + confirm):
        key = _search(history)
        if key is not None:
            return [key], Purpose.SEARCH
    if to_go > heaviest and not began_heaviest:
        keys = _confirm(history)[: to_go - heaviest]
        if keys:
            return keys, Purpose.CONFIRM
    choice = history.choice()
    if choice is None or not history.task.heaviest:
        return [], Purpose.HEAVIEST
    runs = sum(trial.purpose is Purpose.HEAVIEST for trial in history.trials(choice))
    return [choice] if runs < _MAX_HEAVIEST else [], Purpose.HEAVIEST


def _search(history: TrialHistory) -> Key | None:
    """The next trial around the best settings, parameter by parameter."""
    again = _inconclusive(history)
    if again is not None:
        return again
    best = next(iter(history.ranking()), history.current)
    for look in (_octave, _halfway, _fallen):
        for number in range(len(history.space.parameters)):
            key = look(history, best, number)
            if key is not None:
                return key
    return None


def _inconclusive(history: TrialHistory) -> Key | None:
    """Settings that may be the best, but were tried only while the load was no fair test."""
    for key in history.ranking():
        measured = history.measured(key)
        if len(measured) < _MAX_REPEATS and not any(map(history.is_conclusive, measured)):
            return key
    return None


def _octave(history: TrialHistory, best: Key, number: int) -> Key | None:
    """The untried octave of the line through `best` that is nearest to it; none beyond one that loses much.

    While even the best answers hardly anything, no loss ends a direction: the best may be anywhere. A parameter that
    was searched before, with other values of the others, is searched one octave up and down only.
    """
    space = history.space
    line = space.octaves(best, number, history.current)
    on_line = set(space.line(best, number))
    searched_before = len({key[number] for key in history.tried if key not in on_line}) > 2
    below = [key for key in reversed(line) if key[number] < best[number]]
    above = [key for key in line if key[number] > best[number]]
    hopeless = max(map(answered_share, history.measured(best)), default=0.0) < _HOPELESS
    found = []
    for side in (below, above):
        for key in side[:1] if searched_before else side:
            if not history.trials(key):
                found += [] if history.barred(key) else [key]
                break
            if history.mean(key) < _WORSE * history.mean(best) and not hopeless:
                break
    return min(found, key=lambda key: space.distance(best, key, number), default=None)


def _halfway(history: TrialHistory, best: Key, number: int) -> Key | None:
    """The value halfway between `best` and its nearest tried neighbour on either side, the better side first."""
    line = history.space.line(best, number)
    at = best[number]
    below = next((key for key in reversed(line[:at]) if history.trials(key) or history.barred(key)), None)
    above = next((key for key in line[at + 1 :] if history.trials(key) or history.barred(key)), None)
    sides = sorted((key for key in (below, above) if key is not None), key=history.mean, reverse=True)
    for side in sides:
        key = history.space.middle(best, side, number)
        if key is not None and not history.barred(key):
            return key
    return None


def _fallen(history: TrialHistory, best: Key, number: int) -> Key | None:
    """The neighbour of `best` that did not start, or fell far below it, in its only trial.

    A cliff shows again. A machine that was slow for a moment does not.
    """
    line = history.space.line(best, number)
    for key in line[max(0, best[number] - 1) : best[number] + 2]:
        trials = history.trials(key)
        if len(trials) == 1 and not history.barred(key) and history.mean(key) < FALLEN * history.mean(best):
            return key
    return None


def _confirm(history: TrialHistory) -> list[Key]:
    """The best settings A and their rival B as A B B A; without a rival the best alone; nothing once it is decided."""
    ranking = history.ranking()
    if not ranking:
        return []
    best = ranking[0]
    rival = history.rival(best)
    repeats = len(history.scores(best))
    if rival is None:
        return [best] * max(0, MIN_REPEATS - repeats)
    fewest = min(repeats, len(history.scores(rival)))
    if fewest >= MIN_REPEATS and history.gap(best, rival) > _DECIDED:
        return []
    return [best, rival, rival, best]


def _fit_together(history: TrialHistory, keys: Sequence[Key]) -> bool:
    """Whether the services of all `keys` fit into memory. Not on a GPU, whose memory vLLM takes at the start."""
    needed = 0.0
    for key in set(keys):
        servers = [trial.server for trial in history.trials(key) if trial.server is not None]
        known = [server.memory_mb for server in servers if server.memory_mb is not None]
        if not known or any(server.gpu_memory_share is not None for server in servers):
            return False
        needed += max(known)
    return MEMORY_MARGIN * needed <= history.task.free_memory_mb
