"""What is seen of a load test while it goes on: at a terminal, and in a log."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from inkgate_bench.load.live import LiveFigures, LiveView, PlainLines, percentile, picture
from inkgate_bench.load.results import Axis, LoadPoint, Second, ServerSide
from inkgate_bench.load.steps import RunProgress
from support import curves
from support.curves import measured_points

SECOND = Second(12.0, 8, 20, 18, 17, 2, 9, 0.4, 0.9, ((128, 90), (160, 10)), {"503 service_full": 2})
RUN = measured_points(curves.plateau(1.0, 12.0), 1)[3].runs[0]
PROGRESS = RunProgress(3, 6, 8, 1, 35.0, 5.0)


def console() -> Console:
    return Console(file=io.StringIO(), width=160, force_terminal=False)


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def figures() -> LiveFigures:
    kept = LiveFigures()
    kept.begins(PROGRESS)
    kept.second(SECOND, ServerSide(kv_share=0.42, waiting=3, memory_mb=2100))
    kept.ended(LoadPoint(4, (RUN,), ServerSide(kv_share=0.3, restarts=1)))
    return kept


def drawn(kept: LiveFigures, axis: Axis = Axis.CONCURRENCY) -> str:
    to = console()
    to.print(picture(kept, "http://127.0.0.1:7860/ocr", axis))
    return written(to)


def test_picture_shows_progress_what_goes_on_errors_and_the_curve_so_far() -> None:
    text = drawn(figures())
    assert "run 3 of 6: 8 clients" in text
    assert "12 of 35 s, measuring" in text
    assert "errors: 2 x 503 service_full" in text
    assert {"42%", "2.10", "GB", "18", "17"} <= set(text.split())
    head, row = text.splitlines()[-2:]
    assert head.split()[:5] == ["clients", "answered/s", "in", "time/s", "p50"]
    assert row.split()[0] == "4"
    assert "30%" in row


def test_percentiles_are_of_the_last_seconds_within_two_percent() -> None:
    shown = figures()
    sizes = [second.sizes for second in shown.recent]
    assert percentile(sizes, 0.5) == pytest.approx(0.256, rel=0.045)
    assert percentile(sizes, 0.99) == pytest.approx(1.024, rel=0.045)
    assert shown.percentiles()["p50"] == "262 ms"


def test_percentiles_of_nothing_are_unknown() -> None:
    assert percentile([], 0.5) is None
    assert "-" in drawn(LiveFigures(PROGRESS, replace(SECOND, sizes=())))


def test_a_run_that_begins_forgets_the_errors_of_the_one_before() -> None:
    kept = figures()
    kept.begins(PROGRESS)
    assert not kept.kinds
    assert "errors: " not in drawn(kept)


def test_warming_up_and_waiting_for_the_last_answers_are_told_apart() -> None:
    kept = LiveFigures(PROGRESS, replace(SECOND, at=3.0))
    assert "warming up" in drawn(kept)
    kept.last = replace(SECOND, at=36.0)
    assert "waiting for responses" in drawn(kept)


def test_most_frequent_kinds_of_errors_are_named_and_the_rest_counted() -> None:
    kept = LiveFigures(PROGRESS)
    kept.second(replace(SECOND, kinds={f"kind {number}": 10 + number for number in range(8)}), None)
    assert "17 x kind 7" in drawn(kept)
    assert "33 others" in drawn(kept)


def test_plain_lines_are_one_a_minute_and_one_where_a_run_begins_and_ends() -> None:
    to = console()
    lines = PlainLines(Axis.RATE, to)
    lines.begins(PROGRESS)
    for at in range(1, 130):
        lines.second(replace(SECOND, at=float(at)), ServerSide(kv_share=0.42, restarts=3))
    lines.ended(LoadPoint(8, (replace(RUN, errors={"503 service_full": 7}),)))
    first, second, third, last = written(to).splitlines()
    assert first == "run 3 of 6: 8 requests/s"
    assert "answered 18/s" in second
    assert second.endswith("KV 42%")
    assert [line.split(" s ")[0].strip() for line in (second, third)] == ["60", "120"]
    assert last.startswith("8 requests/s: ")
    assert last.endswith("errors (7 x 503 service_full)")
    assert "\x1b" not in written(to)


def test_live_view_draws_and_leaves_its_last_picture() -> None:
    to = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    with LiveView("a title", Axis.CONCURRENCY, to) as view:
        view.begins(PROGRESS)
        view.second(SECOND, None)
        view.ended(LoadPoint(8, (RUN,)))
    text = written(to)
    assert "a title" in text
    assert text.rindex("answered/s") < text.rindex("8.05") < text.rindex("████")
