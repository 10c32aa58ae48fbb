"""Limits under overload, slow clients and clients that have left."""

import json
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate.telemetry.metrics import Metrics
from inkgate_client.types import PageResult, Task
from support.api_client import RawCall, b64, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio

SMALL: dict[str, object] = {"max_body_mb": 0.01}
MULTIPART = "multipart/form-data; boundary=B"


def multipart(data: bytes) -> bytes:
    head = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    return head + data + b"\r\n--B--\r\n"


async def test_a_declared_length_is_refused_before_anything_is_read() -> None:
    async with running_api(limits=SMALL) as api:
        call = RawCall(api.app, {"content-type": "application/json", "content-length": "10001"}, [b"x"])
        await call.run()
        assert call.status == 413
        assert b"body_too_large" in call.body
        # The answer was out before the first byte was taken, and that byte was only thrown away.
        assert call.sent[0]["type"] == "http.response.start"
        assert api.limiter.ended == {"rejected": 1}


async def test_a_length_beyond_all_numbers_is_too_large() -> None:
    async with running_api() as api:
        headers = {"content-type": "application/json", "content-length": "9" * 5000}
        call = RawCall(api.app, headers, [b"x"])
        await call.run()
    assert call.status == 413


async def test_a_body_that_trickles_in_is_given_up_when_the_time_is_over() -> None:
    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await anyio.sleep(0.01)

    async with running_api(limits={"time_s": 0.1}) as api:
        answer = await api.client.post("/ocr", content=trickle(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "body_timeout")


async def test_a_body_without_a_length_is_counted_as_it_comes() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b" " * 1000

    async with running_api(limits=SMALL) as api:
        for content_type in ("application/json", MULTIPART, "application/x-www-form-urlencoded"):
            answer = await api.client.post("/ocr", content=endless(), headers={"content-type": content_type})
            assert answer.json()["code"] in {"body_too_large", "request_malformed"}
        answer = await api.client.post("/ocr", content=endless(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"


async def test_a_file_in_a_form_is_counted_too() -> None:
    async with running_api(limits=SMALL) as api:
        call = RawCall(api.app, {"content-type": MULTIPART}, [multipart(b"x" * 20_000)])
        await call.run()
    assert call.status == 413


async def test_a_body_that_stalls_is_given_up() -> None:
    async with running_api(limits={"body_timeout_s": 0.05}) as api:
        call = RawCall(api.app, {"content-type": "application/json", "content-length": "9"}, [b'{"im'], ends=False)
        await call.run()
        assert call.status == 408
        assert b"body_timeout" in call.body
        assert api.limiter.ended == {"rejected": 1}


async def test_a_client_that_leaves_while_sending_ends_the_request() -> None:
    async with running_api() as api:
        call = RawCall(api.app, {"content-type": "application/json"}, [b'{"im'], ends=False)
        call.left.set()
        await call.run()
        assert call.sent == []
        assert api.limiter.ended == {"left": 1}


@pytest.mark.smoke
@pytest.mark.parametrize("query", ["", "format=ndjson"])
async def test_a_client_that_leaves_cancels_the_engine(query: str) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine) as api:
        call = RawCall(api.app, {"content-type": MULTIPART}, [multipart(png())], query=query)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await engine.reading.wait()
            assert api.limiter.in_flight == 1
            call.left.set()
        assert engine.cancelled == 1
        assert call.sent == []
        assert api.limiter.ended == {"left": 1}
        assert (await api.client.get("/health")).status_code == 200


async def test_a_client_that_leaves_a_stream_cancels_the_pages_to_come() -> None:
    class StopsAtThird(FakeEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            self.gate = anyio.Event() if page.index >= 2 else None
            return await super().read(page, task, caller)

    engine = StopsAtThird()
    async with running_api(engine) as api:
        call = RawCall(api.app, {"content-type": MULTIPART}, [multipart(tiff(9))], query="format=ndjson")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            while call.body.count(b"\n") < 2:
                await anyio.lowlevel.checkpoint()
            call.left.set()
        assert engine.cancelled >= 1
        assert len(engine.tasks) < 9
        assert api.limiter.ended == {"left": 1}


async def test_the_permit_is_taken_before_the_body_is_read() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine, limits={"max_in_flight": 1}) as api, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: api.client.post("/ocr", files={"file": png()}))
        await engine.reading.wait()
        refused = RawCall(api.app, {"content-type": MULTIPART}, [])
        await refused.run()
        assert refused.status == 503
        assert refused.received == 0
        assert b"service_full" in refused.body
        headers = dict(refused.sent[0]["headers"])
        assert int(headers[b"retry-after"]) >= 1
        assert engine.gate is not None
        engine.gate.set()
    assert api.limiter.in_flight == 0


async def test_a_full_service_still_says_that_it_lives() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine, limits={"max_in_flight": 1}) as api, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: api.client.post("/ocr", files={"file": png()}))
        await engine.reading.wait()
        assert (await api.client.get("/health")).status_code == 200
        assert (await api.client.get("/livez")).status_code == 200
        assert engine.gate is not None
        engine.gate.set()


TIMEOUTS = [
    ({"time_s": 0.05}, {}, 504, "service_timeout", "failed"),
    ({"time_s": 0.05}, {"X-Inkgate-Timeout": "60"}, 504, "service_timeout", "failed"),
    ({}, {"X-Inkgate-Timeout": "0.05"}, 408, "deadline_exceeded", "rejected"),
]
"""Limits, headers; status, code, how the document ended for metrics."""


@pytest.mark.parametrize(("limits", "headers", "status", "code", "ended"), TIMEOUTS)
@pytest.mark.parametrize("query", ["", "?format=ndjson"])
async def test_running_out_of_time_is_the_services_fault_unless_the_client_set_it(
    limits: dict[str, object], headers: dict[str, str], status: int, code: str, ended: str, query: str
) -> None:
    metrics = Metrics()
    async with running_api(FakeEngine(gate=anyio.Event()), observer=metrics, limits=limits) as api:
        answer = await api.client.post(f"/ocr{query}", files={"file": png()}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert api.limiter.ended == {ended: 1}
    counted = [sample.labels for family in metrics.collect() for sample in family.samples if "outcome" in sample.labels]
    assert [labels["outcome"] for labels in counted] == [ended]


async def test_a_stream_says_of_which_pages_the_services_time_was_over() -> None:
    class StopsAtSecond(FakeEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            self.gate = anyio.Event() if page.index else None
            return await super().read(page, task, caller)

    async with running_api(StopsAtSecond(), limits={"time_s": 0.5}) as api:
        answer = await api.client.post("/ocr?format=ndjson", files={"file": tiff(3)})
    *pages, summary = [json.loads(line) for line in answer.text.splitlines()]
    assert [page["error"] and page["error"]["code"] for page in pages] == [None, "service_timeout", "service_timeout"]
    assert summary["status"] == "partial"


async def test_too_many_pages_are_refused() -> None:
    async with running_api(limits={"max_pages": 2}) as api:
        answer = await api.client.post("/ocr", files={"file": tiff(3)})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_many_pages")


async def test_callers_over_their_share_are_told_when_to_return() -> None:
    async with running_api(rate_limit={"per_key": "2/minute"}) as api:
        answers = [await api.client.post("/ocr", json={"image": b64(png())}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[2].json()["code"] == "rate_limited"
        assert 1 <= int(answers[2].headers["retry-after"]) <= 120
        assert (await api.client.get("/health")).status_code == 200


async def test_a_rate_limit_that_means_nothing_stops_the_start() -> None:
    with pytest.raises(ValueError, match="60/minute"):
        async with running_api(rate_limit={"per_key": "often"}):
            pass


async def test_requests_pass_when_redis_is_gone() -> None:
    settings: dict[str, object] = {"per_key": "1/minute", "storage_url": "redis://127.0.0.1:1"}
    async with running_api(rate_limit=settings) as api:
        answers = [await api.client.get("/v1/models") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]


async def test_a_draining_service_finishes_and_refuses() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine) as api, anyio.create_task_group() as tasks:
        finished: list[int] = []

        async def first() -> None:
            finished.append((await api.client.post("/ocr", files={"file": png()})).status_code)

        tasks.start_soon(first)
        await engine.reading.wait()
        api.context.drain.begin()
        refused = await api.client.post("/ocr", files={"file": png()})
        assert (refused.status_code, refused.json()["code"]) == (503, "draining")
        assert int(refused.headers["retry-after"]) >= 1
        assert (await api.client.get("/livez")).status_code == 200
        assert api.context.drain.in_flight == 1
        assert engine.gate is not None
        engine.gate.set()
    assert finished == [200]
    assert api.context.drain.in_flight == 0
