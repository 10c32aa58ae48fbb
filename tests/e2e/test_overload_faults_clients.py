"""Clients that leave, and clients that hold on to what they have, among others who just want their answers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import ByteStream
from anyio.from_thread import start_blocking_portal

from support.faulted import AT_ONCE, BORNE, faulted, logged, until
from support.load import Asked, open_loop, under_load
from support.numbered_model import ModelProcess, model_process
from support.server import Server

pytestmark = pytest.mark.timing

RATE = 20.0
FOR_S = 6.0
LEAVERS = 300
SLOW_LORISES = 500
FULL_S = 1.5
"""So long they have the house to themselves."""
ROOM = {"INKGATE_LIMITS__MAX_IN_FLIGHT": str(2 * LEAVERS)}
"""For all who leave, of whom a slow machine hears late: nobody need be refused for them."""
THEIRS = "127.0.0.66"
BUSY = {"service_full", "share_exceeded"}


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with model_process() as running:
        yield running


async def connected(url: str) -> ByteStream:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return await anyio.connect_tcp(parts.hostname, parts.port, local_host=THEIRS)


async def leaves(url: str, number: int) -> None:
    """One that leaves: within its body, while it waits, or within its answer."""
    asked = Asked("stream" if number % 3 == 2 else "page", number).bytes()
    await anyio.sleep(number % LEAVERS * FOR_S / LEAVERS)
    async with await connected(url) as stream:
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            match number % 3:
                case 0:
                    await stream.send(asked[: len(asked) // 2])
                case 1:
                    await stream.send(asked)
                case _:
                    await stream.send(asked)
                    await stream.receive()


def test_hundreds_of_clients_that_leave(model: ModelProcess) -> None:
    model.tell(pause_s="0.03")
    with faulted(model.url, **ROOM) as server:

        async def all_leave() -> None:
            async with anyio.create_task_group() as tasks:
                for number in range(LEAVERS):
                    tasks.start_soon(leaves, server.url, 30_000 + number)

        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=9), beside=all_leave, at_once=BORNE)
        assert set(outcomes) <= {"right", *BUSY}, outcomes
        assert outcomes["right"] >= 0.9 * outcomes.total(), outcomes
        left = [line for line in logged(server, "request") if line["status"] == 499]
        assert len(left) > LEAVERS / 3


async def holds_on(url: str) -> None:
    """Sends a byte of its body now and then, for as long as it is let."""
    head = b"POST /ocr HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n"
    async with await connected(url) as stream:
        with contextlib.suppress(anyio.BrokenResourceError):
            await stream.send(head)
            while True:
                await stream.send(b"{")
                await anyio.sleep(1)


async def all_hold_on(url: str) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(SLOW_LORISES):
            tasks.start_soon(holds_on, url)


def refused(server: Server) -> int:
    """How many of theirs were sent away."""
    return sum(line.get("caller") == f"address:{THEIRS}" for line in logged(server, "request"))


def test_five_hundred_slow_lorises_who_fill_the_house_keep_nobody_out(model: ModelProcess) -> None:
    with faulted(model.url) as server, start_blocking_portal() as portal:
        lorises = portal.start_task_soon(all_hold_on, server.url)
        until(lambda: refused(server) >= SLOW_LORISES - AT_ONCE)  # the others fill the house
        time.sleep(FULL_S)
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=10), at_once=BORNE)
        lorises.cancel()
        assert set(outcomes) <= {"right", *BUSY}, outcomes
        assert outcomes["right"] >= 0.8 * outcomes.total(), outcomes
