"""The recent past, made of differences between two states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from inkgate_client.telemetry.history import History, WorkTotals, point, quantile
from inkgate_client.telemetry.state import Batches, CacheState, Gpu, Machine, PdfJobs, Process, Queue, State
from support.clock import Clock
from support.states import embedded_state

IDLE = embedded_state(work=WorkTotals(), history=())


def recognizer(calls: int, items: int) -> Batches:
    return Batches("recognizer", calls, items, 0, 0, 0, 0, 0.0, 0.0)


def requests(**by_status: int) -> WorkTotals:
    return WorkTotals(with_documents={status[1:]: count for status, count in by_status.items()})


def test_rates_are_differences_over_the_span() -> None:
    before = replace(IDLE, work=replace(requests(_200=10), pages={"ok": 10}, tokens_out=100))
    after = replace(IDLE, work=replace(requests(_200=15), pages={"ok": 20, "image_corrupt": 5}, tokens_out=600))
    found = point(before, after, 5.0, (), None)
    assert (found.requests, found.pages, found.tokens_out, found.span_s) == (1.0, 3.0, 100.0, 5.0)


def test_failed_documents_and_refused_requests_are_told_apart() -> None:
    before = replace(IDLE, admission=replace(IDLE.admission, ended={"ok": 500, "rejected": 5}))
    ended = {"ok": 507, "failed": 20, "rejected": 15, "left": 10}
    after = replace(
        before,
        work=requests(_200=5, _422=10, _429=20, _500=30, _502=5, _503=40, _499=10),
        admission=replace(IDLE.admission, ended=ended),
    )
    found = point(before, after, 10.0, (), None)
    assert (found.requests, found.failed, found.refused) == (12.0, 3.0, 6.0)


def test_requests_without_documents_are_not_counted() -> None:
    lookups = {"GET /readyz 503": 9, "GET /state 200": 9, "GET /v1/jobs 200": 9, "GET /v1/jobs 429": 4}
    work = WorkTotals(requests=lookups | {"POST /ocr 200": 2}, with_documents={"200": 2})
    found = point(IDLE, replace(IDLE, work=work), 2.0, (), None)
    assert (found.requests, found.refused) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("values", "p50", "p95"),
    [((), None, None), ((2.0,), 2.0, 2.0), ((3.0, 1.0), 1.0, 3.0), (range(100, 0, -1), 50, 95)],
)
def test_quantiles_are_values_that_occurred(values: Sequence[float], p50: float | None, p95: float | None) -> None:
    assert (quantile(values, 0.5), quantile(values, 0.95)) == (p50, p95)
    found = point(IDLE, IDLE, 5.0, values, None)
    assert (found.p50_s, found.p95_s) == (p50, p95)


def test_the_mean_batch_is_that_of_the_span() -> None:
    before = replace(IDLE, batches=(recognizer(10, 10), replace(recognizer(5, 5), model="line_orientation")))
    assert point(before, replace(before, batches=(recognizer(12, 26),)), 5.0, (), None).mean_batch == 8.0
    assert point(IDLE, replace(IDLE, batches=(recognizer(2, 6),)), 5.0, (), None).mean_batch == 3.0
    assert point(before, before, 5.0, (), None).mean_batch is None


def test_the_cache_share_counts_pages_that_were_not_run_for() -> None:
    before = replace(IDLE, cache=CacheState({"run": 100, "kept": 0, "joined": 0}))
    after = replace(IDLE, cache=CacheState({"run": 105, "kept": 10, "joined": 5}))
    assert point(before, after, 5.0, (), None).cache_share == 0.75
    assert point(after, after, 5.0, (), None).cache_share is None
    assert point(IDLE, replace(IDLE, cache=None), 5.0, (), None).cache_share is None


def test_cores_are_those_of_all_processes() -> None:
    before = replace(IDLE, processes=(Process("gateway", 1, 100, 10.0), Process("pdf", 2, 50, 1.0)))
    processes = (Process("gateway", 1, 120, 14.0), Process("pdf", 3, 50, 2.0), Process("engine", 4, 30, 1.0))
    found = point(before, replace(IDLE, processes=processes), 4.0, (), None)
    assert (found.cpu, found.rss_bytes) == (1.5, 200)


def test_the_queue_is_the_one_before_what_computes() -> None:
    calls = Queue("calls", 32, 256, 30, {"interactive": 1, "normal": 6, "batch": 3}, 0.5, 2.0)
    pages, admission = IDLE.queues[0], replace(IDLE.admission, documents=9)
    found = point(IDLE, replace(IDLE, admission=admission, queues=(pages, calls)), 5.0, (), None)
    assert (found.documents, found.in_flight, found.limit, found.waiting) == (9, 30, 32, 10)


def test_pages_wait_before_the_calls_of_model_servers_do() -> None:
    calls = Queue("calls", 32, 256, 30, {"normal": 6}, 0.5, 2.0)
    pages = replace(IDLE.queues[0], waiting={"interactive": 1, "batch": 40})
    found = point(IDLE, replace(IDLE, queues=(pages, calls), pdf=PdfJobs(2, 2, 5)), 5.0, (), None)
    assert (found.pages_waiting, found.waiting, found.pdf_waiting) == (41, 6, 5)
    alone = point(IDLE, replace(IDLE, queues=(pages,), pdf=None), 5.0, (), None)
    assert (alone.pages_waiting, alone.waiting, alone.pdf_waiting) == (41, 41, 0)


def test_what_came_back_from_swap_is_a_rate() -> None:
    before = replace(IDLE, machine=Machine(1, 2, 3, 1_000_000))
    after = replace(IDLE, machine=Machine(1, 2, 3, 6_000_000))
    assert point(before, after, 5.0, (), None).swap_in == 1_000_000
    assert point(replace(IDLE, machine=None), after, 5.0, (), None).swap_in == 0


def test_the_processors_are_used_by_all_who_are_there() -> None:
    before = replace(IDLE, machine=Machine(1, 2, 3, 4, 100.0, 50.0, 7.0))
    after = replace(IDLE, machine=Machine(1, 2, 3, 4, 109.0, 51.0, 10.0))
    found = point(before, after, 5.0, (), None)
    assert (found.cpu_all, found.cpu_stalled) == (0.9, 0.6)
    unknown = point(before, replace(IDLE, machine=Machine(1, 2, 3, 4)), 5.0, (), None)
    assert (unknown.cpu_all, unknown.cpu_stalled) == (None, None)


def test_of_gpus_the_busiest_and_the_fullest_count() -> None:
    gpus = (Gpu(0, utilisation=0.2, memory_used=60, memory_total=80), Gpu(1, utilisation=0.9), Gpu(2))
    found = point(IDLE, replace(IDLE, gpus=gpus), 5.0, (), 0.03)
    assert (found.gpu, found.gpu_memory, found.loop_lag_s) == (0.9, 0.75, 0.03)
    without = point(IDLE, IDLE, 5.0, (), None)
    assert (without.gpu, without.gpu_memory, without.kv_usage, without.loop_lag_s) == (None, None, None, None)


class Service:
    """A service that one request a step is sent to."""

    def __init__(self) -> None:
        self.count = 0

    def state(self) -> State:
        self.count += 1
        return replace(IDLE, at=float(self.count), work=requests(_200=self.count))

    def durations(self) -> tuple[float, ...]:
        return (float(self.count),)


def test_there_is_a_point_for_each_step_after_the_first() -> None:
    service, clock = Service(), Clock()
    history = History(service.state, service.durations, clock)
    for _ in range(3):
        history.add(0.002)
        clock.goes_on(4.0)
    assert [(each.at, each.span_s, each.requests, each.p50_s) for each in history.points] == [
        (2.0, 4.0, 0.25, 2.0),
        (3.0, 4.0, 0.25, 3.0),
    ]


def test_a_quarter_of_an_hour_is_kept() -> None:
    service, clock = Service(), Clock()
    history = History(service.state, service.durations, clock)
    for _ in range(400):
        history.add(None)
        clock.goes_on(5.0)
    assert sum(each.span_s for each in history.points) == 900.0
    assert history.points[-1].at == 400.0


def test_no_time_is_no_point() -> None:
    history = History(Service().state, tuple, Clock())
    history.add(None)
    history.add(None)
    assert history.points == ()
