"""Reverse proxies: the client's address, and the service's host and root path as the client sees them."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.settings import ServerSettings

_FORWARDED = ("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host")
_SCHEMES = frozenset({"http", "https"})
_HOST = "forwarded_host"
"""Key in a request's state: the host by which the client called a trusted proxy."""


class TrustedProxies:
    """Addresses whose X-Forwarded headers are trusted: this machine and the listed ones."""

    def __init__(self, settings: ServerSettings) -> None:
        # The web page sends its visitors' requests from the address that the service listens on.
        own = [address for address in ("127.0.0.1", "::1", settings.host.strip("[]")) if _address(address)]
        self._networks = [ip_network(network, strict=False) for network in (*own, *settings.trusted_proxies)]

    def __contains__(self, host: str) -> bool:
        address = _address(host)
        return address is not None and any(address in network for network in self._networks)

    def visitor(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The nearest address that is not a trusted proxy's. Addresses beyond it may be forged."""
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
    """Parses the address of `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]` or `[::1]:5`."""
    host = said[1:].partition("]")[0] if said.startswith("[") else said
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def forwarded_host(scope: Scope) -> str | None:
    """The host by which the client called a trusted proxy, if the proxy sent it."""
    host = scope.get("state", {}).get(_HOST)
    return host if isinstance(host, str) else None


class BehindProxies:
    """Outermost: applies the headers of trusted proxies, drops those of others, and removes `root_path` from the
    request's path if the proxy has not.
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
    """The nearest proxy's entry in a list."""
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()


class UnderRoot:
    """Innermost: gives the routes the service's address as the client sees it, for the URLs that they return."""

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
