"""Ratios of two runs: their parts, checked against known values, and what is said when there is too little."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from inkgate.bench.load.results import Axis, Point, Second
from inkgate.bench.reports.blocks import block_length, drawn, memory
from inkgate.bench.reports.compare import compare
from inkgate.bench.reports.differences import (
    Figure,
    Untellable,
    Verdict,
    goodput_of_repeats,
    goodput_of_seconds,
    p95_of_repeats,
    p95_of_seconds,
    ratio,
)
from inkgate.bench.reports.sizes import counted, quantiles
from inkgate.bench.reports.student import t_quantile
from inkgate.bench.reports.window import counted_seconds
from support.sample_reports import MACHINE, Made, load_report, one_point, run, unreached


@pytest.mark.parametrize(
    ("share", "freedom", "known"),
    # Of the tables in every textbook.
    [(0.975, 1, 12.706), (0.975, 4, 2.776), (0.975, 30, 2.042), (0.95, 10, 1.812), (0.9995, 3, 12.924)],
)
def test_quantiles_of_students_t_are_those_of_the_tables(share: float, freedom: float, known: float) -> None:
    assert t_quantile(share, freedom) == pytest.approx(known, abs=6e-4)


def test_with_many_degrees_of_freedom_it_is_the_normal_distribution() -> None:
    assert t_quantile(0.975, 1e5) == pytest.approx(1.95996, abs=1e-3)
    assert t_quantile(0.5, 7) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("share", "freedom"), [(0.4, 5), (1.0, 5), (0.9, 0.5)])
def test_quantiles_that_are_none_are_refused(share: float, freedom: float) -> None:
    with pytest.raises(ValueError, match=r"between|fewer"):
        t_quantile(share, freedom)


def series(rho: float, many: int = 600) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    random = np.random.default_rng(3)
    values = [0.0]
    for _ in range(many + 50):
        values.append(rho * values[-1] + random.standard_normal())
    return np.array(values[-many:])


def test_blocks_are_longer_where_seconds_hang_together() -> None:
    lengths = [block_length(series(rho)) for rho in (0.0, 0.5, 0.9)]
    assert lengths[0] <= 4 < lengths[1] < lengths[2]
    assert block_length(np.ones(50)) == 1


def test_memory_is_that_of_the_process() -> None:
    assert memory(series(0.8)) == pytest.approx(0.8, abs=0.06)
    assert memory(series(0.0)) < 0.1
    assert memory(np.ones(20)) == 0


def test_every_draw_has_as_many_seconds_as_the_run_and_blocks_stay_together() -> None:
    weights = drawn(30, 7, 50, np.random.default_rng(1))
    assert weights.shape == (50, 30)
    assert (weights.sum(axis=1) == 30).all()
    (whole,) = drawn(30, 30, 1, np.random.default_rng(1))
    assert (whole == 1).all()


def test_percentiles_from_sizes_are_those_of_the_latencies() -> None:
    random = np.random.default_rng(4)
    summary, seconds = run(Made(8, 40, 1.2, seconds=60), random)
    counts, first = counted(seconds)
    assert summary.latency is not None
    (p95,) = quantiles(counts.sum(axis=0, keepdims=True), first, 0.95)
    assert p95 == pytest.approx(summary.latency.p95_s, rel=0.03)


def test_a_ratio_of_equal_figures_is_one_and_its_interval_is_welchs() -> None:
    found = ratio(Figure(0.0, 0.01, 9), Figure(0.0, 0.01, 9), 0.95, "")
    assert found.ratio == 1
    assert found.high == pytest.approx(math.exp(t_quantile(0.975, 18) * math.hypot(0.01, 0.01)))
    assert found.verdict is Verdict.NONE


@pytest.mark.parametrize(
    ("log", "error", "verdict"),
    [(0.2, 0.02, Verdict.REAL), (-0.2, 0.02, Verdict.REAL), (0.1, 0.1, Verdict.NOT_TELLABLE), (0.0, 0.0, Verdict.NONE)],
)
def test_verdicts_are_read_off_the_interval(log: float, error: float, verdict: Verdict) -> None:
    assert ratio(Figure(1.0, error, 20), Figure(1.0 + log, error, 20), 0.95, "").verdict is verdict


def test_too_few_seconds_are_told_and_not_judged() -> None:
    _, short = run(Made(8, 20, 1.0, seconds=20), np.random.default_rng(1))
    with pytest.raises(Untellable, match="20 seconds are fewer"):
        goodput_of_seconds(short)


def test_seconds_that_hang_together_all_the_way_are_not_judged() -> None:
    _, seconds = run(Made(8, 20, 1.0, seconds=60), np.random.default_rng(1))
    rising = [replace(second, in_time=10 + number) for number, second in enumerate(seconds)]
    with pytest.raises(Untellable, match="hang together"):
        goodput_of_seconds(rising)


def test_seconds_without_sizes_or_answers_say_so() -> None:
    bare = [Second(float(at), 8, 5, 5, 0, 0, 8, 1.0, 2.0) for at in range(60)]
    with pytest.raises(Untellable, match="no latencies by size"):
        p95_of_seconds(bare)
    with pytest.raises(Untellable, match="no answer was in time"):
        goodput_of_seconds(bare)


def test_repeats_without_answers_say_so() -> None:
    summary, _ = run(Made(8, 20, 1.0), np.random.default_rng(1))
    with pytest.raises(Untellable, match="no answer was in time"):
        goodput_of_repeats([summary, replace(summary, in_time=0), summary])
    with pytest.raises(Untellable, match="nothing was answered"):
        p95_of_repeats([summary, replace(summary, latency=None), summary])


def test_repeats_with_the_same_count_are_known_to_one_answer() -> None:
    summary, _ = run(Made(8, 20, 1.0), np.random.default_rng(1))
    one_more = replace(summary, in_time=summary.in_time + 1)
    sides = goodput_of_repeats([summary] * 3), goodput_of_repeats([one_more] * 3)
    assert ratio(*sides, 0.95, "").verdict is Verdict.NONE


def test_a_faster_run_is_told_by_repeats_at_the_load_where_both_answer_most() -> None:
    found = compare(load_report(1), load_report(2, faster=1.3), ("old.json", "new.json"))
    assert found.level in {16, 20, 24}
    assert found.goodput.verdict is found.p95.verdict is Verdict.REAL
    assert found.goodput.ratio == pytest.approx(1.3, rel=0.15)
    assert "the difference is real" in found.statement[0]
    assert "repeats" in found.goodput.method
    assert len(found.levels) == 12
    wide, judged = next(each.goodput for each in found.levels if each.level == found.level), found.goodput
    assert wide.low is not None
    assert judged.low is not None
    assert wide.low < judged.low


def test_single_runs_are_told_by_their_seconds() -> None:
    slow, fast = (
        load_report(1, levels=(16,), repeats=1, seconds=240),
        load_report(2, levels=(16,), repeats=1, seconds=240, faster=1.3),
    )
    found = compare(slow, fast)
    assert "bootstrap over 240 and 240 seconds" in found.goodput.method
    assert found.goodput.verdict is found.p95.verdict is Verdict.REAL
    assert any("One run each" in concern for concern in found.concerns)


def test_a_comparison_is_the_same_every_time() -> None:
    assert compare(one_point(1), one_point(2)) == compare(one_point(1), one_point(2))


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (replace(load_report(2), axis=Axis.RATE), "by rate"),
        (replace(load_report(2), deadline_s=2.0), "in time meant 5 s for A, 2 s for B"),
        (load_report(2, levels=(3, 5)), "no load was tested in both"),
    ],
)
def test_what_is_not_comparable_is_not_compared(other: object, why: str) -> None:
    found = compare(load_report(1), other)  # type: ignore[arg-type]  # load reports, in a list of cases
    assert found.goodput.verdict is found.p95.verdict is Verdict.NOT_TELLABLE
    assert why in found.statement[0]
    assert found.levels == ()


def test_what_speaks_against_the_comparison_is_said() -> None:
    elsewhere = replace(
        unreached(2), machine=replace(MACHINE, name="bench-2"), protocol="chat", asked={"pages": "other/"}
    )
    limited = replace(elsewhere, own=replace(elsewhere.own, bottleneck=True, why="one core was full"))
    said = " ".join(compare(load_report(1), limited).concerns)
    for part in ("one core was full", "B was interrupted", "different machines", "B chat", "B other/"):
        assert part in said


def test_warm_up_and_the_seconds_after_the_end_do_not_count() -> None:
    summary, seconds = run(Made(8, 20, 1.0, seconds=40), np.random.default_rng(1))
    before = [replace(second, at=second.at - 10, in_time=0) for second in seconds[:10]]
    after = [replace(second, at=second.at + 40, offered=0, in_time=1) for second in seconds[:3]]
    point = Point(8, (summary,))
    assert counted_seconds([*before, *seconds, *after], point) == list(seconds)
    other = [replace(second, level=9.0) for second in seconds]
    twice = [*before, *seconds, *after, *other, *before, *seconds]
    assert counted_seconds(twice, Point(8, (summary, summary))) == [*seconds, *seconds]
    assert counted_seconds([*seconds, *seconds], Point(8, (summary, summary))) == [*seconds, *seconds]
    assert counted_seconds(other, point) == []
