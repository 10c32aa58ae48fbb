"""Chat completions: admits and receives a request, and relays it to the model servers byte by byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inkgate.api.chat.request import ChatRequest, apply_changes, parse_chat, rename_model, with_media_inlined
from inkgate.api.http import uploads
from inkgate.api.http.context import Context
from inkgate.api.http.decoding import LARGE
from inkgate.api.http.errors import Problem, internal_error, openai_error
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import EarlyBody, cancelled_when_left, send_freeing_slot
from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.model_servers.protocol import (
    IGNORED_HEADER,
    EventLines,
    ServerTimeouts,
    TokenDeadline,
    check_is_chat,
    cut_off_error,
    event_error,
    is_stream,
)
from inkgate.model_servers.refusals import chat_error
from inkgate.model_servers.upstream import ModelAnswer, Upstream
from inkgate.service.gateway import Admitted
from inkgate.serving.outcomes import WorkOutcome, outcome_of
from inkgate.settings import Settings

log = structlog.get_logger(__name__)

_MAX_ANSWER = 64_000_000
"""Maximum bytes of a response that is not streamed, as it is held in memory until complete. 10,000 tokens with 20
log-probabilities each have 20 MB."""
_ERROR = b'"error"'
"""Appears in an event only if it is an error: within text the quotes have backslashes."""
_SHOWN = 100
"""Characters of a model's name that are logged."""


class ResponseForm(Protocol):
    """The form of a response: a chat completion's own, or another API's."""

    def whole(self, body: bytes) -> bytes:
        """The response for a chat completion. Raises EngineFailed."""
        ...

    def events(self, lines: bytes) -> bytes:
        """The events for complete lines of a chat completion's stream. Raises EngineFailed."""
        ...

    def error(self, problem: Problem) -> bytes:
        """The event that reports an error."""
        ...


class ChatForm:
    """A ResponseForm that changes nothing."""

    def whole(self, body: bytes) -> bytes:
        return body

    def events(self, lines: bytes) -> bytes:
        return lines

    def error(self, problem: Problem) -> bytes:
        return b"data: " + orjson.dumps(openai_error(problem))


def chat_itself(body: bytes) -> tuple[bytes, ResponseForm]:
    """The chat completion for a request that is one, and the form of its response."""
    return body, ChatForm()


class ChatResponse(Response):
    """Handles the whole request within the response, as DocumentResponse. Its slot is free as the last byte goes out.

    Errors before the response begins are raised, for http/errors.py; later ones are the stream's last event.
    """

    def __init__(
        self,
        context: Context,
        upstream: Upstream,
        chat_of: Callable[[bytes], tuple[bytes, ResponseForm]] = chat_itself,
    ) -> None:
        """`chat_of`: makes a chat completion of the request's body, and the form of its response."""
        super().__init__()
        self._context = context
        self._upstream = upstream
        self._chat_of = chat_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = self._context
        noted = scope["state"]
        head = parse_head(Request(scope), context.settings)
        early = EarlyBody(context.early_bodies, receive, head.max_bytes)
        request = Request(scope, early.receive)
        gateway = context.service.gateway
        admission = gateway.admit(
            head.caller, head.body_bytes, head.wait_s, early.receive_early, relayed=True, client_s=head.client_s
        )
        async with admission as admitted:
            with admitted.receiving() as count_bytes:
                body = await uploads.receive_json(request, context.settings.limits, count_bytes)
            admitted.received(len(body))
            if self._chat_of is not chat_itself and len(body) > LARGE:
                body, form = await context.bodies.run(admitted.caller, len(body), self._chat_of, body)
            else:
                body, form = self._chat_of(body)
            requested = await self._parsed(body, admitted.caller)
            del body  # `requested` has it, and gives it up when it is renamed
            noted |= {"model": requested.model[:_SHOWN], "stream": requested.stream}
            async with cancelled_when_left(early.receive):
                if requested.remote:
                    requested = await self._inlined(requested, admitted.caller)
                    admitted.set_held_bytes(len(requested.body))
                if requested.changes.ignored:
                    requested = await context.bodies.run(admitted.caller, len(requested.body), apply_changes, requested)
                requested = await self._known(requested)
                relay = _Relay(
                    context.settings,
                    admitted,
                    send_freeing_slot(admitted, send),
                    noted,
                    form,
                    requested.changes.ignored,
                )
                await relay.answer(self._upstream, requested)

    async def _inlined(self, requested: ChatRequest, caller: Caller) -> ChatRequest:
        """The request with the files at its URLs inlined."""
        context = self._context
        max_bytes = int(context.settings.limits.max_body_mb * 1_000_000)
        body = await with_media_inlined(requested.body, context.sources, caller, context.bodies, max_bytes)
        return await self._parsed(body, caller)

    async def _parsed(self, body: bytes, caller: Caller) -> ChatRequest:
        """Large images are not parsed, so only a body without them takes long."""
        limits = self._context.image_limits
        if len(body) <= LARGE:
            return parse_chat(body, limits)
        return await self._context.bodies.run(caller, len(body), parse_chat, body, limits)

    async def _known(self, requested: ChatRequest) -> ChatRequest:
        """The request, with a name of the engine or its preset replaced by the model server's name for the model."""
        model = await self._context.served.stands_for(requested.model)
        if model == requested.model:
            return requested
        return replace(requested, body=rename_model(requested.body, requested.model, model))


@dataclass(slots=True)
class _Relay:
    """Relays one response. `noted`: fields for the access log. `ignored`: request fields that were not forwarded."""

    settings: Settings
    admitted: Admitted
    send: Send
    noted: dict[str, Any]
    form: ResponseForm
    ignored: tuple[str, ...] = ()
    begun: bool = False

    async def answer(self, upstream: Upstream, requested: ChatRequest) -> None:
        """Sends the model server's response.

        Raises:
            InkgateError: nothing was sent.
        """
        try:
            with self.admitted.without_deadline():
                await self._in_time(upstream, requested)
        except Exception as error:  # The response has begun, so only its last event can report the error.
            if not self.begun:
                raise
            if not isinstance(error, InkgateError):
                log.exception("chat_failed")
                error = internal_error()
            self.admitted.report(outcome_of(error))
            self.noted["code"] = error.code
            await self._last_event(error)

    async def _in_time(self, upstream: Upstream, requested: ChatRequest) -> None:
        """Does what `answer` does, with time limits for the whole response, the first token, and each pause between
        tokens.
        """
        vllm = self.settings.engine.vllm
        first_token_s = vllm.first_token_s if requested.stream else math.inf
        due = TokenDeadline(ServerTimeouts(first_token_s, vllm.progress_s))
        whole: tuple[list[tuple[bytes, bytes]], bytes] | None = None
        with self.admitted.caller.in_time("The model server did not finish within the time limit."):
            with due.scope() as scope:
                async with self.admitted.send(upstream, requested.call(due.sent)) as answer:
                    self.noted["upstream_status"] = answer.status
                    check_is_chat(answer)
                    if answer.status < 400 and is_stream(answer):
                        await self._stream(answer, due)
                    else:
                        whole = await self._whole(answer, requested.model)
            if scope.cancelled_caught:
                raise due.stalled_error()
        # A slow client must not keep the model server's request open, and gets the whole of a response that is ready.
        if whole is not None:
            await self._send_whole(answer.status, *whole)

    async def _whole(self, answer: ModelAnswer, model: str) -> tuple[list[tuple[bytes, bytes]], bytes] | None:
        """Headers and body to send; None if an error was sent instead."""
        pieces: list[bytes] = []
        size = 0
        async for chunk in answer.chunks:
            pieces.append(chunk)
            size += len(chunk)
            if size > _MAX_ANSWER:
                raise EngineFailed(
                    "upstream_garbled", "The model server's response did not end: it was larger than inkgate accepts."
                )
        body = b"".join(pieces)
        if answer.status >= 400:
            await self._refusal(answer, body, model)
            return None
        body = self.form.whole(body)
        return [*_response_headers(answer, self.ignored), (b"content-length", b"%d" % len(body))], body

    async def _send_whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.begun = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def _refusal(self, answer: ModelAnswer, body: bytes, model: str) -> None:
        """Sends a model server's error in inkgate's words, with the server's status if the request is at fault.

        Raises:
            EngineFailed: the server is at fault.
        """
        error = chat_error(answer.status, body, model[:_SHOWN])
        if not isinstance(error, InputRejected):
            raise error
        self.admitted.report(WorkOutcome.REJECTED)
        self.noted["code"] = error.code
        problem = replace(self._problem(error), status=answer.status)
        body = orjson.dumps(openai_error(problem))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await self._send_whole(answer.status, headers, body)

    async def _stream(self, answer: ModelAnswer, due: TokenDeadline) -> None:
        """Sends events as they arrive. The time limits exclude the client's reading time."""
        lines = EventLines()
        async for chunk in answer.chunks:
            due.suspend()
            if not self.begun:
                self.begun = True
                # Without X-Accel-Buffering, nginx would buffer the events.
                headers = [
                    *_response_headers(answer, self.ignored),
                    (b"cache-control", b"no-cache"),
                    (b"x-accel-buffering", b"no"),
                ]
                await self.send({"type": "http.response.start", "status": answer.status, "headers": headers})
            events = self._translated(lines.feed(chunk))
            if lines.done:  # clients don't wait for the end of the body after it
                self.admitted.end()
            await self.send({"type": "http.response.body", "body": events, "more_body": True})
            due.progressed()
        if not lines.done:
            raise cut_off_error()
        due.suspend()
        await self.send({"type": "http.response.body", "body": self._translated(lines.rest)})

    def _translated(self, lines: bytes) -> bytes:
        """Lines of a stream in the response's form, with the model server's errors in inkgate's words."""
        if _ERROR not in lines:
            return self.form.events(lines)
        return b"\n".join(map(self._translated_line, lines.split(b"\n")))

    def _translated_line(self, line: bytes) -> bytes:
        error = event_error(line[5:]) if line.startswith(b"data:") and _ERROR in line else None
        if error is None:
            return self.form.events(line)
        self.admitted.report(outcome_of(error))
        self.noted["code"] = error.code
        return self.form.error(self._problem(error))

    def _problem(self, error: InkgateError) -> Problem:
        return Problem.of(error, str(self.noted.get("request_id", "")))

    async def _last_event(self, error: InkgateError) -> None:
        """Sends an error event in vLLM's form, without the [DONE] that marks a complete response."""
        # The empty line before it ends an unfinished event.
        event = b"\n" + self.form.error(self._problem(error)) + b"\n\n"
        await self.send({"type": "http.response.body", "body": event})


def _response_headers(answer: ModelAnswer, ignored: tuple[str, ...]) -> list[tuple[bytes, bytes]]:
    """The headers of `answer` that describe its body, without those of the connection to the model server.

    Fields that were removed for its server are listed together with those `ignored` here.
    """
    headers = {name: answer.headers[name] for name in ("content-type", "retry-after") if name in answer.headers}
    names = [*ignored, *answer.headers.get(IGNORED_HEADER, "").split(", ")]
    if named := ", ".join(dict.fromkeys(filter(None, names))):
        headers[IGNORED_HEADER] = named
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
