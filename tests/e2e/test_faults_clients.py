"""Clients that leave, hold on to what they have, or send what keeps others out, among others who want their answers."""

from __future__ import annotations

import contextlib
import json
import socket
from contextlib import ExitStack

import anyio
import httpx
from anyio.abc import ByteStream
from anyio.from_thread import start_blocking_portal

from support.load import BUSY, RIGHT, NumberedRequest
from support.numbered_model import LONG, ModelProcess
from support.scenario import SLOTS, FaultWindow, ServiceUnderLoad
from support.server import Server
from support.waiting import AT_MOST_S, until

LEAVERS = 300
LEAVERS_AT_ONCE = 10
SLOW_SENDERS = 500
THEIRS = "127.0.0.66"


async def connected(url: str) -> ByteStream:
    address = httpx.URL(url)
    assert address.port is not None
    return await anyio.connect_tcp(address.host, address.port, local_host=THEIRS)


async def leave(url: str, number: int) -> None:
    """Leaves within its body, while it waits, or within its answer."""
    sent = NumberedRequest("stream" if number % 3 == 2 else "page", number).encoded()
    async with await connected(url) as stream:
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await stream.send(sent[: len(sent) // 2] if number % 3 == 0 else sent)
            if number % 3 == 2:
                await stream.receive()


def test_hundreds_of_clients_that_leave(service: ServiceUnderLoad, model: ModelProcess) -> None:
    async def all_leave(url: str) -> None:
        places = anyio.Semaphore(LEAVERS_AT_ONCE)

        async def one(number: int) -> None:
            async with places:
                await leave(url, number)

        async with anyio.create_task_group() as tasks:
            for number in range(50_000, 50_000 + LEAVERS):
                tasks.start_soon(one, number)

    with service.fault(*BUSY) as window:
        model.behave(pause_s="0.03")
        anyio.run(all_leave, service.server.url)
        until(lambda: gone(window) > LEAVERS / 3, lambda: f"{gone(window)} of {LEAVERS} left in the log")
        assert window.metric("http_requests_total", status="499") >= LEAVERS / 3
        model.behave()


def gone(window: FaultWindow) -> int:
    """Clients that left before the end of their answer."""
    return sum(line["status"] == 499 for line in window.logged("request"))


async def send_slowly(url: str) -> None:
    """Sends a byte of its body now and then, for as long as it can."""
    head = b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
    async with await connected(url) as stream:
        with contextlib.suppress(anyio.BrokenResourceError):
            await stream.send(head)
            while True:
                await stream.send(b"{")
                await anyio.sleep(0.5)


async def all_send_slowly(url: str) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(SLOW_SENDERS):
            tasks.start_soon(send_slowly, url)


def test_hundreds_of_slow_senders_keep_nobody_out(service: ServiceUnderLoad) -> None:
    with service.fault(*BUSY) as window, start_blocking_portal() as portal:
        window.pause_load()  # so that they take every slot
        senders = portal.start_task_soon(all_send_slowly, service.server.url)
        until(lambda: turned_away(window) >= SLOW_SENDERS - SLOTS, lambda: f"{turned_away(window)} senders turned away")
        window.resume_load()
        window.until_answered(RIGHT, times=60)
        window.until_metric("inkgate_refusals_total", lambda value: value > 0, reason="share_exceeded")
        senders.cancel()


def turned_away(window: FaultWindow) -> int:
    """Slow senders that got a response."""
    return sum(line.get("caller") == f"address:{THEIRS}" for line in window.logged("request"))


def test_clients_that_read_nothing_give_their_slots_back(service: ServiceUnderLoad) -> None:
    """As many as there are slots, each with an answer larger than the buffers of its connection."""
    body = json.dumps({"messages": [{"role": "user", "content": LONG}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    request = f"{head}Content-Type: application/json\r\n\r\n".encode() + body
    with service.fault(*BUSY) as window, ExitStack() as stack:
        for _ in range(SLOTS):
            client = stack.enter_context(connect(service.server))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(request)
        until(lambda: cut_off(window) + turned_away(window) >= SLOTS, lambda: f"{cut_off(window)} cut off")
        assert cut_off(window) >= SLOTS / 4  # the others were refused
        assert httpx.get(f"{service.server.url}/livez", timeout=AT_MOST_S, trust_env=False).status_code == 200


def cut_off(window: FaultWindow) -> int:
    return len(window.logged("client_reads_too_little"))


def connect(server: Server) -> socket.socket:
    url = httpx.URL(server.url)
    assert url.port is not None
    return socket.create_connection((url.host, url.port), timeout=AT_MOST_S, source_address=(THEIRS, 0))
