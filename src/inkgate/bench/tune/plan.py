"""What to try next: a pure function of the task, of what was tried, and of the time that is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from inkgate.bench.tune.journal import Row
from inkgate.bench.tune.results import Outcome, Purpose, Settings
from inkgate.bench.tune.saturation import demand
from inkgate.bench.tune.space import Key
from inkgate.bench.tune.standing import Standing
from inkgate.bench.tune.task import Task

_FIRST_OVERHEAD_S = 40.0
"""Start and stop of a service, as long as none was seen."""
_LEAST_S, _MOST_S = 8.0, 60.0
_LOADS = 60
"""Loads that would fill the budget by themselves: at 15 minutes each lasts 15 s."""
_WANTED = 12
"""Trials below which each is made shorter rather than their number smaller."""
_MARGIN = 1.1
_BETTER = 0.02
"""Share of the score for which a neighbour of the choice is still tried at the end."""


@dataclass(frozen=True, slots=True)
class Step:
    """The next trial; `seconds` of load, with `demand` requests a second."""

    settings: Settings
    purpose: Purpose
    seconds: float
    demand: float


@dataclass(frozen=True, slots=True)
class Shares:
    """How many trials of `total` go to what; the rest is for search by the surface."""

    spread: int
    confirm: int
    heaviest: int

    @classmethod
    def of(cls, total: int, dials: int, *, heaviest: bool) -> Shares:
        most = 4 if total >= 24 else 2 if total >= 18 else 1
        spread = min(4 + 2 * dials, max(3, total // 3))
        return cls(spread, max(2, total // 5), most if heaviest else 0)


class Pace:
    """How long trials take."""

    def __init__(self, task: Task, rows: Sequence[Row]) -> None:
        started = [row for row in rows if row.trial.outcome is Outcome.MEASURED]
        first = min(max(task.budget_s / _LOADS, _LEAST_S), _MOST_S)
        self.overhead_s = (
            median(max(row.took_s - row.trial.seconds, 0.0) for row in started) if started else _FIRST_OVERHEAD_S
        )
        room = task.budget_s / _WANTED - self.overhead_s
        self.seconds = max(_LEAST_S, min(first, room)) if started else first
        self.trial_s = _MARGIN * self.overhead_s + self.seconds


def next_step(task: Task, rows: Sequence[Row], spent_s: float) -> Step | None:
    """The next trial; None when the search is over: all is shown, no time is left for one more, or nothing starts."""
    standing = Standing(task, rows)
    pace = Pace(task, standing.rows)
    if spent_s >= task.budget_s:
        return None
    found = _next(standing, int((task.budget_s - spent_s) / pace.trial_s))
    if found is None:
        return None
    key, purpose = found
    settings = task.current if purpose is Purpose.CURRENT else standing.space.settings(key)
    return Step(settings, purpose, pace.seconds, demand(task, rows))


def _next(standing: Standing, to_go: int) -> tuple[Key, Purpose] | None:
    """What is tried next, where there is time for `to_go` trials, and what for."""
    task = standing.task
    if to_go < 1 and standing.rows:
        return None
    if not standing.trials(standing.current):
        return standing.current, Purpose.CURRENT
    counts = {purpose: sum(row.trial.purpose is purpose for row in standing.rows) for purpose in Purpose}
    shares = Shares.of(len(standing.rows) + to_go, len(task.parameters), heaviest=task.heaviest)
    if not counts[Purpose.HEAVIEST]:
        if not counts[Purpose.CONFIRM] and to_go > shares.heaviest + shares.confirm:
            key = _searched(standing, shares.spread)
            if key is not None:
                return key, Purpose.SEARCH
        if to_go > shares.heaviest:
            key = _confirmed(standing)
            if key is not None:
                return key, Purpose.CONFIRM
    return _shown(standing, shares.heaviest, to_go) if task.heaviest else None


def _searched(standing: Standing, spread: int) -> Key | None:
    """The next of the spread sample, then of the search by the surface."""
    task = standing.task
    searched = sum(row.trial.purpose is Purpose.SEARCH for row in standing.rows)
    if searched < spread:
        for key in standing.space.spread(4 * spread, task.seed):
            if not standing.trials(key) and not standing.barred(key):
                return key
    if standing.cautious is None:  # nothing was measured: is there anything that stays up?
        least = (0,) * len(task.parameters)
        return None if standing.trials(least) else least
    again = _again(standing)
    if again is not None:
        return again
    beside = _beside(standing)
    if beside is not None and (searched - spread) % 2 == 0:
        return beside
    return _drawn(standing, task.seed + 1000 * len(standing.rows))


def _beside(standing: Standing) -> Key | None:
    """Of the best one's neighbours on each dial the most promising that was not tried.

    The surface keeps away from what lies right before a cliff; this does not. Two steps down, where the best may yet
    die under the heaviest images.
    """
    ranking = standing.ranking()
    if not ranking:
        return None
    space, best = standing.space, ranking[0]
    near = space.neighbours(best)
    if standing.task.heaviest:
        near += [key for key in space.neighbours(best, 2) if key not in near and space.weight(key) < space.weight(best)]
    untried = [key for key in near if not standing.trials(key) and not standing.barred(key)]
    if not untried:
        return None
    return untried[int(np.argmax(standing.estimate(untried).mean))]


def _again(standing: Standing) -> Key | None:
    """One beside the best that fell in its only run, where the surface, drawn without it, has it as good as the best.

    A cliff shows again. A machine that was slow for a moment, so that just everything was too late, does not.
    """
    ranking = standing.ranking()
    if not ranking or standing.surface is None:
        return None
    fell = [
        key
        for key in standing.space.neighbours(ranking[0])
        if key in standing.fallen and len(standing.measured(key)) == 1 and not standing.barred(key)
    ]
    if not fell:
        return None
    without = standing.surface.at(standing.space.points([ranking[0], *fell])).mean
    likely = int(np.argmax(without[1:]))
    return fell[likely] if without[1 + likely] > (1 - _BETTER) * without[0] else None


def _drawn(standing: Standing, seed: int) -> Key | None:
    """Top-two Thompson sampling (Russo 2016) on the surface.

    A surface is drawn that agrees with what was measured, and its best settings are tried; every second time not they,
    but the best of a further draw in which others are best. So most trials go to settings that may be the best, and as
    many to telling the favourite from its rivals as to the favourite itself.
    """
    if standing.cautious is None:
        return None
    space = standing.space
    around = standing.ranking()[:8] or standing.tried
    keys = [key for key in space.candidates(around, seed) if not standing.barred(key)]
    if not keys:
        return None
    estimate = standing.cautious.at(space.points(keys))
    chance = np.random.default_rng(seed)
    root = np.linalg.cholesky(estimate.covariance + 1e-9 * np.max(estimate.mean) ** 2 * np.eye(len(keys)))
    draws = estimate.mean[:, None] + root @ chance.standard_normal((len(keys), 32))
    bests = np.argmax(draws, axis=0)
    first = int(bests[0])
    others = [int(best) for best in bests[1:] if best != first]
    return keys[others[0]] if others and chance.random() < 0.5 else keys[first]


def _confirmed(standing: Standing) -> Key | None:
    """The best and its rival in turns: A B B A, so that a machine that becomes slower is unfair to neither.

    Each round of four has its own two, as they stood when it began; a round ends early with a death.
    """
    place, begins = 0, 0
    for index, row in enumerate(standing.rows):
        if row.trial.purpose is not Purpose.CONFIRM:
            continue
        if place == 0:
            begins = index
        place = 0 if standing.barred(standing.space.key(row.trial.settings)) else (place + 1) % 4
    before = standing if place == 0 else Standing(standing.task, standing.rows[:begins])
    two = _two(before)
    if not two or any(standing.barred(key) for key in two):
        two = _two(standing)
    if not two:
        return None
    return two[0] if place in (0, 3) else two[-1]


def _two(standing: Standing) -> list[Key]:
    """The best one that was tried, and the one that is most probably better than it."""
    keys = standing.ranking()
    if not keys:
        return []
    estimate = standing.estimate(keys)
    nearest, rival = math.inf, 0
    for index in range(1, len(keys)):
        behind, sd = estimate.difference(0, index)
        if sd > 0 and behind / sd < nearest:
            nearest, rival = behind / sd, index
    return [keys[0], keys[rival]]


def _shown(standing: Standing, runs: int, to_go: int) -> tuple[Key, Purpose] | None:
    """The choice under the heaviest images, until it stayed up in so many runs.

    What dies may leave a choice whose better neighbour was not tried, as it lay off the favourite: it is tried first.
    """
    key = standing.choice()
    if key is None:
        return None
    beside = _beside(standing)
    if beside is not None and to_go > 1:
        estimate = standing.estimate([beside, key])
        if estimate.difference(0, 1)[0] > _BETTER * estimate.mean[1]:
            return beside, Purpose.SEARCH
    done = sum(trial.purpose is Purpose.HEAVIEST for trial in standing.trials(key))
    return None if done >= runs else (key, Purpose.HEAVIEST)
