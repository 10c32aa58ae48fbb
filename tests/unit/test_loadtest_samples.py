"""Figures from what became of each request."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.bench.load.own_limits import own_limits
from inkgate.bench.load.results import SIZES_AN_OCTAVE
from inkgate.bench.load.samples import Outcome, Sample, Samples
from inkgate.bench.load.summary import second, sizes, summarize


def answered(due: float, took: float, *, late: float = 0.0, pages: int = 1, degraded: bool = False) -> Sample:
    return Sample(due, due + late, due + took, Outcome.ANSWERED, "", pages, degraded, 100)


def kept(*samples: Sample) -> Samples:
    columns = Samples()
    for sample in samples:
        columns.add(sample)
    return columns


def test_a_window_has_what_was_due_in_it_whenever_it_ended() -> None:
    samples = kept(
        answered(0.9, 0.5),
        answered(1.0, 0.1, pages=3),
        answered(2.9, 9.0, late=1.0, degraded=True),
        Sample(2.0, 2.0, 2.25, Outcome.REFUSED, "503 service_full", sent_bytes=100),
        Sample(2.0, 2.0, 2.5, Outcome.FAILED, "connection broken"),
        Sample(2.0, 2.0, 2.0, Outcome.UNSENT, "not sent"),
        answered(3.0, 0.1),
    )
    summary = summarize(samples.columns(), 1.0, 2.0, deadline_s=5.0)
    assert (summary.offered, summary.answered, summary.in_time, summary.pages) == (5, 2, 1, 3)
    assert (summary.refused, summary.failed, summary.rejected, summary.timed_out) == (1, 1, 0, 0)
    assert (summary.degraded, summary.sent_bytes) == (1, 300)
    assert summary.errors == {"503 service_full": 1, "connection broken": 1, "not sent": 1}
    assert summary.latency is not None
    assert summary.latency.most_s == pytest.approx(9.0)
    assert summary.latency.mean_s == pytest.approx(4.55)
    assert summary.refusal is not None
    assert summary.refusal.p50_s == pytest.approx(0.25)
    # On their way: 0.1 + 8 (it was sent a second late) + 0.25 + 0.5 seconds, within 2
    assert summary.in_flight == pytest.approx(8.85 / 2)
    assert (summary.goodput, summary.error_share) == (0.5, 0.6)


def test_a_window_without_requests_has_no_latency() -> None:
    summary = summarize(kept().columns(), 0.0, 1.0, deadline_s=5.0)
    assert (summary.offered, summary.latency, summary.refusal, summary.error_share) == (0, None, None, 0.0)


def test_what_was_sent_a_little_early_counts_from_then() -> None:
    columns = kept(Sample(1.0, 0.9996, 1.2, Outcome.ANSWERED)).columns()
    assert columns.due[0] == 0.9996
    assert columns.took[0] == pytest.approx(0.2004)
    assert columns.late[0] == 0.0
    assert columns.ended[0] == pytest.approx(1.2)


def test_a_second_is_what_ended_in_it() -> None:
    samples = kept(answered(0.0, 0.2), answered(0.1, 6.0), Sample(0.2, 0.2, 0.3, Outcome.REFUSED, "503"))
    told = second(samples.columns(1), 7.0, 4.0, 5.0, offered=9, in_flight=3)
    assert (told.offered, told.answered, told.in_time, told.errors, told.in_flight) == (9, 1, 0, 1, 3)
    assert told.p50_s == pytest.approx(6.0)
    assert second(samples.columns(3), 8.0, 4.0, 5.0, offered=0, in_flight=0).p50_s is None


@given(st.lists(st.floats(1e-4, 1000), max_size=50))
def test_sizes_hold_latencies_within_their_bounds(took: list[float]) -> None:
    found = sizes(np.array(took))
    assert sum(many for _, many in found) == len(took)
    assert [size for size, _ in found] == sorted({size for size, _ in found})
    for value in took:
        assert any(
            2 ** (size / SIZES_AN_OCTAVE) * (1 - 1e-9)
            <= value * 1000
            <= 2 ** ((size + 1) / SIZES_AN_OCTAVE) * (1 + 1e-9)
            for size, _ in found
        )


def test_kinds_of_error_have_a_bound() -> None:
    samples = kept(*(Sample(0.0, 0.0, 0.1, Outcome.FAILED, f"error {number}") for number in range(3000)))
    summary = summarize(samples.columns(), 0.0, 1.0, deadline_s=5.0)
    assert len(samples.kinds) <= 1001
    assert summary.errors["other"] > 1900
    assert sum(summary.errors.values()) == 3000


@pytest.mark.parametrize(
    ("busy", "late", "unsent", "words"),
    [
        (0.5, 0.001, 0, ""),
        (0.95, 0.001, 0, "busy"),
        (0.5, 0.2, 0, "late by 200 ms"),
        (0.5, 0.001, 2, "2 requests were not sent"),
    ],
)
def test_a_generator_that_was_the_bottleneck_says_so(busy: float, late: float, unsent: int, words: str) -> None:
    not_sent = [Sample(0.5, 0.5, 0.5, Outcome.UNSENT, "not sent") for _ in range(unsent)]
    samples = kept(*(answered(0.5, 0.1, late=late) for _ in range(50)), *not_sent)
    columns = samples.columns()
    limits = own_limits(columns, summarize(columns, 0.0, 1.0, 5.0), busy, 0.0)
    assert limits.bottleneck is bool(words)
    assert words in limits.why
    assert limits.unsent == unsent
