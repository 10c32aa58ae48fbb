"""How each protocol puts a page into a request, and which responses count as successful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

import orjson
import pybase64

from inkgate.documents.sniff import FileType
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.samples import RequestOutcome
from inkgate_bench.load.target import ProtocolName, Target

UNEXPECTED = "unexpected body for protocol"
"""The kind of a response that the protocol can't have."""
_REFUSALS = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_TIMEOUTS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT})
"""inkgate's codes where the caller's time, or its own, ran out."""
_CODE_CHARACTERS = 60
"""Maximum characters of an error's code that are stored."""
_BOUNDARY = "inkgate-loadtest-c5dd3f1b60a94f0c"
_DONE = b"[DONE]"


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What is posted."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A whole response. Names of `headers` in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ResponseVerdict:
    """What a response counts as. `kind`: of error, for people; `degraded`: read at a degraded level.

    `pages`: that were read; None where the response doesn't say: as many as were sent.
    """

    outcome: RequestOutcome
    kind: str = ""
    pages: int | None = None
    degraded: bool = False


class LoadProtocol(Protocol):
    """One protocol."""

    def body(self, page: LoadPage) -> RequestBody:
        """The request for `page`. Raises LoadImpossible: the protocol can't carry it."""
        ...

    def judge(self, response: ServiceResponse) -> ResponseVerdict:
        """What `response` counts as."""
        ...


def protocol_of(target: Target) -> LoadProtocol:
    """The target's protocol."""
    if target.protocol is ProtocolName.CHAT:
        return ChatProtocol(target.model, target.prompt, target.max_tokens)
    return OcrProtocol(target.task) if target.protocol is ProtocolName.OCR else SimpleProtocol()


class OcrProtocol:
    """inkgate's own: a form with a file, answered with a document of pages."""

    def __init__(self, task: str = "") -> None:
        self._task = task

    def body(self, page: LoadPage) -> RequestBody:
        name = page.name.rpartition("/")[2].replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        part = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
        task = f'{part}"task"\r\n\r\n{self._task}\r\n' if self._task else ""
        head = f'{task}{part}"file"; filename="{name}"\r\nContent-Type: {page.media_type}\r\n\r\n'
        content = head.encode() + page.content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        return RequestBody(content, f"multipart/form-data; boundary={_BOUNDARY}")

    def judge(self, response: ServiceResponse) -> ResponseVerdict:
        """A document with failed pages counts as failed."""
        if (verdict := _error_verdict(response)) is not None:
            return verdict
        try:
            pages = orjson.loads(response.body)["pages"]
            failed = [page["error"] for page in pages if page.get("error")]
            degraded = any(page.get("degraded") for page in pages)
        except (ValueError, KeyError, TypeError, AttributeError):
            return _unexpected(response, ProtocolName.OCR)
        if failed or not pages:
            code = failed[0].get("code", "") if failed and isinstance(failed[0], dict) else ""
            return ResponseVerdict(RequestOutcome.FAILED, f"{response.status} partial {code}".rstrip())
        return ResponseVerdict(RequestOutcome.ANSWERED, pages=len(pages), degraded=degraded)


class SimpleProtocol:
    """JSON {"image": base64}, answered with any JSON: the simplest protocol that OCR services speak."""

    def body(self, page: LoadPage) -> RequestBody:
        return RequestBody(b'{"image":"' + pybase64.b64encode(page.content) + b'"}', "application/json")

    def judge(self, response: ServiceResponse) -> ResponseVerdict:
        """Some services answer every request with 200, and report an error in the body."""
        if (verdict := _error_verdict(response)) is not None:
            return verdict
        try:
            parsed = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            return _unexpected(response, ProtocolName.SIMPLE)
        if isinstance(parsed, dict) and (parsed.get("error") or parsed.get("errorCode")):
            return ResponseVerdict(RequestOutcome.FAILED, f"{response.status} error {_code_in(parsed)}".rstrip())
        return ResponseVerdict(RequestOutcome.ANSWERED)


class ChatProtocol:
    """OpenAI's chat completions with an image, streamed: the end of the stream is part of a successful response."""

    def __init__(self, model: str, prompt: str, max_tokens: int | None = None) -> None:
        self._model = model
        self._prompt = prompt
        self._max_tokens = max_tokens

    def body(self, page: LoadPage) -> RequestBody:
        if page.media_type == FileType.PDF.value:
            raise LoadImpossible(f"{page.name} is a PDF; chat completions take images only.")
        url = f"data:{page.media_type};base64,{pybase64.b64encode(page.content).decode()}"
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": self._prompt}]
        options = {} if self._max_tokens is None else {"max_tokens": self._max_tokens}
        request = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "stream": True,
            **options,
        }
        return RequestBody(orjson.dumps(request), "application/json")

    def judge(self, response: ServiceResponse) -> ResponseVerdict:
        """A stream is whole when its last event is [DONE] and no event reports an error."""
        if (verdict := _error_verdict(response)) is not None:
            return verdict
        if "event-stream" not in response.headers.get("Content-Type", ""):
            return _judge_completion(response)
        events = stream_events(response.body)
        for event in events:
            if b'"error"' in event and (code := _stream_error(event)) is not None:
                return ResponseVerdict(RequestOutcome.FAILED, f"stream {code}".rstrip())
        if not events or events[-1] != _DONE:
            return ResponseVerdict(RequestOutcome.FAILED, "stream cut off")
        return ResponseVerdict(RequestOutcome.ANSWERED)


def stream_events(body: bytes) -> list[bytes]:
    """The data of server-sent events, one line each: JSON has no line ends inside."""
    return [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]


def _stream_error(event: bytes) -> str | None:
    """The code of the error that an event reports, `error` where it has none; None where there is no error."""
    try:
        parsed = orjson.loads(event)
    except orjson.JSONDecodeError:
        return "garbled"
    return (_code_in(parsed) or "error") if isinstance(parsed, dict) and parsed.get("error") else None


def _judge_completion(response: ServiceResponse) -> ResponseVerdict:
    """Judges a completion that was not streamed."""
    try:
        whole = bool(orjson.loads(response.body)["choices"])
    except (ValueError, KeyError, TypeError):
        whole = False
    return ResponseVerdict(RequestOutcome.ANSWERED) if whole else _unexpected(response, ProtocolName.CHAT)


def _error_verdict(response: ServiceResponse) -> ResponseVerdict | None:
    """The verdict on a response whose status is an error, with the error's code where it has one; else None."""
    if 200 <= response.status < 300:
        return None
    code = _code_of(response.body)
    kind = f"{response.status} {code}".rstrip()
    if response.status in _TIMEOUTS:
        return ResponseVerdict(RequestOutcome.TIMED_OUT, kind)
    if response.status in _REFUSALS:
        return ResponseVerdict(RequestOutcome.REFUSED, kind)
    rejected = 400 <= response.status < 500
    return ResponseVerdict(RequestOutcome.REJECTED if rejected else RequestOutcome.FAILED, kind)


def _unexpected(response: ServiceResponse, protocol: ProtocolName) -> ResponseVerdict:
    """The verdict on a success with a body that `protocol` doesn't have: something else may be listening there."""
    return ResponseVerdict(RequestOutcome.FAILED, f"{response.status} {UNEXPECTED} {protocol}")


def _code_of(body: bytes) -> str:
    """The code of an error: a problem document's, OpenAI's, or PaddleX's; empty where there is none."""
    try:
        return _code_in(orjson.loads(body))
    except orjson.JSONDecodeError:
        return ""


def _code_in(parsed: object) -> str:
    if not isinstance(parsed, dict):
        return ""
    error = parsed.get("error", parsed)
    if not isinstance(error, dict):
        error = parsed
    names = (error.get("code"), error.get("type"))  # vLLM's `code` is the status once more
    return next(
        (name[:_CODE_CHARACTERS] for name in names if isinstance(name, str) and not name.startswith("urn:")), ""
    )
