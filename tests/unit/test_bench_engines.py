"""The arithmetic of the engines' benchmark: what its figures rest on."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from benchmarks.engines.closed import Pass, Read, closed_loop, median_ratio, page_latencies
from benchmarks.engines.race import lines_a_call, padding_waste, since
from benchmarks.engines.sample import pooled_cer, spread
from benchmarks.engines.targets import Target, target_table
from benchmarks.figures import quantile
from inkgate.serving.batching import BatchFigures
from inkgate_bench.accuracy.manifest import Entry


def entry(name: str, truth: Path | None = None) -> Entry:
    return Entry(name, Path(name), "pages", "en", "-", text=truth)


def passed(seconds: float, **latencies: float) -> Pass:
    return Pass(1, seconds, latencies, {name: Read("") for name in latencies})


def test_a_sample_is_spread_evenly_and_never_larger_than_what_there_is() -> None:
    assert spread(range(100), 4) == [12, 37, 62, 87]
    assert spread(range(3), 10) == [0, 1, 2]


def test_texts_are_scored_as_if_they_were_one(tmp_path: Path) -> None:
    entries = []
    for name, truth in (("long", "a" * 90), ("short", "b" * 10)):
        (tmp_path / name).write_text(truth)
        entries.append(entry(name, tmp_path / name))
    assert pooled_cer(entries, {"long": "a" * 90, "short": "c" * 10}) == pytest.approx(10)
    assert pooled_cer(entries, {"short": "B" * 10}) == pytest.approx(100)
    assert pooled_cer(entries, {"short": "B" * 10}, fold_case=True) == 0


@pytest.mark.anyio
async def test_in_a_closed_loop_each_page_is_read_once_by_as_many_as_there_are_clients() -> None:
    at_once, most = 0, 0

    async def read(page: Entry) -> Read:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await anyio.wait_all_tasks_blocked() if at_once < 3 else await anyio.lowlevel.checkpoint()
        at_once -= 1
        return Read(page.path.upper())

    done = await closed_loop(read, [entry(name) for name in "abcdefg"], 3)
    assert done.texts == {name: name.upper() for name in "abcdefg"}
    assert done.latencies_s.keys() == done.texts.keys()
    assert most == 3


def test_quantiles_are_values_that_were_measured() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.0
    assert quantile(range(1, 101), 0.95) == 95
    assert quantile([7.0], 0.95) == 7.0


def test_rounds_are_compared_within_themselves() -> None:
    ours = [passed(1.0, a=0.1), passed(10.0, a=0.5), passed(2.0, a=0.3)]
    theirs = [passed(4.0, a=1.0), passed(40.0, a=1.0), passed(4.0, a=1.0)]
    assert median_ratio(ours, theirs) == pytest.approx(4.0)
    assert page_latencies(ours) == {"a": 0.3}


def test_a_batcher_is_looked_at_over_a_span_of_its_life() -> None:
    before = BatchFigures(calls=2, items=10, cost=100, content=50)
    span = since(before, BatchFigures(calls=4, items=22, cost=300, content=230))
    assert lines_a_call(span) == 6
    assert padding_waste(span) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (Target("speed", 4.0, least=4), True),
        (Target("speed", 3.9, least=4), False),
        (Target("waste", 9.0, " %", most=10), True),
        (Target("waste", 11.0, " %", most=10), False),
    ],
)
def test_a_target_says_whether_it_is_met(target: Target, met: bool) -> None:
    assert target.met is met
    assert ("**no**" in target_table([target])) is not met
