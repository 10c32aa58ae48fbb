"""What a single trial shows: its score, how it ended, and whether its load was a fair test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inkgate_bench.load.results import LoadSummary
from inkgate_bench.tune.results import Purpose, Targets, Trial, TrialOutcome

PREEMPTIONS_OF_A_STORM = 0.2
"""Preemptions for each answer: every fifth page starts over. A healthy server has none or a few."""
SATURATED = 0.65
"""Share of the offered requests up to which the answers show what the settings can do.

Requests arrive at random, so goodput still rises while the demand is just above the capacity.
"""
DISTURBED = 0.1
"""Share of the machine that other programs take, beyond what they always take, from which a trial is repeated."""
_UNLIKELY = 0.025
"""Probability below which failures are no accident."""


def score(summary: LoadSummary, targets: Targets) -> float:
    """Pages answered in time a second; with the objective `cost`, pages for one unit of money.

    Raises:
        ValueError: the objective is unknown, or it is `cost` and the machine's price is unknown.
    """
    pages_per_s = max(summary.pages, summary.in_time) / summary.seconds  # every answer has at least one page
    if targets.objective == "pages":
        return pages_per_s
    if targets.objective != "cost":
        raise ValueError(f"the objective is `pages` or `cost`, not `{targets.objective}`")
    if not targets.price_per_hour:
        raise ValueError("the objective `cost` needs the machine's price for an hour")
    return pages_per_s * 3600 / targets.price_per_hour


def unit(targets: Targets) -> str:
    """The unit of a score, in words."""
    return "pages in time for each unit of money" if targets.objective == "cost" else "pages/s in time"


def outcome(trial: Trial) -> TrialOutcome:
    """How the trial ended, with restarts and preemptions considered: a service that restarted has died."""
    if trial.outcome is not TrialOutcome.MEASURED or trial.server is None:
        return trial.outcome
    if trial.server.restarts:
        return TrialOutcome.DIED
    answered = trial.summary.answered if trial.summary is not None else 0
    if (trial.server.preemptions or 0) > max(PREEMPTIONS_OF_A_STORM * answered, 3):
        return TrialOutcome.STORMED
    return TrialOutcome.MEASURED


def is_measured(trial: Trial) -> bool:
    """Whether the trial has a score: the service stayed up under the usual load."""
    measured = outcome(trial) is TrialOutcome.MEASURED and trial.summary is not None
    return measured and trial.purpose is not Purpose.HEAVIEST


def answered_share(trial: Trial) -> float:
    """Share of the offered requests that were answered in time; 0 if the trial has no score."""
    if not is_measured(trial) or trial.summary is None or not trial.summary.offered:
        return 0.0
    return trial.summary.in_time / trial.summary.offered


def usual_other_load(trials: Iterable[Trial]) -> float:
    """Cores that other programs always take: the least of all trials."""
    return min((trial.other_load_cores for trial in trials if trial.other_load_cores is not None), default=0.0)


def disturbance(trial: Trial, usual: float, cores: int) -> float:
    """The share of the machine's `cores`, 0 to 1, that other programs took beyond `usual`.

    Load that is always there slows all settings alike and distorts no comparison.
    """
    if trial.other_load_cores is None:
        return 0.0
    return min(1.0, max(0.0, trial.other_load_cores - usual) / max(cores, 1))


def failed_share(summaries: Sequence[LoadSummary]) -> float:
    """Share of the offered requests that failed or were rejected.

    Refusals (429, 503) and timeouts don't count: a trial offers more than can be answered. They lower the score.
    """
    offered = sum(summary.offered for summary in summaries)
    return sum(summary.failed + summary.rejected for summary in summaries) / offered if offered else 0.0


def fails_too_often(summaries: Sequence[LoadSummary], max_error: float) -> bool:
    """Whether more requests failed than the share `max_error` explains (Poisson's tail)."""
    failed = sum(summary.failed + summary.rejected for summary in summaries)
    expected = max_error * sum(summary.offered for summary in summaries)
    if failed <= expected:
        return False
    from scipy.special import pdtrc

    return float(pdtrc(failed - 1, expected)) < _UNLIKELY
