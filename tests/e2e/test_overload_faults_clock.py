"""The wall clock jumps by hours, there and back, under load: nothing that lasts goes by it, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import httpx
import pytest

from support.faulted import faulted, logged, until
from support.load import open_loop, under_load
from support.numbered_model import ModelProcess, model_process, striped, text_of
from support.redis_server import RedisServer, redis_server
from support.server import Server
from support.wall_clock import WallClock, wall_clock_in

pytestmark = [pytest.mark.real, pytest.mark.timing]

RATE = 10.0
FOR_S = 6.5
JUMPS_H = (5, -7, 48)
"""Hours away from the time it is: far enough for all that is kept for a while to be kept too short or too long."""
ROOM = {"INKGATE_LIMITS__MAX_IN_FLIGHT": "200"}
"""Nobody is refused, however slow the machine is, so that everybody has to be answered well."""
UPLOAD = 41_000
KEPT = 41_001
KEPT_FOR_S = 300
AT_REST_S = 180.0
"""A Redis on a slow machine may take too long to be waited for, and is left alone for up to a minute then."""


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
    """Reads a page; whether it came from the cache, which keeps it for KEPT_FOR_S."""
    answer = client.post("/ocr?format=json", files={"file": striped(number)}).raise_for_status()
    (page,) = answer.json()["pages"]
    assert page["text"].strip() == text_of(number)
    return "cache" in page["timings_ms"]


def jump_under_load(server: Server, client: httpx.Client, clock: WallClock) -> None:
    file_id = upload(client)
    jumps = [(0.5 + 2 * each, clock.jump(hours)) for each, hours in enumerate(JUMPS_H)]
    outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=12), jumps)
    assert outcomes == {"right": outcomes.total()}
    assert read_upload(client, file_id) == text_of(UPLOAD)
    times = [logged_at(line) for line in logged(server, "request")]
    assert max(times) - min(times) > timedelta(hours=max(JUMPS_H) - min(JUMPS_H) - 1), "the clock did not jump"


def logged_at(line: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(line["timestamp"]))


def test_a_clock_that_jumps_there_and_back(model: ModelProcess, wall_clock: WallClock) -> None:
    limited = {"INKGATE_RATE_LIMIT__PER_KEY": "100000/minute"}
    with faulted(model.url, **ROOM, **limited, **wall_clock.variables) as server, client_of(server) as client:
        assert not is_kept(client, KEPT)
        jump_under_load(server, client, wall_clock)
        assert is_kept(client, KEPT)


def test_a_clock_that_jumps_beside_a_redis(model: ModelProcess, redis: RedisServer, wall_clock: WallClock) -> None:
    shared = {
        "INKGATE_CACHE__REDIS_URL": redis.url,
        "INKGATE_RATE_LIMIT__PER_KEY": "100000/minute",
        "INKGATE_RATE_LIMIT__STORAGE_URL": redis.url,
    }
    with faulted(model.url, **ROOM, **shared, **wall_clock.variables) as server, client_of(server) as client:
        numbers = count(KEPT)
        until(lambda: not is_kept(client, next(numbers)) and bool(redis.seconds_left("inkgate:*")), AT_REST_S)
        before = redis.seconds_left("inkgate:*")
        jump_under_load(server, client, wall_clock)
        after = redis.seconds_left("inkgate:*")
        assert before.keys() <= after.keys()
        assert all(0 < left <= KEPT_FOR_S for left in after.values()), after
        until(lambda: is_kept(client, KEPT), AT_REST_S)
