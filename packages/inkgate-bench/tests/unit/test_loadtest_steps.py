"""Steps of load: which levels are measured, in which order, and what is made of them."""

from __future__ import annotations

import anyio
import pytest

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.knee import Steps, parse_steps, round_order
from inkgate_bench.load.plan import Load
from inkgate_bench.load.readings import Scraper
from inkgate_bench.load.results import Axis, LoadPoint, OwnLimits, Second, ServerSide
from inkgate_bench.load.steps import LoadInstruments, RunProgress, StepResults, run_steps
from support import curves
from support.scripted_load import ScriptedService, load

RISES_AND_FALLS = curves.rises_and_falls(2.0, 0.05, 0.002)


async def no_wait(seconds: float) -> None:
    assert seconds > 0
    await anyio.lowlevel.checkpoint()


def stepped(service: ScriptedService, steps: Steps, what: Load | None = None) -> StepResults:
    async def main() -> StepResults:
        bench = LoadInstruments(service, Scraper(()), stop=anyio.Event(), sleep=no_wait)
        return await run_steps(what or load(), steps, bench)

    return anyio.run(main)


def levels(service: ScriptedService) -> list[float]:
    return [plan.level for plan in service.asked]


def test_steps_are_measured_in_rounds_up_and_down_each_with_its_own_seed() -> None:
    service = ScriptedService(RISES_AND_FALLS)
    found = stepped(service, Steps((1, 2, 4, 8), repeats=3))
    assert levels(service) == [1, 2, 4, 8, 8, 4, 2, 1, 1, 2, 4, 8]
    assert len({plan.seed for plan in service.asked}) == 12
    assert [(point.level, len(point.runs)) for point in found.points] == [(1, 3), (2, 3), (4, 3), (8, 3)]
    assert not found.partial


def test_rounds_go_up_and_down_in_turns() -> None:
    assert round_order([4, 1, 2], 0) == [1, 2, 4]
    assert round_order([4, 1, 2], 1) == [4, 2, 1]


def test_knee_is_found_from_the_steps_and_seconds_are_numbered_through() -> None:
    found = stepped(ScriptedService(RISES_AND_FALLS), Steps((1, 2, 4, 8, 16, 32, 64), repeats=3))
    assert found.knee is not None
    assert found.knee.level == 16
    moments = [second.at for second in found.timeline]
    assert moments == [float(at) for at in range(1, 21 * 22 + 1)]


def test_climb_doubles_until_goodput_falls_and_refines_around_the_knee() -> None:
    service = ScriptedService(curves.rises_and_falls(2.0, 0.02, 0.004))
    found = stepped(service, Steps())
    assert levels(service)[:6] == [1, 2, 4, 8, 16, 32]
    assert found.knee is not None
    assert found.knee.level in {10, 11, 12, 13, 14}
    assert set(levels(service)[6:]) <= {*range(5, 25), 32}


def test_climb_ends_on_a_plateau_after_two_doublings_that_bring_nothing() -> None:
    service = ScriptedService(curves.plateau(1.0, 12.0))
    stepped(service, Steps())
    assert max(levels(service)) == 64


def test_climb_ends_where_the_error_bound_breaks_and_looks_closer_below() -> None:
    service = ScriptedService(curves.straight(1.0), lambda level: 0.2 if level > 20 else 0.0)
    found = stepped(service, Steps())
    assert levels(service)[:6] == [1, 2, 4, 8, 16, 32]
    assert found.knee is not None
    assert found.knee.level == 20


def test_climb_goes_no_further_than_it_may() -> None:
    service = ScriptedService(curves.straight(1.0))
    found = stepped(service, Steps(most=100))
    assert set(levels(service)) == {1, 2, 4, 8, 16, 32, 64}
    assert found.knee is not None
    assert not found.knee.reached


def test_climb_of_rates_begins_where_it_is_told() -> None:
    service = ScriptedService(curves.plateau(1.0, 3.0), lambda rate: max(0.0, 1 - 3 / rate))
    found = stepped(service, Steps(first=0.5), load(Axis.RATE))
    assert levels(service)[:4] == [0.5, 1, 2, 4]
    assert found.knee is not None
    assert found.knee.level == 3


def test_repeats_after_a_climb_are_of_the_levels_around_the_knee_and_above() -> None:
    service = ScriptedService(RISES_AND_FALLS)
    found = stepped(service, Steps(repeats=3))
    runs = {point.level: len(point.runs) for point in found.points}
    assert runs[1] == 1
    assert runs[16] == 3
    assert runs[64] == 3
    assert found.knee is not None


def test_next_step_waits_until_a_service_that_failed_answers_again() -> None:
    service = ScriptedService(curves.straight(1.0), lambda level: 0.2 if level == 2 else 0.0, down_for=5)
    found = stepped(service, Steps((1, 2, 4), repeats=1))
    assert service.probes == 6
    assert levels(service) == [1, 2, 4]
    assert not found.partial


def test_service_that_stays_away_ends_the_steps_and_is_said() -> None:
    service = ScriptedService(curves.straight(1.0), lambda level: 0.2 if level == 2 else 0.0, down_for=10_000)
    found = stepped(service, Steps((1, 2, 4)))
    assert levels(service) == [1, 2]
    assert found.partial
    assert found.notes == ("After the step at 2 the service answered no request any more.",)


def test_nothing_waits_for_a_service_that_failed_in_the_last_run() -> None:
    service = ScriptedService(curves.straight(1.0), lambda _: 0.2, down_for=10_000)

    async def main() -> StepResults:
        return await run_steps(load(), None, LoadInstruments(service, Scraper(()), sleep=no_wait))

    found = anyio.run(main)
    assert service.probes == 0
    assert not found.partial
    assert found.points[0].runs[0].answered > 0


def test_interruption_keeps_what_was_measured() -> None:
    found = stepped(ScriptedService(RISES_AND_FALLS, stop_after=3), Steps((1, 2, 4, 8)))
    assert found.partial
    assert [point.level for point in found.points] == [1, 2, 4]


def test_rates_at_which_requests_pile_up_are_said_as_the_step_was_too_short_to_show_it() -> None:
    service = ScriptedService(curves.straight(1.0), piles_up=lambda rate: max(0.0, rate - 30))
    found = stepped(service, Steps((10, 30, 40)), load(Axis.RATE))
    [note] = found.notes
    assert note.startswith("At 40 requests/s requests piled up: 190 of")


def test_a_generator_that_was_the_bottleneck_once_says_at_which_step() -> None:
    own = OwnLimits(bottleneck=True, why="its thread was busy", late_p99_s=0.2, busy_share=0.99, unsent=3)
    found = stepped(ScriptedService(RISES_AND_FALLS, own=own), Steps((1, 2), repeats=2))
    assert found.own.bottleneck
    assert found.own.why == "at 1: its thread was busy; at 2: its thread was busy"
    assert found.own.unsent == 12


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def begins(self, progress: RunProgress) -> None:
        self.heard.append(f"{progress.number}/{progress.of} at {progress.level:g}")

    def second(self, second: Second, reading: ServerSide | None) -> None:
        if reading is not None:
            self.heard.append(f"second at {second.at:g} kv {reading.kv_share}")

    def ended(self, run: LoadPoint) -> None:
        self.heard.append(f"ended {run.level:g} {run.server is not None}")


def test_one_load_alone_is_watched_and_scraped_and_has_no_knee() -> None:
    async def main() -> tuple[StepResults, list[str]]:
        listener = Listener()
        scraper = Scraper((lambda: ServerSide(kv_share=0.9),))
        await scraper.take()
        return await run_steps(
            load(seconds=2), None, LoadInstruments(ScriptedService(RISES_AND_FALLS), scraper, listener)
        ), listener.heard

    found, heard = anyio.run(main)
    assert found.knee is None
    assert found.points[0].server is not None
    assert found.points[0].server.kv_share == 0.9
    assert heard[0] == "1/1 at 1"
    assert heard[-2:] == ["second at 4 kv 0.9", "ended 1 True"]


@pytest.mark.parametrize(
    ("text", "axis", "expected"),
    [
        ("1,2,4", Axis.CONCURRENCY, (1, 2, 4)),
        ("8, 4,4", Axis.CONCURRENCY, (4, 8)),
        ("0.5,2.5", Axis.RATE, (0.5, 2.5)),
        ("auto", Axis.RATE, ()),
    ],
)
def test_steps_are_numbers_with_commas_or_auto(text: str, axis: Axis, expected: tuple[float, ...]) -> None:
    assert parse_steps(text, axis) == expected


@pytest.mark.parametrize("text", ["", "1;2", "0,1", "-1", "nan", "1,inf", "1,nan,3", "1.5"])
def test_other_steps_are_refused(text: str) -> None:
    with pytest.raises(LoadImpossible):
        parse_steps(text, Axis.CONCURRENCY)
