"""Seconds that are put together of what several processes tell, however late they tell it."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.loadtest.course import Part
from inkgate.loadtest.plan import Load
from inkgate.loadtest.processes import Gathered
from inkgate.loadtest.results import Second
from inkgate.loadtest.samples import Outcome, Sample, Samples
from inkgate.loadtest.sending import Ended
from inkgate.loadtest.target import ProtocolName, Target
from support.load_target import PAGE, open_plan


def gathered(heard: list[Second], senders: int = 2) -> Gathered:
    target = Target("http://127.0.0.1:1/ocr", ProtocolName.SIMPLE)
    return Gathered(Load(target, (PAGE,), open_plan(rate=60, seconds=3)), senders, 0.0, heard.append)


def part(ended: Sequence[float] = (), due: dict[int, int] | None = None, in_flight: int = 0) -> Part:
    samples = Samples()
    for at in ended:
        samples.add(Sample(at - 0.1, at - 0.1, at, Outcome.ANSWERED))
    return Part(samples.columns(), due or {}, in_flight)


def end(rest: Part, ended_s: float) -> Ended:
    return Ended(rest, ended_s, busy_share=0.1, late_p99_s=0.001, stopped=False)


def test_a_second_is_told_once_all_have_told_of_it() -> None:
    heard: list[Second] = []
    load = gathered(heard)
    load.hear(0, part((0.5,), {0: 30}, 1))
    load.hear(0, part((1.5,), {1: 30}, 2))
    assert heard == []
    load.hear(1, part((0.6,), {0: 30}, 3))
    assert [(each.at, each.offered, each.answered) for each in heard] == [(1.0, 60, 2)]
    load.hear(1, part((1.6,), {1: 30}, 4))
    assert [(each.at, each.offered, each.answered, each.in_flight) for each in heard[1:]] == [(2.0, 60, 2, 6)]


def test_what_a_late_one_tells_is_of_the_second_in_which_it_was() -> None:
    heard: list[Second] = []
    load = gathered(heard)
    load.hear(0, part((0.5, 1.2), {0: 30, 1: 12}))
    load.hear(1, part((0.6,), {0: 30}))
    load.hear(0, part((1.4,), {1: 18}))
    load.hear(1, part((), {1: 29, 0: 1}))  # one was due in the first second, and begun in the other
    assert [(each.offered, each.answered) for each in heard] == [(60, 2), (60, 2)]


def test_nobody_waits_for_one_that_has_ended() -> None:
    heard: list[Second] = []
    load = gathered(heard)
    load.hear(0, part((0.5,), {0: 30}))
    load.hear(0, part((1.5,), {1: 20}))
    load.end(1, end(part((0.6,), {0: 12}), 0.7))
    assert [(each.at, each.offered) for each in heard] == [(1.0, 42), (2.0, 20)]
    load.end(0, end(part((3.05,), {2: 30}), 3.1))
    found = load.result()
    assert [(each.at, each.offered) for each in found.timeline] == [(1.0, 42), (2.0, 20), (3.0, 30)]
    assert found.summary.answered == 4
