"""A client's next request never meets its own previous one: the slot is free when the last bytes go out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import anyio
import anyio.abc
import pytest
from starlette.types import Message

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.model_servers.server import ModelServer
from inkgate.page import Page
from inkgate.serving.outcomes import WorkOutcome
from inkgate_client.types import PageResult, Task
from support.api_client import RawCall, png, running_api, tiff
from support.chat_api import JSON, PATH, relay
from support.chat_requests import chat
from support.fake_engine import FakeEngine
from support.served_api import WAIT_S, Served, served
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

CLIENTS, REQUESTS = 8, 30


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


@dataclass
class CountingCall(RawCall):
    """Notes with every message of the response how many documents were in flight when it was sent."""

    in_flight: Callable[[], int] = lambda: 0
    counts: list[int] = field(default_factory=list)

    async def _send(self, message: Message) -> None:
        self.counts.append(self.in_flight())
        await super()._send(message)

    def count_at(self, text: bytes) -> int:
        """Documents in flight when the message with `text` was sent."""
        return next(
            count
            for count, message in zip(self.counts, self.sent, strict=True)
            if text in bytes(message.get("body", b""))
        )


class LongTextEngine(FakeEngine):
    """Reads more text than a server takes at once."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        return replace(await super().read(page, task, caller), text="word " * 100_000)


@pytest.mark.parametrize("engine", [FakeEngine(), LongTextEngine()])
@pytest.mark.parametrize("query", ["", "format=ndjson"])
async def test_the_slot_of_a_document_is_free_with_the_last_bytes_and_not_before(
    engine: FakeEngine, query: str
) -> None:
    async with running_api(engine) as api:
        call = CountingCall(
            api.app, {"content-type": "image/tiff"}, [tiff(2)], query=query, in_flight=lambda: api.limiter.in_flight
        )
        await call.run()
        assert call.status == 200
        assert (call.sent[-1].get("more_body"), call.counts[-1]) == (None, 0)
        large = isinstance(engine, LongTextEngine)
        if query or large:
            assert set(call.counts[:-1]) == {1}
        assert len(call.sent[-1]["body"]) <= 64 * 1024
        assert len(call.body) > 64 * 1024 or not large
        assert api.limiter.ended == {WorkOutcome.OK: 1}
        assert (api.limiter.documents, api.limiter.body_bytes, api.limiter._uses) == (0, 0, {})


async def test_a_stream_of_failed_pages_counts_as_failed_though_its_slot_is_free_early() -> None:
    failing = {page: EngineFailed("engine_failed", "The page could not be read.") for page in range(2)}
    async with running_api(FakeEngine(failing=failing)) as api:
        call = CountingCall(api.app, {"content-type": "image/tiff"}, [tiff(2)], query="format=ndjson")
        await call.run()
        assert call.status == 200
        assert api.limiter.ended == {WorkOutcome.FAILED: 1}


@pytest.mark.parametrize("stream", [False, True])
async def test_the_slot_of_a_chat_is_free_with_the_last_bytes_or_the_event_that_ends_it(*, stream: bool) -> None:
    body = json.dumps(chat(stream=stream)).encode()
    async with relay(Reply(["Hel", "lo"])) as (api, _):
        call = CountingCall(api.app, dict(JSON), [body], path=PATH, in_flight=lambda: api.limiter.in_flight)
        await call.run()
        assert call.status == 200
        assert call.count_at(b"[DONE]" if stream else b"Hello") == 0
        assert call.counts[0] == 1
        assert api.limiter.ended == {WorkOutcome.OK: 1}


def posted(path: str, kind: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def answered(connection: anyio.abc.SocketStream) -> bytes:
    """Receives one response and returns its head."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await connection.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((line[16:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")), None)
    while not body.endswith(b"0\r\n\r\n") if length is None else len(body) < int(length):
        body += await connection.receive()
    return head


async def closed_loop(server: Served, request: bytes) -> Counter[int]:
    """Statuses of `CLIENTS` clients, each of which sends its next request when it has the response to the last one."""
    statuses: Counter[int] = Counter()

    async def client() -> None:
        connection = await server.connect()
        for _ in range(REQUESTS):
            await connection.send(request)
            head = await answered(connection)
            statuses[int(head[9:12])] += 1
            if b"connection: close" in head.lower():
                return
        await connection.aclose()

    with anyio.fail_after(WAIT_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(CLIENTS):
                tasks.start_soon(client)
    return statuses


@pytest.mark.parametrize("path", ["/ocr", "/ocr?format=ndjson"])
async def test_as_many_clients_as_documents_allowed_are_never_refused(path: str) -> None:
    async with served(FakeEngine(), limits={"max_in_flight": CLIENTS}) as server:
        assert await closed_loop(server, posted(path, "image/png", png())) == {200: CLIENTS * REQUESTS}


async def test_as_many_chats_as_documents_allowed_are_never_refused() -> None:
    with running_stub(Reply(["Hello"])) as stub:
        upstream = ModelServer(stub.url, 5)
        async with served(upstream=upstream, limits={"max_in_flight": CLIENTS}) as server:
            body = json.dumps(chat(stream=True)).encode()
            assert await closed_loop(server, posted(PATH, "application/json", body)) == {200: CLIENTS * REQUESTS}
        await upstream.close()
