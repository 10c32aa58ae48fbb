"""Results of jobs as rows of a Notion database, as the service wires the sink."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from inkgate.errors import InputRejected
from inkgate.jobs.job import Delivery
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.settings import ExtensionSinkSettings
from inkgate_client.types import Document, PageResult
from inkgate_notion.sink import NotionSink
from support.api_client import png
from support.jobs import delivery, document
from support.jobs_api import ALPHA, KEYS, ended, jobs_api, submit, until
from support.notion import DATABASE, TOKEN, Fault, NotionDouble, notion_double
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio
PIPELINES = {"receipts": {"sinks": ["notion"], "tenant": f"key:{KEYS['key_hashes'][0][:12]}"}}
RECEIPT = json.dumps({"type": "receipt"})


def sinks(double: NotionDouble, secret: str = TOKEN, **options: object) -> dict[str, Any]:
    given = {"database": DATABASE, "url": double.url, "create_columns": True, "requests_per_s": 1000, **options}
    make = "inkgate_notion.sink:NotionSink"
    return {"notion": {"kind": "extension", "make": make, "secret": secret, "options": given}}


async def until_values(double: NotionDouble, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The values of the one row, once they are as wanted."""

    def one() -> dict[str, Any]:
        return double.values(double.rows[0]) if len(double.rows) == 1 else {}

    with anyio.fail_after(60):
        await until(lambda: one() and wanted(one()))
    return one()


async def test_a_job_s_document_is_a_row_and_a_correction_updates_it(tmp_path: Path) -> None:
    async with (
        notion_double() as double,
        jobs_api(tmp_path, ReceiptEngine(), auth=KEYS, sinks=sinks(double), pipelines=PIPELINES) as api,
    ):
        double.faults.append(Fault("POST pages", done=True))  # its answer is lost
        job = await ended(api, await submit(api, png(), ALPHA, extract=RECEIPT, pipeline="receipts"), ALPHA)
        values = await until_values(double, lambda each: len(each["inkgate"].split()) == 3)
        assert (values["Name"], values["total"], values["date"]) == ("scan.tiff", 30.2, "2018-04-03")
        assert values["Needs review"] is True
        assert double.file(double.rows[0]) == png()
        change = {"fields": {"/date": "2018-03-04"}}
        headers = ALPHA | {"if-match": "*"}
        assert (await api.client.patch(job["links"]["fields"], json=change, headers=headers)).status_code == 200
        values = await until_values(double, lambda each: each["date"] == "2018-03-04")
        assert values["Needs review"] is False
        assert len(double.pages) == len(double.uploads) == 1
        again = await submit(api, png(), ALPHA, extract=RECEIPT, pipeline="receipts")
        await ended(api, again, ALPHA)
        await until_values(double, lambda each: each["date"] == "2018-04-03")
        assert len(double.pages) == 1
        logged = json.dumps(api.logs, default=str)
        assert TOKEN not in logged
        assert "2018-03-04" not in logged


def a_delivery() -> Delivery:
    result = document(PageResult(0, text="x", markdown="x"))

    async def original() -> Document:
        return Document(png(), "receipt.png")

    return replace(delivery(result), original=original)


async def test_deliveries_wait_for_columns_and_while_notion_says_so_and_refused_rows_are_dead_letters() -> None:
    async with notion_double() as double:
        [settings] = sinks(double, create_columns=False, columns={"Pages": "pages"}).values()
        async with NotionSink("notion", ExtensionSinkSettings(**settings)) as sink:
            with pytest.raises(DeliverLater, match=r"no columns `inkgate` \(rich_text\), `Pages` \(number\)"):
                await sink.deliver(a_delivery())
            double.add_columns(inkgate="rich_text", Pages="formula")
            with pytest.raises(DeliverLater, match="`Pages` is of the type formula"):
                await sink.deliver(a_delivery())
            double.add_columns(Pages="number")
            double.faults.append(Fault("POST pages", 429, "3600"))
            with pytest.raises(DeliverLater) as later:
                await sink.deliver(a_delivery())
            assert later.value.retry_after_s == 3600
            double.faults.append(Fault("POST pages", 400))
            with pytest.raises(DeliverNever):
                await sink.deliver(a_delivery())
            await sink.deliver(delivery(None))
            assert double.rows == []
            await sink.deliver(a_delivery())
            assert double.values(double.rows[0])["Pages"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"secret": ""}, "`secret` must be the token"),
        ({"database": "acme"}, "neither the address nor the ID"),
        ({"colums": {}}, "`colums`: Extra inputs"),
        ({"columns": {"Total": "total"}}, "there is no value `total`"),
    ],
)
async def test_the_service_does_not_start_with_a_sink_that_can_t_be(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    configured = sinks(NotionDouble(url="http://127.0.0.1:9"), **changes)
    with pytest.raises(InputRejected) as refused:
        async with jobs_api(tmp_path, sinks=configured, pipelines=PIPELINES):
            pass
    assert refused.value.code == "extension_invalid"
    assert said in refused.value.detail
    assert "`sinks.notion.make`" in refused.value.detail


async def test_a_column_that_was_changed_while_the_service_runs_is_no_reason_for_a_dead_letter() -> None:
    async with notion_double() as double:
        [settings] = sinks(double, create_columns=False, columns={"Pages": "pages"}).values()
        double.add_columns(inkgate="rich_text", Pages="number")
        async with NotionSink("notion", ExtensionSinkSettings(**settings)) as sink:
            await sink.deliver(a_delivery())
            double.rows[0]["in_trash"] = True
            double.add_columns(Pages="rich_text")
            await sink.deliver(a_delivery())
            assert double.values(double.rows[0])["Pages"] == "1"
            double.rows[0]["in_trash"] = True
            double.columns["Seiten"] = double.columns.pop("Pages")
            with pytest.raises(DeliverLater, match=r"no columns `Pages`"):
                await sink.deliver(a_delivery())


async def test_two_documents_share_notion_s_requests_and_others_wait() -> None:
    begun = most = 0

    async def original() -> Document:
        nonlocal begun, most
        begun += 1
        most = max(most, begun - len(double.rows))
        return Document(png() + bytes([begun]), "receipt.png")

    async with notion_double() as double:
        [settings] = sinks(double).values()
        async with (
            NotionSink("notion", ExtensionSinkSettings(**settings)) as sink,
            anyio.create_task_group() as tasks,
        ):
            for _ in range(6):
                tasks.start_soon(sink.deliver, replace(a_delivery(), original=original))
        assert (len(double.rows), most) == (6, 2)
