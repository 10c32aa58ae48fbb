"""Two load tests compared: what is judged, by what, and what is said where there is too little to judge by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inkgate_bench.load.results import Axis, LoadPoint, LoadReport, LoadSummary
from inkgate_bench.reports.comparison import compare
from inkgate_bench.statistics import Verdict
from support.sample_reports import MACHINE, load_report, load_report_without_knee, one_point


def with_runs(report: LoadReport, *runs: LoadSummary) -> LoadReport:
    return replace(report, points=(LoadPoint(8, runs),))


def test_a_faster_service_is_found_at_the_load_where_both_answer_most() -> None:
    found = compare(load_report(1), load_report(2, faster=1.3), ("old.json", "new.json"))
    assert found.level in {16, 20, 24}
    assert found.goodput.verdict is found.p95.verdict is Verdict.DIFFERENT
    assert found.goodput.ratio == pytest.approx(1.3, rel=0.15)
    assert found.goodput.p is not None
    assert found.goodput.p < 0.05
    assert "B's goodput is" in found.statement[0]
    assert "higher than A's (95 % interval" in found.statement[0]
    assert "B's p95 latency is" in found.statement[1]
    assert "3 and 3 repeats" in found.goodput.method


def test_intervals_of_all_loads_hold_together_and_so_are_wider() -> None:
    found = compare(load_report(1), load_report(2, faster=1.3))
    assert len(found.levels) == 12
    (wide,) = [each.goodput for each in found.levels if each.level == found.level]
    assert wide.ratio == found.goodput.ratio
    assert wide.low is not None
    assert found.goodput.low is not None
    assert wide.low < found.goodput.low


@pytest.mark.parametrize("other", [one_point(2), load_report(2, levels=(16,))], ids=["one run each", "one run of A"])
def test_one_run_is_not_judged_and_to_be_repeated_three_times(other: LoadReport) -> None:
    found = compare(one_point(1), other)
    assert found.goodput.verdict is found.p95.verdict is None
    assert found.goodput.low is None
    assert found.goodput.ratio is not None
    for sentence in found.statement:
        assert "for A and" in sentence
        assert "Not judged: repeat each test at least three times." in sentence


def test_counts_are_known_to_one_response_at_best() -> None:
    report = load_report()
    run = report.points[0].runs[0]
    one_more = replace(run, in_time=run.in_time + 1)
    equal = compare(with_runs(report, run, run, run), with_runs(report, one_more, one_more, one_more))
    assert equal.goodput.verdict is not Verdict.DIFFERENT


def test_a_repeat_without_responses_is_not_judged() -> None:
    report = load_report()
    run = report.points[0].runs[0]
    dead = replace(run, answered=0, in_time=0, latency=None)
    found = compare(with_runs(report, run, run, run), with_runs(report, run, dead, run))
    assert found.goodput.why == "in 1 of 3 repeats of B no response was in time"
    assert found.goodput.b == 0
    assert "goodput is" in found.statement[0]
    assert "0/s for B. Not judged: in 1 of 3 repeats of B" in found.statement[0]
    assert found.p95.b is None
    assert found.p95.why == "in a repeat no request was answered"
    assert found.goodput.verdict is found.p95.verdict is None


def test_the_load_that_is_judged_by_does_not_depend_on_the_number_of_runs() -> None:
    """Goodputs below 1/s make a product of many runs small."""
    run = load_report().points[0].runs[0]
    slow, slower = (replace(run, in_time=round(rate * 1000), seconds=1000.0) for rate in (0.8, 0.4))
    report = replace(load_report(), points=(LoadPoint(1, (slower,)), LoadPoint(8, (slow,) * 3)))
    found = compare(report, report)
    assert found.level == 8
    assert found.goodput.verdict is Verdict.EQUAL


def test_the_same_test_is_equal_to_itself_or_unclear() -> None:
    report = load_report()
    assert compare(report, report).goodput.verdict in {Verdict.EQUAL, Verdict.UNCLEAR}
    assert compare(report, report).goodput.ratio == 1


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (replace(load_report(2), axis=Axis.RATE), "by rate"),
        (replace(load_report(2), deadline_s=2.0), "the latency target was 5 s for A and 2 s for B"),
        (load_report(2, levels=(3, 5)), "no load was tested in both"),
    ],
)
def test_what_is_not_comparable_is_not_compared(other: LoadReport, why: str) -> None:
    found = compare(load_report(1), other)
    assert found.goodput.verdict is found.p95.verdict is None
    assert why in found.statement[0]
    assert found.levels == ()


def test_what_speaks_against_the_comparison_is_said() -> None:
    elsewhere = replace(
        load_report_without_knee(2),
        machine=replace(MACHINE, name="bench-2"),
        protocol="chat",
        asked={"pages": "other/"},
    )
    limited = replace(elsewhere, own=replace(elsewhere.own, bottleneck=True, why="one core was full"))
    said = " ".join(compare(load_report(1), limited).concerns)
    for part in ("one core was full", "B was interrupted", "different machines", "B chat", "B other/"):
        assert part in said


def test_different_shares_of_answered_requests_are_said() -> None:
    report = load_report()
    run = report.points[0].runs[0]
    half = replace(run, answered=run.answered // 2, in_time=run.in_time // 2)
    found = compare(with_runs(report, run, run, run), with_runs(report, half, half, half))
    assert "their latencies are of different requests" in " ".join(found.concerns)
