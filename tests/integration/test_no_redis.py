"""A server at Redis's address that is not Redis, or broken, costs cache hits and rate limits, but no response."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from inkgate.storage.redis import RedisStore
from support.api_client import png, running_api

pytestmark = pytest.mark.anyio

ANSWERS = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "nothing": b"",
    "no number": b":abc\r\n",
    "no length": b"$abc\r\n",
    "negative length": b"$-5\r\n",
    "nested without end": 5000 * b"*1\r\n",
    "no float": b",1.x\r\n",
    "moved nowhere": b"-MOVED\r\n",
    "another type": b"*1\r\n+a\r\n",
}


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """The address of a server that gives this answer to whatever it receives; it hangs up where that is empty."""

    async def serve(client: SocketStream) -> None:
        async with client:
            async for _ in client:
                if not answer:
                    return
                await client.send(answer)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - it is no Django
        yield f"redis://127.0.0.1:{port}"
        tasks.cancel_scope.cancel()


async def test_requests_pass_that_can_not_be_counted() -> None:
    statuses = set()
    for name, answer in ANSWERS.items():
        async with (
            answering(answer) as url,
            running_api(rate_limit={"per_key": "100/minute", "storage_url": url}) as api,
        ):
            answers = [await api.client.post("/ocr", files={"file": png()}) for _ in range(2)]
        statuses |= {(name, answer.status_code) for answer in answers}
    assert statuses == {(name, 200) for name in ANSWERS}


async def test_the_cache_takes_such_answers_for_a_redis_that_is_not_there() -> None:
    wrong = {}
    for name, answer in ANSWERS.items():
        async with answering(answer) as url:
            store = RedisStore(url)
            try:
                found = await store.get(b"key")
            except OSError:
                found = None
            except Exception as error:  # noqa: BLE001 - what must not come
                found = repr(error).encode()
            if found is not None:
                wrong[name] = found
            await store.close()
    assert wrong == {}
