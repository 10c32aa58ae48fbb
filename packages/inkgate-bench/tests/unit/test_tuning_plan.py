"""What is tried next, and with which demand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inkgate_bench.load.results import LoadSummary, ServerSide
from inkgate_bench.tune.history import TrialHistory
from inkgate_bench.tune.plan import demand, next_step
from inkgate_bench.tune.results import Purpose, SearchTask, Step, Trial, TrialOutcome
from inkgate_bench.tune.score import answered_share
from support.responses import SEQS, task

RISING = task(demand=10.0)


def trial(goodput: float, offered: float = 10.0, seqs: int = 64, **changes: object) -> Trial:
    """A trial of ten seconds."""
    sent, in_time = int(10 * offered), int(10 * goodput)
    summary = LoadSummary(10.0, sent, in_time, in_time, sent - in_time, 0, 0, 0, in_time, 0, 0, 4.0, None, None)
    made = Trial(1, Purpose.SEARCH, {SEQS: seqs}, TrialOutcome.MEASURED, 10.0, summary, demand=offered, took_s=40.0)
    return replace(made, **changes)  # type: ignore[arg-type]  # any field


def step(asked: SearchTask, *trials: Trial) -> Step:
    """The next one, of a search that is still young."""
    found = next_step(asked, trials, 40.0 * len(trials))
    assert found is not None
    return found


def seqs(found: Step) -> list[object]:
    return [settings[SEQS] for settings in found.turns]


@pytest.mark.parametrize(
    ("measured", "share"),
    [
        (trial(8.5), 0.85),
        (trial(8.5, purpose=Purpose.HEAVIEST), 0.0),
        (trial(8.5, outcome=TrialOutcome.DIED), 0.0),
        (trial(0.0, offered=0.0), 0.0),
        (trial(8.5, summary=None), 0.0),
    ],
)
def test_the_answered_share_is_known_of_trials_under_the_usual_load(measured: Trial, share: float) -> None:
    assert answered_share(measured) == share


def test_the_demand_rises_to_twice_what_was_answered() -> None:
    def demand_after(*trials: Trial) -> float:
        return demand(RISING, TrialHistory(RISING, trials))

    assert demand_after() == 10.0
    assert demand_after(trial(6.5)) == 10.0
    assert demand_after(trial(7.0)) == 14.0
    assert demand_after(trial(9.5)) == 38.0, "it could be capable of anything"
    assert demand_after(trial(14.0, 40.0)) == 10.0


def test_a_demand_that_was_asked_for_stays() -> None:
    fixed = replace(RISING, rises=False)
    history = TrialHistory(fixed, [trial(9.5), trial(5.0)])
    assert demand(fixed, history) == 10.0
    assert history.scores(history.current) == [9.5, 5.0]


def test_a_trial_that_answered_nearly_everything_is_repeated_with_more() -> None:
    again = step(RISING, trial(9.5))
    assert (seqs(again), again.demand) == ([64], 38.0)
    history = TrialHistory(RISING, [trial(9.5), trial(12.0, 38.0)])
    assert history.scores(history.current) == [12.0]


def test_it_counts_until_there_is_anything_better() -> None:
    history = TrialHistory(RISING, [trial(9.5)])
    assert history.scores(history.current) == [9.5]


def test_a_trial_disturbed_by_other_programs_is_repeated_and_then_does_not_count() -> None:
    asked = task()
    quiet = trial(20.0, 100.0, other_load_cores=0.0)
    disturbed = trial(9.0, 100.0, seqs=32, other_load_cores=4.0)
    assert seqs(step(asked, quiet, disturbed)) == [32]
    history = TrialHistory(asked, [quiet, disturbed])
    key = history.space.key({SEQS: 32})
    assert history.scores(key) == [18.0], "half of the processors were left"
    history = TrialHistory(asked, [quiet, disturbed, trial(17.0, 100.0, seqs=32, other_load_cores=0.0)])
    assert history.scores(key) == [17.0]


def test_octaves_come_first_and_the_middle_of_the_best_then() -> None:
    asked = task(current=16)
    tried = [trial(20.0, 100.0, 16)]
    order = []
    for goodput in (14.0, 17.0, 9.0, 13.0, 15.0, 19.0):
        following = step(asked, *tried)
        order.append(seqs(following)[0])
        tried.append(trial(goodput, 100.0, int(following.turns[0][SEQS])))
    assert order == [8, 32, 4, 64, 24, 20], "128 lies beyond 64, which loses a third"


def test_services_that_fit_into_memory_are_compared_side_by_side() -> None:
    server = ServerSide(memory_mb=1000.0)
    scores = {16: 20.0, 8: 12.0, 32: 12.0, 12: 12.0, 24: 12.0, 20: 18.0}
    tried = [trial(score, 100.0, value, server=server) for value, score in scores.items()]
    for free_mb, together in ((2600.0, True), (2400.0, False)):
        found = step(task(current=16, free_memory_mb=free_mb), *tried)
        assert (found.purpose, seqs(found), found.side_by_side) == (Purpose.CONFIRM, [16, 20, 20, 16], together)
    on_gpu = [replace(each, server=ServerSide(memory_mb=1000.0, gpu_memory_share=0.4)) for each in tried]
    assert not step(task(current=16, free_memory_mb=1e9), *on_gpu).side_by_side


def test_a_search_goes_on_until_something_answers_even_if_little_time_is_left() -> None:
    slow = trial(0.0, 100.0, took_s=50.0)
    found = next_step(task(budget_s=120.0, heaviest=True), [slow], 50.0)
    assert found is not None
    assert (found.purpose, found.turns[0] != slow.settings) == (Purpose.SEARCH, True)
