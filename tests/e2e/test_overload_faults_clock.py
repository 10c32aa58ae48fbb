"""The wall clock jumps by hours, there and back, under load: nothing that lasts goes by it, and nobody notices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from support.faulted import faulted, logged
from support.load import open_loop, under_load
from support.numbered_model import ModelProcess, model_process, striped, text_of
from support.redis_server import RedisServer, redis_server
from support.server import Server
from support.wall_clock import WallClock, wall_clock_in

pytestmark = [pytest.mark.real, pytest.mark.slow]

RATE = 10.0
FOR_S = 6.5
JUMPS_H = (5, -7, 48)
"""Hours away from the time it is: far enough for all that is kept for a while to be kept too short or too long."""
ROOM = {"INKGATE_LIMITS__MAX_IN_FLIGHT": "200"}
"""Nobody is refused, however slow the machine is, so that everybody has to be answered well."""
UPLOAD = 41_000
KEPT = range(41_001, 41_011)
"""Pages that are read before; a Redis on a slow machine may take too long to be waited for with some of them."""


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with model_process() as running:
        yield running


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as running:
        yield running


@pytest.fixture
def wall_clock(tmp_path: Path) -> WallClock:
    return wall_clock_in(tmp_path)


def client_of(server: Server) -> httpx.Client:
    return httpx.Client(base_url=server.url, trust_env=False, timeout=60)


def upload(client: httpx.Client) -> str:
    """The ID of a page that is kept for an hour."""
    page = client.post("/v1/files", files={"file": ("a.png", striped(UPLOAD))}, data={"purpose": "ocr"})
    return str(page.raise_for_status().json()["id"])


def read_upload(client: httpx.Client, file_id: str) -> str:
    order = {"model": "mistral-ocr-latest", "document": {"type": "file", "file_id": file_id}}
    answer = client.post("/v1/ocr", json=order).raise_for_status()
    return str(answer.json()["pages"][0]["markdown"]).strip()


def is_kept(client: httpx.Client, number: int) -> bool:
    """Reads a page; whether it came from the cache, which keeps it for five minutes."""
    answer = client.post("/ocr?format=json", files={"file": striped(number)}).raise_for_status()
    (page,) = answer.json()["pages"]
    assert page["text"].strip() == text_of(number)
    return "cache" in page["timings_ms"]


def one_is_kept(client: httpx.Client) -> bool:
    """Whether any is; the store is left alone for a while after it took too long."""
    for number in KEPT:
        if is_kept(client, number):
            return True
        time.sleep(1)
    return False


def check(server: Server, clock: WallClock) -> None:
    with client_of(server) as client:
        file_id = upload(client)
        assert not any(is_kept(client, number) for number in KEPT)
        jumps = [(0.5 + 2 * each, clock.jump(hours)) for each, hours in enumerate(JUMPS_H)]
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=12), jumps)
        assert outcomes == {"right": outcomes.total()}
        assert read_upload(client, file_id) == text_of(UPLOAD)
        assert one_is_kept(client)
    times = [logged_at(line) for line in logged(server, "request")]
    assert max(times) - min(times) > timedelta(hours=max(JUMPS_H) - min(JUMPS_H) - 1), "the clock did not jump"


def logged_at(line: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(line["timestamp"]))


def test_a_clock_that_jumps_there_and_back(model: ModelProcess, wall_clock: WallClock) -> None:
    limited = {"INKGATE_RATE_LIMIT__PER_KEY": "100000/minute"}
    with faulted(model.url, **ROOM, **limited, **wall_clock.variables) as server:
        check(server, wall_clock)


def test_a_clock_that_jumps_beside_a_redis(model: ModelProcess, redis: RedisServer, wall_clock: WallClock) -> None:
    shared = {
        "INKGATE_CACHE__REDIS_URL": redis.url,
        "INKGATE_RATE_LIMIT__PER_KEY": "100000/minute",
        "INKGATE_RATE_LIMIT__STORAGE_URL": redis.url,
    }
    with faulted(model.url, **ROOM, **shared, **wall_clock.variables) as server:
        check(server, wall_clock)
