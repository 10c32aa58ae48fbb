"""Rate limits counted in a real Redis."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from structlog.testing import capture_logs

from inkgate.api.http.ratelimit import build_rate_limiter
from inkgate.errors import Overloaded
from inkgate.settings import RateLimitSettings
from support.api_client import running_api
from support.redis_server import redis_server

MANY = 300
"""Far more than there are connections."""

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    with redis_server(tmp_path) as server:
        yield server.url


async def test_two_instances_count_together(redis_url: str) -> None:
    limit: dict[str, object] = {"per_key": "2/hour", "storage_url": redis_url}
    async with running_api(rate_limit=limit) as one, running_api(rate_limit=limit) as other:
        statuses = [(await api.client.get("/v1/models")).status_code for api in (one, other, one, other)]
    assert statuses == [200, 200, 429, 429]


async def test_everybody_is_counted_however_many_come_at_once(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkgate.storage.redis._CONNECT_S", 60.0)  # a second is little where the machine is slow,
    monkeypatch.setattr("inkgate.api.http.ratelimit.COUNT_S", 60.0)  # and so is a quarter of one
    limiter = build_rate_limiter(RateLimitSettings(per_key="7/hour", storage_url=redis_url))
    assert limiter is not None
    refused = 0

    async def ask() -> None:
        nonlocal refused
        try:
            await limiter.count("one")
        except Overloaded:
            refused += 1

    with capture_logs() as logs:
        async with anyio.create_task_group() as tasks:
            for _ in range(MANY):
                tasks.start_soon(ask)
    await limiter.close()
    assert (refused, logs) == (MANY - 7, [])
