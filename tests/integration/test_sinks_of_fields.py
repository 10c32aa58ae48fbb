"""Fields of jobs in tables, webhooks and objects, as the service wires them, and again after a correction."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.api_client import png
from support.jobs_api import ALPHA, KEYS, ended, jobs_api, submit
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio
TENANT = f"key:{KEYS['key_hashes'][0][:12]}"


def rows(shop: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(shop)) as connection:
        return list(connection.execute("SELECT total, paid_on, review FROM receipts"))


async def until_rows(shop: Path, wanted: list[tuple[Any, ...]]) -> None:
    with anyio.fail_after(60):
        while rows(shop) != wanted:  # noqa: ASYNC110 - another thread writes
            await anyio.sleep(0.02)


async def test_a_corrected_job_s_row_is_updated(tmp_path: Path) -> None:
    shop = tmp_path / "shop.db"
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute(
            "CREATE TABLE receipts (job TEXT PRIMARY KEY, total NUMERIC(8, 2), paid_on DATE, review TEXT)"
        )
    columns = {"job": "job.id", "total": "fields.total", "paid_on": "fields.date", "review": "extraction.review"}
    sinks = {
        "shop": {
            "kind": "table",
            "database": f"sqlite:///{shop}",
            "table": "receipts",
            "columns": columns,
            "key": ["job"],
        },
        "files": {"kind": "objects", "url": f"file://{tmp_path}/out/", "formats": ["json"]},
    }
    pipelines = {"receipts": {"sinks": ["shop", "files"], "tenant": TENANT}}
    async with jobs_api(tmp_path, ReceiptEngine(), auth=KEYS, sinks=sinks, pipelines=pipelines) as api:
        extract = json.dumps({"type": "receipt"})
        job = await ended(api, await submit(api, png(), ALPHA, extract=extract, pipeline="receipts"), ALPHA)
        await until_rows(shop, [(30.2, "2018-04-03", "needs_review")])
        change = {"fields": {"/date": "2018-03-04"}}
        headers = ALPHA | {"if-match": "*"}
        assert (await api.client.patch(job["links"]["fields"], json=change, headers=headers)).status_code == 200
        await until_rows(shop, [(30.2, "2018-03-04", "reviewed")])

        def written() -> list[str]:
            return [json.loads(each.read_text())["extraction"]["review"] for each in (tmp_path / "out").rglob("*.json")]

        with anyio.fail_after(60):
            while written() != ["reviewed"]:  # noqa: ASYNC110 - another thread writes
                await anyio.sleep(0.02)
        assert "2018-03-04" not in json.dumps(api.logs, default=str)
