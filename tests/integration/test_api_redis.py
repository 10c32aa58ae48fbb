"""Rate limits counted in a real Redis."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.api_client import running_api
from support.redis_server import redis_server

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
