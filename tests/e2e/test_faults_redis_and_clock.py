"""Redis fails under load, which costs hits and counts and no answer; and the wall clock jumps by hours, which nothing
that lasts goes by.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from types import MappingProxyType

import httpx
import pytest

from support.load import BUSY, RIGHT
from support.numbered_model import ModelProcess, striped, text_of
from support.redis_server import RedisServer, redis_server
from support.scenario import MORE_FILES, FaultWindow, ServiceUnderLoad, service_under_load
from support.waiting import until
from support.wall_clock import WallClock, wall_clock_in

pytestmark = pytest.mark.real

WITHOUT_REDIS = 60
"""Right answers while Redis fails."""
AFTER_A_JUMP = 15
"""Right answers after each jump of the clock."""
JUMPS_H = (5, -7, 48)
"""Hours away from the real time: what is kept for a while would be kept too short or too long."""
RATE_LIMIT = MappingProxyType({"INKGATE_RATE_LIMIT__PER_KEY": "100000/minute"})
TO_REDIS = 2 * 16
"""Connections of the cache and of the rate limit, which keep as many as were needed at once."""
LEFT_ALONE_S = 180.0
"""A Redis on a slow machine may take too long to be waited for, and is left alone for up to a minute then."""
UPLOAD = 61_000
KEPT = 61_001
KEPT_FOR_S = 300


@pytest.fixture(scope="module")
def wall_clock(tmp_path_factory: pytest.TempPathFactory) -> WallClock:
    return wall_clock_in(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
def redis(redis_process: RedisServer) -> Iterator[RedisServer]:
    """It runs afterwards, whatever was done to it."""
    yield redis_process
    redis_process.restore()


@pytest.fixture(scope="module")
def beside_redis(
    model_process: ModelProcess, redis_process: RedisServer, wall_clock: WallClock
) -> Iterator[ServiceUnderLoad]:
    """A gateway with its cache and rate limits in Redis."""
    url = redis_process.url
    shared = {**RATE_LIMIT, "INKGATE_CACHE__REDIS_URL": url, "INKGATE_RATE_LIMIT__STORAGE_URL": url}
    variables = {**shared, **wall_clock.variables}
    with service_under_load(model_process.url, variables, more_files=MORE_FILES + TO_REDIS) as started:
        yield started


@pytest.fixture(scope="module")
def alone(model_process: ModelProcess, wall_clock: WallClock) -> Iterator[ServiceUnderLoad]:
    """A gateway that keeps all in memory."""
    with service_under_load(model_process.url, {**RATE_LIMIT, **wall_clock.variables}) as started:
        yield started


def test_a_killed_redis_costs_no_answer(beside_redis: ServiceUnderLoad, redis: RedisServer) -> None:
    with beside_redis.fault(*BUSY) as window:
        redis.kill()
        window.until_answered(RIGHT, times=WITHOUT_REDIS)
        window.until_logged("rate_limit_storage_unreachable")
        redis.start()
        until(lambda: is_back(window), "counts in Redis again", LEFT_ALONE_S)


def test_a_redis_that_hangs_costs_no_answer(beside_redis: ServiceUnderLoad, redis: RedisServer) -> None:
    with beside_redis.fault(*BUSY) as window:
        redis.freeze()
        window.until_answered(RIGHT, times=WITHOUT_REDIS)
        window.until_logged("rate_limit_storage_unreachable")
        redis.thaw()
        until(lambda: is_back(window), "counts in Redis again", LEFT_ALONE_S)


def is_back(window: FaultWindow) -> bool:
    unreachable = len(window.logged("rate_limit_storage_unreachable"))
    return len(window.logged("rate_limit_storage_back")) >= unreachable


def test_a_clock_that_jumps_there_and_back(alone: ServiceUnderLoad, wall_clock: WallClock) -> None:
    with client_of(alone) as client:
        assert not is_kept(client, KEPT)
        jump_under_load(alone, client, wall_clock)
        assert is_kept(client, KEPT)


def test_a_clock_that_jumps_beside_a_redis(
    beside_redis: ServiceUnderLoad, redis: RedisServer, wall_clock: WallClock
) -> None:
    with client_of(beside_redis) as client:
        numbers = count(KEPT)
        until(
            lambda: not is_kept(client, next(numbers)) and bool(redis.seconds_left("inkgate:*")),
            "results in Redis",
            LEFT_ALONE_S,
        )
        kept = next(numbers) - 1
        before = redis.seconds_left("inkgate:*")
        jump_under_load(beside_redis, client, wall_clock)
        after = redis.seconds_left("inkgate:*")
        assert before.keys() <= after.keys()
        assert all(0 < left <= KEPT_FOR_S for left in after.values()), after
        until(lambda: is_kept(client, kept), "its result from Redis", LEFT_ALONE_S)


def client_of(service: ServiceUnderLoad) -> httpx.Client:
    return httpx.Client(base_url=service.server.url, trust_env=False, timeout=60)


def is_kept(client: httpx.Client, number: int) -> bool:
    """Reads a page; whether it came from the cache, which keeps it for KEPT_FOR_S."""
    answer = client.post("/ocr?format=json", files={"file": striped(number)}).raise_for_status()
    (page,) = answer.json()["pages"]
    assert page["text"].strip() == text_of(number)
    return "cache" in page["timings_ms"]


def jump_under_load(service: ServiceUnderLoad, client: httpx.Client, clock: WallClock) -> None:
    """An upload, which is kept for an hour, outlasts the jumps; afterwards the clock is right again."""
    page = client.post("/v1/files", files={"file": ("a.png", striped(UPLOAD))}, data={"purpose": "ocr"})
    file_id = page.raise_for_status().json()["id"]
    with service.fault() as window:
        try:
            for hours in JUMPS_H:
                clock.set(hours)
                window.until_answered(RIGHT, times=AFTER_A_JUMP)
            document = {"type": "file", "file_id": file_id}
            answer = client.post("/v1/ocr", json={"model": "mistral-ocr-latest", "document": document})
            assert answer.raise_for_status().json()["pages"][0]["markdown"].strip() == text_of(UPLOAD)
        finally:
            clock.set(0)
    times = [datetime.fromisoformat(line["timestamp"]) for line in window.logged("request")]
    assert max(times) - min(times) > timedelta(hours=max(JUMPS_H) - min(JUMPS_H) - 1), "the clock did not jump"
