"""`inkgate mcp` over HTTP keeps to the service's limits, spoken as raw bytes to a real socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import anyio
import httpx
import pytest

from inkgate.integrations.mcp.files import AllowedFiles
from inkgate.integrations.mcp.serve import McpAddress, serve_http
from inkgate.integrations.mcp.tools import DocumentTools
from inkgate.settings import load_settings
from inkgate_client.concurrency import single_error
from inkgate_client.reading import MemoryReader

pytestmark = pytest.mark.anyio

WAIT_S = 60
NEVER_S = 600.0
HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def mcp_server(limits: dict[str, object] | None = None, **server: object) -> AsyncIterator[str]:
    """The URL of a server with these settings of the branches `limits` and `server`."""
    settings = load_settings(None, limits=limits or {}, server=server)
    tools = DocumentTools(MemoryReader({}), AllowedFiles((), 1_000_000))
    send, receive = anyio.create_memory_object_stream[str](1)
    stop = anyio.Event()
    with single_error(), anyio.fail_after(WAIT_S):
        async with send, receive, anyio.create_task_group() as tasks:
            address = McpAddress("127.0.0.1", 0)
            tasks.start_soon(serve_http, tools, address, settings, send.send_nowait, stop)
            try:
                yield await receive.receive()
            finally:
                stop.set()


async def said(url: str, *pieces: bytes) -> bytes:
    """What comes back on a connection on which these are sent, until it is closed."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    answer = b""
    async with await anyio.connect_tcp(parts.hostname, parts.port) as connection:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            for piece in pieces:
                await connection.send(piece)
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                answer += await connection.receive()
    return answer


def code_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return int(head.split()[1]), json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])["code"]


async def test_heads_and_bodies_are_bounded_in_size_and_time() -> None:
    limits: dict[str, object] = {"max_body_mb": 0.5, "body_timeout_s": 0.3}
    async with mcp_server(limits, head_timeout_s=0.3) as url:
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        sent = {
            (431, "head_too_large"): [b"GET /mcp HTTP/1.1\r\nHost: x\r\nX-A: ", *[b"a" * 10_000] * 20],
            (408, "head_timeout"): [b"GET /mcp HTTP/1.1\r\nHost: x\r\nX-A: "],
            (408, "body_timeout"): [HEAD + b"Content-Length: 90\r\n\r\n{"],
            (413, "body_too_large"): [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 120],
        }
        answers: dict[tuple[int, str], tuple[int, str]] = {}

        async def send(expected: tuple[int, str], pieces: list[bytes]) -> None:
            answers[expected] = code_of(await said(url, *pieces))

        async with anyio.create_task_group() as tasks:
            for expected, pieces in sent.items():
                tasks.start_soon(send, expected, pieces)
        assert [expected for expected, answer in answers.items() if answer != expected] == []
        async with httpx.AsyncClient(headers=ACCEPT) as client:
            assert (await client.post(url, json=BEGIN)).status_code == 200


async def test_an_idle_connection_gives_way_to_a_new_one() -> None:
    async with mcp_server(max_connections=2, head_timeout_s=NEVER_S) as url, anyio.create_task_group() as tasks:
        ended = anyio.Event()

        async def idle() -> None:
            await said(url)
            ended.set()

        for _ in range(2):
            tasks.start_soon(idle)
        await anyio.sleep(0.1)
        async with httpx.AsyncClient(headers=ACCEPT) as client:
            assert (await client.post(url, json=BEGIN)).status_code == 200
            await ended.wait()
        tasks.cancel_scope.cancel()


async def test_bodies_that_arrive_take_the_room_of_others() -> None:
    async with mcp_server({"max_in_flight": 1, "body_timeout_s": NEVER_S}) as url, anyio.create_task_group() as tasks:
        tasks.start_soon(said, url, HEAD + b"Content-Length: 90\r\n\r\n{")
        async with httpx.AsyncClient(headers=ACCEPT) as client:
            answer = await client.post(url, json=BEGIN)
            while answer.status_code == 200:  # the other has not begun
                answer = await client.post(url, json=BEGIN)
            assert (answer.status_code, answer.json()["code"]) == (503, "service_full")
            assert int(answer.headers["retry-after"]) > 0
            tasks.cancel_scope.cancel()
            while answer.status_code != 200:
                answer = await client.post(url, json=BEGIN)
