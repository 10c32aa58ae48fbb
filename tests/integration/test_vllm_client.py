"""The client of model servers: what is streamed, every way it goes wrong, and that leaving reaches the server."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute, SocketStream

from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.model_servers.client import ChatClient
from inkgate.model_servers.protocol import Delta, ServerTimeouts, TokenUsage
from inkgate.model_servers.server import ModelServer
from inkgate.model_servers.upstream import ModelCall
from support.stub_upstream import Reply, error_reply, running_stub

pytestmark = pytest.mark.anyio

PATIENT = ServerTimeouts(first_token=60, progress=60)
HASTY = {
    "at all": ServerTimeouts(first_token=0.3, progress=60),
    "after": ServerTimeouts(first_token=60, progress=0.3),
}
REQUEST: dict[str, object] = {"model": "stub-model", "messages": []}


@asynccontextmanager
async def client_of(url: str, patience: ServerTimeouts = PATIENT, api_key: str = "") -> AsyncIterator[ChatClient]:
    server = ModelServer(url, connect_s=10, api_key=api_key)
    try:
        yield ChatClient(server, patience)
    finally:
        await server.close()


async def answer(client: ChatClient) -> list[Delta]:
    async with client.stream(REQUEST) as deltas:
        return [delta async for delta in deltas]


async def failure(url: str, patience: ServerTimeouts = PATIENT) -> InkgateError:
    async with client_of(url, patience) as client:
        with pytest.raises(InkgateError) as failed:
            await answer(client)
    return failed.value


async def test_text_tokens_reason_and_cost_are_streamed() -> None:
    with running_stub(Reply(["Grüße", "\u2028\u0085 世", "界"], special=["</s>"])) as stub:
        async with client_of(stub.url + "/") as client:
            deltas = await answer(client)

    assert "".join(delta.text for delta in deltas) == "Grüße\u2028\u0085 世界"
    tokens = [token for delta in deltas for token in delta.tokens]
    assert [token.data.decode() for token in tokens] == ["Grüße", "\u2028\u0085 世", "界", "</s>"]
    assert {token.logprob for token in tokens} == {-0.1}
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["stop"]
    assert deltas[-1].usage == TokenUsage(7, 3)
    assert stub.seen == [{**REQUEST, "stream": True, "stream_options": {"include_usage": True}}]


@pytest.mark.parametrize("broken", ["end", "close"])
async def test_an_answer_with_its_reason_to_end_is_whole_whatever_comes_after(broken: str) -> None:
    with running_stub(Reply(["all"], broken=broken, broken_after_finish=True)) as stub:
        async with client_of(stub.url) as client:
            deltas = await answer(client)
    assert ("".join(delta.text for delta in deltas), deltas[-1].finish_reason) == ("all", "stop")


async def test_connections_are_used_again() -> None:
    with running_stub(Reply(["a"])) as stub:
        async with client_of(stub.url) as client:
            for _ in range(3):
                await answer(client)
    assert (len(stub.seen), len(stub.clients)) == (3, 1)


async def test_the_key_is_sent() -> None:
    with running_stub(Reply(["a"])) as stub:
        async with client_of(stub.url, api_key="secret") as client:
            assert await client.models() == ("stub-model",)
    assert stub.headers[0]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        (error_reply(400, "wrong at /srv/vllm/x.py"), "upstream_rejected", "refused the request (400)."),
        (error_reply(500, "CUDA error"), "upstream_failed", "failed (500)."),
        (error_reply(503, "queue full"), "upstream_busy", "is full (503)."),
        (error_reply(401, "Unauthorized"), "upstream_denied", "401"),
        (Reply(status=502, body=b"<html>", content_type="text/html"), "upstream_failed", "502"),
        (Reply(body=b"<html>hello</html>", content_type="text/html"), "upstream_garbled", "event stream"),
        (Reply(body=b"hello\n", content_type="text/event-stream"), "upstream_garbled", "event stream"),
        (Reply(body=b"data: {not json\n\n", content_type="text/event-stream"), "upstream_garbled", "event"),
        (Reply(body=b'data: {"choices": [7]}\n\n', content_type="text/event-stream"), "upstream_garbled", "event"),
        (Reply(body=b"data: " + b"x" * 5_000_000, content_type="text/event-stream"), "upstream_garbled", "too long"),
        (Reply(body=b"", content_type="text/event-stream"), "upstream_cut_off", "ended before it was complete"),
        (Reply(["half of it"], broken="end"), "upstream_cut_off", "ended before it was complete"),
        (Reply(["half of it"], broken="close"), "upstream_cut_off", "broke"),
        (
            Reply(
                body=b'data: {"error": {"message": "engine died", "code": 500}}\n\n', content_type="text/event-stream"
            ),
            "upstream_failed",
            "failed (500).",
        ),
    ],
)
async def test_every_fault_has_its_code(reply: Reply, code: str, said: str) -> None:
    with running_stub(reply) as stub:
        error = await failure(stub.url)
    assert (error.code, isinstance(error, InputRejected)) == (code, code == "upstream_rejected")
    assert said in error.detail


async def test_an_unknown_model_is_told_from_a_wrong_address() -> None:
    with running_stub(error_reply(404, "does not exist"), models=("one", "two")) as stub:
        unknown = await failure(stub.url)
        wrong = await failure(stub.url.removesuffix("/v1"))
    assert (unknown.code, "'one', 'two'" in unknown.detail) == ("model_unknown", True)
    assert (wrong.code, "/v1" in wrong.detail) == ("upstream_garbled", True)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    with running_stub(Reply()) as stub:
        gone = stub.url
    assert (await failure(gone)).code == "upstream_unreachable"
    async with client_of(gone) as client:
        with pytest.raises(EngineFailed, match="upstream_unreachable"):
            await client.models()


@pytest.mark.parametrize(("silent", "awaited"), [("at all", "first token"), ("after", "next token")])
async def test_silence_is_a_stall_and_the_server_is_left(silent: str, awaited: str) -> None:
    with running_stub(Reply(["begun"], silent=silent)) as stub:
        error = await failure(stub.url, HASTY[silent])
        await stub.wait_until_left()
    assert (error.code, awaited in error.detail) == ("upstream_stalled", True)


@pytest.mark.parametrize("silent", ["at all", "after"])
async def test_a_cancelled_request_reaches_the_server(silent: str) -> None:
    with running_stub(Reply(["begun"], silent=silent)) as stub:
        async with client_of(stub.url) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(answer, client)
            await stub.wait_until_asked()
            tasks.cancel_scope.cancel()
        await stub.wait_until_left()
    assert stub.at_once == 0


async def test_who_stops_listening_leaves_the_server() -> None:
    with running_stub(Reply(["la"], endless=True)) as stub:
        async with client_of(stub.url) as client:
            async with client.stream(REQUEST) as deltas:
                async for delta in deltas:
                    if delta.text:
                        break
            await stub.wait_until_left()
            assert math.isclose(delta.tokens[0].logprob, -0.1)


@asynccontextmanager
async def begins_an_answer() -> AsyncIterator[str]:
    """A model server in this event loop, by its address: it sends the head and the first byte of each answer."""

    async def begin(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await stream.receive()
                await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
                await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, begin)
        yield f"http://127.0.0.1:{listener.extra_attributes[SocketAttribute.local_port]()}/v1"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["models", "send", "readings"])
async def test_who_reads_when_all_is_closed_hears_of_it_at_once(how: str) -> None:
    """Whenever that is: while it connects, waits for the head, has been woken by it, or reads on."""

    async def ask(server: ModelServer) -> None:
        try:
            if how == "send":
                async with server.send(ModelCall(b"{}")) as answer:
                    _ = [chunk async for chunk in answer.chunks]
            else:
                assert await getattr(server, how)() is None, "a list of models can't have come"
                ended.append("nothing is known")
        except EngineFailed as error:
            ended.append(error.code)

    ended: list[str] = []
    async with begins_an_answer() as url:
        for turns in range(20):
            server = ModelServer(url, connect_s=10)
            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(ask, server)
                    for _ in range(turns):
                        await anyio.lowlevel.checkpoint()
                    await server.close()
    expected = {
        "models": {"upstream_unreachable"},
        "send": {"upstream_unreachable", "upstream_cut_off"},
        "readings": {"nothing is known"},
    }
    assert len(ended) == 20
    assert set(ended) == expected[how]
