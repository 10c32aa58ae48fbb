"""From the end of a job in a real store to its sinks, as the service wires them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from standardwebhooks import Webhook

from inkgate.bootstrap.jobs import job_service
from inkgate.jobs.job import Job, JobDocument, JobSource, JobState, NewJob
from inkgate.jobs.service import JobService
from inkgate.jobs.sinks.build import build_sinks
from inkgate.jobs.sinks.relay import DeliveryOutcome, Relay, RelaySettings
from inkgate.jobs.store import JobEnd
from inkgate.settings import Settings
from inkgate_client.format_names import FileFormat
from inkgate_client.types import DocumentResult, PageResult
from support.receiver import running_receiver

pytestmark = pytest.mark.anyio

SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()
PAGE = PageResult(0, 10, 10, text="Total 3.50", fields={"number": "A1", "total": "3.50"}, engine="fake")
SINKS = ("db", "files", "erp", "webhook")


def settings(folder: Path, receiver: str) -> Settings:
    shop = folder / "shop.db"
    with sqlite3.connect(shop) as connection:
        connection.execute("CREATE TABLE receipts (number TEXT PRIMARY KEY, total NUMERIC(8, 2) NOT NULL, job TEXT)")
    connection.close()
    columns = {"number": "fields.number", "total": "fields.total", "job": "job.id"}
    given: dict[str, Any] = {
        "jobs": {"folder": str(folder)},
        "webhooks": {"secrets": [SECRET], "allow_hosts": ["127.0.0.1"]},
        "pipelines": {"receipts": {"sources": ["s3://scans/in/"], "sinks": ["db", "files", "erp"]}},
        "sinks": {
            "db": {
                "kind": "table", "database": f"sqlite:///{shop}", "table": "receipts", "columns": columns,
                "key": ["number"],
            },
            "files": {"kind": "objects", "url": f"file://{folder}/out/", "formats": ["json", "markdown"]},
            "erp": {"kind": "webhook", "url": f"{receiver}?erp", "with_result": True},
        },
    }  # fmt: skip
    return Settings.model_validate(given)


async def no_file(job: Job, result: DocumentResult, kind: FileFormat) -> bytes:
    raise AssertionError


@asynccontextmanager
async def relaying(given: Settings) -> AsyncIterator[tuple[JobService, Relay]]:
    service, _, objects = job_service(given)
    async with service.store.running():
        sinks = build_sinks(given, objects, service.store.clock, no_file)
        relay = Relay(service.store, sinks, service.document, RelaySettings(poll_s=0.01))
        async with relay, anyio.create_task_group() as group:
            group.start_soon(relay.run)
            yield service, relay
            group.cancel_scope.cancel()


async def end_job(service: JobService, webhook: str, *pages: PageResult) -> str:
    job = NewJob("a", JobSource(url="s3://scans/in/x/a.png"), "a.png", pipeline="receipts", webhook=webhook)
    (added,) = await service.store.add([job])
    (claim,) = await service.store.claim(1)
    state = JobState.SUCCEEDED if pages else JobState.FAILED
    opened = (JobDocument("image/png", 10, 1, "fake"), 1)
    await service.store.save(claim, pages, opened, JobEnd(state, None, SINKS))
    return added.id


async def settled(relay: Relay, attempts: int) -> Counter[DeliveryOutcome]:
    """Waits for this many attempts. Returns how they ended."""
    with anyio.fail_after(30):
        while relay.outcomes.total() < attempts:  # noqa: ASYNC110 - it tells nobody
            await anyio.sleep(0.01)
    counted = Counter[DeliveryOutcome]()
    for (_, outcome), count in relay.outcomes.items():
        counted[outcome] += count
    return counted


async def test_result_reaches_all_sinks(tmp_path: Path) -> None:
    async with running_receiver() as receiver, relaying(settings(tmp_path, receiver.url)) as (service, relay):
        job_id = await end_job(service, receiver.url, PAGE)
        assert await settled(relay, 4) == {DeliveryOutcome.DELIVERED: 4}
    bodies = {request.path: json.loads(request.body) for request in receiver.requests}
    assert bodies["/hook"]["data"]["document"] is None
    assert bodies["/hook?erp"]["data"]["document"]["pages"][0]["text"] == "Total 3.50"
    for request in receiver.requests:
        assert Webhook(SECRET).verify(request.body, request.headers)["subject"] == job_id
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT number, total, job FROM receipts").fetchall() == [("A1", 3.5, job_id)]
    connection.close()
    assert sorted(path.name for path in (tmp_path / "out" / "x").iterdir()) == ["a.png.json", "a.png.md"]


async def test_job_that_failed_is_told_of_and_has_neither_rows_nor_objects(tmp_path: Path) -> None:
    async with running_receiver() as receiver, relaying(settings(tmp_path, receiver.url)) as (service, relay):
        await end_job(service, receiver.url)
        assert await settled(relay, 4) == {DeliveryOutcome.DELIVERED: 4}
    types = [json.loads(request.body)["type"] for request in receiver.requests]
    assert types == ["io.inkgate.job.failed"] * 2
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        assert connection.execute("SELECT count(*) FROM receipts").fetchone() == (0,)
    connection.close()
    assert not (tmp_path / "out").exists()


async def test_row_that_does_not_fit_is_a_dead_letter_that_can_be_delivered_again(tmp_path: Path) -> None:
    page = PageResult(0, text="x", fields={"number": "A1", "total": "three"}, engine="fake")
    async with running_receiver() as receiver, relaying(settings(tmp_path, receiver.url)) as (service, relay):
        job_id = await end_job(service, receiver.url, page)
        assert await settled(relay, 4) == {DeliveryOutcome.DELIVERED: 3, DeliveryOutcome.DEAD: 1}
        assert (await service.store.counts()).outbox_dead == 1
        assert await service.store.redeliver(job_id) == 1
        assert await settled(relay, 5) == {DeliveryOutcome.DELIVERED: 3, DeliveryOutcome.DEAD: 2}
