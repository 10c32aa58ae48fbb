"""Mounts the web page at `/ui`: a separate application that is added once it is loaded.

Requests for the page pass only the origin check, not the API's other middleware (keys, rate limit, drain, log): the
page reads no document itself, but calls the API like any client, with its visitor's key.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate.api.errors import Problem
from inkgate.api.origins import Origins
from inkgate.errors import InputRejected

PATH = "/ui"


class Presence(StrEnum):
    """State of the web page."""

    ABSENT = "absent"
    COMING = "coming"
    THERE = "there"


@dataclass(slots=True)
class WebPage:
    """Holds the page. `app`: None until it is loaded; `coming`: it is being loaded."""

    app: ASGIApp | None = None
    coming: bool = False

    @property
    def presence(self) -> Presence:
        if self.app is not None:
            return Presence.THERE
        return Presence.COMING if self.coming else Presence.ABSENT


class ServeWebPage:
    """Routes requests for the page to it, and all others to the API, as well as all while there is no page."""

    def __init__(self, app: ASGIApp, page: WebPage, origins: Origins, root_path: str) -> None:
        self._app = app
        self._page = page
        self._origins = origins
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == PATH or path.startswith(f"{PATH}/")):
            await self._app(scope, receive, send)
            return
        if self._page.app is None:
            # The small page at `/` says what to install, or that it is loading.
            await RedirectResponse(f"{self._root}/", 307)(scope, receive, send)
            return
        try:
            self._origins.check(scope)
        except InputRejected as error:
            await Problem.of(error, "").response()(scope, receive, send)
            return
        root = self._root + PATH
        scope = {**scope, "app_root_path": root, "root_path": root, "path": self._root + path}
        await self._page.app(scope, receive, send)
