"""Client for streaming chat completions from a model server.

`ask` sends one prompt and watches the answer as it streams: a repetition ends the request at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from time import perf_counter

import orjson

from inkgate.engines.vllm.protocol import (
    Delta,
    EventLines,
    GeneratedToken,
    ServerTimeouts,
    TokenDeadline,
    cut_off_error,
    delta_of,
    error_body,
    garbled_error,
    is_stream,
)
from inkgate.engines.vllm.refusals import upstream_error
from inkgate.engines.vllm.runaway import RepeatedTail, RepetitionLimits, RunawayGuard, repeating_tail
from inkgate.engines.vllm.upstream import ModelAnswer, ModelCall, Upstream
from inkgate.errors import EngineFailed, InkgateError

UNKNOWN = ModelCall(b"")
"""Metadata of a call about which nothing else is known."""
_SUSPECT = RepetitionLimits(run_span=300, line_span=600, blank_span=1500, cells=60, rows=60, table_span=4000)
"""Limits for an answer that reached the token limit, which real pages seldom do."""
_ANY = RepetitionLimits(repeats=3, run_span=0, line_span=0, blank_span=0, cells=0, rows=0, table_span=0)
"""Limits for an answer that the server itself stopped because of repetition."""


def stream_body(request: Mapping[str, object]) -> bytes:
    """The JSON of a request whose answer is streamed. With a page's image, it takes a millisecond."""
    return orjson.dumps({**request, "stream": True, "stream_options": {"include_usage": True}})


class ChatClient:
    """Requests chat completions from an Upstream. Used from one event loop by many tasks at once."""

    def __init__(self, upstream: Upstream, timeouts: ServerTimeouts) -> None:
        self._upstream = upstream
        self._timeouts = timeouts

    async def models(self) -> tuple[str, ...]:
        """As Upstream.models."""
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


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer to one request.

    Attributes:
        text: as generated; if it repeats itself, up to the end of the repeated unit's first occurrence.
        tokens: with their log-probabilities, if these were requested.
        error: why the text is not a complete answer; None if it is.
        first_token_ms, whole_ms: wall time from sending to the first token, and to the end.
    """

    text: str
    tokens: tuple[GeneratedToken, ...]
    error: EngineFailed | None
    first_token_ms: float
    whole_ms: float


async def ask(
    client: ChatClient, request: Mapping[str, object], about: ModelCall = UNKNOWN, blank_tail: int = 0
) -> ModelReply:
    """The reply to `request`. `about`: the call's metadata. `blank_tail`: an answer that ends in so many blanks is
    stopped as one that repeats itself; 0: it may.

    Raises:
        InputRejected, EngineFailed: as ChatClient.stream; the text received so far is lost.
    """
    guard = RunawayGuard()
    started = perf_counter()
    first: float | None = None
    pieces: list[str] = []
    heard: list[GeneratedToken] = []
    reason: str | None = None
    loop: RepeatedTail | None = None
    blanks = 0
    async with client.stream(request, about) as deltas:
        async for delta in deltas:
            if first is None and (delta.text or delta.tokens):
                first = perf_counter()
            pieces.append(delta.text)
            heard += delta.tokens
            reason = delta.finish_reason or reason
            loop = guard.feed(delta.text)
            inked = len(delta.text.rstrip())
            blanks = len(delta.text) - inked + (0 if inked else blanks)
            if loop is not None or 0 < blank_tail <= blanks:
                break
    ended = perf_counter()
    text = "".join(pieces)
    error: EngineFailed | None
    if loop is not None:
        text, error = text[: loop.start + len(loop.unit)], _repeats(loop.count)
    elif 0 < blank_tail <= blanks:
        text, error = text.rstrip(), _repeats(blanks)
    else:
        text, error = apply_finish_reason(text, reason)
    return ModelReply(text, tuple(heard), error, ((first or ended) - started) * 1000, (ended - started) * 1000)


def apply_finish_reason(text: str, reason: str | None) -> tuple[str, EngineFailed | None]:
    """The part of `text` to keep and its error, by the finish reason.

    Raises:
        EngineFailed: an unknown finish reason.
    """
    if reason == "stop":
        return text, None
    if reason == "length":
        found = repeating_tail(text, _SUSPECT)
        if found is None:
            return text, EngineFailed("output_truncated", "The answer reached its token limit before its end.")
    elif reason == "repetition":
        found = repeating_tail(text, _ANY)
    elif reason is None:
        raise EngineFailed("upstream_cut_off", "The model server ended its answer without a reason.")
    else:
        raise EngineFailed("upstream_failed", f"The model server ended its answer with {reason!r}.")
    if found is None:
        return text, _repeats(_ANY.repeats)
    unit, span = found
    return text[: len(text) - span + unit], _repeats(span // unit)


def _repeats(count: int) -> EngineFailed:
    return EngineFailed("output_repeats", f"The answer began to repeat itself ({count} times or more).")
