"""The sentence on top of the Live tab."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inkgate.telemetry.state import BreakerReading, Point, State
from inkgate.ui.live import live_panel, verdict
from support.states import embedded_state, history, pages_queue, point

QUIET: dict[str, Any] = {"pages": 0.0, "requests": 0.0, "documents": 0, "p50_s": None, "p95_s": None}


def said(state: State, *points: Point) -> str:
    return verdict(replace(state, history=points or state.history), "en")[0]


def test_each_way_of_doing_is_told_in_a_sentence() -> None:
    healthy = embedded_state()
    idle = replace(healthy, admission=replace(healthy.admission, documents=0))
    assert said(healthy) == "Reading normally: the median request takes 0.4 s."
    assert said(idle, *history(**QUIET)) == "Ready and idle."
    assert (
        said(replace(healthy, ready=False, reasons=("engine: gone",))) == "The service can't read pages: engine: gone."
    )
    assert "calls to it are paused" in said(replace(healthy, breakers=(BreakerReading("ppocr", "open", 1),)))
    busy = replace(healthy, queues=(replace(pages_queue(waiting=20), backlog_s=31.6),))
    assert said(busy) == "Busy: 20 waiting, about 32 s for the last one."
    assert "refusing some" in said(busy, *history(refused=1.0))


def test_a_service_that_refuses_everything_says_since_when_and_has_no_latency() -> None:
    points = (*history(60)[:7], *(point(ago, refused=9.0, **QUIET) for ago in range(20, -1, -5)))
    state = replace(embedded_state(), history=points)
    assert said(state).startswith("Some requests were refused")  # a page was read 25 s ago
    points = (point(60.0), *(point(ago, refused=9.0, **QUIET) for ago in range(35, -1, -5)))
    state = replace(embedded_state(), history=points)
    assert said(state) == "The service has refused all requests for 40 s."
    html = live_panel(state, "zh")
    assert html.startswith('<p class="ink-verdict ink-bad">服务已连续 40 秒')


def test_names_in_the_sentence_are_escaped() -> None:
    state = replace(embedded_state(), ready=False, reasons=("<b>down",))
    assert "<b>down" not in live_panel(state, "en")
