"""Counts requests by route, never by path, so that clients can't create metric series."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from inkgate.errors import OVERLOAD_CODES
from inkgate.telemetry.observer import Observer

OTHER = "other"
_METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS"})
_NAMED_KEY = "key:"


class Measure:
    """Reports finished requests to an Observer; used as `ended` of AccessLog."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._fixed: set[str] = set()
        self._patterns: list[Route] = []

    def add_routes(self, routes: Iterable[BaseRoute]) -> None:
        """Takes the endpoints' names from the application's routes, and reports those for documents to the Observer."""
        for route in routes:
            if not isinstance(route, Route):
                continue
            if route.param_convertors:
                self._patterns.append(route)
                continue
            self._fixed.add(route.path)
            if "POST" in (route.methods or ()):
                self._observer.serves(route.path)

    def __call__(self, scope: Scope, status: int, seconds: float) -> None:
        """Counts the request, and its refusal if it was refused."""
        method = scope["method"]
        self._observer.request(method if method in _METHODS else OTHER, self.endpoint(scope), status, seconds)
        noted = scope.get("state", {})
        code = noted.get("code")
        if code in OVERLOAD_CODES:
            named = str(noted.get("caller", "")).startswith(_NAMED_KEY)
            self._observer.refused(code, "key" if named else "anonymous")

    def endpoint(self, scope: Scope) -> str:
        """The request's route as a path template; `other` if there is none."""
        path: str = scope["path"]
        if path in self._fixed:
            return path
        return next((route.path for route in self._patterns if route.path_regex.match(path)), OTHER)
