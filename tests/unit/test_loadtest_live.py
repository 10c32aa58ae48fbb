"""What is seen of a load test while it goes on: at a terminal, and in a log."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from inkgate.bench.load.bench import Progress
from inkgate.bench.load.live import LiveView, PlainLines, picture
from inkgate.bench.load.readings import Reading
from inkgate.bench.load.results import Axis, Second, ServerSide
from inkgate.bench.load.seen import Seen, percentiles
from support import curves
from support.curves import measured

SECOND = Second(12.0, 8, 20, 18, 17, 2, 9, 0.4, 0.9, ((128, 90), (160, 10)), {"503 service_full": 2})
RUN = measured(curves.plateau(1.0, 12.0), 1)[3].runs[0]
PROGRESS = Progress(3, 6, 8, 1, 35.0, 5.0)


def console() -> Console:
    return Console(file=io.StringIO(), width=160, force_terminal=False)


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def seen() -> Seen:
    kept = Seen()
    kept.begins(PROGRESS)
    kept.second(SECOND, Reading(kv_share=0.42, waiting=3, memory_mb=2100))
    kept.ended(4, RUN, ServerSide(kv_share=0.3, restarts=1))
    return kept


def drawn(kept: Seen, axis: Axis = Axis.CONCURRENCY) -> str:
    to = console()
    to.print(picture(kept, "http://127.0.0.1:7860/ocr", axis))
    return written(to)


def test_picture_shows_progress_what_goes_on_errors_and_the_curve_so_far() -> None:
    text = drawn(seen())
    assert "run 3 of 6: 8 at once" in text
    assert "12 of 35 s, measuring" in text
    assert "errors: 2 x 503 service_full" in text
    assert {"42%", "2.1", "GB", "18", "17"} <= set(text.split())
    head, row = text.splitlines()[-2:]
    assert head.split()[:6] == ["at", "once", "answered/s", "in", "time/s", "p50"]
    assert row.split()[0] == "4"
    assert "30%" in row


def test_percentiles_are_of_the_last_seconds_within_two_percent() -> None:
    kept = seen()
    p50, p99 = kept.percentiles(0.5, 0.99)
    assert p50 == pytest.approx(0.256, rel=0.045)
    assert p99 == pytest.approx(1.024, rel=0.045)


def test_percentiles_of_nothing_are_unknown() -> None:
    assert percentiles([], (0.5, 0.9)) == (None, None)
    assert "-" in drawn(Seen(PROGRESS, replace(SECOND, sizes=())))


def test_a_run_that_begins_forgets_the_errors_of_the_one_before() -> None:
    kept = seen()
    kept.begins(PROGRESS)
    assert not kept.kinds
    assert "errors: " not in drawn(kept)


def test_warming_up_and_waiting_for_the_last_answers_are_told_apart() -> None:
    kept = Seen(PROGRESS, replace(SECOND, at=3.0))
    assert "warming up" in drawn(kept)
    kept.last = replace(SECOND, at=36.0)
    assert "waiting for the last" in drawn(kept)


def test_most_frequent_kinds_of_errors_are_named_and_the_rest_counted() -> None:
    kept = Seen(PROGRESS)
    kept.second(replace(SECOND, kinds={f"kind {number}": 10 + number for number in range(8)}), None)
    assert "17 x kind 7" in drawn(kept)
    assert "33 others" in drawn(kept)


def test_plain_lines_are_one_a_second_and_one_for_each_run() -> None:
    to = console()
    with PlainLines(Axis.RATE, to) as lines:
        lines.begins(PROGRESS)
        lines.second(SECOND, Reading(kv_share=0.42))
        lines.ended(8, replace(RUN, errors={"503 service_full": 7}), None)
    first, second, last = written(to).splitlines()
    assert first == "run 3 of 6: 8 requests/s"
    assert "answered 18/s" in second
    assert second.endswith("KV 42%")
    assert last.startswith("8 requests/s: ")
    assert last.endswith("not answered (7 x 503 service_full)")
    assert "\x1b" not in written(to)


def test_live_view_draws_and_leaves_its_last_picture() -> None:
    to = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    with LiveView("a title", Axis.CONCURRENCY, to) as view:
        view.begins(PROGRESS)
        view.second(SECOND, None)
        view.ended(8, RUN, None)
    text = written(to)
    assert "a title" in text
    assert text.rindex("answered/s") < text.rindex("8.05") < text.rindex("████")
