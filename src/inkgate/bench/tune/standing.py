"""What all trials so far say together: which settings are out and why, and how good the others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import fmean

import numpy as np

from inkgate.bench.tune.dials import QUALITY
from inkgate.bench.tune.journal import Row
from inkgate.bench.tune.others import disturbance, usual_others
from inkgate.bench.tune.results import Assessment, Outcome, Purpose, Trial, Value
from inkgate.bench.tune.saturation import doubt, telling
from inkgate.bench.tune.score import counts, failed_share, fails_too_often, least_accuracy, outcome, score
from inkgate.bench.tune.space import Key, Space
from inkgate.bench.tune.surface import Estimate, Surface
from inkgate.bench.tune.task import Task

WORTH = 0.1
"""Share of the best score that it is worth to have a dial at its least and not at its most: some 1.5 % for half as many
sequences. It decides between settings that can't be told apart."""
MOST_LOST = 0.05
"""Share of the best score that is given up so with a probability of at most one sixth."""
FALLEN = 0.5
"""Share of the best score below which settings are beyond a cliff: a smooth surface is not drawn through them."""
_NOT_EVEN = 0.3
"""Part of what others took by which it may have cost this trial more or less than its share."""
SURE = 1.96
"""Standard deviations of a 95 % interval."""
_FIVE_OF_SIX = 1.0
_STARTS_THAT_FAIL = 2
_UNFIT = {Outcome.DIED: "died", Outcome.STORMED: "preempted most of what it read"}


class Standing:
    """Of `rows`, trials of `task`. What was stopped counts for nothing, and neither does what answered all that
    it was asked, see saturation.py.
    """

    def __init__(self, task: Task, rows: Iterable[Row]) -> None:
        self.task = task
        self.space = Space(task.parameters)
        self.rows = telling(task, [row for row in rows if row.trial.outcome is not Outcome.STOPPED])
        self._trials: dict[Key, list[Trial]] = {}
        for row in self.rows:
            self._trials.setdefault(self.space.key(row.trial.settings), []).append(row.trial)
        self.current = self.space.key(task.current)
        self._least_accuracy = least_accuracy(task.targets, self.trials(self.current))
        self.out = {key: why for key in self._trials if (why := self._why_out(key))}
        """Those tried that are not allowed, and why."""
        self._unfit = [key for key, trials in self._trials.items() if any(outcome(trial) in _UNFIT for trial in trials)]
        read_otherwise = any(dial.path in QUALITY for dial in task.parameters)
        self._misread = [key for key in self._trials if read_otherwise and self._misreads(key)]

    def trials(self, key: Key) -> Sequence[Trial]:
        return self._trials.get(key, ())

    def barred(self, key: Key) -> bool:
        """Whether it is not worth trying (again): it is out, or asks more than something that died, all else equal."""
        return (
            key in self.out
            or any(self.space.at_least(key, unfit) for unfit in self._unfit)
            or any(self.space.at_least(misread, key, QUALITY) for misread in self._misread)
        )

    def measured(self, key: Key) -> list[Trial]:
        """Its trials that count for its score."""
        return [trial for trial in self.trials(key) if counts(trial)]

    @property
    def tried(self) -> list[Key]:
        return list(self._trials)

    @cached_property
    def surface(self) -> Surface | None:
        """Through the scores measured under the usual load, but for fallen ones; None while there is none above 0."""
        counted = [row for row in self.rows if counts(row.trial)]
        return self._surface([row for row in counted if self.space.key(row.trial.settings) not in self.fallen])

    @cached_property
    def cautious(self) -> Surface | None:
        """The same with what fell, and what did not start as if it had: to try what is beside them last."""
        counted = [row for row in self.rows if counts(row.trial) or row.trial.outcome is Outcome.NOT_STARTED]
        same = not self.fallen and all(counts(row.trial) for row in counted)
        return self.surface if same else self._surface(counted)

    @cached_property
    def fallen(self) -> dict[Key, float]:
        """Settings far below the best, and their own mean scores."""
        means = {key: fmean(map(self._score, trials)) for key in self._trials if (trials := self.measured(key))}
        best = max(means.values(), default=0.0)
        return {key: mean for key, mean in means.items() if mean < FALLEN * best}

    def estimate(self, keys: Sequence[Key]) -> Estimate:
        """Scores at `keys`: the surface's, and those of fallen ones as they were measured. There must be a surface."""
        assert self.surface is not None  # noqa: S101 - the caller's part
        found = self.surface.at(self.space.points(keys))
        for index, key in enumerate(keys):
            if key in self.fallen:
                found.mean[index] = self.fallen[key]
                found.covariance[index, :] = found.covariance[:, index] = 0.0
                spread = self.surface.shape.noise * self.fallen[key]
                found.covariance[index, index] = spread**2 / len(self.measured(key))
        return found

    def ranking(self) -> list[Key]:
        """What was measured and is allowed, the best first."""
        keys = [key for key in self._trials if self.measured(key) and not self.barred(key)]
        if not keys or self.surface is None:
            return []
        mean = self.estimate(keys).mean
        return [keys[index] for index in np.argsort(-mean)]

    def choice(self) -> Key | None:
        """The settings to take: of those that can't be told from the best, the one that is best for what it asks."""
        keys = self.ranking()
        if not keys:
            return None
        estimate = self.estimate(keys)
        best = float(estimate.mean[0])

        def alike(index: int) -> bool:
            lost, sd = estimate.difference(0, index)
            return lost <= min(SURE * sd, MOST_LOST * best - _FIVE_OF_SIX * sd)

        def worth(index: int) -> float:
            return float(estimate.mean[index]) - WORTH * best * self.space.weight(keys[index])

        return keys[max((index for index in range(len(keys)) if index == 0 or alike(index)), key=worth)]

    def judged(self, key: Key) -> Assessment:
        """All that is known of `key`: the score and its 95 % interval are the surface's, neighbours included."""
        trials = self.trials(key)
        numbers = tuple(trial.number for trial in trials)
        why_not = self.out.get(key, "")
        if not why_not and self.barred(key):
            why_not = self._like_worse(key)
        settings = self.space.settings(key)
        if self.surface is None or not self.measured(key):
            return Assessment(settings, numbers, 0.0, 0.0, 0.0, allowed=False, why_not=why_not or "was not measured")
        estimate = self.estimate([key])
        mean, sd = float(estimate.mean[0]), float(estimate.sd[0])
        low, high = max(0.0, mean - SURE * sd), mean + SURE * sd
        return Assessment(settings, numbers, mean, low, high, allowed=not why_not, why_not=why_not)

    def _surface(self, rows: Sequence[Row]) -> Surface | None:
        scores = [self._score(row.trial) for row in rows]
        if not scores or max(scores) <= 0:
            return None
        points = self.space.points([self.space.key(row.trial.settings) for row in rows])
        times = np.array([(row.at_s + row.took_s / 2) / self.task.budget_s for row in rows])
        usual = usual_others(row.trial for row in self.rows)
        taken = np.array([disturbance(row.trial, usual, self.task.machine.cores) for row in rows])
        doubts = np.array([doubt(self.task, row.trial) for row in rows])
        return Surface(points, times, np.array(scores), taken, doubts + _NOT_EVEN * taken)

    def _score(self, trial: Trial) -> float:
        return score(trial.summary, self.task.targets) if trial.summary is not None and counts(trial) else 0.0

    def _why_out(self, key: Key) -> str:
        trials = self._trials[key]
        for purposes, where in (
            ({Purpose.HEAVIEST}, " under the heaviest images"),
            (set(Purpose) - {Purpose.HEAVIEST}, ""),
        ):
            here = [outcome(trial) for trial in trials if trial.purpose in purposes]
            for kind, words in _UNFIT.items():
                if kind in here:
                    return f"{words} in {_of(Counter(here)[kind], len(here))}{where}"
        failed = [trial for trial in trials if trial.outcome is Outcome.NOT_STARTED]
        if len(failed) >= _STARTS_THAT_FAIL:
            return f"did not start in {_of(len(failed), len(trials))}" + (
                f": {failed[-1].why}" if failed[-1].why else ""
            )
        summaries = [trial.summary for trial in self.measured(key) if trial.summary is not None]
        if fails_too_often(summaries, self.task.targets.max_error):
            allowed = f"{100 * self.task.targets.max_error:.3g} %"
            return f"{100 * failed_share(summaries):.2g} % of its requests failed, where {allowed} may"
        if self._misreads(key):
            found, least = self._accuracy(key) or 0.0, self._least_accuracy or 0.0
            return f"reads {100 * found:.1f} % of characters right, where {100 * least:.1f} % are asked for"
        return ""

    def _like_worse(self, key: Key) -> str:
        """Why something is barred that is not out itself."""
        unfit = [other for other in self._unfit if self.space.at_least(key, other)]
        worse = min(unfit, key=self.space.weight) if unfit else None
        misread = [other for other in self._misread if self.space.at_least(other, key, QUALITY)]
        if worse is None:
            return f"reads no better than {self.named(misread[0])}, which {self.out[misread[0]]}"
        return f"asks more than {self.named(worse)}, which {self.out[worse]}"

    def named(self, key: Key) -> str:
        """Its settings in short, such as `max_num_seqs = 16`."""
        settings = self.space.settings(key)
        return ", ".join(f"{path.rpartition('.')[2]} = {shown(value)}" for path, value in settings.items())

    def _accuracy(self, key: Key) -> float | None:
        known = [trial.accuracy for trial in self.measured(key) if trial.accuracy is not None]
        return sum(known) / len(known) if known else None

    def _misreads(self, key: Key) -> bool:
        found = self._accuracy(key)
        return found is not None and self._least_accuracy is not None and found < self._least_accuracy


def shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _of(count: int, all_of: int) -> str:
    return f"{count} of {all_of} runs" if all_of > 1 else "its only run"
