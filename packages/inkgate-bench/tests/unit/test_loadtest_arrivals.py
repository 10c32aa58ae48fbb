"""When the requests of an open loop are due."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import islice, pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.arrivals import draw_requests, due_times, read_recording, requests_of
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import Arrivals, CallerShare, Load, Plan, RecordedRequest
from inkgate_bench.load.results import Axis
from inkgate_bench.load.target import ProtocolName, Target

TARGET = Target("http://127.0.0.1:1/ocr", ProtocolName.OCR)
KEYS = ("first", "second")
PAGES = tuple(LoadPage(f"{size}.png", bytes(size), "image/png", 1) for size in (10, 1000, 100_000))
TWO_KEYS = tuple(CallerShare(priority, key, weight) for priority, weight in (("", 1.0), ("batch", 0.0)) for key in KEYS)
rates = st.floats(0.1, 5000)
seeds = st.integers(0, 2**31)


def plan(arrivals: Arrivals, rate: float, **more: object) -> Plan:
    asked: dict[str, Any] = {"axis": Axis.RATE, "level": rate, "seconds": 10.0, "arrivals": arrivals} | more
    return Plan(**asked)


def within(of: Plan, begin_s: float, end_s: float) -> list[float]:
    return [at for at in takewhile(lambda at: at < end_s, due_times(of)) if at >= begin_s]


@given(rates, seeds)
def test_poisson_arrivals_have_the_rate_that_was_asked_for(rate: float, seed: int) -> None:
    many = 2000
    taken = list(islice(due_times(plan(Arrivals.POISSON, rate, seed=seed)), many))
    assert taken == sorted(taken)
    assert taken[0] > 0
    # The sum of n gaps has a deviation of sqrt(n): five of them are a chance of one in a million.
    assert taken[-1] * rate == pytest.approx(many, abs=5 * math.sqrt(many))
    gaps = [after - before for before, after in pairwise(taken)]
    above_mean = sum(gap * rate > 1 for gap in gaps) / len(gaps)
    assert above_mean == pytest.approx(math.exp(-1), abs=5 * 0.5 / math.sqrt(many))


@given(seeds)
def test_the_same_seed_gives_the_same_moments(seed: int) -> None:
    first, again, other = (
        list(islice(due_times(plan(Arrivals.POISSON, 10, seed=number)), 20)) for number in (seed, seed, seed + 1)
    )
    assert first == again != other


@given(rates)
def test_constant_arrivals_are_at_equal_distances(rate: float) -> None:
    taken = list(islice(due_times(plan(Arrivals.CONSTANT, rate)), 50))
    assert taken == [pytest.approx(number / rate) for number in range(50)]


@given(st.floats(20, 100), st.floats(20, 100), seeds)
def test_a_ramp_rises_evenly_within_the_window_and_stays(first: float, last: float, seed: int) -> None:
    ramp = plan(Arrivals.RAMP, first, until_level=last, seed=seed, seconds=40.0, warm_s=10.0)
    expected = {
        (0.0, 10.0): 10 * first,
        (10.0, 30.0): 20 * (0.75 * first + 0.25 * last),
        (30.0, 50.0): 20 * (0.25 * first + 0.75 * last),
        (50.0, 60.0): 10 * last,
    }
    for (begin_s, end_s), many in expected.items():
        found = within(ramp, begin_s, end_s)
        assert found == sorted(found)
        assert len(found) == pytest.approx(many, abs=6 * math.sqrt(many))
    assert ramp.level_at(0.0) == first
    assert ramp.level_at(30.0) == pytest.approx((first + last) / 2)
    assert ramp.level_at(99.0) == pytest.approx(last)


def test_every_page_comes_once_in_each_round_and_in_another_order() -> None:
    drawn = draw_requests(Load(TARGET, PAGES, plan(Arrivals.POISSON, 1)))
    rounds = [[next(drawn)[0] for _ in PAGES] for _ in range(20)]
    assert all(sorted(each) == [0, 1, 2] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_a_recording_is_replayed_with_its_pages_sizes_and_classes() -> None:
    recorded = (
        RecordedRequest(0.0, page="1000.png"),
        RecordedRequest(0.5, sent_bytes=90_000, priority="batch"),
        RecordedRequest(2.0, sent_bytes=1),
        RecordedRequest(2.0),
    )
    replay = plan(Arrivals.REPLAY, 1, replay=recorded, mix=(CallerShare("interactive"), CallerShare("batch")))
    found = list(requests_of(Load(TARGET, PAGES, replay)))
    assert [ask.due for ask in found] == [0.0, 0.5, 2.0, 2.0]
    assert [ask.page for ask in found[:3]] == [1, 2, 0]
    assert found[1].share == 1
    assert replay.window_s > 2.0
    assert replay.warming_s == 0.0


def test_each_recorded_tenant_has_a_key_of_its_own_and_classes_are_kept() -> None:
    recorded = tuple(
        RecordedRequest(float(number), tenant=tenant, priority=priority)
        for number, (tenant, priority) in enumerate(
            [("b", "batch"), ("a", ""), ("b", ""), ("a", "batch"), ("c", "batch"), ("", "batch")]
        )
    )
    replay = plan(Arrivals.REPLAY, 1, replay=recorded, mix=TWO_KEYS)
    found = [TWO_KEYS[ask.share] for ask in requests_of(Load(TARGET, PAGES, replay))]
    assert [share.key for share in found[:5]] == ["first", "second", "first", "second", "first"]
    assert [share.priority for share in found] == ["batch", "", "", "batch", "batch", "batch"]


def test_requests_of_a_class_that_nobody_in_particular_sent_are_spread_over_all_keys() -> None:
    recorded = tuple(RecordedRequest(number / 10, priority="batch") for number in range(200))
    found = Counter(
        TWO_KEYS[ask.share].key
        for ask in requests_of(Load(TARGET, PAGES, plan(Arrivals.REPLAY, 1, replay=recorded, mix=TWO_KEYS)))
    )
    assert 60 < found["first"] < 140
    assert found.total() == 200


def test_a_recording_of_a_page_that_is_not_there_is_told() -> None:
    replay = plan(Arrivals.REPLAY, 1, replay=(RecordedRequest(0.0, page="gone.png"),))
    with pytest.raises(LoadImpossible, match=r"'gone\.png'"):
        requests_of(Load(TARGET, PAGES, replay))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"level": 0.0}, "level"),
        ({"seconds": float("inf")}, "length"),
        ({"deadline_s": -1.0}, "latency target"),
        ({"axis": Axis.CONCURRENCY, "level": 1.5}, "whole number"),
        ({"arrivals": Arrivals.RAMP}, "ramp"),
        ({"arrivals": Arrivals.RAMP, "until_level": float("inf")}, "ramp"),
        ({"arrivals": Arrivals.REPLAY}, "nothing to replay"),
        ({"mix": (CallerShare("urgent"),)}, "Unknown priority 'urgent'"),
        ({"mix": ()}, "weights"),
        ({"mix": (CallerShare(weight=-1.0), CallerShare())}, "weights"),
    ],
)
def test_a_plan_that_makes_no_sense_is_told(more: dict[str, object], words: str) -> None:
    asked: dict[str, Any] = {"axis": Axis.RATE, "level": 1.0, "seconds": 1.0} | more
    with pytest.raises(LoadImpossible, match=words):
        Plan(**asked).check()


def written(folder: Path, *lines: object) -> Path:
    file = folder / "traffic.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_moments_are_counted_from_the_first_in_order(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {"at": 12.5, "page": "a/b.png", "priority": "batch"},
        "",
        {"at": 10, "bytes": 2048},
    )
    first, second = read_recording(file)
    assert (first.at, first.sent_bytes, first.page) == (0.0, 2048, "")
    assert (second.at, second.page, second.priority) == (2.5, "a/b.png", "batch")
    assert read_recording(file, speed=2.0)[1].at == 1.25


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_a_recording_has_a_speed_above_0(tmp_path: Path, speed: float) -> None:
    (tmp_path / "a.jsonl").write_text('{"at": 0}\n{"at": 1}\n', encoding="utf-8")
    with pytest.raises(LoadImpossible, match="speed"):
        read_recording(tmp_path / "a.jsonl", speed)


def test_moments_may_be_dates(tmp_path: Path) -> None:
    file = written(tmp_path, {"at": "2026-11-21T10:00:00+01:00"}, {"at": "2026-11-21T09:00:01.5"})
    assert [recorded.at for recorded in read_recording(file)] == [0.0, 1.5]


def test_inkgates_own_log_is_a_recording(tmp_path: Path) -> None:
    request = {"event": "request", "method": "POST", "path": "/ocr", "duration_ms": 500.0, "received_bytes": 4096}
    file = written(
        tmp_path,
        {"event": "ready", "url": "http://127.0.0.1:7860"},
        request | {"timestamp": "2026-11-21T10:00:01.5Z"},
        request | {"timestamp": "2026-11-21T10:00:01.0Z", "duration_ms": 1000.0, "path": "/v1/chat/completions"},
        request | {"timestamp": "2026-11-21T10:00:02.0Z", "path": "/metrics"},
    )
    first, second = read_recording(file)
    assert (first.at, second.at) == (0.0, 1.0)
    assert first.sent_bytes == 4096


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"when": 1}', '{"at": [1]}', '{"at": "noon"}', '{"at": 1, "bytes": "x"}']
)
def test_a_line_that_is_not_understood_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(LoadImpossible, match="line 2"):
        read_recording(written(tmp_path, {"at": 1}, line))


def test_a_recording_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadImpossible, match="no request"):
        read_recording(written(tmp_path, {"event": "ready"}))
    with pytest.raises(LoadImpossible, match="can't be read"):
        read_recording(tmp_path / "nothing.jsonl")
