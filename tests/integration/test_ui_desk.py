"""The desk behind the page, at the API itself."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from inkgate.errors import EngineFailed
from inkgate.ui.desk import Desk, Visitor
from support.api_client import Api, png, running_api
from support.fake_engine import FakeEngine
from support.pdf_writer import paragraph, text_pdf

pytestmark = pytest.mark.anyio

ANYBODY = Visitor("", "198.51.100.7", "en")
PDF = text_pdf(paragraph(), paragraph(), paragraph())


def desk_of(api: Api) -> Desk:
    return Desk("http://inkgate.localhost", transport=httpx.ASGITransport(api.app, client=("127.0.0.1", 1)))


async def uploaded(api: Api, data: bytes, name: str) -> dict[str, str]:
    # From the visitor's address, for whom the desk calls: files belong to whoever sent them.
    transport = httpx.ASGITransport(api.app, client=(ANYBODY.address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost") as client:
        answer = await client.post("/v1/files", files={"file": (name, data)}, headers=api_headers(api))
    return {"id": answer.json()["id"], "name": name}


def api_headers(api: Api) -> dict[str, str]:
    return {"authorization": "Bearer alpha"} if api.context.settings.auth.key_hashes else {}


async def last(told: AsyncIterator[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    every = [step async for step in told]
    return every, every[-1]


async def test_progress_is_told_page_by_page_and_pages_can_be_shown_and_saved() -> None:
    async with running_api() as api:
        desk = desk_of(api)
        asked: Mapping[str, Any] = {
            "run": "1", "files": [await uploaded(api, PDF, "a.pdf")], "task": "parse", "pdf_text": "never",
        }  # fmt: skip
        every, end = await last(desk.read(asked, ANYBODY))
        assert [step["jobs"][0]["done"] for step in every][:4] == [0, 1, 2, 3]
        assert every[1]["jobs"][0]["count"] == 3
        assert end["ended"]
        job = end["jobs"][0]
        assert (job["status"], job["error"], job["failed"]) == ("complete", None, 0)

        shown = desk.page({"result": job["result"], "page": 2})
        assert shown["page"]["index"] == 2
        assert shown["lines"][0]["text"]
        assert "<table>" in shown["html"]
        assert '"index": 2' in shown["json"]
        saved = desk.download({"result": job["result"], "format": "markdown"})
        assert saved["name"] == "a.md"
        assert saved["content"].count("| 1 | 2 |") == 3


async def test_a_failed_file_is_told_and_the_next_one_is_read() -> None:
    async with running_api() as api:
        files = [await uploaded(api, b"no document", "a.txt"), await uploaded(api, png(), "b.png")]
        _, end = await last(desk_of(api).read({"files": files}, Visitor("", ANYBODY.address, "zh")))
        failed, good = end["jobs"]
        assert failed["error"]["code"] == "type_unsupported"
        assert failed["error"]["title"] == "不支持这种文件"
        assert good["status"] == "complete"


async def test_a_failed_page_is_told_with_what_to_do() -> None:
    engine = FakeEngine(failing={0: EngineFailed("engine_failed", "It is broken.")})
    async with running_api(engine) as api:
        desk = desk_of(api)
        files = [await uploaded(api, PDF, "a.pdf")]
        _, end = await last(desk.read({"files": files, "pdf_text": "never"}, ANYBODY))
        assert (end["jobs"][0]["status"], end["jobs"][0]["failed"]) == ("partial", 1)
        problem = desk.page({"result": end["jobs"][0]["result"], "page": 0})["problem"]
        assert (problem["title"], problem["detail"]) == ("The engine failed on this page", "It is broken.")
        assert problem["remedy"]


async def test_without_a_key_nothing_is_read_and_with_it_everything_is() -> None:
    auth: dict[str, object] = {"key_hashes": [hashlib.sha256(b"alpha").hexdigest()]}
    async with running_api(auth=auth) as api:
        desk = desk_of(api)
        files = [await uploaded(api, png(), "b.png")]
        for key in ("", "beta"):
            _, end = await last(desk.read({"files": files}, Visitor(key, "", "en")))
            assert end["jobs"][0]["error"]["status"] == 401
            assert (await desk.live(Visitor(key, "", "en")))["error"]["status"] == 401
        visitor = Visitor("alpha", "", "en")
        _, end = await last(desk.read({"files": files}, visitor))
        assert end["jobs"][0]["status"] == "complete"
        assert "ink-chart" in (await desk.live(visitor))["html"]
        assert (await desk.live(Visitor("", "", "en")))["error"]["code"] == "unauthenticated"
        assert (await desk.about(visitor))["engine"] == "fake"


async def test_a_result_that_is_gone_or_was_never_there_is_told_so() -> None:
    async with running_api() as api:
        desk = desk_of(api)
        assert desk.page({"result": "guess", "page": 0})["error"]["code"] == "gone"
        assert (
            desk.download({"result": "guess", "format": "text", "language": "zh"})["error"]["title"] == "该结果已过期"
        )


async def test_a_service_that_is_not_there_is_told_in_plain_words() -> None:
    told = await Desk("http://127.0.0.1:9").live(Visitor("", ANYBODY.address, "zh"))
    assert told["error"]["title"] == "无法连接服务"
