"""A stub of a model server or OCR service, which costs little itself: for measuring gateways and load generators.

    python -m benchmarks.stub_server PORT [--echo] [--delay-ms N] [--slots N]

A chat completion returns a fixed text; with `--echo`, it returns the request's field `user`, and streams it if the
request has `stream`. /models lists one model. Any other path returns a text. `--delay-ms`: response times are uniformly
distributed between N and 2 N ms, so that distributions can be compared. Without `--echo`, bodies are not looked at.
With `--slots`, N requests at a time take exactly the delay, and others wait.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
from typing import ClassVar

import httptools
import uvloop

TEXT = "Invoice number 20417"
_LENGTH = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n"


def response(body: object, kind: str = "application/json") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _LENGTH.format(kind, len(data)).encode() + data


def completion(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    head = {"id": "chatcmpl-stub", "object": "chat.completion", "created": 0, "model": "stub-model"}
    return response({**head, "choices": [choice], "usage": usage})


def echo(request: bytes) -> bytes:
    """The request's field `user`, as a completion or a stream of one event."""
    asked = json.loads(request)
    if not asked.get("stream"):
        return completion(asked.get("user", TEXT))
    step = {"index": 0, "delta": {"content": asked.get("user", TEXT)}, "finish_reason": "stop"}
    event = json.dumps({"object": "chat.completion.chunk", "choices": [step]})
    return response(f"data: {event}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")


COMPLETION, SIMPLE = completion(TEXT), response({"text": TEXT})
MODELS = response({"object": "list", "data": [{"id": "stub-model", "object": "model", "owned_by": "stub"}]})


class Connection(asyncio.Protocol):
    """One client with consecutive requests."""

    served = 0
    free_at: ClassVar[list[float]] = []
    """When each slot is free, in the time of the event loop: a heap. Empty: there are as many as requests."""

    def __init__(self, *, echoes: bool, delay_ms: int) -> None:
        self.echoes = echoes
        self.delay_ms = delay_ms

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP: it can write
        self.transport = transport
        self.path = b""
        self.body: list[bytes] = []
        if self.echoes:
            self.on_body = self.body.append
        self.parser = httptools.HttpRequestParser(self)  # it looks up the methods above and below

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.path = url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_message_complete(self) -> None:
        answer = SIMPLE
        if self.path.endswith(b"/chat/completions"):
            answer = echo(b"".join(self.body)) if self.echoes else COMPLETION
        elif self.path.endswith(b"/models"):
            answer = MODELS
        self.body.clear()
        Connection.served += 1
        if Connection.free_at and self.path.endswith(b"/chat/completions"):
            loop = asyncio.get_running_loop()
            done_at = max(loop.time(), Connection.free_at[0]) + self.delay_ms / 1000
            heapq.heapreplace(Connection.free_at, done_at)
            loop.call_at(done_at, self.write, answer)
        elif self.delay_ms:
            after_ms = self.delay_ms * (1 + Connection.served * 37 % 101 / 100)
            asyncio.get_running_loop().call_later(after_ms / 1000, self.write, answer)
        else:
            self.write(answer)

    def write(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)


async def serve(port: int, *, echoes: bool, delay_ms: int) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(echoes=echoes, delay_ms=delay_ms), "127.0.0.1", port, backlog=1024
    )
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--echo", action="store_true")
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--slots", type=int, default=0)
    asked = parser.parse_args()
    Connection.free_at += [0.0] * asked.slots
    uvloop.run(serve(asked.port, echoes=asked.echo, delay_ms=asked.delay_ms))


if __name__ == "__main__":
    main()
