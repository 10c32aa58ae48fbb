"""Object stores whose answers break off, never come, or make no sense."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from pydantic import SecretStr

from inkgate.errors import EngineFailed
from inkgate.settings import StorageSettings
from inkgate.storage.objects import Objects

pytestmark = pytest.mark.anyio

HEAD = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: "x"\r\nLast-Modified: Mon, 23 Nov 2026 17:00:00 GMT\r\n\r\n'


@asynccontextmanager
async def store_that_answers(answer: bytes, *, hang: bool = False) -> AsyncIterator[Objects]:
    """Objects at a server that answers each request with `answer`, and then closes the connection or hangs."""

    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            await stream.send(answer)
            if hang:
                await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, talk)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - not Django's
        options = {"endpoint": f"http://127.0.0.1:{port}", "access_key_id": "a", "secret_access_key": "b"}
        secret = {key: SecretStr(value) for key, value in options.items()}
        yield Objects(StorageSettings(options={"s3://": secret}, timeout_s=0.5 if hang else 20))
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (b"", "The object store can't be reached."),
        (b"nonsense\r\n\r\n", "The object store can't be reached."),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "The object store answered with status 500."),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx", "The object store failed, or its answer broke off."),
        (HEAD % 1000 + b"x", "The object store failed, or its answer broke off."),
    ],
    ids=["nothing", "nonsense", "error", "no-length", "broken-off"],
)
async def test_answers_that_are_no_object(answer: bytes, detail: str) -> None:
    async with store_that_answers(answer) as store:
        with pytest.raises(EngineFailed) as raised:
            await store.get("s3://bucket/a", max_bytes=5000)
    assert (raised.value.code, raised.value.detail) == ("source_unreachable", detail)


async def test_a_body_that_stops_is_given_up() -> None:
    async with store_that_answers(HEAD % 1000 + b"x", hang=True) as store:
        with pytest.raises(EngineFailed) as raised:
            await store.get("s3://bucket/a", max_bytes=5000)
    assert raised.value.code == "source_unreachable"


async def test_a_whole_body_is_read() -> None:
    async with store_that_answers(HEAD % 4 + b"scan") as store:
        assert await store.get("s3://bucket/a", etag="x", max_bytes=4) == b"scan"
