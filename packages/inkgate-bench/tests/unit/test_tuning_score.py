from __future__ import annotations

from dataclasses import replace

import pytest

from inkgate_bench.load.results import LoadSummary, ServerSide
from inkgate_bench.tune.results import Purpose, Targets, Trial, TrialOutcome
from inkgate_bench.tune.score import disturbance, fails_too_often, outcome, score, usual_other_load
from support.responses import SEQS, TARGETS

SUMMARY = LoadSummary(10.0, 1000, 200, 150, 800, 0, 0, 0, 450, 0, 0, 8.0, None, None)


def trial(
    server: ServerSide | None = None, ended: TrialOutcome = TrialOutcome.MEASURED, accuracy: float | None = None
) -> Trial:
    return Trial(1, Purpose.SEARCH, {SEQS: 8}, ended, 10.0, SUMMARY, server, accuracy)


def test_score_is_pages_in_time() -> None:
    assert score(SUMMARY, TARGETS) == 45


def test_answers_without_known_pages_have_one_each() -> None:
    assert score(replace(SUMMARY, pages=0), TARGETS) == 15


def test_cost_counts_pages_for_the_money() -> None:
    assert score(SUMMARY, Targets(5, 0.001, "cost", price_per_hour=2.0)) == 45 * 1800


@pytest.mark.parametrize(
    ("targets", "said"), [(Targets(5, 0.001, "cost"), "price"), (Targets(5, 0.001, "speed"), "`pages` or `cost`")]
)
def test_objective_that_can_not_be_computed_is_refused(targets: Targets, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        score(SUMMARY, targets)


@pytest.mark.parametrize(
    ("server", "ended", "becomes"),
    [
        (None, TrialOutcome.MEASURED, TrialOutcome.MEASURED),
        (ServerSide(preemptions=10, restarts=0), TrialOutcome.MEASURED, TrialOutcome.MEASURED),
        (ServerSide(preemptions=90), TrialOutcome.MEASURED, TrialOutcome.STORMED),
        (ServerSide(preemptions=90, restarts=1), TrialOutcome.MEASURED, TrialOutcome.DIED),
        (ServerSide(preemptions=90), TrialOutcome.NOT_STARTED, TrialOutcome.NOT_STARTED),
    ],
)
def test_restarts_and_preemptions_are_outcomes(
    server: ServerSide | None, ended: TrialOutcome, becomes: TrialOutcome
) -> None:
    assert outcome(trial(server, ended)) is becomes


@pytest.mark.parametrize(
    ("offered", "failed", "allowed", "too_often"),
    [
        (300, 0, 0.001, False),
        (300, 1, 0.001, False),  # happens in a quarter of such runs
        (300, 3, 0.001, True),
        (100_000, 110, 0.001, False),
        (100_000, 140, 0.001, True),
        (300, 1, 0.0, True),
        (0, 0, 0.001, False),
    ],
)
def test_failures_count_once_they_are_no_accident(
    offered: int, failed: int, allowed: float, *, too_often: bool
) -> None:
    assert fails_too_often([replace(SUMMARY, offered=offered, failed=failed)], allowed) is too_often


def test_refusals_of_what_is_over_the_capacity_are_no_failures() -> None:
    assert not fails_too_often([replace(SUMMARY, refused=800, timed_out=50)], 0.001)


@pytest.mark.parametrize(("taken", "share"), [(None, 0.0), (1.0, 0.0), (3.0, 0.25), (0.5, 0.0), (90.0, 1.0)])
def test_a_trial_is_disturbed_by_what_other_programs_do_not_always_take(taken: float | None, share: float) -> None:
    assert disturbance(replace(trial(), other_load_cores=taken), usual=1.0, cores=8) == share


def test_what_other_programs_always_take_is_the_least_that_was_measured() -> None:
    trials = [replace(trial(), other_load_cores=cores) for cores in (2.0, None, 0.5)]
    assert usual_other_load(trials) == 0.5
    assert usual_other_load([trial()]) == 0.0
