"""Clients of chat completions that leave, on real connections: while they wait for room, and within a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import anyio
import anyio.abc
import pytest

from inkgate.model_servers.server import ModelServer
from inkgate.serving.outcomes import WorkOutcome
from support.chat_api import PATH
from support.chat_requests import chat
from support.served_api import WAIT_S, Served, received, served
from support.stub_upstream import Reply, Request, running_stub

pytestmark = pytest.mark.anyio

BYTES = (100, 60_000, 300_000, 5_000_000)
"""Of bodies: from one that fits in a packet to one that the system holds back unless it is received."""


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


def body_of(text: str, size: int = 0) -> bytes:
    return json.dumps(chat(messages=[{"role": "user", "content": text + size * "x"}], stream=True)).encode()


def posted(body: bytes, *headers: str) -> bytes:
    lines = [f"POST {PATH} HTTP/1.1", "Host: localhost", "Content-Type: application/json", "X-Inkgate-Wait: 300"]
    lines += [f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def until(happened: Callable[[], bool]) -> None:
    with anyio.fail_after(WAIT_S / 4):
        while not happened():  # noqa: ASYNC110 - counts have no event
            await anyio.sleep(0.01)


def reply_to(request: Request) -> Reply:
    holds = request["messages"][0]["content"] == "hold"
    return Reply(["Hello"], silent="at all" if holds else "")


async def waiting_clients(server: Served, tasks: anyio.abc.TaskGroup, texts: str) -> list[anyio.abc.SocketStream]:
    """Clients that send as much of their bodies as they can, four sizes in turn."""
    before = server.api.context.service.gateway.limiter.waiting
    clients = [await server.connect() for _ in texts]

    async def send(client: anyio.abc.SocketStream, data: bytes) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it left
            await client.send(data)

    for number, (client, text) in enumerate(zip(clients, texts, strict=True)):
        tasks.start_soon(send, client, posted(body_of(text, BYTES[number % len(BYTES)])))
    await until(lambda: server.api.context.service.gateway.limiter.waiting == before + len(texts))
    return clients


async def test_a_client_that_leaves_while_it_waits_frees_its_place_at_once() -> None:
    with running_stub(reply_to) as stub:
        upstream = ModelServer(stub.url, 5)
        async with (
            served(upstream=upstream, limits={"max_in_flight": 1}) as server,
            anyio.create_task_group() as tasks,
        ):
            limiter, bodies = server.api.limiter, server.api.context.early_bodies
            holder = await server.connect()
            await holder.send(posted(body_of("hold")))
            await stub.wait_until_asked()
            leaving = await waiting_clients(server, tasks, "aaaa")
            staying = await waiting_clients(server, tasks, "bcde")
            leaving += await waiting_clients(server, tasks, "aaaa")
            await anyio.sleep(0.2)
            for client in leaving:
                await anyio.aclose_forcefully(client)
            await until(lambda: limiter.waiting == len(staying))
            assert server.api.limiter.in_flight == 1
            await holder.aclose()
            answers = [await received(client) for client in staying]
            await server.until_ended(1 + len(staying))
        await upstream.close()
    assert all(answer.startswith(b"HTTP/1.1 200 ") and b"[DONE]" in answer for answer in answers)
    assert stub.bodies == [body_of("hold"), *map(body_of, "bcde", BYTES)]
    assert server.api.limiter.ended == {WorkOutcome.LEFT: 1, WorkOutcome.OK: len(staying)}
    assert (limiter.waiting, bodies.reserved, server.api.limiter.in_flight) == (0, 0, 0)
