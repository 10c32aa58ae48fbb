"""Client for streaming chat completions from a model server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace

import orjson

from inkgate.errors import EngineFailed, InkgateError
from inkgate.model_servers.protocol import (
    Delta,
    EventLines,
    ServerTimeouts,
    TokenDeadline,
    cut_off_error,
    delta_of,
    error_body,
    garbled_error,
    is_stream,
)
from inkgate.model_servers.refusals import upstream_error
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, Upstream

UNKNOWN = ModelCall(b"")
"""Metadata of a call about which nothing else is known."""


def stream_body(request: Mapping[str, object]) -> bytes:
    """The JSON of a request whose answer is streamed. With a page's image, it takes a millisecond."""
    return orjson.dumps({**request, "stream": True, "stream_options": {"include_usage": True}})


class ChatClient:
    """Requests chat completions from an Upstream. Used from one event loop by many tasks at once."""

    def __init__(self, upstream: Upstream, timeouts: ServerTimeouts) -> None:
        self._upstream = upstream
        self._timeouts = timeouts

    async def models(self) -> tuple[str, ...]:
        return await self._upstream.models()

    @asynccontextmanager
    async def stream(
        self, request: Mapping[str, object], about: ModelCall = UNKNOWN
    ) -> AsyncIterator[AsyncGenerator[Delta, None]]:
        """The deltas of the answer to `request`, a chat completion without `stream`. Iterate them once.

        `about`: the call's metadata; its body, if it has one, is the `stream_body` of the request. Leaving the block
        early closes the connection; vLLM then stops generating. The iterator ends normally only after a complete
        answer; otherwise it raises.

        Raises:
            InputRejected: "upstream_rejected": the server refuses the request.
            EngineFailed: the server is unreachable, fails, stalls, closes the connection, or sends an invalid response.
        """
        body = about.body or stream_body(request)
        due = TokenDeadline(self._timeouts)
        async with AsyncExitStack() as stack:
            with due.scope() as scope:
                answer = await stack.enter_async_context(self._upstream.send(replace(about, body=body, sent=due.sent)))
            if scope.cancelled_caught:
                raise due.stalled_error()
            if answer.status != 200:
                raise await self._refusal(answer, str(request.get("model", "")), due)
            if not is_stream(answer):
                raise garbled_error("The model server's response is not an event stream.")
            yield await stack.enter_async_context(aclosing(_deltas(answer, due)))

    async def _refusal(self, answer: ModelAnswer, model: str, due: TokenDeadline) -> InkgateError:
        """The error for a status other than 200."""
        body = b""
        with due.scope():
            body = await error_body(answer)
        if answer.status != 404:
            return upstream_error(answer.status, body)
        served = await self.models()
        return upstream_error(404, body) if model in served else model_unknown_error(model, served)


async def _deltas(answer: ModelAnswer, due: TokenDeadline) -> AsyncGenerator[Delta, None]:
    lines = EventLines()
    started = whole = False
    while True:
        with due.scope() as scope:
            chunk = await _next(answer.chunks, whole=whole)
        if scope.cancelled_caught:
            raise due.stalled_error()
        if chunk is None:
            break
        # Read on after [DONE], too: only a connection that was read to its end is reused.
        for payload in lines.payloads(chunk):
            delta = delta_of(payload)
            started = started or bool(delta.text or delta.tokens)
            whole = whole or delta.finish_reason is not None
            if started:
                due.progressed()
            yield delta
    if not whole:
        raise cut_off_error()


async def _next(chunks: AsyncIterator[bytes], *, whole: bool) -> bytes | None:
    """The next bytes; None at the end. `whole`: the answer is complete, so that a broken connection counts as the end.

    Raises:
        EngineFailed: "upstream_cut_off": the connection broke before that.
    """
    try:
        return await anext(chunks, None)
    except EngineFailed:
        if whole:
            return None
        raise


def model_unknown_error(model: str, served: tuple[str, ...]) -> EngineFailed:
    """The error if the server does not serve `model`; lists the models it serves."""
    names = ", ".join(repr(name) for name in served[:8]) or "none"
    return EngineFailed("model_unknown", f"The model server has no model {model!r}; it has {names}.")
