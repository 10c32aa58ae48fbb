"""The web page beside the API: an application of its own at `/ui`, made elsewhere and put here once it is there.

What is for the page passes none of the borders (keys, rate, drain, log), only that against pages of other sites:
it reads no document itself, and asks the API like everybody else, with its visitor's key.
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
    """Whether there is a page."""

    ABSENT = "absent"
    COMING = "coming"
    THERE = "there"


@dataclass(slots=True)
class WebPage:
    """The place where the page is put. `app`: None until it is there; `coming`: it will be."""

    app: ASGIApp | None = None
    coming: bool = False

    @property
    def presence(self) -> Presence:
        if self.app is not None:
            return Presence.THERE
        return Presence.COMING if self.coming else Presence.ABSENT


class ServeWebPage:
    """Passes what is for the page to it; everything else, and all while there is none, goes on to the API."""

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
            # The small page at `/` says what is missing, or that it takes a moment.
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
