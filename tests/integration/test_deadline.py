"""A request's deadline ends it at every stage. Each test stops one stage for ever: only the deadline can end it."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate.serving.threads import FairThreads
from inkgate.settings import FetchSettings
from inkgate.storage.fetch import Check, Fetcher
from inkgate_client.concurrency import Threads
from inkgate_client.types import PageResult, Task, Word
from support.api_client import Api, RawCall, b64, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio

TIMEOUT = {"X-Inkgate-Timeout": "0.1"}
JSON = {"content-type": "application/json"}
PDF = {"content-type": "application/pdf"}
FOR_EVER_S = 20
"""A test that takes as long has failed: nothing ended the stage."""


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    with anyio.fail_after(FOR_EVER_S):
        yield


class StalledFetcher(Fetcher):
    """Its server never responds."""

    def __init__(self) -> None:
        super().__init__(FetchSettings(enabled=True), 1_000_000)
        self.fetching = self.cancelled = 0

    async def fetch(self, url: str, check: Check | None = None, if_match: str = "") -> bytes:
        self.fetching += 1
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        raise AssertionError(url)


@dataclass
class BlockedThreads:
    """Threads of which each is busy until `freed` is set."""

    threads: FairThreads
    freed: threading.Event
    count: int

    @asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            for _ in range(self.count):
                group.start_soon(self.threads.run, NO_CALLER, 1, self.freed.wait)
            await anyio.wait_all_tasks_blocked()
            try:
                yield
            finally:
                self.freed.set()


@contextmanager
def stopped(pids: tuple[int, ...]) -> Iterator[None]:
    """The processes take no step within the block."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def check_late(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["code"]) == (408, "deadline_exceeded")


async def test_a_body_that_does_not_end() -> None:
    async with running_api() as api:
        call = RawCall(api.app, {**JSON, **TIMEOUT}, [b"{"], ends=False)
        await call.run()
        assert call.status == 408
        assert json.loads(call.body)["code"] == "deadline_exceeded"
        assert api.limiter.ended == {"rejected": 1}


async def test_a_body_whose_parsing_waits_for_a_thread() -> None:
    async with running_api() as api:
        threads = BlockedThreads(api.context.threads, threading.Event(), 4)
        async with threads.busy():
            body = json.dumps({"image": b64(png()), "unknown": "x" * 100_000})
            check_late(await api.client.post("/ocr", content=body, headers={**JSON, **TIMEOUT}))


async def test_the_services_own_limit_while_parsing_waits_for_a_thread_is_its_own_failure() -> None:
    async with running_api(limits={"time_s": 0.1}) as api:
        threads = BlockedThreads(api.context.threads, threading.Event(), 4)
        async with threads.busy():
            body = json.dumps({"image": b64(png()), "unknown": "x" * 100_000})
            response = await api.client.post("/ocr", content=body, headers=JSON)
    assert (response.status_code, response.json()["code"]) == (504, "service_timeout")


@pytest.mark.parametrize("path", ["/ocr", "/extract?type=receipt", "/v1/ocr"])
async def test_a_url_whose_server_does_not_respond(path: str) -> None:
    fetcher = StalledFetcher()
    url = "https://example.com/a.png"
    body = {"image": url} if path != "/v1/ocr" else {"document": {"type": "image_url", "image_url": url}}
    async with running_api(fetcher=fetcher) as api:
        response = await api.client.post(path, json=body, headers={"X-Inkgate-Timeout": "0.5"})
    assert response.status_code == 408, response.text
    assert (fetcher.fetching, fetcher.cancelled) == (1, 1)
    assert api.limiter.ended == {"rejected": 1}


async def test_the_services_own_limit_on_a_fetch_is_its_own_failure() -> None:
    async with running_api(fetcher=StalledFetcher(), limits={"time_s": 0.1}) as api:
        response = await api.client.post("/ocr", json={"image": "https://example.com/a.png"})
    assert (response.status_code, response.json()["code"]) == (504, "service_timeout")
    assert api.limiter.ended == {"failed": 1}


async def test_a_pdf_that_waits_to_be_opened() -> None:
    async with running_api(pdf={"workers": 1}) as api:
        assert (await api.client.post("/ocr", content=pdf(1), headers=PDF)).status_code == 200
        with stopped(api.opener.worker_pids):
            check_late(await api.client.post("/ocr", content=pdf(1), headers={**PDF, **TIMEOUT}))


async def test_a_request_is_charged_until_the_worker_that_it_left_is_free() -> None:
    async with running_api(pdf={"workers": 1}) as api:
        await api.client.post("/ocr", content=pdf(1), headers=PDF)
        with stopped(api.opener.worker_pids):
            late = await api.client.post("/ocr", content=pdf(1), headers={**PDF, **TIMEOUT})
            assert (late.status_code, api.opener.pdf_jobs) == (408, (1, 1, 0))
            assert api.limiter.in_flight == 1
        await until(lambda: not api.limiter.in_flight)
        assert api.limiter.ended == {"ok": 1, "rejected": 1}
        assert api.opener.pdf_jobs == (1, 0, 0)


async def test_a_request_is_charged_until_the_worker_that_it_left_is_killed() -> None:
    async with running_api(pdf={"workers": 1, "page_timeout_s": 1}) as api:
        await api.client.post("/ocr", content=pdf(1), headers=PDF)
        pids = api.opener.worker_pids
        with stopped(pids):
            late = await api.client.post("/ocr", content=pdf(1), headers={**PDF, **TIMEOUT})
            assert (late.status_code, api.limiter.in_flight) == (408, 1)
            await until(lambda: not api.limiter.in_flight)
        assert api.opener.worker_pids != pids


async def test_a_request_that_left_while_it_waited_for_a_worker_costs_nothing() -> None:
    async with running_api(pdf={"workers": 1}) as api:
        await api.client.post("/ocr", content=pdf(1), headers=PDF)
        with stopped(api.opener.worker_pids):
            for _ in range(3):
                assert (await api.client.post("/ocr", content=pdf(1), headers={**PDF, **TIMEOUT})).status_code == 408
            assert api.opener.pdf_jobs == (1, 1, 0)
            assert api.limiter.in_flight == 1  # the first one's, whose call the worker has


async def until(reached: Callable[[], bool]) -> None:
    while not reached():  # noqa: ASYNC110 - a process has to go on
        await anyio.sleep(0.01)


async def test_a_picture_of_a_page_that_waits_to_be_rendered() -> None:
    async with running_api(pdf={"workers": 1}) as api:
        uploaded = await api.client.post("/v1/files", files={"file": ("a.pdf", pdf(1))})
        path = f"/v1/files/{uploaded.json()['id']}/pages/1"
        assert (await api.client.get(path)).status_code == 200
        with stopped(api.opener.worker_pids):
            check_late(await api.client.get(path, headers=TIMEOUT))


async def test_a_page_that_the_engine_does_not_finish() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine) as api:
        check_late(await api.client.post("/ocr", files={"file": png()}, headers=TIMEOUT))
    assert engine.cancelled == 1


async def check_late_once_read(path: str, threads_of: Callable[[Api], FairThreads], count: int) -> None:
    """The answer for a page that is read just before these `count` threads are all busy."""
    engine = FakeEngine(gate=anyio.Event())
    assert engine.gate is not None
    async with running_api(engine) as api, anyio.create_task_group() as group:
        threads = BlockedThreads(threads_of(api), threading.Event(), count)
        answered = anyio.Event()

        async def read() -> None:
            check_late(await api.client.post(path, files={"file": png()}, headers={"X-Inkgate-Timeout": "0.5"}))
            answered.set()

        group.start_soon(read)
        await engine.reading.wait()
        async with threads.busy():
            engine.gate.set()
            await answered.wait()


async def test_a_response_whose_rendering_waits_for_a_thread() -> None:
    await check_late_once_read("/ocr?format=text", lambda api: api.context.threads, 4)


async def test_fields_whose_search_waits_for_a_thread() -> None:
    await check_late_once_read("/extract?type=receipt", lambda api: api.context.service.fields.threads, 2)


async def test_a_response_whose_rendering_takes_too_long_is_left_and_charged_until_it_ends() -> None:
    words = SlowWords()
    async with running_api(ReadsSlowWords(words)) as api:
        response = await api.client.post(
            "/ocr?format=hocr", files={"file": png()}, headers={"X-Inkgate-Timeout": "0.5"}
        )
        check_late(response)
        assert api.limiter.in_flight == 1
        words.go.set()
        await until(lambda: not api.limiter.in_flight)
        assert api.limiter.ended == {"rejected": 1}


@pytest.mark.parametrize("kind", ["pdf", "docx"])
async def test_a_file_that_is_not_written_in_time(kind: str) -> None:
    """Its pages are read at the last moment; writing takes longer."""
    async with running_api(SpendsTime(0.3)) as api:
        headers = {"X-Inkgate-Timeout": "0.3"}
        check_late(await api.client.post(f"/ocr?format={kind}", files={"file": png()}, headers=headers))


async def test_pages_that_were_read_before_the_deadline_are_answered_after_it() -> None:
    async with running_api(ReadsFirst()) as api:
        response = await api.client.post(
            "/ocr?format=json", files={"file": tiff(3)}, headers={"X-Inkgate-Timeout": "0.5"}
        )
    assert (response.status_code, response.headers["X-Inkgate-Status"]) == (200, "partial")
    codes = [page["error"] and page["error"]["code"] for page in response.json()["pages"]]
    assert codes == [None, "deadline_exceeded", "deadline_exceeded"]


async def test_a_response_that_is_ready_is_sent_past_the_deadline() -> None:
    """A client that takes its time to receive it gets the whole of it."""

    class SlowClient(RawCall):
        async def _send(self, message: MutableMapping[str, Any]) -> None:
            await anyio.sleep(0.6)
            await super()._send(message)

    async with running_api() as api:
        call = SlowClient(api.app, {**PDF, "content-type": "image/png", "X-Inkgate-Timeout": "0.5"}, [png()])
        await call.run()
    assert call.status == 200
    assert json.loads(call.body)
    assert api.limiter.ended == {"ok": 1}


class ReadsFirst(FakeEngine):
    """Reads the first page, and never another."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.gate = anyio.Event() if page.index else None
        return await super().read(page, task, caller)


class SpendsTime(FakeEngine):
    """Returns its page when the deadline is over, and doesn't mind being cancelled."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        await Threads("spends", 1).run(threading.Event().wait, self.seconds)
        return found


class SlowWords(tuple[Word, ...]):  # noqa: SLOT001 - it has attributes
    """Words that no thread gets before `go` is set; the event loop does."""

    go: threading.Event
    loop: int

    def __new__(cls) -> SlowWords:  # noqa: PYI034 - no subclasses
        made = super().__new__(cls)
        made.go, made.loop = threading.Event(), threading.get_ident()
        return made

    def __iter__(self) -> Iterator[Word]:
        if threading.get_ident() != self.loop:
            assert self.go.wait(FOR_EVER_S)
        return super().__iter__()


class ReadsSlowWords(FakeEngine):
    """Reads a page with these words."""

    def __init__(self, words: SlowWords) -> None:
        super().__init__()
        self.words = words

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        return replace(found, lines=tuple(replace(line, words=self.words) for line in found.lines or ()))


async def test_what_follows_a_body_that_came_too_late() -> None:
    async with running_api() as api:
        caller = Caller(deadline=anyio.current_time() + 0.1)
        with pytest.raises(EngineFailed, match="service_timeout"):
            async with api.context.service.gateway.admit(caller) as admitted:
                with admitted.receiving():
                    await anyio.sleep(0.2)
                await anyio.sleep_forever()


async def test_a_response_whose_last_bytes_went_out_meets_no_deadline() -> None:
    """Else an error would be sent after it."""
    async with running_api() as api:
        caller = Caller(deadline=anyio.current_time() + 0.1)
        async with api.context.service.gateway.admit(caller) as admitted:
            with admitted.without_deadline():
                admitted.end()
            await anyio.sleep(0.2)
    assert api.limiter.ended == {"ok": 1}
