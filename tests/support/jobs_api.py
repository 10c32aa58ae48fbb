"""The API with jobs, in process: the store on SQLite in a folder, the worker, and a fake engine."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx

from support.api_client import Api, running_api
from support.fake_engine import FakeEngine

KEYS = {"key_hashes": [hashlib.sha256(key.encode()).hexdigest() for key in ("alpha", "beta")]}
ALPHA, BETA = ({"authorization": f"Bearer {key}"} for key in ("alpha", "beta"))


@asynccontextmanager
async def jobs_api(folder: Path, engine: FakeEngine | None = None, **flags: Any) -> AsyncIterator[Api]:  # noqa: ANN401 - settings
    jobs = {"folder": str(folder), "poll_s": 0.05, **flags.pop("jobs", {})}
    with anyio.fail_after(30):
        async with running_api(engine, jobs=jobs, **flags) as api:
            yield api


async def submit(api: Api, data: bytes, headers: dict[str, str] | None = None, **fields: str) -> dict[str, Any]:
    answer = await api.client.post("/v1/jobs", files={"file": ("scan.tiff", data)}, data=fields, headers=headers)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def ended(api: Api, job: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any]:
    while True:
        answer = await api.client.get(job["links"]["self"], params={"wait": 5}, headers=headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        if found["ended"]:
            return found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - any condition
        await anyio.sleep(0.01)
