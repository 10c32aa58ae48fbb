"""A minimal proxy in Python: copies bytes both ways between two sockets without parsing them.

python -m benchmarks.byte_proxy PORT UPSTREAM_PORT
"""

from __future__ import annotations

import asyncio
import sys

import uvloop


class Side(asyncio.Protocol):
    """One end of a pair. Buffers data until the other end is connected."""

    def __init__(self, other: Side | None = None) -> None:
        self.other = other
        self.transport: asyncio.Transport | None = None
        self.kept: list[bytes] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP: it can write
        self.transport = transport
        if self.other is None:
            other = self.other = Side(self)
            self.connecting = asyncio.ensure_future(
                asyncio.get_running_loop().create_connection(lambda: other, "127.0.0.1", int(sys.argv[2]))
            )
        elif self.other.kept:
            transport.write(b"".join(self.other.kept))
            self.other.kept.clear()

    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        if self.other.transport is None:
            self.kept.append(data)
        else:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Side, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
