"""Whether trials were asked for more than they could answer: what answers all looks no better than the demand is.

The demand is found by a glance at the start, which may fall into a slow moment of the machine. So it rises where a
trial answers nearly all of it, and what was answered then is a bound, not a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from inkgate.tuning.journal import Row
from inkgate.tuning.results import Outcome, Purpose, Trial
from inkgate.tuning.task import Task

UNDER = 0.9
"""A trial whose requests were answered in time to this share was not asked for more than it can: what comes by chance
is not answered whole even by what could answer as much a second."""
ABOVE = 1.5
"""Demand over the most that was answered. Refusing costs the machine something, so it is not to be much more."""


def bore_all(trial: Trial) -> bool:
    """Whether it could have been asked for more."""
    summary = trial.summary
    return (
        trial.outcome is Outcome.MEASURED
        and trial.purpose is not Purpose.HEAVIEST
        and summary is not None
        and summary.in_time >= UNDER * summary.offered > 0
    )


def demand(task: Task, rows: Sequence[Row]) -> float:
    """Requests a second for the next trial: ABOVE times what any trial bore; the task's where it is not to rise."""
    if not task.rises:
        return task.demand
    borne = [ABOVE * (row.trial.demand or task.demand) for row in rows if bore_all(row.trial)]
    return max([task.demand, *borne])


def telling(task: Task, rows: Sequence[Row]) -> list[Row]:
    """Those of `rows` that say what their settings are worth.

    What bore all that it was asked is worth that at least: which says something of settings whose other trials have
    less, nothing where they have more, and that they are to be tried again where there are no others. Until there is
    any other trial at all, these are what is known.
    """
    if not task.rises:
        return list(rows)
    others = [row for row in rows if not bore_all(row.trial)]
    found = [row for row in rows if not bore_all(row.trial) or _is_news(row.trial, others)]
    return found if others else list(rows)


def _is_news(trial: Trial, others: Sequence[Row]) -> bool:
    goodputs = [
        row.trial.summary.goodput
        for row in others
        if row.trial.settings == trial.settings
        and row.trial.outcome is Outcome.MEASURED
        and row.trial.purpose is not Purpose.HEAVIEST
        and row.trial.summary is not None
    ]
    return bool(goodputs) and trial.summary is not None and trial.summary.goodput > fmean(goodputs)
