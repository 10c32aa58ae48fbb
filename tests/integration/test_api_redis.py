"""Rate limits counted in a real Redis."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.api_client import running_api

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            for text in server.stdout:
                if "Ready to accept connections" in text:
                    break
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.terminate()


async def test_two_instances_count_together(redis_url: str) -> None:
    limit: dict[str, object] = {"per_key": "2/hour", "storage_url": redis_url}
    async with running_api(rate_limit=limit) as one, running_api(rate_limit=limit) as other:
        statuses = [(await api.client.get("/v1/models")).status_code for api in (one, other, one, other)]
    assert statuses == [200, 200, 429, 429]
