"""A model server with scripted responses: a real HTTP server on loopback, in a thread, that speaks vLLM's protocol."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import cv2
import numpy as np
import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from inkgate.page import RgbArray

Request = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """The response to a chat completion.

    Attributes:
        tokens: of the text, one event each, all with `logprob`.
        special: tokens that occur only in the log-probabilities.
        status, body: a status other than 200 is sent with `body`; so is 200 if `body` is set.
        pause_s: before each token.
        endless: repeats the last token until the client disconnects.
        silent: sends nothing until the client disconnects. `after`: after the tokens.
        broken: "end" ends the stream early but well-formed, "close" closes the connection within it; before its finish
            reason, or after it.
    """

    tokens: Sequence[str] = ()
    finish: str | None = "stop"
    logprob: float = -0.1
    special: Sequence[str] = ()
    status: int = 200
    body: bytes | None = None
    content_type: str = "application/json"
    pause_s: float = 0.0
    endless: bool = False
    silent: str = ""
    broken: str = ""
    broken_after_finish: bool = False


def error_reply(status: int, message: str) -> Reply:
    """An error as vLLM words it."""
    return Reply(status=status, body=json.dumps({"error": {"message": message, "code": status}}).encode())


Script = Callable[[Request], Reply]


@dataclass
class StubUpstream:
    """The server's behaviour, and its requests.

    Attributes:
        described: additional fields of each model in /v1/models.
        seen, bodies: requests, in order, and their bytes.
        left: clients that disconnected before the end.
        metrics: the content of /metrics, with status 200; if empty, there is no such path.
    """

    script: Script
    models: Sequence[str] = ("stub-model",)
    models_status: int = 200
    metrics: bytes = b""
    described: dict[str, object] = field(default_factory=dict)
    url: str = ""
    seen: list[Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    clients: set[tuple[str, int]] = field(default_factory=set)
    left: int = 0
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        assert scope["client"] is not None
        self.clients.add(scope["client"])
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        if scope["path"] == "/v1/models":
            listed = [{"id": name} | self.described for name in self.models]
            body = json.dumps({"object": "list", "data": listed}).encode()
            await _whole(send, self.models_status, body, "application/json")
        elif scope["path"] == "/v1/chat/completions":
            self.bodies.append(await _body(receive))
            request: Request = json.loads(self.bodies[-1])
            self.seen.append(request)
            reply = self.script(request)
            if not request.get("stream") and reply.body is None and not reply.silent:
                reply = replace(reply, body=_completion(reply, request.get("model")))
            await self._answered(reply, request.get("stream_options") or {}, receive, send)
        elif scope["path"] == "/metrics" and self.metrics:
            await _whole(send, 200, self.metrics, "text/plain; version=0.0.4; charset=utf-8")
        else:
            await _whole(send, 404, b'{"detail": "Not Found"}', "application/json")

    async def _answered(
        self, reply: Reply, options: dict[str, Any], receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        if reply.body is not None:
            await _whole(send, reply.status, reply.body, reply.content_type)
            return
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        answered = False
        try:
            async with anyio.create_task_group() as tasks:

                async def until_left() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    self.left += not answered
                    tasks.cancel_scope.cancel()

                tasks.start_soon(until_left)
                await _streamed(reply, options, send)
                answered = True
                tasks.cancel_scope.cancel()
        finally:
            self.at_once -= 1
        if reply.broken == "close":
            raise ConnectionAbortedError("as told")

    async def wait_until_left(self, count: int = 1) -> None:
        """Returns once `count` clients have disconnected."""
        await self._wait(lambda: self.left >= count)

    async def wait_until_asked(self) -> None:
        """Returns once a client is being served."""
        await self._wait(lambda: self.at_once > 0)

    async def _wait(self, happened: Callable[[], bool]) -> None:
        with anyio.fail_after(60):
            while not happened():  # noqa: ASYNC110 - it happens in the server's thread, on another loop
                await anyio.sleep(0.005)


async def _body(receive: ASGIReceiveCallable) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += message["body"]
        if not message["more_body"]:
            return body


async def _whole(send: ASGISendCallable, status: int, body: bytes, content_type: str) -> None:
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _streamed(reply: Reply, options: dict[str, Any], send: ASGISendCallable) -> None:
    if reply.silent == "at all":
        await anyio.sleep_forever()
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
    async for event in _events(reply, usage=options.get("include_usage", False)):
        await send({"type": "http.response.body", "body": event, "more_body": True})
    if reply.silent:
        await anyio.sleep_forever()
    if reply.broken != "close":
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _events(reply: Reply, *, usage: bool) -> AsyncIterator[bytes]:
    yield _event({"role": "assistant", "content": ""}, [])
    for token in reply.tokens:
        if reply.pause_s:
            await anyio.sleep(reply.pause_s)
        yield _event({"content": token}, [_logprob(token, reply.logprob)])
    while reply.endless:
        await anyio.sleep(0.001)  # to notice that the client disconnected
        for token in 20 * [reply.tokens[-1]]:
            yield _event({"content": token}, [_logprob(token, reply.logprob)])
    if reply.silent or (reply.broken and not reply.broken_after_finish):
        return
    yield _event({"content": ""}, [_logprob(token, reply.logprob) for token in reply.special], reply.finish)
    if reply.broken:
        return
    if usage:
        used = {"prompt_tokens": 7, "completion_tokens": len(reply.tokens)}
        yield _data({"object": "chat.completion.chunk", "choices": [], "usage": used})
    yield b"data: [DONE]\n\n"


def _completion(reply: Reply, model: object) -> bytes:
    """The response to a request without `stream`."""
    message = {"role": "assistant", "content": "".join(reply.tokens)}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
    usage = {"prompt_tokens": 7, "completion_tokens": len(reply.tokens), "total_tokens": 7 + len(reply.tokens)}
    return json.dumps(about | {"choices": [choice], "usage": usage}, ensure_ascii=False).encode()


def _event(delta: dict[str, str], logprobs: list[dict[str, object]], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": {"content": logprobs}, "finish_reason": finish}
    return _data({"object": "chat.completion.chunk", "choices": [choice]})


def _data(event: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def _logprob(token: str, logprob: float) -> dict[str, object]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": []}


@contextmanager
def running_stub(
    script: Script | Reply, models: Sequence[str] = ("stub-model",), models_status: int = 200, port: int = 0
) -> Iterator[StubUpstream]:
    """A listening stub. `script` returns the Reply to every request; port 0 is any free one."""
    reply = script
    stub = StubUpstream((lambda _: reply) if isinstance(reply, Reply) else reply, models, models_status)
    config = uvicorn.Config(
        stub, port=port, log_level="critical", lifespan="off", ws="none", loop="asyncio", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            thread.join(0.005)
        stub.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
        yield stub
    finally:
        server.should_exit = True
        thread.join(10)


def image_of(request: Request) -> RgbArray:
    """The pixels in a request."""
    (user,) = [message for message in request["messages"] if message["role"] == "user"]
    (url,) = [part["image_url"]["url"] for part in user["content"] if part["type"] == "image_url"]
    data = np.frombuffer(base64.b64decode(url.partition(",")[2]), np.uint8)
    pixels = cv2.imdecode(data, cv2.IMREAD_COLOR)
    assert pixels is not None
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def prompt_of(request: Request) -> str:
    """The prompt in a request."""
    (text,) = [part["text"] for part in request["messages"][-1]["content"] if part["type"] == "text"]
    return str(text)


def words_as_tokens(text: str) -> list[str]:
    """The text in pieces as from a tokenizer: each word with the space before it."""
    pieces = text.split(" ")
    return [pieces[0], *(f" {piece}" for piece in pieces[1:])]


def most_alike(seen: RgbArray, known: Sequence[RgbArray]) -> int:
    """Index of the `known` page that `seen` was made from."""
    shape = (64, 64)
    thumb = cv2.resize(seen, shape, interpolation=cv2.INTER_AREA).astype(np.float32)
    apart = [
        np.abs(cv2.resize(page, shape, interpolation=cv2.INTER_AREA).astype(np.float32) - thumb).mean()
        for page in known
    ]
    return int(np.argmin(apart))
