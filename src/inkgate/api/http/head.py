"""Caller, priority and deadline of a request, from its head, before its body is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import anyio
from starlette.requests import Request

from inkgate.api.http.context import tenant_of
from inkgate.api.http.errors import request_id_of
from inkgate.api.http.uploads import announced_bytes
from inkgate.caller import Caller, Priority
from inkgate.errors import InputRejected
from inkgate.settings import Settings

PRIORITY_HEADER = "X-Inkgate-Priority"
TIMEOUT_HEADER = "X-Inkgate-Timeout"
WAIT_HEADER = "X-Inkgate-Wait"
_CLIENT_TIMEOUTS = ("x-stainless-read-timeout", "x-stainless-timeout")
"""Headers of OpenAI's SDKs (Python, JavaScript): in how many seconds a response must begin."""
_ANEW = ("no-store", "no-cache")


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request, before its body is received.

    Attributes:
        body_bytes: its Content-Length; 0 if it has none, since its body is charged as it grows.
        max_bytes: maximum size of its body: its Content-Length, or the limit on all bodies.
        wait_s: how long it may wait for admission if it is a chat request, in seconds.
        client_s: the client's own timeout until the response begins; infinite if it sends none.
    """

    caller: Caller
    body_bytes: int
    max_bytes: int
    wait_s: float = 0.0
    client_s: float = math.inf


def parse_head(request: Request, settings: Settings) -> RequestHead:
    """Caller, priority and deadline from the head of `request`.

    The priority is the header's, but no higher than `serving.scheduling.priorities` allows the caller. The deadline is
    the header's, but no later than `limits.time_s` allows. `Cache-Control` with `no-store` or `no-cache` (RFC 9111,
    5.2.1) bypasses the cache.

    Raises:
        InputRejected: "options_invalid": a header has an invalid value.
    """
    tenant = tenant_of(request)
    timeout_s = _timeout_s(request)
    patience_s = min(settings.limits.time_s, timeout_s)
    deadline = anyio.current_time() + patience_s
    named = _priority(request)
    allowed = settings.serving.scheduling.priorities.get(tenant)
    given = [Priority(priority) for priority in (named, allowed) if priority is not None]
    priority = max(given, key=lambda priority: priority.rank, default=Priority.NORMAL)
    anew = any(word in request.headers.get("cache-control", "").lower() for word in _ANEW)
    caller = Caller(
        tenant,
        priority,
        deadline,
        request_id_of(request),
        bool(given),
        patience_s,
        anew,
        deadline_given=timeout_s <= settings.limits.time_s,
    )
    announced = announced_bytes(request.headers.get("content-length", ""))
    limit = int(settings.limits.max_body_mb * 1_000_000)
    max_bytes = limit if announced is None else min(announced, limit)
    client_s = min(_seconds(request.headers.get(name, "")) for name in _CLIENT_TIMEOUTS)
    wait_s = _wait_s(request, settings)
    return RequestHead(caller, 0 if announced is None else max_bytes, max_bytes, wait_s, client_s)


def _timeout_s(request: Request) -> float:
    text = request.headers.get(TIMEOUT_HEADER)
    if text is None:
        return float("inf")
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = 0.0
    if not timeout_s > 0:
        raise InputRejected("options_invalid", f"{TIMEOUT_HEADER} must be a number of seconds, such as 2.5.")
    return timeout_s


def _wait_s(request: Request, settings: Settings) -> float:
    text = request.headers.get(WAIT_HEADER)
    if text is None:
        return settings.serving.admission.chat_wait_s
    try:
        wait_s = float(text)
    except ValueError:
        wait_s = -1.0
    if not wait_s >= 0:
        raise InputRejected("options_invalid", f"{WAIT_HEADER} must be a number of seconds, such as 300, or 0.")
    return wait_s


def _seconds(text: str) -> float:
    """The time of a header that inkgate does not define; infinite if it is no time."""
    try:
        seconds = float(text)
    except ValueError:
        return math.inf
    return seconds if seconds > 0 else math.inf


def _priority(request: Request) -> Priority | None:
    text = request.headers.get(PRIORITY_HEADER)
    if text is None:
        return None
    try:
        return Priority(text.strip().lower())
    except ValueError:
        classes = ", ".join(Priority)
        raise InputRejected("options_invalid", f"{PRIORITY_HEADER} must be one of {classes}.") from None
