"""The port to model servers: sends a call as bytes, and receives its answer as bytes.

One server is a `ModelServer` (server.py), several are a `BalancedUpstream` (balancer.py). Callers use both the same
way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, Self

from inkgate.caller import NO_CALLER, Caller
from inkgate.model_servers.metrics import ServerReading


def _nothing() -> None:
    """Does nothing."""


class ServedModelName(str):
    """A model's name, as its server lists it.

    `max_model_len`: maximum tokens of a prompt with its answer; None if the server does not report it.
    """

    __slots__ = ("max_model_len",)
    max_model_len: int | None

    def __new__(cls, name: str, max_model_len: int | None = None) -> Self:
        model = super().__new__(cls, name)
        model.max_model_len = max_model_len
        return model


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model server.

    Attributes:
        body: JSON, as sent.
        path: below the server's address: `chat/completions`.
        prompt_tokens: tokens of the prompt in the server's KV cache: text and images.
        answer_tokens: maximum tokens of its answer; lower if known from other answers.
        kind: calls of the same kind have answers of similar length (a preset's task on images of one size).
        key: of its content: calls with the same key go to the same server, which has cached their image, if that costs
            nothing. Empty: the content will not be sent again.
        caller: on whose behalf it is made.
        content: the content key of the page that it reads; empty if it reads none.
        sent: called each time the call is sent to a server: the wait before that is not the server's time.
    """

    body: bytes
    path: str = "chat/completions"
    prompt_tokens: int = 0
    answer_tokens: int = 0
    kind: str = ""
    key: bytes = b""
    caller: Caller = NO_CALLER
    content: bytes = b""
    sent: Callable[[], None] = _nothing

    @property
    def tokens(self) -> int:
        """Tokens of the KV cache, in all."""
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A server's answer. Iterate `chunks` once, within the block of `send`."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    @property
    def failed(self) -> bool:
        """Whether the server is at fault. 503 does not count: a full server is healthy."""
        return self.status >= 500 and self.status != 503


class Upstream(Protocol):
    """One model server, or several behind one address. Used from one event loop by many tasks at once."""

    async def models(self) -> tuple[str, ...]:
        """The names of the served models; a ServedModelName if more is known of a model.

        Raises:
            InputRejected, EngineFailed: no server could list its models.
        """
        ...

    def send(self, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        """The answer to `call`, whatever its status. Leaving the block early drops the connection; vLLM then stops
        generating. The caller sets timeouts, by a cancel scope.

        Raises:
            EngineFailed: "upstream_unreachable" on entering, "upstream_cut_off" while reading the chunks.
        """
        ...

    async def close(self) -> None:
        """Drops all connections. Safe to call twice."""
        ...


class Server(Upstream, Protocol):
    """An Upstream that can be probed."""

    @property
    def base_url(self) -> str: ...

    async def probe(self) -> None:
        """Returns once the server has read a small image. Raises InkgateError."""
        ...

    async def readings(self) -> ServerReading | None:
        """The server's own metrics; None if it exports none."""
        ...
