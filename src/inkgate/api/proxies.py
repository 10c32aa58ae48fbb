"""Requests that come through reverse proxies: whose they are, by what address the service was called, and below which
path of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.settings import ServerSettings

_FORWARDED = ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host")
_SCHEMES = frozenset({"http", "https"})
_HOST = "forwarded_host"
"""In a request's state: the host by which a trusted proxy was called."""


class TrustedProxies:
    """The addresses whose X-Forwarded headers are believed: this machine, and those that are listed."""

    def __init__(self, settings: ServerSettings) -> None:
        # The web page asks the service for its visitors, from the address that the service listens on.
        own = [address for address in ("127.0.0.1", "::1", settings.host.strip("[]")) if _address(address)]
        self._networks = [ip_network(network, strict=False) for network in (*own, *settings.trusted_proxies)]

    def __contains__(self, host: str) -> bool:
        address = _address(host)
        return address is not None and any(address in network for network in self._networks)

    def visitor(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The address nearest to the service that is no trusted proxy's: what lies beyond it may be made up."""
        nearest = peer
        for said in reversed([part for value in forwarded_for for part in value.split(",")]):
            if nearest not in self:
                break
            address = _address(said.strip())
            if address is None:
                break
            nearest = str(address)
        return nearest


def _address(said: str) -> IPv4Address | IPv6Address | None:
    """Of `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]` or `[::1]:5`."""
    host = said[1:].partition("]")[0] if said.startswith("[") else said
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def forwarded_host(scope: Scope) -> str | None:
    """The host by which a trusted proxy was called, where it says so."""
    host = scope.get("state", {}).get(_HOST)
    return host if isinstance(host, str) else None


class BehindProxies:
    """Outermost: believes trusted proxies, drops what others forward, and takes `root_path` off the request's path
    where the proxy has left it on.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._trusted = TrustedProxies(settings)
        self._root = settings.root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._believe(scope)
            if self._root and scope["path"].startswith(f"{self._root}/"):
                scope["path"] = scope["path"].removeprefix(self._root)
                scope["raw_path"] = scope.get("raw_path", b"").removeprefix(self._root.encode())
        await self._app(scope, receive, send)

    def _believe(self, scope: Scope) -> None:
        client = scope.get("client")
        if client is None or client[0] not in self._trusted:
            scope["headers"] = [pair for pair in scope["headers"] if pair[0].decode("latin-1") not in _FORWARDED]
            return
        headers = Headers(scope=scope)
        visitor = self._trusted.visitor(client[0], headers.getlist("x-forwarded-for"))
        if visitor != client[0]:
            scope["client"] = (visitor, 0)
        scheme = _last(headers, "x-forwarded-proto")
        if scheme in _SCHEMES:
            scope["scheme"] = scheme
        if host := _last(headers, "x-forwarded-host"):
            scope.setdefault("state", {})[_HOST] = host


def _last(headers: Headers, name: str) -> str:
    """Of a list, what the nearest proxy says."""
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()


class UnderRoot:
    """Innermost: shows the routes the address by which the visitor called, for the addresses that they give out."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = forwarded_host(scope)
            if host is not None:
                scope = {**scope, "headers": list(scope["headers"])}
                MutableHeaders(scope=scope)["host"] = host
            if self._root:
                scope = {**scope, "root_path": self._root, "path": self._root + scope["path"]}
        await self._app(scope, receive, send)
