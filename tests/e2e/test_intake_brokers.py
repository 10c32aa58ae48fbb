"""As test_intake_kafka, with NATS, RabbitMQ and a Redis stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.broker_events import (
    check_each_once,
    check_faults,
    created,
    publish_nats,
    publish_rabbit,
    publish_redis,
    settings_of,
)
from support.brokers import BrokerServer
from support.redis_server import RedisServer, redis_server

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


async def test_200_events_twice_through_nats_make_200_jobs(nats: BrokerServer, tmp_path: Path) -> None:
    events = [created(number) for number in range(200)]
    await publish_nats(nats.address, "scans", [*events, *events])
    await check_each_once(settings_of("nats", nats.address, "scans", redeliver_s=5.0), tmp_path, 200)


async def test_200_events_twice_through_rabbitmq_make_200_jobs(rabbit: BrokerServer, tmp_path: Path) -> None:
    events = [created(number) for number in range(200)]
    await publish_rabbit(rabbit.address, "scans", [*events, *events])
    await check_each_once(settings_of("rabbit", rabbit.address, "scans"), tmp_path, 200)


async def test_200_events_twice_through_a_redis_stream_make_200_jobs(redis: RedisServer, tmp_path: Path) -> None:
    events = [created(number) for number in range(200)]
    await publish_redis(redis.url, "scans", [*events, *events])
    await check_each_once(settings_of("redis", redis.url, "scans"), tmp_path, 200)


async def test_faults_with_nats(nats: BrokerServer) -> None:
    await check_faults("nats", nats, nats.address)


async def test_faults_with_rabbitmq(rabbit: BrokerServer) -> None:
    await check_faults("rabbit", rabbit, rabbit.address)


async def test_faults_with_a_redis_stream(redis: RedisServer) -> None:
    await check_faults("redis", redis, redis.url)
