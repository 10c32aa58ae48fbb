"""The search on simulated services whose best settings are known; seeded, so that every run is the same.

docs/guides/tuning.md has the shares over more seeds; the thresholds here are below them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from inkgate_bench.tune.results import Parameter, Purpose, SearchTask, Settings, Step, Trial, TrialOutcome, TuneReport
from inkgate_bench.tune.search import Journal, search
from support.clock import Clock
from support.responses import (
    GRID,
    SEQS,
    TOKENS,
    SimulatedBench,
    SimulatedService,
    loss,
    run_search,
    saturating_response,
    task,
)

FEW_SEEDS, MANY_SEEDS = 4, 40
TWO_DIALS = (Parameter(SEQS, GRID, ""), Parameter(TOKENS, (1024, 2048, 4096, 8192, 16384), ""))


def ridge(settings: Settings) -> float:
    """Best at 16 sequences and 4096 tokens; more of one wants more of the other."""
    seqs, tokens = math.log2(float(settings[SEQS]) / 16), math.log2(float(settings[TOKENS]) / 4096)
    return 20 * max(0.05, 1 - 0.06 * seqs**2 - 0.05 * tokens**2 + 0.05 * seqs * tokens)


def seats(settings: Settings) -> float:
    return float(settings[SEQS])


def always(_settings: Settings) -> bool:
    return True


def losses(name: str, seeds: int) -> list[float]:
    """What the chosen settings lose against the true best allowed ones, by seed."""
    made, allowed, asked, _ = CASES[name]
    grid = itertools.product(*(dial.values for dial in asked(0).parameters))
    everything = [dict(zip((dial.path for dial in asked(0).parameters), values, strict=True)) for values in grid]
    best = max(made.response(settings) for settings in everything if allowed(settings))
    found = []
    for seed in range(seeds):
        report, _, _ = anyio.run(run_search, made, asked(seed))
        assert report.chosen is not None
        assert allowed(report.chosen.settings)
        found.append(loss(made, report, best))
    return found


CASES: dict[str, tuple[SimulatedService, Callable[[Settings], bool], Callable[[int], SearchTask], float]] = {
    "a peak, 5 % noise": (SimulatedService(saturating_response(16), 0.05), always, lambda seed: task(seed=seed), 0.9),
    "a peak, 10 % noise": (SimulatedService(saturating_response(16), 0.10), always, lambda seed: task(seed=seed), 0.75),
    "a peak far from where it begins": (
        SimulatedService(saturating_response(4, 0.2)),
        always,
        lambda seed: task(seed=seed),
        0.85,
    ),
    "a machine that becomes a third slower": (
        SimulatedService(saturating_response(16), 0.05, drift=lambda at: 0.2 - 0.4 * at / 900),
        always,
        lambda seed: task(seed=seed),
        0.85,
    ),
    "a machine that is suddenly slower": (
        SimulatedService(saturating_response(16), 0.05, drift=lambda at: -0.3 * (at > 400)),
        always,
        lambda seed: task(seed=seed),
        0.85,
    ),
    "a machine that is suddenly slower, side by side": (
        SimulatedService(saturating_response(16), 0.05, drift=lambda at: -0.3 * (at > 400)),
        always,
        lambda seed: task(seed=seed, free_memory_mb=1e9),
        0.85,
    ),
    "others that come and go": (
        SimulatedService(saturating_response(16), 0.04, others=lambda at: 0.4 * (at % 200 < 60)),
        always,
        lambda seed: task(seed=seed),
        0.8,
    ),
    "others that take now more, now less": (
        SimulatedService(saturating_response(16), 0.05, others=lambda at: 0.65 * math.sin(at / 31) ** 4),
        always,
        lambda seed: task(seed=seed),
        0.8,
    ),
    "a moment in which all is too late": (
        SimulatedService(saturating_response(64), 0.05, drift=lambda at: -0.95 * (150 < at < 195)),
        always,
        lambda seed: task(seed=seed, current=16),
        0.8,
    ),
    "death above 24": (
        SimulatedService(saturating_response(64, 0.1), deaths=lambda settings: 0.3 * (seats(settings) > 24)),
        lambda settings: seats(settings) <= 24,
        lambda seed: task(seed=seed, current=16),
        0.75,
    ),
    "answers too late above 16": (
        SimulatedService(lambda settings: saturating_response(64)(settings) * (1 if seats(settings) <= 16 else 0.05)),
        always,
        lambda seed: task(seed=seed),
        0.75,
    ),
    "a plateau": (
        SimulatedService(lambda settings: 20 * min(1, seats(settings) / 8)),
        always,
        lambda seed: task(seed=seed),
        0.9,
    ),
    "no start above 48": (
        SimulatedService(saturating_response(32), starts=lambda settings: seats(settings) <= 48),
        lambda settings: seats(settings) <= 48,
        lambda seed: task(seed=seed, current=16),
        0.8,
    ),
    "a demand found in a slow moment": (
        SimulatedService(saturating_response(16), 0.05),
        always,
        lambda seed: task(seed=seed, demand=9.0),
        0.85,
    ),
    "a demand that is less than the best answer": (
        SimulatedService(saturating_response(16), 0.05),
        always,
        lambda seed: task(seed=seed, demand=16.0),
        0.85,
    ),
    "time for 8 trials": (
        SimulatedService(saturating_response(16), 0.05),
        always,
        lambda seed: task(seed=seed, budget_s=345),
        0.7,
    ),
    "two dials that depend on each other": (
        SimulatedService(ridge, 0.05),
        always,
        lambda seed: task(seed=seed, parameters=TWO_DIALS, budget_s=1800),
        0.8,
    ),
}


def test_it_ends_near_the_best_in_every_scenario() -> None:
    """Seldom one of the few is a neighbour of the best, which loses 5 to 9 %."""
    failures = []
    for name in CASES:
        lost = losses(name, FEW_SEEDS)
        if sum(loss > 0.05 for loss in lost) > 2 or max(lost) > 0.10:
            failures.append((name, [round(loss, 3) for loss in lost]))
    assert not failures


@pytest.mark.calibration
@pytest.mark.parametrize("name", CASES)
def test_it_ends_within_5_percent_of_the_best(name: str) -> None:
    lost = losses(name, MANY_SEEDS)
    least = CASES[name][3]
    assert sum(loss <= 0.05 for loss in lost) / len(lost) >= least, sorted(lost)


def test_time_is_enough_for_all_trials_and_is_used() -> None:
    report, _, clock = anyio.run(run_search, SimulatedService(saturating_response(16)), task(heaviest=True))
    assert 800 <= clock() <= 900
    assert 15 <= len(report.trials) <= 25
    counts = Counter(trial.purpose for trial in report.trials)
    assert counts[Purpose.CURRENT] == 1
    assert counts[Purpose.CONFIRM] >= 4
    assert counts[Purpose.HEAVIEST] >= 1
    assert [trial.number for trial in report.trials] == list(range(1, len(report.trials) + 1))


def test_the_best_and_its_rival_are_confirmed_in_turns() -> None:
    report, _, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), task())
    confirmed = [trial.settings[SEQS] for trial in report.trials if trial.purpose is Purpose.CONFIRM]
    first, second, third, fourth = confirmed[:4]
    assert first == fourth
    assert second == third


def test_what_dies_is_never_taken_nor_what_asks_more() -> None:
    made = SimulatedService(saturating_response(64), deaths=lambda settings: 5.0 * (seats(settings) >= 20))
    report, bench, _ = anyio.run(run_search, made, task(current=16))
    died = [index for index, trial in enumerate(report.trials) if trial.outcome is TrialOutcome.DIED]
    least = min(seats(report.trials[index].settings) for index in died)
    assert all(seats(settings) < least for settings, _ in bench.asked[died[-1] + 1 :])
    assert report.chosen is not None
    assert seats(report.chosen.settings) < 20


def test_what_dies_under_the_heaviest_images_makes_room_for_the_next() -> None:
    made = SimulatedService(saturating_response(24, 0.1), heaviest=lambda settings: 5.0 * (seats(settings) > 16))
    report, bench, _ = anyio.run(run_search, made, task(current=16, heaviest=True))
    heavy = [seats(settings) for settings, purpose in bench.asked if purpose is Purpose.HEAVIEST]
    assert heavy == sorted(heavy, reverse=True)
    assert heavy[0] > 16 >= heavy[-1]
    assert report.chosen is not None
    assert report.chosen.settings[SEQS] == heavy[-1]


def test_storm_of_preemptions_is_no_speed() -> None:
    made = SimulatedService(saturating_response(64), preempts=lambda settings: seats(settings) > 16)
    report, _, _ = anyio.run(run_search, made, task(current=32))
    assert report.current is not None
    assert report.current.why_not == "preempted most of what it read in its only run"
    assert report.chosen is not None
    assert seats(report.chosen.settings) <= 16


def test_settings_that_read_worse_are_not_taken() -> None:
    pixels = Parameter("engine.vllm.max_pixels", (500_000, 1_000_000, 2_000_000, 4_000_000), "")
    made = SimulatedService(
        lambda settings: 1e7 / float(settings[pixels.path]),
        accuracy=lambda settings: 0.95 if float(settings[pixels.path]) >= 1_500_000 else 0.90,
    )
    report, _, _ = anyio.run(run_search, made, task(parameters=(pixels,)))
    assert report.chosen is not None
    assert report.chosen.settings[pixels.path] == 2_000_000
    worse = next(judged for judged in report.assessments if judged.settings[pixels.path] == 1_000_000)
    assert worse.why_not == "reads 90.0 % of characters correctly, and 94.5 % are required"


def test_failed_requests_are_not_paid_with() -> None:
    made = SimulatedService(saturating_response(64), failed=lambda settings: 0.02 * (seats(settings) > 12))
    report, _, _ = anyio.run(run_search, made, task(current=8))
    assert report.chosen is not None
    assert seats(report.chosen.settings) <= 12
    assert any("requests failed, and only 0.1 % may" in judged.why_not for judged in report.assessments)


def test_nothing_that_starts_ends_the_search_early() -> None:
    report, bench, clock = anyio.run(
        run_search, SimulatedService(saturating_response(16), starts=lambda _settings: False), task()
    )
    assert report.chosen is None
    assert report.fragment == ""
    assert report.reasons[0] == "No settings that were tried met the targets."
    assert len(bench.asked) <= 10
    assert clock() < 400


def test_no_time_for_anything_gives_an_empty_report() -> None:
    report, bench, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), task(budget_s=0.0))
    assert (report.trials, report.chosen, report.current, bench.asked) == ((), None, None, [])


class InterruptedBench(SimulatedBench):
    """Is asked to stop in the middle of trial number `last`."""

    def __init__(self, made: SimulatedService, clock: Clock, seed: int, last: int, stop: anyio.Event) -> None:
        super().__init__(made, clock, seed)
        self.last, self.stop, self.left = last, stop, False

    async def try_turn(self, settings: Settings, step: Step) -> Trial:
        if len(self.asked) == self.last:
            self.stop.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.left = True
        return await super().try_turn(settings, step)


def test_interrupted_search_reports_and_goes_on(tmp_path: Path) -> None:
    asked = task()
    file = tmp_path / "journal.jsonl"

    async def interrupted() -> None:
        stop, clock = anyio.Event(), Clock(0.0)
        bench = InterruptedBench(SimulatedService(saturating_response(16)), clock, 1, 6, stop)
        report = await search(bench, Journal.begin(asked, file), clock, stop)
        assert bench.left
        assert report.partial
        assert report.chosen is not None
        assert [trial.outcome for trial in report.trials] == [TrialOutcome.MEASURED] * 5 + [TrialOutcome.STOPPED]

    async def resumed() -> None:
        clock = Clock(5000.0)
        bench = SimulatedBench(SimulatedService(saturating_response(16)), clock, 2)
        journal = Journal.resume(file)
        spent = sum(trial.took_s for trial in journal.trials)
        report = await search(bench, journal, clock)
        assert not report.partial
        assert report.trials[6].purpose is Purpose.SEARCH, "the current settings are not tried again"
        assert len(report.trials) > 15
        assert clock() - 5000 <= asked.budget_s - spent

    anyio.run(interrupted)
    anyio.run(resumed)


def test_an_interrupted_round_keeps_the_trials_that_were_done(tmp_path: Path) -> None:
    asked = task(free_memory_mb=1e9)

    async def interrupted(last: int) -> tuple[TuneReport, InterruptedBench]:
        stop, clock = anyio.Event(), Clock(0.0)
        bench = InterruptedBench(SimulatedService(saturating_response(16)), clock, 1, last, stop)
        return await search(bench, Journal(asked), clock, stop), bench

    whole, _, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), asked)
    round_begins = next(trial.number for trial in whole.trials if trial.purpose is Purpose.CONFIRM)
    report, bench = anyio.run(interrupted, round_begins + 2)
    assert bench.steps[-1].side_by_side
    assert [trial.outcome for trial in report.trials[-3:]] == [
        TrialOutcome.MEASURED,
        TrialOutcome.MEASURED,
        TrialOutcome.STOPPED,
    ]
    assert [trial.settings for trial in report.trials[-3:]] == list(bench.steps[-1].turns[:3])
    assert report.partial


def test_a_death_ends_its_round() -> None:
    made = SimulatedService(saturating_response(16), deaths=lambda settings: 0.03 * (seats(settings) == 16))
    report, bench, _ = anyio.run(run_search, made, task(free_memory_mb=1e9, seed=3))
    died = next(number for number, trial in enumerate(report.trials) if trial.outcome is TrialOutcome.DIED)
    assert all(seats(trial.settings) < 16 for trial in report.trials[died + 1 :])
    assert any(step.side_by_side for step in bench.steps)


def test_side_by_side_more_trials_fit_into_the_same_time() -> None:
    alone, _, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), task())
    together, _, clock = anyio.run(run_search, SimulatedService(saturating_response(16)), task(free_memory_mb=1e9))
    assert len(together.trials) > len(alone.trials)
    assert clock() <= 900


def test_more_time_for_a_search_that_is_over_is_used(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    asked = task(budget_s=345)
    journal = Journal.begin(asked, file)
    for budget_s in (345.0, 900.0):
        clock = Clock(0.0)
        journal.task = replace(asked, budget_s=budget_s)
        report = anyio.run(search, SimulatedBench(SimulatedService(saturating_response(16)), clock, 1), journal, clock)
        journal = Journal.resume(file)
    assert len(report.trials) > 15


def test_same_seed_gives_the_same_report() -> None:
    one, _, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), task(seed=4, heaviest=True))
    other, _, _ = anyio.run(run_search, SimulatedService(saturating_response(16)), task(seed=4, heaviest=True))
    assert one == other
