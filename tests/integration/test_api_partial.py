"""Pages that were read in part: what was read is answered, with the error beside it."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.api_client import png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


class TruncatingEngine(FakeEngine):
    """Reads the beginning of every page."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        error = EngineFailed("output_truncated", "The answer reached its limit.")
        return replace(await super().read(page, task, caller), error=error.as_page_error())


async def test_the_only_page_read_in_part_is_answered_as_partial() -> None:
    async with running_api(TruncatingEngine()) as api:
        answer = await api.client.post("/ocr", files={"file": png()})
    assert (answer.status_code, answer.headers["x-inkgate-status"]) == (200, "partial")
    assert "Hello page 0" in answer.json()["text"]
    assert answer.json()["pages"][0]["error"]["code"] == "output_truncated"


@pytest.mark.parametrize("file", [png(), tiff(2)], ids=["one page", "two pages"])
async def test_a_stream_of_pages_read_in_part_is_partial(file: bytes) -> None:
    async with running_api(TruncatingEngine()) as api:
        answer = await api.client.post("/ocr", files={"file": file}, headers={"accept": "application/x-ndjson"})
    first, *_, last = [orjson.loads(line) for line in answer.content.splitlines()]
    assert "Hello page 0" in first["text"]
    assert first["error"]["code"] == "output_truncated"
    assert (last["status"], last["pages_failed"]) == ("partial", last["pages_answered"])
