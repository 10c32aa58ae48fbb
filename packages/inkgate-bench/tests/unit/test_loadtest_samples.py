"""Figures from how each request ended: of a window, of seconds, and of the generator itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.load.results import SIZES_AN_OCTAVE, Second
from inkgate_bench.load.run import RunState, Timeline, own_limits
from inkgate_bench.load.samples import RequestOutcome, RequestSample, Samples, ended, sizes, summarize
from support.load_target import open_plan


def answered(due: float, took: float, *, late: float = 0.0, pages: int = 1, degraded: bool = False) -> RequestSample:
    return RequestSample(due, due + late, due + took, RequestOutcome.ANSWERED, "", pages, degraded, 100)


def kept(*samples: RequestSample) -> Samples:
    all_of_them = Samples()
    for sample in samples:
        all_of_them.add(sample)
    return all_of_them


def test_a_window_has_what_was_due_in_it_whenever_it_ended() -> None:
    samples = kept(
        answered(0.9, 0.5),
        answered(1.0, 0.1, pages=3),
        answered(2.9, 9.0, late=1.0, degraded=True),
        RequestSample(2.0, 2.0, 2.25, RequestOutcome.REFUSED, "503 service_full", sent_bytes=100),
        RequestSample(2.0, 2.0, 2.5, RequestOutcome.FAILED, "connection broken"),
        RequestSample(2.0, 2.0, 2.0, RequestOutcome.UNSENT, "not sent"),
        answered(3.0, 0.1),
    )
    summary = summarize(samples, 1.0, 2.0, deadline_s=5.0)
    assert (summary.offered, summary.answered, summary.in_time, summary.pages) == (5, 2, 1, 3)
    assert (summary.refused, summary.failed, summary.rejected, summary.timed_out) == (1, 1, 0, 0)
    assert (summary.degraded, summary.sent_bytes) == (1, 300)
    assert summary.errors == {"503 service_full": 1, "connection broken": 1, "not sent": 1}
    assert summary.latency is not None
    assert summary.latency.most_s == pytest.approx(9.0)
    assert summary.latency.mean_s == pytest.approx(4.55)
    assert summary.refusal is not None
    assert summary.refusal.p50_s == pytest.approx(0.25)
    # In flight: 0.1 + 8 (it was sent a second late) + 0.25 + 0.5 seconds, within 2
    assert summary.in_flight == pytest.approx(8.85 / 2)
    assert (summary.goodput, summary.error_share) == (0.5, 0.6)


def test_a_window_without_requests_has_no_latency() -> None:
    summary = summarize(kept(), 0.0, 1.0, deadline_s=5.0)
    assert (summary.offered, summary.latency, summary.refusal, summary.error_share) == (0, None, None, 0.0)


def test_a_request_sent_a_little_early_counts_from_then() -> None:
    rows = kept(RequestSample(1.0, 0.9996, 1.2, RequestOutcome.ANSWERED)).rows
    assert rows["due"][0] == 0.9996
    assert rows["took"][0] == pytest.approx(0.2004)
    assert rows["late"][0] == 0.0
    assert ended(rows)[0] == pytest.approx(1.2)


def test_many_samples_are_all_kept() -> None:
    samples = kept(*(answered(number / 100, 0.1, pages=70_000) for number in range(5000)))
    assert len(samples) == len(samples.rows) == 5000
    assert samples.rows["due"][4999] == pytest.approx(49.99)
    assert samples.rows["pages"].max() == 65_535


def test_a_second_has_what_ended_in_it_however_late_that_is_noticed() -> None:
    heard: list[Second] = []
    state = RunState(open_plan(rate=60, seconds=3), lambda: 0.0)
    timeline = Timeline(state)

    def request(due: float, at: float, outcome: RequestOutcome = RequestOutcome.ANSWERED) -> None:
        state.begin(due)
        state.end(due, RequestSample(due, due, at, outcome, "" if outcome is RequestOutcome.ANSWERED else "503"))

    request(0.1, 0.5)
    request(0.2, 0.6, RequestOutcome.REFUSED)
    state.begin(0.9)
    request(0.3, 1.2)  # the first second is evaluated late
    heard.append(timeline.add())
    state.begin(0.95)  # the generator stalled: it was due in the first second, and is started in the second one
    heard.append(timeline.add())
    assert [(each.at, each.offered, each.answered, each.errors, each.in_flight) for each in heard] == [
        (1.0, 4, 1, 1, 1),
        (2.0, 0, 1, 0, 2),
    ]
    assert heard[0].kinds == {"503": 1}
    assert heard[0].p50_s == pytest.approx(0.4)
    state.end(0.9, answered(0.9, 6.0))
    seconds = timeline.seconds(7.5)
    assert [(each.offered, each.answered, each.in_time) for each in (seconds[0], seconds[6])] == [(5, 1, 1), (0, 1, 0)]
    assert len(seconds) == 7
    assert seconds[3].p50_s is None


@given(st.lists(st.floats(1e-4, 1000), max_size=50))
def test_sizes_hold_latencies_within_their_bounds(took: list[float]) -> None:
    found = sizes(np.array(took))
    assert sum(count for _, count in found) == len(took)
    assert [size for size, _ in found] == sorted({size for size, _ in found})
    for value in took:
        assert any(
            2 ** (size / SIZES_AN_OCTAVE) * (1 - 1e-9)
            <= value * 1000
            <= 2 ** ((size + 1) / SIZES_AN_OCTAVE) * (1 + 1e-9)
            for size, _ in found
        )


def test_kinds_of_error_have_a_bound() -> None:
    samples = kept(*(RequestSample(0.0, 0.0, 0.1, RequestOutcome.FAILED, f"error {n}") for n in range(3000)))
    summary = summarize(samples, 0.0, 1.0, deadline_s=5.0)
    assert len(samples.kinds) <= 1001
    assert summary.errors["other"] > 1900
    assert sum(summary.errors.values()) == 3000


@pytest.mark.parametrize(
    ("busy", "late", "unsent", "words"),
    [
        (0.5, 0.001, 0, ""),
        (0.95, 0.001, 0, "busy"),
        (0.5, 0.2, 0, "more than 200 ms late"),
        (0.5, 0.001, 2, "2 requests were not sent"),
    ],
)
def test_a_generator_that_was_the_bottleneck_says_so(busy: float, late: float, unsent: int, words: str) -> None:
    not_sent = [RequestSample(0.5, 0.5, 0.5, RequestOutcome.UNSENT, "not sent") for _ in range(unsent)]
    samples = kept(*(answered(0.5, 0.1, late=late) for _ in range(50)), *not_sent)
    limits = own_limits(samples.rows, summarize(samples, 0.0, 1.0, 5.0), busy, 0.0)
    assert limits.bottleneck is bool(words)
    assert words in limits.why
    assert limits.unsent == unsent


def test_a_late_event_loop_is_not_called_late_requests() -> None:
    """A closed loop sends each request at the moment that it is due."""
    samples = kept(*(answered(0.5, 0.1) for _ in range(50)))
    limits = own_limits(samples.rows, summarize(samples, 0.0, 1.0, 5.0), 0.5, 0.2)
    assert limits.why == "1% of the time its event loop was more than 200 ms late: this machine is busy"
