"""Whether trials were asked for more than they could answer: what answers all looks no better than the demand is.

The demand is found by a glance at the start, which may fall into a slow moment of the machine. So it rises where a
trial answers much of it, and trials that did are believed less: with requests that come by chance, goodput goes on
rising until a good deal more is asked for than can be answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from inkgate.bench.tune.journal import Row
from inkgate.bench.tune.results import Trial
from inkgate.bench.tune.score import counts
from inkgate.bench.tune.task import Task

ABOVE = 2.0
"""Demand over the most that was answered. Refusing costs the machine something, so it is not to be much more."""
_ENOUGH = 0.65
"""Part of the requests answered in time up to which settings have shown what they can: one and a half times as much is
asked for. Beyond it more is asked for from then on.
"""
_ALL = 0.9
"""The same from which what was answered is a bound alone."""
_LOST = 4 / 3
"""What goodput lacks of what settings can, over the part beyond _ENOUGH: a fifth where as much is asked as they can."""


def answered(trial: Trial) -> float | None:
    """The part of its requests that were answered in time; None where it shows nothing of the kind."""
    if not counts(trial) or trial.summary is None or not trial.summary.offered:
        return None
    return trial.summary.in_time / trial.summary.offered


def bears_more(trial: Trial) -> bool:
    """Whether it is to be asked for more."""
    return (answered(trial) or 0.0) > _ENOUGH


def demand(task: Task, rows: Sequence[Row]) -> float:
    """Requests a second for the next trial: ABOVE times what any that bears more answered, and not less than before.

    The task's where it is not to rise.
    """
    summaries = [row.trial.summary for row in rows if bears_more(row.trial)]
    borne = [ABOVE * summary.goodput for summary in summaries if summary is not None]
    return max([task.demand, *borne]) if task.rises else task.demand


def doubt(task: Task, trial: Trial) -> float:
    """The part of its score by which settings may do better than this trial, for it was asked for too little."""
    return _LOST * max(0.0, (answered(trial) or 0.0) - _ENOUGH) if task.rises else 0.0


def telling(task: Task, rows: Sequence[Row]) -> list[Row]:
    """Those of `rows` that say what their settings are worth.

    What answered all that it was asked is worth that at least: which says something of settings whose other trials have
    less, nothing where they have more, and that they are to be tried again where there are no others. Until there is
    any other trial at all, these are what is known.
    """
    others = [row for row in rows if not _is_bound(row.trial)]
    if not others or not task.rises:
        return list(rows)
    return [row for row in rows if not _is_bound(row.trial) or _is_news(row.trial, others)]


def _is_bound(trial: Trial) -> bool:
    return (answered(trial) or 0.0) >= _ALL


def _is_news(trial: Trial, others: Sequence[Row]) -> bool:
    goodputs = [
        row.trial.summary.goodput
        for row in others
        if row.trial.settings == trial.settings and answered(row.trial) is not None and row.trial.summary is not None
    ]
    return bool(goodputs) and trial.summary is not None and trial.summary.goodput > fmean(goodputs)
