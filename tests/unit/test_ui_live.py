"""The Live tab's panel: charts that are right, and words that are safe."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from inkgate.telemetry.state import BreakerReading, Point
from inkgate.ui.live import LiveChart, Series, live_panel, nice_top, to_figure
from support.states import embedded_state, vllm_state

WORDS = {"now": "now", "ago": "15 min ago", "no_data": "nothing yet"}


def point(at: float, **values: float) -> Point:
    common = {"documents": 0, "in_flight": 1, "limit": 4, "waiting": 0}
    return Point(at, 5.0, 2.0, 1.5, 0.0, 0.0, 0.1, 0.4, **common, **values)  # type: ignore[arg-type]  # of Point's own


def paths(html: str) -> list[str]:
    root = ET.fromstring(html)  # noqa: S314 - made here
    return [path.attrib["d"] for path in root.iter("path") if "ink-line" in path.attrib["class"]]


def test_a_line_ends_at_the_right_edge_and_its_top_is_at_the_top() -> None:
    chart = LiveChart("Requests", "per second", [100.0, 550.0, 1000.0], [Series("r", [0.0, 5.0, 10.0], "ink-one")])
    assert paths(to_figure(chart, WORDS)) == ["M0.0 87.0L160.0 44.0L320.0 1.0"]


def test_a_line_is_broken_where_nothing_was_measured() -> None:
    chart = LiveChart(
        "Latency", "seconds", [0.0, 300.0, 600.0, 900.0], [Series("p50", [1.0, 1.0, None, 1.0], "ink-one")]
    )
    first, second = paths(to_figure(chart, WORDS))
    assert first.count("L") == 1
    assert second.startswith("M318.5")


def test_a_chart_says_in_words_what_it_shows() -> None:
    chart = LiveChart(
        "Latency <s>", "seconds", [1.0], [Series("p50", [0.25], "ink-one"), Series("p95", [None], "ink-two")]
    )
    html = to_figure(chart, WORDS)
    assert 'aria-label="Latency &lt;s&gt;, seconds: p50 0.25; p95 nothing yet"' in html


def test_a_chart_of_nothing_is_drawn_all_the_same() -> None:
    assert paths(to_figure(LiveChart("Requests", "", [], [Series("r", [], "ink-one")]), WORDS)) == []


def test_scales_end_at_round_numbers() -> None:
    cases = [(0, 0), (0.7, 1), (1, 1), (1.2, 2), (2.4, 2.5), (3, 5), (7, 10), (180, 200)]
    assert [(most, top) for most, top in cases if nice_top(most) != pytest.approx(top)] == []


def test_the_panel_shows_what_there_is_and_warns_of_what_is_wrong() -> None:
    state = replace(
        embedded_state(),
        ready=False,
        reasons=("engine: <b>down</b>",),
        breakers=(BreakerReading("engine", "open", 1),),
        degradation_level=1,
        degradation_levels=("smaller images",),
        history=tuple(point(float(at)) for at in range(0, 900, 5)),
    )
    html = live_panel(state, "en")
    for expected in (
        "not ready: engine: &lt;b&gt;down",
        "circuit breaker open: engine",
        "smaller images",
        "The last 15 minutes",
    ):
        assert expected in html
    assert "<b>down" not in html
    assert "KV cache" not in html
    assert "最近 15 分钟" in live_panel(state, "zh")


def test_before_model_servers_pages_and_calls_wait() -> None:
    history = (point(1.0, pages_waiting=12),)
    assert "pages 12; calls 0" in live_panel(vllm_state(history=history), "en")
    assert "calls" not in live_panel(embedded_state(history=history), "en")
    assert "页 12" in live_panel(vllm_state(history=history), "zh")


def test_gpu_and_kv_cache_are_shown_where_there_are_any() -> None:
    state = replace(embedded_state(), history=(point(1.0, gpu=0.5, gpu_memory=0.25, kv_usage=0.9),))
    html = live_panel(state, "en")
    assert 'aria-label="GPU, : GPU 50%; GPU memory 25%"' in html or "GPU 50%; GPU memory 25%" in html
    assert "KV cache" in html
