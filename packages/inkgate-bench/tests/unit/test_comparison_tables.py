"""What is shown and written of a comparison of engines."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from pydantic import TypeAdapter
from rich.console import Console

from inkgate_bench.compare.results import (
    EngineComparison,
    EngineResult,
    as_csv,
    as_json,
    as_markdown,
    as_table,
    remarks,
)
from support.comparisons import FAST, GONE, OWN, comparison, summary


def test_rounds_count_together_in_rates_and_by_their_median_in_latencies() -> None:
    assert FAST.answered_per_s == 12.0
    assert FAST.goodput == 12.0
    assert FAST.error_share == 10 / 250
    assert (FAST.p50_s, FAST.p95_s) == (0.25, 0.5)
    assert FAST.errors == {"503 service_full": 10}


def test_what_was_never_measured_is_not_known() -> None:
    assert (GONE.answered_per_s, GONE.p50_s, GONE.error_share, GONE.errors) == (None, None, None, {})
    assert EngineResult("mute", runs=(summary(0, failed=3),)).p50_s is None


def test_json_is_read_back_the_same() -> None:
    made = comparison(FAST, GONE, partial=True)
    assert TypeAdapter(EngineComparison).validate_json(as_json(made)) == made


def test_markdown_has_the_columns_that_are_known_and_an_empty_cell_for_what_is_not() -> None:
    head, rule, fast, gone, *rest = as_markdown(comparison(FAST, GONE)).splitlines()
    assert head == (
        "| engine | reads | answered/s | in time/s | p50 | p95 | errors | memory, MB | start | CER | F1 | unread |"
    )
    assert rule.count("---") == 12
    assert fast == (
        "| ppocr | PP-OCRv6 small, openvino bf16 | 12.0 | 12.0 | 250 ms | 500 ms | 4.0 % | 812 | 2 s | 2.1 % | 97.0 % "
        "| 1 |"
    )
    assert gone.split(" | ")[0] == "| vllm/big"
    assert "8 clients" in "\n".join(rest)
    assert "- vllm|big: The service ended with status 1: no GPU." in rest
    assert "- ppocr: errors: 503 service_full (10)." in rest


def test_csv_has_every_column_and_values_as_they_are() -> None:
    fast, gone = csv.DictReader(io.StringIO(as_csv(comparison(FAST, GONE))))
    assert (fast["engine"], fast["p50_s"], fast["error_share"], fast["gpu_memory_mb"]) == ("ppocr", "0.25", "0.04", "")
    assert (gone["answered_per_s"], gone["why_not"]) == ("", GONE.why_not)


def test_a_terminal_gets_the_same_table_and_hears_that_it_was_interrupted() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(as_table(comparison(FAST, partial=True)))
    shown = console.export_text()
    assert "250 ms" in shown
    assert "Interrupted" in shown


def test_names_that_look_like_markup_are_shown_as_they_are() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(as_table(comparison(replace(FAST, name="[red]fast", model="[/bold]"))))
    shown = console.export_text()
    assert "[red]fast" in shown
    assert "[/bold], openvino bf16" in shown


def test_remarks_name_who_they_are_about() -> None:
    noted = EngineResult("given", notes=("A run was interrupted.",))
    assert remarks(comparison(noted)) == ("given: A run was interrupted.",)


def test_a_load_generator_that_was_the_limit_is_told() -> None:
    limited = replace(FAST, runs=(), own=replace(OWN, bottleneck=True, why="it was late"))
    assert remarks(comparison(limited)) == ("ppocr: the load generator was the bottleneck: it was late.",)


def test_each_engine_is_compared_with_the_fastest_by_its_rounds() -> None:
    slow = replace(FAST, name="slow", runs=tuple(summary(answered) for answered in (100, 104, 98)))
    fast = replace(FAST, name="fast", runs=tuple(summary(answered) for answered in (200, 207, 195)))
    (remark,) = remarks(comparison(slow, fast))
    assert remark.startswith("slow against fast, responses/s in time: 0.50x (95 % interval 0.4")
    same = replace(slow, name="same")
    assert "not distinguishable" in remarks(comparison(slow, same))[0]
    once = replace(slow, runs=slow.runs[:1])
    assert (
        "1 and 1 repeats were measured: repeat each at least 3 times"
        in remarks(comparison(once, replace(once, name="b")))[0]
    )
    dead = replace(slow, runs=(summary(0, failed=9),) * 3)
    assert "a repeat measured 0" in remarks(comparison(dead, fast))[0]
