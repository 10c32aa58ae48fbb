"""Translates a model server's errors into our words: its own may contain paths, versions and parts of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson
import structlog

from inkgate.errors import EngineFailed, InkgateError, InputRejected

log = structlog.get_logger(__name__)

_REFUSED = frozenset({400, 413, 415, 422})
_LIMIT = "This model's maximum context length is {limit} tokens for prompt and answer together"
"""LiteLLM recognizes an error of this kind by the first words, which are OpenAI's; LangChain by those of its title."""
_TOO_LONG = (
    (
        re.compile(r"context length is (?P<limit>\d+) tokens.*?contains (?:at least )?(?P<size>\d+) input tokens"),
        "the prompt has {size}",
    ),
    (
        re.compile(r"context length is (?P<limit>\d+) tokens.*?contains (?P<size>\d+) characters"),
        "the prompt has {size} characters, more than they can hold",
    ),
    (
        re.compile(r"context length is (?P<limit>\d+) tokens.*?requested (?P<size>\d+) (?:output )?tokens"),
        "the request asks for {size}",
    ),
    (
        re.compile(r"\b(?P<name>max_\w*tokens)=(?P<size>\d+) cannot be greater than \w+ ?= ?(?P<limit>\d+)"),
        "`{name}` is {size}",
    ),
    (
        re.compile(r"prompt \(length (?P<size>\d+)\).*?maximum model length of (?P<limit>\d+)"),
        "the prompt has {size}",
    ),
    (
        re.compile(r"Input length \((?P<size>\d+)\) exceeds model's maximum context length \((?P<limit>\d+)\)"),
        "the prompt has {size}",
    ),
)
"""How vLLM (0.32 and earlier) reports that a request is too long, and our wording."""
_IMAGE = re.compile(
    "Failed to load image|cannot identify image file|Only base64|Non-base64 digit|Incorrect padding|The URL must be"
)
"""How vLLM reports an image that it can't decode."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\]]{0,63}")


def upstream_error(status: int, body: bytes) -> InkgateError:
    """The error for an HTTP status other than 200 and its body. The caller handles 404.

    The server's own text reaches neither the client nor the log: it may quote a page or a prompt. The server's own log
    has it.
    """
    error = _error_of(body)
    message, field = str(error.get("message") or error.get("detail") or ""), error.get("param")
    refusal = _refusal(status, message, field) if status in _REFUSED else None
    log.warning(
        "model_server_refused",
        status=status,
        type=_word(error.get("type")),
        reason="" if refusal is None else refusal.detail,
    )
    if refusal is not None:
        return refusal
    if status in {401, 403}:
        return denied_error(status)
    if status in {429, 503}:
        return EngineFailed("upstream_busy", f"The model server is full ({status}).")
    return EngineFailed("upstream_failed", f"The model server failed ({status}).")


def denied_error(status: int) -> EngineFailed:
    """The error for a server that refuses inkgate's key."""
    return EngineFailed(
        "upstream_denied", f"The model server answered with status {status}: it did not accept inkgate's API key."
    )


def chat_error(status: int, body: bytes, model: str) -> InkgateError:
    """The error as of `upstream_error`, for a client that wrote the request itself and requested `model`."""
    if status != 404:
        return upstream_error(status, body)
    if not _error_of(body):  # an error of the chat protocol is more specific than one of the server's framework
        return EngineFailed("upstream_garbled", "The model server's address has no endpoint for chat completions.")
    upstream_error(status, body)  # for the log
    return InputRejected("engine_unknown", f"The model server has no model {model!r}.")


def _error_of(body: bytes) -> Mapping[str, object]:
    """The `error` of an error's body, or the body itself if it is flat, as in older servers; else empty."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(found, Mapping):
        return {}
    error = found.get("error", found if "message" in found else {})
    return error if isinstance(error, Mapping) else {"message": error}


def _refusal(status: int, message: str, field: object) -> InputRejected:
    """The error for a request that the caller can fix, in our words, as far as the server's message is a known one."""
    one_line = " ".join(message.split())
    for pattern, wording in _TOO_LONG:
        found = pattern.search(one_line)
        if found is not None:
            detail = f"{_LIMIT}, and {wording}.".format(**found.groupdict())
            return InputRejected("context_length_exceeded", detail)
    if _IMAGE.match(one_line):
        return InputRejected("image_refused", "The model server could not decode an image of the request.")
    name = _word(field)
    reason = f"The model server does not accept the request's `{name}`." if name else ""
    return InputRejected("upstream_rejected", reason or f"The model server refused the request ({status}).")


def _word(value: object) -> str:
    """A name, such as that of a field or of an error's type; empty if it is anything else."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""
