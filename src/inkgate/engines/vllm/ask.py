"""Sends one prompt to the model and watches the answer as it streams: a repetition ends the request at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from inkgate.engines.vllm.client import UNKNOWN, ChatClient
from inkgate.engines.vllm.protocol import GeneratedToken
from inkgate.engines.vllm.runaway import RepeatedTail, RepetitionLimits, RunawayGuard, repeating_tail
from inkgate.engines.vllm.upstream import ModelCall
from inkgate.errors import EngineFailed

_SUSPECT = RepetitionLimits(run_span=300, line_span=600, blank_span=1500, cells=60, rows=60, table_span=4000)
"""Limits for an answer that reached the token limit, which real pages seldom do."""
_ANY = RepetitionLimits(repeats=3, run_span=0, line_span=0, blank_span=0, cells=0, rows=0, table_span=0)
"""Limits for an answer that the server itself stopped because of repetition."""


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


async def ask(client: ChatClient, request: Mapping[str, object], about: ModelCall = UNKNOWN) -> ModelReply:
    """The reply to `request`. `about`: the call's metadata.

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
    async with client.stream(request, about) as deltas:
        async for delta in deltas:
            if first is None and (delta.text or delta.tokens):
                first = perf_counter()
            pieces.append(delta.text)
            heard += delta.tokens
            reason = delta.finish_reason or reason
            loop = guard.feed(delta.text)
            if loop is not None:
                break
    ended = perf_counter()
    text = "".join(pieces)
    error: EngineFailed | None
    if loop is not None:
        text, error = text[: loop.start + len(loop.unit)], _repeats(loop.count)
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
