"""A service that gives every request the same response, for measuring load generators.

python benchmarks/swallow.py PORT MILLISECONDS

Requests of a connection are consecutive and state their length; bodies are ignored. Response times are uniformly
distributed between MILLISECONDS and twice that, so that distributions can be compared; 0: no delay.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

import uvloop

BODY = json.dumps({"text": "Invoice number 20417"}).encode()
ANSWER = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY
LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """One client."""

    served = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP: it can write
        self.transport = transport
        self.head = b""
        self.missing = 0

    def data_received(self, data: bytes) -> None:
        if self.missing:
            self.missing -= len(data)
        else:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            length = LENGTH.search(self.head, 0, end)
            body = len(self.head) - end - 4
            self.missing = (int(length[1]) if length else 0) - body
            self.head = b""
        if self.missing <= 0:
            self.missing = 0
            self.answer()

    def answer(self) -> None:
        Connection.served += 1
        after_ms = int(sys.argv[2]) * (1 + Connection.served * 37 % 101 / 100)
        if after_ms:
            asyncio.get_running_loop().call_later(after_ms / 1000, self.write)
        else:
            self.write()

    def write(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(ANSWER)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
