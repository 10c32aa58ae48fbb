"""Parses the OpenAI chat protocol as a model server streams it: bytes to server-sent events to deltas. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from inkgate.engines.vllm.refusals import upstream_error
from inkgate.errors import EngineFailed, InkgateError

_MAX_LINE = 4_000_000
"""Maximum bytes of one event; one delta with its log-probabilities has a few hundred."""
IGNORED_HEADER = "x-inkgate-ignored"
"""Response header: the fields of the request that were omitted or lowered."""
_MM_KWARGS = ("mm_processor_kwargs", "media_io_kwargs")
_MM_KWARGS_FLAG = b"--trust-request-mm-kwargs"


@dataclass(frozen=True, slots=True)
class GeneratedToken:
    """A token as it was generated: its bytes of text and its natural log-probability (0 or less)."""

    data: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens used by a request."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """One step of an answer. `finish_reason` is set on the last delta with text; `usage` comes after it."""

    text: str = ""
    tokens: tuple[GeneratedToken, ...] = ()
    finish_reason: str | None = None
    usage: TokenUsage | None = None


class EventLines:
    """Splits a byte stream into the payloads of its `data:` lines; comments and other fields are dropped.

    Lines end only with LF or CRLF: text may contain other characters (U+2028, U+0085) at which `str.splitlines` would
    split.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The payloads that `chunk` completes.

        Raises:
            EngineFailed: "upstream_garbled": not an event stream.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _MAX_LINE:
            raise garbled_error("The model server sent a line that is too long.")
        for line in (line.rstrip(b"\r") for line in lines):
            if line.startswith(b"data:"):
                yield line[5:].strip()
            elif line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                raise garbled_error("The model server's response is not an event stream.")


def delta_of(payload: bytes) -> Delta:
    """The delta in one event.

    Raises:
        InputRejected, EngineFailed: the server reports an error within the stream.
        EngineFailed: "upstream_garbled": not a chunk of a chat completion.
    """
    try:
        chunk = orjson.loads(payload)
        if "error" in chunk:
            raise upstream_error(_status(chunk["error"]), payload)
        return _delta(chunk)
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError, ValueError, IndexError) as error:
        raise garbled_error("The model server sent an event that is not a chunk of a chat completion.") from error


def event_error(payload: bytes) -> InkgateError | None:
    """The error that an event reports; None for all others."""
    try:
        event = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(event, Mapping) or not (event.get("error") or event.get("object") == "error"):
        return None
    return upstream_error(_status(event.get("error", event)), payload)


def _delta(chunk: Mapping[str, object]) -> Delta:
    usage = chunk.get("usage")
    choices = chunk.get("choices") if usage else chunk["choices"]
    cost = _usage(usage) if isinstance(usage, Mapping) else None
    if not isinstance(choices, list) or not choices:
        return Delta(usage=cost)
    choice = choices[0]
    reason = choice.get("finish_reason")
    text = choice.get("delta", {}).get("content") or ""
    if not isinstance(text, str) or not (reason is None or isinstance(reason, str)):
        raise TypeError("content and finish_reason are strings")
    entries = (choice.get("logprobs") or {}).get("content") or ()
    return Delta(text, tuple(_token(entry) for entry in entries), reason, cost)


def _usage(usage: Mapping[str, object]) -> TokenUsage:
    return TokenUsage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _token(entry: Mapping[str, object]) -> GeneratedToken:
    data = entry.get("bytes")
    logprob = entry["logprob"]
    if not isinstance(logprob, int | float):
        raise TypeError("logprob is a number")
    shown = bytes(data) if isinstance(data, list) else str(entry["token"]).encode("utf-8", "replace")
    return GeneratedToken(shown, min(float(logprob), 0.0))


def _status(error: object) -> int:
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) else 500


def refuses_mm_kwargs(status: int, body: bytes) -> bool:
    """Whether an error response refuses `mm_processor_kwargs`, as vLLM does from 0.32 on unless it was started with the
    flag that the response names.
    """
    return status == 400 and _MM_KWARGS_FLAG in body


def without_mm_kwargs(body: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A chat request without the fields that such a server refuses, and their names; unchanged if it has none."""
    if not any(b'"%s"' % name.encode() in body for name in _MM_KWARGS):
        return body, ()
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body, ()
    found = tuple(name for name in _MM_KWARGS if isinstance(fields, dict) and fields.pop(name, None))
    return (orjson.dumps(fields) if found else body), found


def garbled_error(detail: str) -> EngineFailed:
    """The error for a response that violates the protocol."""
    return EngineFailed("upstream_garbled", detail)
