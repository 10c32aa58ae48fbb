"""The server on a real socket: how it starts, drains and stops."""

import signal
import socket
import time

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.api_client import png, tiff
from support.fake_engine import FakeEngine
from support.served_api import received, served

pytestmark = pytest.mark.anyio


async def test_port_zero_is_told_as_the_real_one() -> None:
    async with served() as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert not server.url.endswith(":0")
        assert (await server.client.get("/health")).status_code == 200
        answer = await server.client.post("/ocr", files={"file": png()})
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert any(entry["event"] == "ready" and entry["url"] == server.url for entry in server.api.logs)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_finishes_what_has_begun_while_new_requests_are_refused(number: signal.Signals) -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine) as server:
        finished: list[httpx.Response] = []

        async def first() -> None:
            finished.append(await server.client.post("/ocr", files={"file": png()}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await engine.reading.wait()
            signal.raise_signal(number)
            async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as other:
                refused = await other.post("/ocr", files={"file": png()})
                assert (refused.status_code, refused.json()["code"]) == (503, "draining")
                assert "retry-after" in refused.headers
                assert (await other.get("/readyz")).status_code == 503
                assert (await other.get("/livez")).status_code == 200
            assert not server.stopped.is_set()
            assert engine.gate is not None
            engine.gate.set()
        assert finished[0].status_code == 200
        with anyio.fail_after(60):
            await server.stopped.wait()
        with pytest.raises(httpx.ConnectError):
            await server.client.get("/health")


async def test_sighup_stays_ignored_where_nohup_has_it_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with served() as server:
            signal.raise_signal(signal.SIGHUP)
            assert (await server.client.get("/readyz")).status_code == 200
            assert not server.api.context.drain.draining
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_stream_is_finished_too() -> None:
    class WaitsAtThird(FakeEngine):
        later = anyio.Event()

        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            self.gate = self.later if page.index >= 2 else None
            return await super().read(page, task, caller)

    engine = WaitsAtThird()
    async with served(engine) as server:
        async with server.client.stream("POST", "/ocr?format=ndjson", files={"file": tiff(5)}) as answer:
            signal.raise_signal(signal.SIGTERM)
            engine.later.set()
            lines = [text async for text in answer.aiter_lines()]
        assert len(lines) == 6
        with anyio.fail_after(60):
            await server.stopped.wait()


async def test_a_client_that_reads_slowly_gets_all_of_a_response_that_was_complete_before_the_signal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        async with served(listener=listener, drain_s=60) as server, await server.connect() as client:
            raw = client.extra_attributes[SocketAttribute.raw_socket]()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await client.send(b"GET /state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            with anyio.fail_after(60):
                while not any(entry["event"] == "request" for entry in server.api.logs):  # noqa: ASYNC110 - as above
                    await anyio.sleep(0.01)
            signal.raise_signal(signal.SIGTERM)
            with anyio.move_on_after(3):  # longer than what is left after the last response
                await server.stopped.wait()
            assert not server.stopped.is_set()
            head, _, body = (await received(client)).partition(b"\r\n\r\n")
            assert b"content-length: %d\r\n" % len(body) in head
            with anyio.fail_after(60):
                await server.stopped.wait()


@pytest.mark.parametrize("stopped_s", [0.0, 2.5])
async def test_what_does_not_end_is_cancelled_when_the_time_is_over(stopped_s: float) -> None:
    """Each request gets its error, even if the process stood still until the time to end it was over, too."""
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine, drain_s=0.2) as server, anyio.create_task_group() as tasks:

        async def hangs() -> None:
            answer = await server.client.post("/ocr", files={"file": png()})
            assert (answer.status_code, answer.json()["code"]) == (503, "draining")

        tasks.start_soon(hangs)
        await engine.reading.wait()
        signal.raise_signal(signal.SIGTERM)
        await anyio.sleep(0.15)  # the server has seen the signal
        time.sleep(stopped_s)  # noqa: ASYNC251 - as on a busy machine
        with anyio.fail_after(60):
            await server.stopped.wait()
    assert engine.cancelled == 1


async def test_a_client_that_hangs_up_cancels_its_document() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with served(engine) as server:

        async def asks() -> None:
            await server.client.post("/ocr", files={"file": png()})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asks)
            await engine.reading.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while not server.api.limiter.ended:  # noqa: ASYNC110 - the limiter has no event to wait for
                await anyio.sleep(0.01)
        assert server.api.limiter.ended == {"left": 1}
        assert engine.cancelled == 1


async def test_a_body_that_is_too_large_is_answered_while_it_is_still_being_sent() -> None:
    async with served(limits={"max_body_mb": 0.01}) as server:
        answer = await server.client.post("/ocr", files={"file": b"x" * 5_000_000})
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert (await server.client.get("/health")).status_code == 200
