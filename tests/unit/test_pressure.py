"""Pressure on an engine, from its metrics."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.model_servers.evidence import Pressure
from inkgate.model_servers.metrics import HistogramTotal, ServerReading
from inkgate.model_servers.monitor import Baselines, PressureGauge

QUIET = ServerReading(kv_usage=0.0)


@pytest.mark.parametrize(
    ("signals", "u"),
    [
        ({}, 0.0),
        ({"waiting": 2}, 1.0),
        ({"kv_usage": 0.425}, 0.5),
        ({"queue_s": 3.0}, 3.0),
        ({"queue_s": 3.0, "service_s": 5.0}, 3.0),
        ({"queue_s": 3.0, "service_s": 30.0}, 1.0),
        ({"render_s": 0.5}, 0.5),
        ({"inter_token_s": 0.03, "baseline_s": 0.01}, 2.0),
        ({"inter_token_s": 0.03}, 0.0),
        ({"waiting": 1, "kv_usage": 0.85, "queue_s": 0.2}, 1.0),
        ({"running": 10_000, "preemptions": 5}, 0.0),
    ],
)
def test_the_largest_signal_over_its_target_is_the_pressure(signals: dict[str, float], u: float) -> None:
    pressure = replace(Pressure(at=1.0, span_s=1.0), **signals)  # type: ignore[arg-type]  # fields by name
    assert pressure.u == pytest.approx(u)


def test_counters_become_what_happened_between_two_readings() -> None:
    gauge = PressureGauge()
    first = ServerReading(3, 1, 0.5, None, 2, 0, 1000, 10, HistogramTotal(10.0, 10), HistogramTotal(5.0, 1000))
    then = ServerReading(4, 2, 0.6, None, 5, 0, 1800, 20, HistogramTotal(25.0, 20), HistogramTotal(21.0, 1800))
    assert gauge.read(first, 100.0, 4) is None
    pressure = gauge.read(then, 104.0, 6)
    assert pressure is not None
    assert (pressure.at, pressure.span_s, pressure.running, pressure.waiting) == (104.0, 4.0, 4, 2)
    assert (pressure.preemptions, pressure.tokens, pressure.tokens_per_s) == (3, 800, 200.0)
    assert (pressure.queue_s, pressure.inter_token_s) == (1.5, 0.02)
    assert pressure.render_s == 0


def test_the_service_time_is_learned_from_requests_that_ended_without_what_they_queued() -> None:
    gauge = PressureGauge()
    pressure = None
    for second in range(1, 200):
        ended = 2 * second
        reading = ServerReading(
            requests=ended, queue_s=HistogramTotal(3.0 * ended, ended), request_s=HistogramTotal(33.0 * ended, ended)
        )
        pressure = gauge.read(reading, float(second), 60)
    assert pressure is not None
    assert pressure.queue_s == 3.0
    assert pressure.service_s == pytest.approx(30.0)


def test_the_service_time_stays_while_nothing_ends_and_one_short_page_hardly_moves_it() -> None:
    gauge = PressureGauge()
    gauge.read(QUIET, 1.0, 8)
    long = gauge.read(replace(QUIET, request_s=HistogramTotal(300.0, 10)), 2.0, 8)
    still = gauge.read(replace(QUIET, request_s=HistogramTotal(300.0, 10)), 3.0, 8)
    short = gauge.read(replace(QUIET, request_s=HistogramTotal(301.0, 11)), 4.0, 8)
    assert long is not None
    assert still is not None
    assert short is not None
    assert (long.service_s, still.service_s) == (30.0, 30.0)
    assert short.service_s == pytest.approx(28.6, abs=0.1)


def test_a_server_that_began_anew_gives_nothing_once() -> None:
    gauge = PressureGauge()
    assert gauge.read(replace(QUIET, generation_tokens=500.0), 1.0, 0) is None
    assert gauge.read(replace(QUIET, generation_tokens=20.0), 2.0, 0) is None
    pressure = gauge.read(replace(QUIET, generation_tokens=50.0), 3.0, 0)
    assert pressure is not None
    assert pressure.tokens == 30


def test_after_a_gap_there_is_nothing_to_compare_with() -> None:
    """The metrics endpoint was gone: what happened meanwhile is not taken for one interval."""
    gauge = PressureGauge()
    assert gauge.read(QUIET, 1.0, 0) is None
    assert gauge.read(None, 2.0, 0) is None
    assert gauge.read(replace(QUIET, preemptions=7), 3.0, 0) is None
    after = gauge.read(replace(QUIET, preemptions=7), 4.0, 0)
    assert after is not None
    assert after.preemptions == 0


def test_two_readings_of_one_time_give_nothing() -> None:
    gauge = PressureGauge()
    assert gauge.read(QUIET, 1.0, 0) is None
    assert gauge.read(QUIET, 1.0, 0) is None


def test_images_that_wait_to_be_prepared_are_those_the_engine_does_not_count() -> None:
    gauge = PressureGauge()
    pressure = None
    for second in range(60):
        reading = ServerReading(running=4, requests=5.0 * second)
        pressure = gauge.read(reading, float(second), in_flight=14)
    assert pressure is not None
    assert pressure.render_s == pytest.approx(2.0)  # ten of them, five a second
    assert pressure.u == pytest.approx(2.0)


def test_the_wait_of_those_who_left_lately_is_told_after_they_left() -> None:
    gauge = PressureGauge()
    gauge.read(ServerReading(queue_s=HistogramTotal(100.0, 10)), 0.0, 4)
    at_once = gauge.read(ServerReading(queue_s=HistogramTotal(106.0, 12)), 0.5, 4)
    nobody_since = gauge.read(ServerReading(queue_s=HistogramTotal(106.0, 12)), 10.0, 4)
    shorter = gauge.read(ServerReading(queue_s=HistogramTotal(107.0, 13)), 10.5, 4)
    assert at_once is not None
    assert nobody_since is not None
    assert shorter is not None
    assert at_once.queue_s == 3.0
    assert at_once.waited_s == pytest.approx(3.0)
    assert nobody_since.queue_s is None
    assert nobody_since.waited_s == pytest.approx(3.0)
    assert 1.0 < (shorter.waited_s or 0.0) < 2.5  # the latest counts most


@pytest.mark.parametrize(("waiting", "waited_s"), [(0, 0.0), (3, None)])
def test_when_nobody_left_for_long_nobody_waited_unless_somebody_waits(waiting: int, waited_s: float | None) -> None:
    gauge = PressureGauge()
    gauge.read(ServerReading(queue_s=HistogramTotal(0.0, 0)), 0.0, 4)
    gauge.read(ServerReading(queue_s=HistogramTotal(5.0, 1)), 1.0, 4)
    pressure = gauge.read(ServerReading(queue_s=HistogramTotal(5.0, 1), waiting=waiting), 120.0, 4)
    assert pressure is not None
    assert pressure.waited_s == waited_s


def test_requests_of_others_do_not_make_the_render_backlog_negative() -> None:
    gauge = PressureGauge()
    gauge.read(ServerReading(running=50), 1.0, 3)
    pressure = gauge.read(ServerReading(running=50, requests=5), 2.0, 3)
    assert pressure is not None
    assert pressure.render_s == 0


def test_a_larger_batch_is_slower_and_that_is_no_pressure() -> None:
    baselines = Baselines()
    for _ in range(20):
        baselines.update(8, 0.010)
        baselines.update(64, 0.040)
    assert baselines.update(8, 0.010) == pytest.approx(0.010)
    assert baselines.update(64, 0.040) == pytest.approx(0.040)
    assert baselines.update(300, 0.2) is None


def test_a_baseline_needs_a_few_readings() -> None:
    baselines = Baselines()
    assert [baselines.update(8, 0.01) for _ in range(9)] == [None] * 8 + [0.01]


def test_a_baseline_falls_soon_and_rises_slowly() -> None:
    baselines = Baselines()
    for _ in range(20):
        baselines.update(8, 0.020)
    for _ in range(8):
        baselines.update(8, 0.010)
    fallen = baselines.update(8, 0.010)
    assert fallen == pytest.approx(0.010, rel=0.01)
    for _ in range(20):
        baselines.update(8, 0.030)
    risen = baselines.update(8, 0.030)
    assert risen is not None
    assert 0.010 < risen < 0.030 / 1.5


def test_an_idle_engine_has_no_latency_to_learn() -> None:
    baselines = Baselines()
    assert [baselines.update(0, 0.01), baselines.update(4, None), baselines.update(4, 0.0)] == [None] * 3


COUNT = st.floats(0, 1e9)
READING = st.builds(
    ServerReading,
    running=st.integers(0, 10_000),
    waiting=st.integers(0, 10_000),
    kv_usage=st.none() | st.floats(0, 1),
    preemptions=COUNT,
    generation_tokens=COUNT,
    requests=COUNT,
    queue_s=st.builds(HistogramTotal, COUNT, COUNT),
    inter_token_s=st.builds(HistogramTotal, COUNT, COUNT),
    request_s=st.builds(HistogramTotal, COUNT, COUNT),
)


@given(st.lists(st.tuples(st.none() | READING, st.floats(0, 100), st.integers(0, 1000))))
def test_whatever_a_server_says_pressure_is_a_number(
    readings: list[tuple[ServerReading | None, float, int]],
) -> None:
    gauge, at = PressureGauge(), 0.0
    for reading, later_s, in_flight in readings:
        at += later_s
        pressure = gauge.read(reading, at, in_flight)
        if pressure is not None:
            assert pressure.u >= 0
            assert pressure.tokens_per_s >= 0
            assert pressure.preemptions >= 0
