"""How often things happen now."""

from __future__ import annotations

from inkgate.telemetry.metrics import QPS_SPAN_S, Rates


class Clock:
    def __init__(self) -> None:
        self.now = 1000.25

    def __call__(self) -> float:
        return self.now


def test_a_rate_is_of_the_last_ten_whole_seconds() -> None:
    clock = Clock()
    rates = Rates(clock)
    for _ in range(30):
        for _ in range(4):
            rates.add("/ocr")
        clock.now += 1
    assert rates.per_s() == {"/ocr": 4.0}
    clock.now += QPS_SPAN_S / 2
    assert rates.per_s() == {"/ocr": 2.0}
    clock.now += QPS_SPAN_S
    assert rates.per_s() == {"/ocr": 0.0}


def test_names_are_apart_and_known_before_anything_happens() -> None:
    clock = Clock()
    rates = Rates(clock)
    rates.add("/idle", 0)
    rates.add("/ocr")
    assert rates.per_s() == {"/idle": 0.0, "/ocr": 0.0}, "the second that is not over doesn't count yet"
    clock.now += 1
    assert rates.per_s() == {"/idle": 0.0, "/ocr": 0.1}


def test_what_is_long_past_takes_no_memory() -> None:
    clock = Clock()
    rates = Rates(clock)
    for _ in range(10_000):
        rates.add("/ocr")
        clock.now += 1
    assert rates.stored_seconds <= 2 * QPS_SPAN_S
