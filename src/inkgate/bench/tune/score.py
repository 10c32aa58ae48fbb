"""What a trial is worth, and whether what it shows is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inkgate.bench.load.results import Summary
from inkgate.bench.tune.results import Outcome, Purpose, Targets, Trial

PREEMPTIONS_OF_A_STORM = 0.2
"""Preemptions for each answer: every fifth page is begun anew. A server that works well has none or a few."""
SURE = 0.025
"""Probability below which failures are no accident."""
ACCURACY_KEPT = 0.005
"""Share of characters that settings may read worse than the current ones, where no bound was given."""


def score(summary: Summary, targets: Targets) -> float:
    """Pages answered in time a second; where the objective is cost, pages for one unit of its money.

    Raises:
        ValueError: the objective is cost and the machine's price is unknown, or it is neither.
    """
    pages_per_s = max(summary.pages, summary.in_time) / summary.seconds  # an answer has a page, whoever counts them
    if targets.objective == "pages":
        return pages_per_s
    if targets.objective != "cost":
        raise ValueError(f"the objective is `pages` or `cost`, not `{targets.objective}`")
    if not targets.price_per_hour:
        raise ValueError("the least cost can be found only with the machine's price for an hour")
    return pages_per_s * 3600 / targets.price_per_hour


def unit(targets: Targets) -> str:
    """Of a score, in words."""
    return "pages in time for each unit of money" if targets.objective == "cost" else "pages/s in time"


def outcome(trial: Trial) -> Outcome:
    """How it ended, once restarts and preemptions count: a service that came back died nevertheless."""
    if trial.outcome is not Outcome.MEASURED or trial.server is None:
        return trial.outcome
    if trial.server.restarts:
        return Outcome.DIED
    answered = trial.summary.answered if trial.summary is not None else 0
    if (trial.server.preemptions or 0) > max(PREEMPTIONS_OF_A_STORM * answered, 3):
        return Outcome.STORMED
    return Outcome.MEASURED


def counts(trial: Trial) -> bool:
    """Whether it shows what its settings are worth: it stayed up, under the usual load."""
    return outcome(trial) is Outcome.MEASURED and trial.summary is not None and trial.purpose is not Purpose.HEAVIEST


def failed_share(summaries: Sequence[Summary]) -> float:
    """Of the requests offered, those that failed or were rejected.

    Not those refused (429, 503) or timed out: a trial offers more than can be answered, so that how many are refused
    says how far the demand is over the capacity; as they are no answers in time, the score has them.
    """
    offered = sum(summary.offered for summary in summaries)
    return sum(summary.failed + summary.rejected for summary in summaries) / offered if offered else 0.0


def fails_too_often(summaries: Sequence[Summary], max_error: float) -> bool:
    """Whether more failed than `max_error` (a share) explains: Poisson's tail, the exact one."""
    offered = sum(summary.offered for summary in summaries)
    failed = sum(summary.failed + summary.rejected for summary in summaries)
    return failed > max_error * offered and _at_least(failed, max_error * offered) < SURE


def _at_least(count: int, expected: float) -> float:
    """Probability of `count` or more events where `expected` are expected."""
    below = sum(
        math.exp(number * math.log(expected) - expected - math.lgamma(number + 1)) if expected else float(number == 0)
        for number in range(count)
    )
    return 1 - below


def least_accuracy(targets: Targets, current: Sequence[Trial]) -> float | None:
    """The share of characters right below which settings are not taken; None where there is no ground truth."""
    if targets.least_accuracy is not None:
        return targets.least_accuracy
    known = [trial.accuracy for trial in current if trial.accuracy is not None]
    return sum(known) / len(known) - ACCURACY_KEPT if known else None
