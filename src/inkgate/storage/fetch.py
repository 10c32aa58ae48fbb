"""Fetches documents by URL, without giving clients access to the service's network (SSRF).

Every connection, also for a redirect, goes to an address that was resolved and checked in the same step, so changing
a name's address between check and connection (DNS rebinding) has no effect.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import anyio
import httpcore
import httpx

from inkgate.errors import InputRejected
from inkgate.settings import FetchSettings

_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""The prefix of local translators (RFC 8215). The operator chooses the position of the IPv4 address in it (RFC 6052,
2.2), and nothing of it is on the public internet."""


def is_public(address: str) -> bool:
    """Whether `address`, as returned by a resolver, is on the public internet.

    Private, loopback, link-local (cloud metadata), carrier, documentation, benchmark, multicast and reserved
    addresses are not; nor are IPv6 addresses that carry such an IPv4 address inside.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        if parsed in _LOCAL_NAT64:
            return False
        inner = _carried(parsed)
        if inner is not None:
            return _is_public(inner)
        # Deprecated forms that some hosts still route; they contain nothing public.
        if parsed.is_site_local:
            return False
    return _is_public(parsed)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a transition mechanism embeds in an IPv6 address."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Resolves host and port to addresses, as text."""
_MAX_ATTEMPTS = 4
_ATTEMPT_S = 5.0
"""Time limit for connecting to one of a name's addresses."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of `host` from the system's resolver.

    Raises:
        OSError: it has none.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[4][0]) for address in found]


class PublicOnly(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only: resolves a name, checks all of its addresses, and connects to one of them."""

    def __init__(self, inner: httpcore.AsyncNetworkBackend, resolve: Resolve) -> None:
        self._inner = inner
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the port's; the time for a whole fetch is bounded by Fetcher
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Opens a connection. TLS above it still checks the certificate against the name.

        Raises:
            InputRejected: "url_forbidden": one of the name's addresses is not public.
        """
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} has no address") from error
        if not addresses:
            raise httpcore.ConnectError(f"{host} has no address")
        if not all(is_public(address) for address in addresses):
            raise InputRejected("url_forbidden", "The URL's host has an IP address that is not public.")
        unreachable = httpcore.ConnectError(f"no address of {host} answers")
        for address in addresses[:_MAX_ATTEMPTS]:
            try:
                return await self._inner.connect_tcp(address, port, _ATTEMPT_S, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                unreachable.__cause__ = error
        raise unreachable


class UrlUnreachable(InputRejected):
    """The URL gave no file. `http_status`: of its server's response; 0 if there was none."""

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__("url_unreachable", detail)
        self.http_status = status

    def __reduce__(self) -> tuple[type[UrlUnreachable], tuple[object, ...]]:
        return type(self), (self.detail, self.http_status)


Check = Callable[[str], object]
"""Raises InputRejected for a URL that may not be fetched."""


class Fetcher:
    """Fetches documents, if the settings or the caller's check allow it."""

    def __init__(
        self,
        settings: FetchSettings,
        max_bytes: int,
        resolve: Resolve = resolve,
        backend: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._settings = settings
        self._max_bytes = max_bytes
        self._backend = PublicOnly(backend or httpcore.AnyIOBackend(), resolve)

    async def fetch(self, url: str, check: Check | None = None, if_match: str = "") -> bytes:
        """The bytes at `url`, after redirects.

        `check` is called with the URL and with each redirect; `fetch.enabled` and `fetch.allow_hosts` don't count then.
        Addresses must be public all the same. `if_match`: header of this name, for a server that knows it.

        Raises:
            UrlUnreachable: no file came.
            InputRejected: "url_forbidden" or "body_too_large"; or what `check` raises.
        """
        if check is None and not self._settings.enabled:
            raise InputRejected("url_forbidden", "This service does not fetch URLs (`fetch.enabled` is false).")
        try:
            with anyio.fail_after(self._settings.timeout_s):
                # A pool per fetch, so that callers don't share connections.
                async with httpcore.AsyncConnectionPool(
                    ssl_context=_ssl_context(), network_backend=self._backend, max_connections=1
                ) as pool:
                    return await self._follow(pool, url, check, if_match)
        except TimeoutError as error:
            seconds = f"{self._settings.timeout_s:g}"
            raise UrlUnreachable(f"The URL's server did not respond within {seconds} seconds.") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise UrlUnreachable("The connection to the URL's server failed or broke.") from error

    async def _follow(self, pool: httpcore.AsyncConnectionPool, url: str, check: Check | None, if_match: str) -> bytes:
        target = self._allowed(web_url(url), check)
        for _ in range(self._settings.max_redirects + 1):
            async with pool.stream("GET", _core_url(target), headers=_headers(target, if_match)) as response:
                if response.status in _REDIRECTS:
                    target = self._allowed(web_url(target, _location(response)), check)
                    continue
                if response.status != 200:
                    detail = f"The URL's server responded with status {response.status}."
                    raise UrlUnreachable(detail, response.status)
                return await self._read(response)
        raise UrlUnreachable(f"The URL redirects more than {self._settings.max_redirects} times.")

    def _allowed(self, target: httpx.URL, check: Check | None) -> httpx.URL:
        """Returns `target` if it may be fetched."""
        if check is not None:
            check(str(target))
            return target
        allowed = self._settings.allow_hosts
        if allowed and target.host.lower() not in {host.lower() for host in allowed}:
            raise InputRejected("url_forbidden", "The URL's host is not in `fetch.allow_hosts`.")
        return target

    async def _read(self, response: httpcore.Response) -> bytes:
        whole = BytesIO()
        async for chunk in response.aiter_stream():
            whole.write(chunk)
            if whole.tell() > self._max_bytes:
                raise InputRejected("body_too_large", "The file at the URL is larger than the maximum body size.")
        return whole.getvalue()


def web_url(url: str | httpx.URL, location: str = "") -> httpx.URL:
    """The URL, or `location` relative to it.

    Raises:
        InputRejected: "url_forbidden": it is not a plain http or https URL.
    """
    try:
        target = httpx.URL(url).join(location) if location else httpx.URL(url)
        host = target.host  # decoded here, because a host that begins with xn-- may be invalid
    except (httpx.InvalidURL, ValueError) as error:
        raise InputRejected("url_forbidden", "The URL is not valid.") from error
    if target.scheme not in {"http", "https"} or not host or target.userinfo:
        raise InputRejected("url_forbidden", "Only http and https URLs without a user name are fetched.")
    if target.port is not None and not 0 < target.port < 65536:
        raise InputRejected("url_forbidden", "The URL's port is not valid.")
    return target


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _headers(url: httpx.URL, if_match: str) -> list[tuple[str, str | bytes]]:
    plain: list[tuple[str, str | bytes]] = [("Host", url.netloc), ("User-Agent", "inkgate"), ("Accept", "*/*")]
    condition: list[tuple[str, str | bytes]] = [("If-Match", if_match)] if if_match else []
    return [*plain, ("Accept-Encoding", "identity"), *condition]


def _location(response: httpcore.Response) -> str:
    for name, value in response.headers:
        if name.lower() == b"location":
            return value.decode("latin-1")
    raise UrlUnreachable("The URL's server sent a redirect without a Location.")
