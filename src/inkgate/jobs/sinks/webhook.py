"""Webhooks: results are sent by HTTP, signed as Standard Webhooks says (standardwebhooks.com).

A job's own webhook is a URL of a client, so it gets no access to the service's network: each connection goes to an
address that was resolved and checked in the same step, and redirects are not followed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address
from ssl import SSLContext
from typing import Self
from urllib.parse import urlsplit

import anyio
import httpcore
import httpx
from pydantic import SecretStr

from inkgate.errors import InputRejected
from inkgate.jobs.job import Delivery
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.jobs.sinks.event import MEDIA_TYPE, event_body
from inkgate.settings import WebhookSettings
from inkgate.storage.fetch import PublicOnly, Resolve, is_public, resolve
from inkgate_client.concurrency import Threads

_MAX_URL = 2000
_MAX_ANSWER_BYTES = 4096
_ANSWER_S = 1.0
"""Time to read the answer's body, so that the connection can be used again; what it says is ignored."""
_MAX_RETRY_AFTER_S = 86400.0
_MAX_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """How webhooks are sent.

    Attributes:
        url: where to; empty: to the job's own webhook.
        secrets: each of them signs.
        timeout_s: of a whole delivery.
        with_result: whether the document is sent too.
        private: whether all addresses are allowed. Else public ones, and those of `allow_hosts`.
    """

    url: str = field(repr=False)
    secrets: Sequence[SecretStr]
    timeout_s: float
    with_result: bool = False
    private: bool = False
    allow_hosts: Sequence[str] = ()


def check_webhook(url: str, settings: WebhookSettings) -> None:
    """Raises InputRejected, "webhook_forbidden", if `url` can't be a job's webhook: it has to be https (or http to a
    host of `webhooks.allow_hosts`). Addresses of names are checked at delivery.
    """
    if not settings.secrets:
        raise _forbidden("This service sends no webhooks (`webhooks.secrets` is empty).")
    if len(url) > _MAX_URL:
        raise _forbidden(f"The webhook's URL has more than {_MAX_URL} characters.")
    try:
        target = httpx.URL(url)
        host = target.host.lower()
        urlsplit(url)  # refuses brackets that httpx takes
    except (httpx.InvalidURL, ValueError) as error:
        raise _forbidden("The webhook's URL is not valid.") from error
    allowed = host in _lower(settings.allow_hosts)
    if target.scheme != "https" and not (allowed and target.scheme == "http"):
        raise _forbidden("The webhook's URL does not begin with https://.")
    if not host or (target.port is not None and not 0 < target.port < 65536):
        raise _forbidden("The webhook's URL is not valid.")
    if target.userinfo:
        raise _forbidden("The webhook's URL has a user name or password.")
    if not allowed and (host == "localhost" or host.endswith(".localhost") or _is_private_address(host)):
        raise _forbidden("The webhook's host is not public.")


def signatures(secrets: Iterable[SecretStr], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each secret, such as `v1,<base64> v1,<base64>`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(_secret_key(secret), signed, hashlib.sha256) for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


class WebhookSink:
    """Sends results by HTTP. 2xx is delivered, 410 is never; everything else is tried again."""

    def __init__(
        self,
        options: WebhookOptions,
        threads: Threads,
        clock: Callable[[], float],
        resolve: Resolve = resolve,
        backend: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        """`clock`: Unix time."""
        self._options = options
        self._threads = threads
        self._clock = clock
        inner = backend or httpcore.AnyIOBackend()
        allowed = None if options.private else _lower(options.allow_hosts)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_ssl_context(),
            network_backend=ReceiverNetwork(inner, PublicOnly(inner, resolve), allowed),
            max_connections=_MAX_CONNECTIONS,
            keepalive_expiry=15.0,
        )

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._pool.aclose()

    async def deliver(self, delivery: Delivery) -> None:
        """Sends the event. See Sink."""
        if not self._options.secrets:
            raise DeliverLater("no secret is set to sign it (`webhooks.secrets`)")
        body = await event_body(delivery, self._threads, with_result=self._options.with_result)
        try:
            answer = await self._post(delivery, body)
        except InputRejected as error:
            raise DeliverLater("the receiver's host has an IP address that is not public") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise DeliverLater(f"the connection to the receiver failed ({type(error).__name__})") from error
        except (httpcore.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise DeliverNever("the webhook's URL is not valid") from error
        if answer is None:
            raise DeliverLater(f"the receiver did not respond within {self._options.timeout_s:g} s")
        if answer.status == 410:
            raise DeliverNever("the receiver responded with status 410: it wants no more")
        if not 200 <= answer.status < 300:
            raise DeliverLater(f"the receiver responded with status {answer.status}", answer.retry_after_s)

    async def _post(self, delivery: Delivery, body: bytes) -> _Answer | None:
        """Returns the head of the answer; None if there was none in time."""
        url = httpx.URL(self._options.url or delivery.job.webhook)
        timestamp = int(self._clock())
        headers: list[tuple[bytes | str, bytes | str]] = [
            ("Host", url.netloc),
            ("User-Agent", "inkgate"),
            ("Content-Type", MEDIA_TYPE),
            ("Content-Length", str(len(body))),
            ("webhook-id", delivery.id),
            ("webhook-timestamp", str(timestamp)),
            ("webhook-signature", signatures(self._options.secrets, delivery.id, timestamp, body)),
        ]
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        answer: _Answer | None = None
        with anyio.move_on_after(self._options.timeout_s):
            async with self._pool.stream("POST", target, headers=headers, content=body) as response:
                answer = _Answer(response.status, self._retry_after(response))
                with anyio.move_on_after(_ANSWER_S):
                    await _read_some(response)
        return answer

    def _retry_after(self, response: httpcore.Response) -> float | None:
        """Seconds, of a status that may have it; None if it is missing or has no known form."""
        if response.status not in (429, 503):
            return None
        value = next((value for name, value in response.headers if name.lower() == b"retry-after"), b"")
        text = value.decode("latin-1").strip()
        try:
            seconds = float(text) if text[:1].isdigit() else parsedate_to_datetime(text).timestamp() - self._clock()
        except (ValueError, OverflowError):
            return None
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER_S) if math.isfinite(seconds) else None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    retry_after_s: float | None


class ReceiverNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses, and to any address of hosts that the operator allows."""

    def __init__(
        self, inner: httpcore.AsyncNetworkBackend, public: httpcore.AsyncNetworkBackend, allowed: frozenset[str] | None
    ) -> None:
        """`allowed`: in lower case; None: all."""
        self._inner = inner
        self._public = public
        self._allowed = allowed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Opens a connection. See PublicOnly."""
        known = self._allowed is None or host.lower() in self._allowed
        backend = self._inner if known else self._public
        return await backend.connect_tcp(host, port, timeout, local_address, socket_options)


def _forbidden(detail: str) -> InputRejected:
    return InputRejected("webhook_forbidden", detail)


def _lower(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(host.lower() for host in hosts)


def _is_private_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return not is_public(host)


def _secret_key(secret: SecretStr) -> bytes:
    text = secret.get_secret_value().removeprefix("whsec_")
    return base64.b64decode(text + "=" * (-len(text) % 4))


async def _read_some(response: httpcore.Response) -> None:
    """Reads the body, at most a few kilobytes of it: then the connection is closed."""
    count = 0
    with suppress(httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        async for chunk in response.aiter_stream():
            count += len(chunk)
            if count > _MAX_ANSWER_BYTES:
                return


@lru_cache(maxsize=1)
def _ssl_context() -> SSLContext:
    return httpx.create_ssl_context(trust_env=False)
