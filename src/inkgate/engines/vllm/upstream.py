"""The port to model servers: a call goes out as bytes, its answer comes back as bytes.

One server is a `ModelServer` (server.py); several are a stack of serving/ around them. Who asks can't tell which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a model server.

    Attributes:
        body: JSON, as it is sent.
        path: below the server's address: `chat/completions`.
        tokens: what it may take of a server's KV cache: prompt, image and answer; an estimate.
        key: of its content: calls with the same key go to the same server where that costs nothing, which then has
            their image at hand. Empty: its like will not come again.
    """

    body: bytes
    path: str = "chat/completions"
    tokens: int = 0
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answers. `chunks` is to be iterated once, within the block that `send` gives it in."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    @property
    def failed(self) -> bool:
        """Whether the server is at fault. 503 is none: a server that is full is well."""
        return self.status >= 500 and self.status != 503


class Upstream(Protocol):
    """One model server, or several behind one name. Used from one event loop by many tasks at once."""

    async def models(self) -> tuple[str, ...]:
        """The names of the models that are served.

        Raises:
            InputRejected, EngineFailed: no server is there that can say.
        """
        ...

    def send(self, call: Call) -> AbstractAsyncContextManager[Answer]:
        """The answer to `call`, whatever its status. Leaving the block before its end drops the connection, on which
        vLLM stops generating. How long anything may take is for the caller to say, by a cancel scope.

        Raises:
            EngineFailed: "upstream_unreachable" on entering, "upstream_cut_off" while the chunks come.
        """
        ...

    async def close(self) -> None:
        """Drops all connections. Safe to call twice."""
        ...
