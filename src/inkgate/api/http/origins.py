"""Checks where requests come from: reverse proxies, the origin check, and CORS.

The origin check protects a service without API keys: programs, its own pages, and pages that CORS allows may call it. A
browser sends requests for any web page that its user visits, also to services on the user's machine. The page can't
read the responses, but its uploads cost processing time. With DNS rebinding (an attacker's name that resolves to
127.0.0.1) it can read them too, because page and service then have the same origin for the browser. The Host header
reveals this, as it has the attacker's name. An API key protects from both, because foreign pages don't know it.

Libraries' middleware would weaken what is promised here, except for CORS:

- uvicorn's ProxyHeadersMiddleware (0.54) takes any text in X-Forwarded-For for an address, so that behind a proxy that
  passes it on a client could choose the address that it is counted and logged by. It ignores X-Forwarded-Host, lists in
  X-Forwarded-Proto, proxies that connect to an IPv6 socket by IPv4, and networks with host bits.
- Starlette's TrustedHostMiddleware (1.10) does not allow IP addresses, names with a final dot, probes by any name or
  requests without a Host header, and answers in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.api.http.document_response import PAGE_COUNT_HEADER, PAGES_HEADER, STATUS_HEADER
from inkgate.api.http.head import PRIORITY_HEADER, TIMEOUT_HEADER, WAIT_HEADER
from inkgate.api.http.observability import REQUEST_ID_HEADER
from inkgate.errors import InputRejected
from inkgate.model_servers.protocol import IGNORED_HEADER
from inkgate.settings import ServerSettings, Settings

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
        for text in reversed([part for value in forwarded_for for part in value.split(",")]):
            if nearest not in self:
                break
            address = _address(text.strip())
            if address is None:
                break
            nearest = str(address)
        return nearest


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Parses the address of `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]` or `[::1]:5`."""
    host = text[1:].partition("]")[0] if text.startswith("[") else text
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
            self._apply_forwarded(scope)
            if self._root and scope["path"].startswith(f"{self._root}/"):
                scope["path"] = scope["path"].removeprefix(self._root)
                scope["raw_path"] = scope.get("raw_path", b"").removeprefix(self._root.encode())
        await self._app(scope, receive, send)

    def _apply_forwarded(self, scope: Scope) -> None:
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


def as_client_sees(scope: Scope, root_path: str) -> Scope:
    """The scope with the service's host and path as the client sees them, for the URLs that routes return."""
    host = forwarded_host(scope)
    if host is not None:
        scope = {**scope, "headers": list(scope["headers"])}
        MutableHeaders(scope=scope)["host"] = host
    if root_path:
        scope = {**scope, "root_path": root_path, "path": root_path + scope["path"]}
    return scope


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


def _without_port(authority: str) -> str:
    """The host of `host:port`, of `[address]:port`, or of either without a port."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _bare(host: str) -> str:
    """A host in the form used for comparison."""
    return host.lower().strip("[]").removesuffix(".")


_HEADERS = (
    *("Authorization", "X-API-Key", "Ocp-Apim-Subscription-Key", "Content-Type", "Cache-Control"),
    *("Idempotency-Key", "If-Match", "Last-Event-ID"),
    *(
        REQUEST_ID_HEADER,
        PRIORITY_HEADER,
        TIMEOUT_HEADER,
        WAIT_HEADER,
        "User-Agent",
        "OpenAI-Organization",
        "OpenAI-Project",
    ),
)
"""Request headers of browser clients of this service, OpenAI, Mistral and Azure."""
_OF_CLIENT = re.compile("x-(stainless|ms)-[a-z-]{1,60}")
_REQUESTED = "access-control-request-headers"
_ALLOWED = "Access-Control-Allow-Headers"


class Cors(CORSMiddleware):
    """Answers preflight requests, and lists the response headers that pages may read."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=_HEADERS,
            expose_headers=[
                *(REQUEST_ID_HEADER, STATUS_HEADER, PAGES_HEADER, PAGE_COUNT_HEADER, IGNORED_HEADER),
                *("Retry-After", "Location", "Operation-Location", "Idempotent-Replayed", "ETag", "apim-request-id"),
            ],
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answers a preflight request, and also allows the headers of OpenAI's and Azure's clients, whose names differ
        by version.
        """
        requested = [name.strip().lower() for name in request_headers.get(_REQUESTED, "").split(",")]
        of_client = [name for name in requested if _OF_CLIENT.fullmatch(name)]
        if not of_client:
            return super().preflight_response(request_headers)
        others = ", ".join(name for name in requested if name not in of_client)
        headers = {name: value for name, value in request_headers.items() if name != _REQUESTED}
        response = super().preflight_response(Headers(headers | ({_REQUESTED: others} if others else {})))
        allowed = response.headers[_ALLOWED]
        response.headers[_ALLOWED] = ", ".join([allowed, *of_client])
        return response
