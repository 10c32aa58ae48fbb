"""What is asked for in each trial, and what a reader has to know of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from inkgate_bench.commands.tune_run import ShownBench, TuneProgress
from inkgate_bench.load.results import LoadSummary, OwnLimits, Second, ServerSide
from inkgate_bench.load.run import LoadResult
from inkgate_bench.load.samples import RequestOutcome, RequestSample, Samples
from inkgate_bench.tune.demand import NothingAnswered, answered_per_s, fastest, find_demand
from inkgate_bench.tune.plan import DEMAND_FACTOR
from inkgate_bench.tune.report import notes
from inkgate_bench.tune.results import Parameter, Purpose, Settings, Step, Trial, TrialOutcome

pytestmark = pytest.mark.anyio

SEATS = Parameter("engine.vllm.managed.max_num_seqs", (1, 2, 4, 8, 16, 32, 64), "")
TOKENS = Parameter("engine.vllm.managed.max_num_batched_tokens", (1024, 2048), "")
SIDE = Parameter("engine.ppocr.longest_side", (960, 1600), "")
NUMBERS = Parameter("engine.ppocr.precision", ("f32", "bf16", "int8"), "")

STEP = Step(({SEATS.path: 8},), Purpose.SEARCH, 10.0, 20.0)


def summary(offered: int, in_time: int) -> LoadSummary:
    refused = offered - in_time
    return LoadSummary(10.0, offered, in_time, in_time, refused, 0, 0, 0, in_time, 0, 0, 4.0, None, None)


def trial(offered: int = 100, in_time: int = 50, **changes: object) -> Trial:
    made = {"purpose": Purpose.SEARCH, "outcome": TrialOutcome.MEASURED, "summary": summary(offered, in_time)}
    return Trial(**{"number": 1, "settings": {SEATS.path: 8}, "seconds": 10.0} | made | changes)  # type: ignore[arg-type]  # any field


def test_settings_that_are_likely_faster_turn_the_dials_whose_fast_end_is_known() -> None:
    current: Settings = {SEATS.path: 1, TOKENS.path: 1024, SIDE.path: 1600, NUMBERS.path: "f32"}
    likely = fastest([SEATS, TOKENS, SIDE, NUMBERS], current)
    assert likely == {SEATS.path: 32, TOKENS.path: 1024, SIDE.path: 960, NUMBERS.path: "int8"}


def probe(*ended_s: float, refused: int = 0, unfinished: int = 0) -> LoadResult:
    """A load of 11 s, of which the last 6 count, with answers at these seconds. All were sent in the first second."""
    samples = Samples()
    for ended in ended_s:
        samples.add(RequestSample(0.0, 0.0, ended, RequestOutcome.ANSWERED))
    for _ in range(refused):
        samples.add(RequestSample(0.0, 0.0, 3.0, RequestOutcome.REFUSED, "503 service_full"))
    window = replace(summary(0, 0), seconds=6.0)
    own = OwnLimits(bottleneck=False, why="", late_p99_s=0.0, busy_share=0.0, unsent=0)
    last = Second(11.0, 32.0, 0, 0, 0, 0, unfinished, None, None)
    return LoadResult(window, (last,), own, samples, 5.0)


class ProbeBench:
    """A bench with scripted responses to each of some settings."""

    def __init__(self, *results: LoadResult) -> None:
        self._results = list(results)

    async def probe(self, settings: Settings, clients: int, seconds: float) -> LoadResult:
        return self._results.pop(0)


async def test_more_is_asked_for_than_the_better_of_two_settings_answers() -> None:
    bench = ProbeBench(probe(6.0, 7.0), probe(6.0, 7.0, 8.0))
    assert await find_demand(bench, [SIDE], {SIDE.path: 1600}) == pytest.approx(DEMAND_FACTOR * 3 / 6)


async def test_a_service_that_answers_nothing_is_told_with_what_was_asked_and_what_came_back() -> None:
    bench = ProbeBench(probe(unfinished=32), probe(refused=30, unfinished=2))
    with pytest.raises(NothingAnswered) as told:
        await find_demand(bench, [SIDE], {SIDE.path: 1600})
    said = str(told.value)
    assert "With the current settings 32 clients sent requests for 11 s; of 32 requests 0 were answered" in said
    assert "32 were unanswered at the end" in said
    assert "With the likely fastest settings" in said
    assert "30 ended with 503 service_full" in said
    assert "--minutes" in said


def test_pages_that_take_longer_than_the_window_are_counted_where_they_end() -> None:
    assert answered_per_s(probe(4.9, 5.5, 8.0, 10.9, refused=1)) == pytest.approx(3 / 6)


def test_it_is_always_said_that_the_cache_was_off() -> None:
    (only,) = notes([trial()], 8)
    assert "cache was off" in only


def test_settings_that_answered_all_that_was_asked_are_told_of() -> None:
    said = notes([trial(in_time=99), trial(in_time=99, purpose=Purpose.HEAVIEST), trial()], 8)
    assert "1 trials answered more than 65 %" in said[1]
    assert "higher --rate" in said[1]


def test_what_was_asked_for_more_afterwards_is_told_as_that() -> None:
    said = notes([trial(in_time=99, demand=10.0), trial(demand=15.0), trial(in_time=95, demand=15.0)], 8)
    assert "1 trials answered so much" in said[1]
    assert "15 requests a second in the end" in said[1]
    assert "higher --rate" in said[2]


def test_a_load_generator_at_its_limit_is_told_of() -> None:
    assert "In 1 trials the load generator was the limit: no core left" in notes([trial(why="no core left")], 8)[1]


def test_trials_in_which_others_used_the_machine_are_told_of() -> None:
    said = notes([trial(other_load_cores=cores) for cores in (0.5, 0.6, 3.5, 2.0)], 8)
    assert "During 2 of 4 trials other programs used the machine, up to 3.5 of its 8 cores" in said[1]
    assert "in the quietest trial it was 0.5" in said[1]
    assert len(notes([trial(other_load_cores=cores) for cores in (4.0, 4.5)], 8)) == 1  # always there


class FixedBench:
    """A bench with one answer."""

    def __init__(self, answer: Trial) -> None:
        self._answer = answer

    async def measure(self, step: Step, done: Callable[[Trial], None]) -> None:
        for _ in step.turns:
            done(self._answer)


async def shown(answer: Trial, *, terminal: bool) -> str:
    written = io.StringIO()
    with TuneProgress(60.0, Console(file=written, force_terminal=terminal, width=160)) as view:
        view.parameters([SEATS])
        trials: list[Trial] = []
        await ShownBench(FixedBench(answer), view).measure(STEP, trials.append)
        assert trials == [answer]
    return written.getvalue()


async def test_without_a_terminal_each_trial_is_a_line() -> None:
    text = await shown(trial(server=ServerSide(memory_mb=812.0), accuracy=0.98), terminal=False)
    lines = text.splitlines()
    assert lines[0].startswith(f"{SEATS.path}: 1, 2, 4")
    assert lines[1] == "Each trial offers 20.00 requests a second."
    assert lines[2:] == ["search: max_num_seqs = 8, 10 s of load", "  5.00 in time/s, 812 MB, 98.0% correct"]


async def test_it_is_told_when_more_is_asked_for() -> None:
    written = io.StringIO()
    with TuneProgress(60.0, Console(file=written, width=160)) as view:
        bench = ShownBench(FixedBench(trial()), view)
        for demand in (20.0, 20.0, 30.0):
            await bench.measure(replace(STEP, demand=demand), lambda _trial: None)
    told = [line for line in written.getvalue().splitlines() if "offers" in line]
    assert told == [
        "Each trial offers 20.00 requests a second.",
        "Each trial offers 30.00 requests a second from now on, because so many were answered.",
    ]


async def test_a_death_is_told_with_its_cause() -> None:
    text = await shown(trial(outcome=TrialOutcome.DIED, why="Out of memory."), terminal=False)
    assert "died: Out of memory." in text


async def test_at_a_terminal_there_is_a_table_of_trials() -> None:
    text = await shown(trial(), terminal=True)
    assert "max_num_seqs" in text
    assert "1 search" in text
    assert "Ctrl-C" in text
