"""Client for streaming chat completions from a model server."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import orjson

from inkgate.engines.vllm.refusals import upstream_error
from inkgate.engines.vllm.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.engines.vllm.wire import Delta, EventLines, delta_of, garbled_error
from inkgate.errors import EngineFailed, InkgateError

UNKNOWN = ModelCall(b"")
"""Metadata of a call about which nothing else is known."""
_MAX_ERROR_BODY = 65_536


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """Timeouts for a model server, in seconds.

    Attributes:
        first_token: from sending a request to the first token; includes the server's queue, not ours.
        progress: from one token to the next.
    """

    first_token: float
    progress: float


class ChatClient:
    """Requests chat completions from an Upstream. Used from one event loop by many tasks at once."""

    def __init__(self, upstream: Upstream, patience: ServerTimeouts) -> None:
        self._upstream = upstream
        self._patience = patience

    async def models(self) -> tuple[str, ...]:
        """As Upstream.models."""
        return await self._upstream.models()

    @asynccontextmanager
    async def stream(
        self, request: Mapping[str, object], about: ModelCall = UNKNOWN
    ) -> AsyncIterator[AsyncGenerator[Delta, None]]:
        """The deltas of the answer to `request`, a chat completion without `stream`. Iterate them once.

        `about`: the call's metadata. Leaving the block early closes the connection; vLLM then stops generating. The
        iterator ends normally only after a complete answer; otherwise it raises.

        Raises:
            InputRejected: "upstream_rejected": the server refuses the request.
            EngineFailed: the server is unreachable, fails, stalls, closes the connection, or sends an invalid response.
        """
        body = orjson.dumps({**request, "stream": True, "stream_options": {"include_usage": True}})
        deadline = math.inf
        async with AsyncExitStack() as stack:
            with anyio.CancelScope() as scope:

                def sent() -> None:
                    nonlocal deadline
                    scope.deadline = deadline = anyio.current_time() + self._patience.first_token

                call = replace(about, body=body, sent=sent)
                answer = await stack.enter_async_context(self._upstream.send(call))
            if scope.cancelled_caught:
                raise _stalled("first token")
            if answer.status != 200:
                raise await self._refusal(answer, str(request.get("model", "")), deadline)
            if "text/event-stream" not in answer.headers.get("content-type", ""):
                raise garbled_error("The model server's response is not an event stream.")
            yield await stack.enter_async_context(aclosing(self._deltas(answer, deadline)))

    async def _refusal(self, answer: ModelAnswer, model: str, deadline: float) -> InkgateError:
        """The error for a status other than 200."""
        body = b""
        with anyio.CancelScope(deadline=deadline):
            try:
                async for chunk in answer.chunks:
                    body += chunk
                    if len(body) > _MAX_ERROR_BODY:
                        break
            except EngineFailed:  # a part of the body is enough: the status decides
                pass
        if answer.status != 404:
            return upstream_error(answer.status, body)
        served = await self.models()
        return upstream_error(404, body) if model in served else model_unknown_error(model, served)

    async def _deltas(self, answer: ModelAnswer, deadline: float) -> AsyncGenerator[Delta, None]:
        lines = EventLines()
        started = whole = done = False
        while True:
            with anyio.CancelScope(deadline=deadline) as scope:
                chunk = await _next(answer.chunks, whole=whole)
            if scope.cancelled_caught:
                raise _stalled("next token" if started else "first token")
            if chunk is None:
                break
            for payload in lines.feed(chunk):
                # Read the rest after the end, too: only a connection that was read to its end is reused.
                done = done or payload == b"[DONE]"
                if done:
                    continue
                delta = delta_of(payload)
                started = started or bool(delta.text or delta.tokens)
                whole = whole or delta.finish_reason is not None
                if started:
                    deadline = anyio.current_time() + self._patience.progress
                yield delta
        if not whole:
            raise EngineFailed("upstream_cut_off", "The model server ended its answer before it was complete.")


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


def _stalled(awaited: str) -> EngineFailed:
    return EngineFailed("upstream_stalled", f"The model server timed out: no {awaited} in time.")


def model_unknown_error(model: str, served: tuple[str, ...]) -> EngineFailed:
    """The error if the server does not serve `model`; lists the models it serves."""
    names = ", ".join(repr(name) for name in served[:8]) or "none"
    return EngineFailed("model_unknown", f"The model server has no model {model!r}; it has {names}.")
