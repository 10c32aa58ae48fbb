"""Answers that are whole documents have their running lines left out; pages that are sent one by one are as read."""

import json
from pathlib import Path

import pytest

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import PageResult, Task, TaskKind
from support.api_client import tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ended, jobs_api
from support.layouts import PAGE, arrange, column, line, prose

pytestmark = pytest.mark.anyio


class BookEngine(FakeEngine):
    """Reads a page of a book, with a running header."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        lines = [line("The book", 100, 60), *column(prose(f"page{page.index}row", 6), 100, 400)]
        read = PageResult(page.index, PAGE.width, PAGE.height, engine=self.name)
        return arrange(lines, PAGE, []).put_into(read, parse=task.kind is TaskKind.PARSE)


async def test_running_headers_are_left_out_of_documents_and_not_of_streams(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, BookEngine()) as api:
        sent = {"files": {"file": ("book.tiff", tiff(3))}, "data": {"task": "parse"}}
        job = await ended(api, (await api.client.post("/v1/jobs", **sent)).json())  # type: ignore[arg-type]
        result = job["links"]["result"]

        async def shown(format_: str) -> tuple[str, str]:
            """Of the job and of a request."""
            of_job = await api.client.get(result, params={"format": format_})
            at_once = await api.client.post("/ocr", params={"format": format_}, **sent)  # type: ignore[arg-type]
            return of_job.text, at_once.text

        for markdown in await shown("markdown"):
            assert "The book" not in markdown
            assert all(f"page{i}row0" in markdown for i in range(3))
        for document in await shown("json"):
            for page in json.loads(document)["pages"]:
                assert page["left_out"] == [{"text": "The book", "reason": "running_header", "lines": [0], "box": None}]
                assert page["header"] == "The book"
                assert page["text"].startswith("The book")
        for text in await shown("text"):
            assert text.count("The book") == 3
        for stream in await shown("ndjson"):
            for page in map(json.loads, stream.splitlines()[:3]):
                assert page["left_out"] == []
                assert page["markdown"].startswith("The book")
