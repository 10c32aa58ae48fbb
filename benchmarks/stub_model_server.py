"""A stub model server: reads the request and returns a fixed chat completion. For measuring gateways in front of it.

python benchmarks/stub_model_server.py PORT
"""

from __future__ import annotations

import asyncio
import json
import sys

import httptools
import uvloop

ANSWER = json.dumps(
    {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub-model",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Invoice number 20417"}}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
    }
).encode()
MODELS = json.dumps({"object": "list", "data": [{"id": "stub-model", "object": "model", "owned_by": "stub"}]}).encode()


def response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


CHAT_RESPONSE, LIST_RESPONSE, HEALTH_RESPONSE = response(ANSWER), response(MODELS), response(b"{}")


class Connection(asyncio.Protocol):
    """One client with consecutive requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP: it can write
        self.transport = transport
        self.parser = httptools.HttpRequestParser(self)
        self.path = b""

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.path = url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_message_complete(self) -> None:
        if self.path.endswith(b"/chat/completions"):
            self.transport.write(CHAT_RESPONSE)
        elif self.path.endswith(b"/models"):
            self.transport.write(LIST_RESPONSE)
        else:
            self.transport.write(HEALTH_RESPONSE)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
