"""Seconds that are put together of what senders tell, however late they tell it."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.bench.load.course import Part
from inkgate.bench.load.results import Second
from inkgate.bench.load.samples import Outcome, Sample, Samples
from inkgate.bench.load.seconds import Seconds
from support.load_target import open_plan


def of_load(heard: list[Second], senders: int = 2) -> Seconds:
    return Seconds(open_plan(rate=60, seconds=3), senders, heard.append)


def part(ended: Sequence[float] = (), due: dict[int, int] | None = None, in_flight: int = 0) -> Part:
    samples = Samples()
    for at in ended:
        samples.add(Sample(at - 0.1, at - 0.1, at, Outcome.ANSWERED))
    return Part(samples.columns(), due or {}, in_flight)


def test_a_second_is_told_once_all_have_told_of_it() -> None:
    heard: list[Second] = []
    seconds = of_load(heard)
    seconds.hear(0, part((0.5,), {0: 30}, 1))
    seconds.hear(0, part((1.5,), {1: 30}, 2))
    assert heard == []
    seconds.hear(1, part((0.6,), {0: 30}, 3))
    assert [(each.at, each.offered, each.answered) for each in heard] == [(1.0, 60, 2)]
    seconds.hear(1, part((1.6,), {1: 30}, 4))
    assert [(each.at, each.offered, each.answered, each.in_flight) for each in heard[1:]] == [(2.0, 60, 2, 6)]


def test_what_a_late_one_tells_is_of_the_second_in_which_it_was() -> None:
    heard: list[Second] = []
    seconds = of_load(heard)
    seconds.hear(0, part((0.5, 1.2), {0: 30, 1: 12}))
    seconds.hear(1, part((0.6,), {0: 30}))
    seconds.hear(0, part((1.4,), {1: 18}))
    seconds.hear(1, part((), {1: 30}))
    assert [(each.offered, each.answered) for each in heard] == [(60, 2), (60, 2)]


def test_what_was_begun_late_is_of_the_second_in_which_it_was_due() -> None:
    heard: list[Second] = []
    seconds = of_load(heard, senders=1)
    seconds.hear(0, part((0.5,), {0: 29}))
    seconds.hear(0, part((1.5,), {0: 31, 1: 60}))  # it stood still as the first second ended
    assert [each.offered for each in heard] == [29, 60]
    seconds.end(0, part())
    assert [(each.offered, each.answered) for each in seconds.timeline(2.1)] == [(60, 1), (60, 1)]


def test_nobody_waits_for_one_that_has_ended() -> None:
    heard: list[Second] = []
    seconds = of_load(heard)
    seconds.hear(0, part((0.5,), {0: 30}))
    seconds.hear(0, part((1.5,), {1: 20}))
    seconds.end(1, part((0.6,), {0: 12}))
    assert [(each.at, each.offered) for each in heard] == [(1.0, 42), (2.0, 20)]
    seconds.end(0, part((3.05,), {2: 30}))
    timeline = seconds.timeline(3.1)
    assert [(each.at, each.offered, each.answered) for each in timeline] == [(1.0, 42, 2), (2.0, 20, 1), (3.0, 30, 0)]
