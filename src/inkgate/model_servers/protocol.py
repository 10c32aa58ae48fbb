"""The OpenAI chat protocol as a model server streams it: bytes to lines to events to deltas, and when each is due.

Used by the relay of chat completions, which passes lines on, and by ChatClient, which parses them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import orjson

from inkgate.errors import EngineFailed, InkgateError
from inkgate.model_servers.refusals import denied_error, upstream_error
from inkgate.model_servers.upstream import ModelAnswer

EVENTS = "text/event-stream"
_DONE = b"[DONE]"
_DONE_LINE = re.compile(rb"^data: ?\[DONE\]\r?$", re.MULTILINE)
_MAX_LINE = 1_000_000
"""Maximum bytes of one event; one delta with its log-probabilities has a few hundred."""
_MAX_ERROR = 65_536
"""Bytes that are read of an error."""
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


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """Timeouts for a model server, in seconds.

    Attributes:
        first_token: from sending a request to the first token; includes the server's queue, not ours.
        progress: from one token to the next.
    """

    first_token: float
    progress: float


class TokenDeadline:
    """The time at which the next token of an answer is due, by anyio's clock. Infinite before sending."""

    def __init__(self, timeouts: ServerTimeouts) -> None:
        self._timeouts = timeouts
        self._at = math.inf
        self._started = False
        self._scope: anyio.CancelScope | None = None

    def scope(self) -> anyio.CancelScope:
        """A new scope that ends when the token is due. Its deadline is moved by the methods below."""
        self._scope = anyio.CancelScope(deadline=self._at)
        return self._scope

    def sent(self) -> None:
        """The request was sent to a server, perhaps not for the first time."""
        self._move(anyio.current_time() + self._timeouts.first_token)

    def progressed(self) -> None:
        """A token arrived."""
        self._started = True
        self._move(anyio.current_time() + self._timeouts.progress)

    def suspend(self) -> None:
        """Nothing is due from the server now: the client is being written to."""
        self._move(math.inf)

    def stalled_error(self) -> EngineFailed:
        """The error if the token did not arrive."""
        awaited = "next token" if self._started else "first token"
        return EngineFailed("upstream_stalled", f"The {awaited} did not arrive in time.")

    def _move(self, at: float) -> None:
        self._at = at
        if self._scope is not None:
            self._scope.deadline = self._at


class EventLines:
    """Cuts a stream of server-sent events into lines.

    Lines end only with LF or CRLF: text may contain other characters (U+2028, U+0085) at which `str.splitlines` would
    split.

    Attributes:
        rest: the beginning of the incomplete line.
    """

    def __init__(self) -> None:
        self.rest = b""
        self._done = False
        self._within = False

    @property
    def done(self) -> bool:
        """Whether a [DONE] line has arrived. Text of the response may also contain the word."""
        return self._done or (not self._within and _DONE_LINE.match(self.rest) is not None)

    def feed(self, chunk: bytes) -> bytes:
        """The complete lines up to the end of `chunk`, as received; also an incomplete one that is too long to keep."""
        data = self.rest + chunk if self.rest else chunk
        end = data.rfind(b"\n") + 1
        if len(data) - end > _MAX_LINE:
            end = len(data)
        self.rest = data[end:]
        passed = data if end == len(data) else data[:end]
        if passed:
            start = passed.find(b"\n") + 1 if self._within else 0
            self._done = self._done or _DONE_LINE.search(passed, start) is not None
            self._within = not passed.endswith(b"\n")
        return passed

    def payloads(self, chunk: bytes) -> Iterator[bytes]:
        """Payloads of the `data:` lines that `chunk` completes, up to [DONE]. Comments and other fields are dropped.

        Raises:
            EngineFailed: "upstream_garbled": not an event stream.
        """
        if self._done:
            return
        lines = self.feed(chunk).split(b"\n")
        if lines[-1]:
            raise garbled_error("The model server sent a line that is too long.")
        for line in (line.rstrip(b"\r") for line in lines):
            if line.startswith(b"data:"):
                payload = line[5:].strip()
                if payload == _DONE:
                    self._done = True
                    return
                yield payload
            elif line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                raise garbled_error("The model server's response is not an event stream.")


def check_is_chat(answer: ModelAnswer) -> None:
    """Accepts responses, and the model server's errors about the request.

    Raises:
        EngineFailed: the server refuses inkgate's key, or is not a model server.
    """
    if answer.status in {401, 403}:
        raise denied_error(answer.status)
    if answer.status == 200 and not is_stream(answer) and not _type(answer).startswith("application/json"):
        raise garbled_error("The model server's response is neither JSON nor an event stream.")


def is_stream(answer: ModelAnswer) -> bool:
    """Whether the response is a stream of events."""
    return _type(answer).startswith(EVENTS)


def _type(answer: ModelAnswer) -> str:
    return answer.headers.get("content-type", "")


async def error_body(answer: ModelAnswer) -> bytes:
    """The beginning of an error's body, up to the usual length of errors, even if the rest does not arrive."""
    body = b""
    with suppress(EngineFailed):  # a part of the body is enough: the status decides
        async for chunk in answer.chunks:
            body += chunk
            if len(body) > _MAX_ERROR:
                break
    return body


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


def token_limit(request: Mapping[str, object]) -> int | None:
    """Maximum tokens of the answer to a chat request, whichever of the two fields sets it; None if neither does.

    Raises:
        TypeError: it is not a number.
    """
    limit = request.get("max_completion_tokens", request.get("max_tokens"))
    if limit is None:
        return None
    if not isinstance(limit, int | float):
        raise TypeError("a token limit is a number")
    return int(limit)


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


def cut_off_error() -> EngineFailed:
    """The error for a stream that ended before the answer's end."""
    return EngineFailed("upstream_cut_off", "The model server's response ended before it was complete.")
