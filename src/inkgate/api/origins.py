"""Origin check of a service without API keys: programs, its own pages, and pages that CORS allows may call it.

A browser sends requests for any web page that its user visits, also to services on the user's machine. The page can't
read the responses, but its uploads cost processing time. With DNS rebinding (an attacker's name that resolves to
127.0.0.1) it can read them too, because page and service then have the same origin for the browser. The Host header
reveals this, as it has the attacker's name. An API key protects from both, because foreign pages don't know it.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.api.proxies import forwarded_host
from inkgate.errors import InputRejected
from inkgate.settings import Settings

PROBES = frozenset({"/livez", "/readyz", "/health"})
"""Supervisors may call them by any name or address; they reveal nothing about documents."""
_ANY = "*"
_OWN = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site: the service's own page, or the user (a typed address, a bookmark)."""
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SHOWN = 100


class Origins:
    """Checks requests by their headers."""

    def __init__(self, settings: Settings) -> None:
        server = settings.server
        self._keys_needed = bool(settings.auth.key_hashes)
        self._listed = frozenset(_bare(name) for name in server.allowed_hosts)
        self._names = self._listed | {_bare(server.host), "localhost"}
        self._cors_origins = frozenset(server.cors_origins)

    def check(self, scope: Scope) -> None:
        """Checks one request.

        Raises:
            InputRejected: "host_forbidden", "origin_forbidden".
        """
        if self._keys_needed or scope["path"] in PROBES:
            return
        headers = Headers(scope=scope)
        host = headers.get("host")
        # Browsers always send a Host header.
        if host is not None and not self._is_ours(_without_port(host)):
            raise InputRejected("host_forbidden", f"The Host header names {host[:_SHOWN]!r}.")
        forwarded = forwarded_host(scope)
        if forwarded is not None and not self._is_ours(_without_port(forwarded)):
            raise InputRejected("host_forbidden", f"The X-Forwarded-Host header names {forwarded[:_SHOWN]!r}.")
        host = forwarded or host
        if not self._is_welcome(scope["method"], headers, host or ""):
            origin = headers.get("origin", "another site")
            raise InputRejected("origin_forbidden", f"The request comes from a web page of {origin[:_SHOWN]!r}.")

    def _is_ours(self, host: str) -> bool:
        name = _bare(host)
        if _ANY in self._names or name in self._names or name.endswith(".localhost"):
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True  # DNS rebinding needs a name; with an IP address, the page came from here too

    def _is_welcome(self, method: str, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site")  # not sent by old browsers, nor without TLS except to loopback
        if site in _OWN or (site is None and origin is None):
            return True
        if origin is not None and (self._cors_origins & {origin, _ANY} or self._is_own(origin, host)):
            return True
        navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return navigates and method in {"GET", "HEAD"}  # a link to the service; its page can't read the response

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether `origin` is this service; a proxy in front of it may have another port or TLS."""
        scheme, _, authority = origin.lower().partition("://")
        own = host.lower()
        default = _DEFAULT_PORTS.get(scheme, "")
        if authority.removesuffix(default) == own.removesuffix(default):
            return True
        return _bare(_without_port(authority)) in self._listed


class CheckOrigin:
    """Applies Origins to each request before its body is read."""

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._origins.check(scope)
        await self._app(scope, receive, send)


def _without_port(authority: str) -> str:
    """The host of `host:port`, of `[address]:port`, or of either without a port."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _bare(host: str) -> str:
    """A host in the form used for comparison."""
    return host.lower().strip("[]").removesuffix(".")
