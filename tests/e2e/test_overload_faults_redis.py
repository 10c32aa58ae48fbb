"""The Redis of the cache and of the rate limits fails under load: it costs hits and counts, and nobody an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.faulted import BORNE, faulted, logged
from support.load import Fault, open_loop, under_load
from support.numbered_model import ModelProcess, model_process
from support.redis_server import RedisServer, redis_server

pytestmark = [pytest.mark.real, pytest.mark.timing]

RATE = 30.0
FOR_S = 6.0


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with model_process() as running:
        yield running


def with_redis(redis: RedisServer) -> dict[str, str]:
    return {
        "INKGATE_CACHE__REDIS_URL": redis.url,
        "INKGATE_RATE_LIMIT__PER_KEY": "100000/minute",
        "INKGATE_RATE_LIMIT__STORAGE_URL": redis.url,
    }


def check(model: ModelProcess, redis: RedisServer, faults: list[Fault]) -> None:
    """Everybody is answered while `faults` happen. (Where Redis hangs, a request may wait for a second or two.)"""
    with faulted(model.url, **with_redis(redis)) as server:
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=8), faults, at_once=BORNE)
        busy = {"service_full", "share_exceeded"}
        assert set(outcomes) <= {"right", *busy}, outcomes
        assert outcomes["right"] >= 0.7 * outcomes.total(), outcomes
        assert logged(server, "rate_limit_storage_unreachable")


def test_a_redis_that_is_killed_and_comes_back(model: ModelProcess, redis: RedisServer) -> None:
    check(model, redis, [(1.5, redis.kill), (4.0, redis.start)])


def test_a_redis_that_is_killed_for_good(model: ModelProcess, redis: RedisServer) -> None:
    check(model, redis, [(1.5, redis.kill)])


def test_a_redis_that_hangs_and_gets_on(model: ModelProcess, redis: RedisServer) -> None:
    check(model, redis, [(1.5, redis.freeze), (8.0, redis.thaw)])  # for longer than a lookup and its second try take


def test_a_redis_that_hangs_for_good(model: ModelProcess, redis: RedisServer) -> None:
    check(model, redis, [(1.5, redis.freeze)])
