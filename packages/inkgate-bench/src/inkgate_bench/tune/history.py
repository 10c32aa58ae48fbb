"""What all trials so far show together: which settings are out and why, and how good the others are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median, median_high

from inkgate_bench.statistics import MIN_REPEATS, RatioEstimate, StatisticsError, compare_repeats, pooled_deviation
from inkgate_bench.tune.parameters import QUALITY
from inkgate_bench.tune.results import Assessment, Purpose, SearchTask, Trial, TrialOutcome, settings_text
from inkgate_bench.tune.score import (
    DISTURBED,
    SATURATED,
    answered_share,
    disturbance,
    failed_share,
    fails_too_often,
    is_measured,
    outcome,
    score,
    usual_other_load,
)
from inkgate_bench.tune.space import Key, ParameterSpace

FALLEN = 0.5
"""Share of the best score below which settings are beyond a cliff, such as answers that all come too late."""
SPEED_CHANGE = 0.15
"""Change of the score of two settings together from which the machine has changed, not the settings."""
WITHIN = 0.01
"""Share of the best score that is given up for settings that ask less of the machine."""
ACCURACY_MARGIN = 0.005
"""Share of characters that settings may read worse than the current ones, unless a bound was given."""
Z95 = 1.96
_USUAL_SPREAD = 0.05
"""Relative standard deviation of a trial, as long as there are no repeats to take it from."""
_MIN_SPREAD = 0.01
"""Minimum spread of a trial, even if repeats happen to be equal: it counts some hundred pages."""
_UNFIT = {TrialOutcome.DIED: "died", TrialOutcome.STORMED: "preempted most of what it read"}
_FAILED_STARTS = 2
_ROUND = 4
"""Trials of a comparison of two settings, from which the machine's speed can be told."""


class TrialHistory:
    """The `trials` of a task; those that were stopped count for nothing."""

    def __init__(self, task: SearchTask, trials: Iterable[Trial]) -> None:
        self.task = task
        self.space = ParameterSpace(task.parameters)
        self.all = [trial for trial in trials if trial.outcome is not TrialOutcome.STOPPED]
        self._usual_load = usual_other_load(self.all)
        self._speed: dict[int, float] = {}
        self._trials: dict[Key, list[Trial]] = {}
        for trial in self.all:
            self._trials.setdefault(self.space.key(trial.settings), []).append(trial)
        self.current = self.space.key(task.current)
        self._find_speeds()
        self._least_accuracy = self._accuracy_bound()
        self.out = {key: why for key in self._trials if (why := self._why_out(key))}
        """Settings that were tried and are not allowed, and why."""
        self._unfit = [key for key, trials in self._trials.items() if any(outcome(each) in _UNFIT for each in trials)]
        self._misreading = [key for key in self._trials if self._misreads(key)]
        self.spread = pooled_deviation([self.scores(key) for key in self._trials], _USUAL_SPREAD)
        """Relative standard deviation of one trial, from all settings that were measured repeatedly."""

    @property
    def speeds(self) -> list[float]:
        """Speeds of the machine, as shares of the first, in comparisons whose scores are corrected by it."""
        return sorted(set(self._speed.values()))

    @property
    def tried(self) -> list[Key]:
        return list(self._trials)

    def trials(self, key: Key) -> Sequence[Trial]:
        return self._trials.get(key, ())

    def measured(self, key: Key) -> list[Trial]:
        """The trials that count for the score: conclusive ones; without any, those to which most was offered."""
        measured = [trial for trial in self.trials(key) if is_measured(trial)]
        most = max((trial.demand or 0.0 for trial in measured), default=0.0)
        conclusive = [trial for trial in measured if self.is_conclusive(trial)]
        return conclusive or [trial for trial in measured if (trial.demand or 0.0) >= most]

    def is_conclusive(self, trial: Trial) -> bool:
        """Whether the load was a fair test: more than the service could answer, and no other program in the way."""
        saturated = not self.task.rises or answered_share(trial) <= SATURATED
        return saturated and self._disturbance(trial) <= DISTURBED

    def scores(self, key: Key) -> list[float]:
        return _without_slow_moments([self._score(trial) for trial in self.measured(key)])

    def _score(self, trial: Trial) -> float:
        """What the trial would have scored without other programs (on a GPU they cost nothing), at the first speed."""
        taken = 0.0 if self.task.machine.gpus else self._disturbance(trial)
        found = 0.0 if trial.summary is None else score(trial.summary, self.task.targets)
        return found / max(1 - taken, 0.1) / self._speed.get(trial.number, 1.0)

    def _find_speeds(self) -> None:
        """The machine's speed in each comparison of two settings, if it is another one than before.

        If both settings together score much more or less than in their earlier trials, the machine has changed, not
        they. The comparison is still fair, because both had the same speed.
        """
        earlier: dict[Key, list[float]] = {}
        for trials in _comparisons(self.all):
            measured = [(self.space.key(trial.settings), trial) for trial in trials if is_measured(trial)]
            scores = [(key, found) for key, trial in measured if (found := self._score(trial)) > 0]
            ratios = [
                math.log(found / fmean(_without_slow_moments(earlier[key]))) for key, found in scores if key in earlier
            ]
            speed = math.exp(median(ratios)) if len(ratios) >= _ROUND else 1.0
            if abs(math.log(speed)) > SPEED_CHANGE:
                self._speed.update((trial.number, speed) for trial in trials)
            for key, found in scores:
                earlier.setdefault(key, []).append(found / (speed if trials[0].number in self._speed else 1.0))

    def _disturbance(self, trial: Trial) -> float:
        return disturbance(trial, self._usual_load, self.task.machine.cores)

    def mean(self, key: Key) -> float:
        """Mean score; 0 if the settings were not measured."""
        scores = self.scores(key)
        return fmean(scores) if scores else 0.0

    def error(self, key: Key) -> float:
        """Relative standard error of the mean score."""
        return self.spread / math.sqrt(max(len(self.scores(key)), 1))

    def barred(self, key: Key) -> bool:
        """Whether `key` is not worth a trial: it is out, asks more than something that died, or reads no better than
        something that misread.
        """
        return (
            key in self.out
            or any(self.space.at_least(key, unfit) for unfit in self._unfit)
            or any(self.space.at_least(misreading, key, QUALITY) for misreading in self._misreading)
        )

    def ranking(self) -> list[Key]:
        """The allowed settings that were measured, by mean score, the best first."""
        keys = [key for key in self._trials if self.mean(key) > 0 and not self.barred(key)]
        return sorted(keys, key=self.mean, reverse=True)

    def rival(self, best: Key) -> Key | None:
        """Returns the other allowed settings that are most likely to be better than `best`."""
        return min((key for key in self.ranking() if key != best), key=lambda key: self.gap(best, key), default=None)

    def gap(self, better: Key, worse: Key) -> float:
        """Returns by how many standard errors the mean of `better` is above that of `worse`."""
        return math.log(self.mean(better) / self.mean(worse)) / math.hypot(self.error(better), self.error(worse))

    def choice(self) -> Key | None:
        """The settings to recommend: the surest of the best, or settings that ask less and are as good within 1 %.

        The score less its standard error decides, so that a single lucky trial does not win.
        """
        ranking = self.ranking()
        if not ranking:
            return None
        best = max(ranking, key=lambda key: self.mean(key) * (1 - self.error(key)))
        enough = min(MIN_REPEATS, len(self.scores(best)))
        good = [
            key
            for key in ranking
            if len(self.scores(key)) >= enough and self.mean(key) >= (1 - WITHIN) * self.mean(best)
        ]
        return min(good, key=lambda key: (self.space.weight(key), -self.mean(key)))

    def compare(self, base: Key, other: Key) -> RatioEstimate | None:
        """The score of `other` over that of `base`, by Welch's test; None with fewer than three repeats of either."""
        try:
            return compare_repeats(self.scores(base), self.scores(other), resolution=_MIN_SPREAD)
        except StatisticsError:
            return None

    def assessment(self, key: Key) -> Assessment:
        """Everything that is known of `key`. The interval of the score is from the spread of all repeats together."""
        trials = self.trials(key)
        numbers = tuple(trial.number for trial in trials)
        why_not = self.out.get(key) or (self._why_barred(key) if self.barred(key) else "")
        mean, reach = self.mean(key), Z95 * self.error(key)
        if not mean and not why_not:
            why_not = "answered no page in time" if self.measured(key) else "was not measured"
        low, high = mean * math.exp(-reach), mean * math.exp(reach)
        return Assessment(self.space.settings(key), numbers, mean, low, high, allowed=not why_not, why_not=why_not)

    def name(self, key: Key) -> str:
        """The settings in short, such as `max_num_seqs = 16`."""
        return settings_text(self.space.settings(key))

    def _why_out(self, key: Key) -> str:
        trials = self._trials[key]
        heaviest = [trial for trial in trials if trial.purpose is Purpose.HEAVIEST]
        usual = [trial for trial in trials if trial.purpose is not Purpose.HEAVIEST]
        for some, where in ((heaviest, " under the heaviest images"), (usual, "")):
            counts = Counter(map(outcome, some))
            for kind, words in _UNFIT.items():
                if counts[kind]:
                    return f"{words} in {_of(counts[kind], len(some))}{where}"
        failed = [trial for trial in trials if trial.outcome is TrialOutcome.NOT_STARTED]
        if len(failed) >= _FAILED_STARTS:
            cause = f": {failed[-1].why}" if failed[-1].why else ""
            return f"did not start in {_of(len(failed), len(trials))}{cause}"
        summaries = [trial.summary for trial in self.measured(key) if trial.summary is not None]
        if fails_too_often(summaries, self.task.targets.max_error):
            allowed = f"{100 * self.task.targets.max_error:.3g} %"
            return f"{100 * failed_share(summaries):.2g} % of its requests failed, and only {allowed} may"
        if self._misreads(key):
            read, least = self._accuracy(key) or 0.0, self._least_accuracy or 0.0
            return f"reads {100 * read:.1f} % of characters correctly, and {100 * least:.1f} % are required"
        return ""

    def _why_barred(self, key: Key) -> str:
        unfit = [other for other in self._unfit if self.space.at_least(key, other)]
        if unfit:
            least = min(unfit, key=self.space.weight)
            return f"asks more than {self.name(least)}, which {self.out[least]}"
        misreading = next(other for other in self._misreading if self.space.at_least(other, key, QUALITY))
        return f"reads no better than {self.name(misreading)}, which {self.out[misreading]}"

    def _accuracy_bound(self) -> float | None:
        """The share of characters below which settings are out; None without a ground truth."""
        if self.task.targets.least_accuracy is not None:
            return self.task.targets.least_accuracy
        known = self._accuracy(self.current)
        return None if known is None else known - ACCURACY_MARGIN

    def _accuracy(self, key: Key) -> float | None:
        known = [trial.accuracy for trial in self.measured(key) if trial.accuracy is not None]
        return fmean(known) if known else None

    def _misreads(self, key: Key) -> bool:
        accuracy = self._accuracy(key)
        return accuracy is not None and self._least_accuracy is not None and accuracy < self._least_accuracy


def _without_slow_moments(scores: Sequence[float]) -> list[float]:
    """Leaves out those far below the others of the same settings: the machine was slow for a moment."""
    usual = median_high(scores) if scores else 0.0
    return [score for score in scores if score > 0 and score >= FALLEN * usual]


def _comparisons(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials in order; those that compare the same two settings in one list, each of the others in its own."""
    groups: list[list[Trial]] = []
    for trial in trials:
        last = groups[-1] if groups else []
        kinds = [each.settings for each in last]
        same = trial.settings in kinds or all(settings == kinds[0] for settings in kinds)
        if last and trial.purpose is last[0].purpose is Purpose.CONFIRM and same:
            last.append(trial)
        else:
            groups.append([trial])
    return groups


def _of(count: int, total: int) -> str:
    return f"{count} of {total} runs" if total > 1 else "its only run"
