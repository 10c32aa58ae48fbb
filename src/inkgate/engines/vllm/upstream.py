"""The port to model servers: a call goes out as bytes, its answer comes back as bytes.

One server is a `ModelServer` (server.py); several are a stack of serving/ around them. Who asks can't tell which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, Self


def _nothing() -> None:
    """Does nothing."""


class ServedModelName(str):
    """The name of a model, as its server lists it.

    `max_model_len`: the most tokens of a prompt with its answer; None where the server doesn't say.
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
        body: JSON, as it is sent.
        path: below the server's address: `chat/completions`.
        prompt_tokens: what it takes of a server's KV cache before its answer: text and images.
        answer_tokens: the most that its answer may take; less where that is known from others.
        kind: calls of a kind have answers of about the same length (a preset's task on images of one size).
        key: of its content: calls with the same key go to the same server where that costs nothing, which then has
            their image at hand. Empty: its like will not come again.
        streams: whether its answer comes token by token.
        sent: is called when it goes to a server, each time that it does: what it waits before that isn't the server's.
    """

    body: bytes
    path: str = "chat/completions"
    prompt_tokens: int = 0
    answer_tokens: int = 0
    kind: str = ""
    key: bytes = b""
    streams: bool = True
    sent: Callable[[], None] = _nothing

    @property
    def tokens(self) -> int:
        """Of the KV cache, in all."""
        return self.prompt_tokens + self.answer_tokens


@dataclass(frozen=True, slots=True)
class ModelAnswer:
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
        """The names of the models that are served; a ServedModelName where more of a model is known.

        Raises:
            InputRejected, EngineFailed: no server is there that can say.
        """
        ...

    def send(self, call: ModelCall) -> AbstractAsyncContextManager[ModelAnswer]:
        """The answer to `call`, whatever its status. Leaving the block before its end drops the connection, on which
        vLLM stops generating. How long anything may take is for the caller to say, by a cancel scope.

        Raises:
            EngineFailed: "upstream_unreachable" on entering, "upstream_cut_off" while the chunks come.
        """
        ...

    async def close(self) -> None:
        """Drops all connections. Safe to call twice."""
        ...
