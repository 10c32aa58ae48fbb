"""The web page: its packages are imported while the engine starts; it is built once the service accepts requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import structlog

from inkgate.concurrency import Threads, single_error
from inkgate.settings import Settings
from inkgate.supervision import BackgroundTask, Supervisor

if TYPE_CHECKING:
    from inkgate.api.http.context import WebPage
    from inkgate.ui.page import GradioPage

log = structlog.get_logger(__name__)

_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not listened on, but replaced by loopback


def is_wanted(settings: Settings) -> bool:
    """Whether the web page is enabled and installed."""
    return settings.ui.enabled and find_spec("gradio") is not None


@asynccontextmanager
async def loading(settings: Settings) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
    """Imports the page's packages in the background. The yielded function waits for the end of that and returns whether
    it succeeded.

    The import runs during the start of the engine and ends before requests are accepted: importing Gradio blocks the
    interpreter for seconds, which would delay the first requests (15.8 s for one page on a busy machine).
    """
    ended = anyio.Event()
    there = False

    async def load() -> None:
        nonlocal there
        try:
            await Threads("webpage", 1).run(import_module, "inkgate.ui.page")
            there = True
        except Exception:  # the API works without the page, whatever fails in it or its packages
            log.exception("web_page_failed")
        ended.set()

    async def loaded() -> bool:
        await ended.wait()
        return there

    async with anyio.create_task_group() as tasks:
        if is_wanted(settings):
            tasks.start_soon(load)
        else:
            ended.set()
        yield loaded


@asynccontextmanager
async def beside(
    page: WebPage, on_ready: Callable[[str], None] | None, supervisor: Supervisor, root_path: str = ""
) -> AsyncIterator[Callable[[str], None]]:
    """Yields a replacement for `on_ready`, to be called with the service's URL: it calls `on_ready` and then builds the
    page, which takes 0.2 s.

    `root_path`: as in the settings.
    """
    with single_error():
        async with anyio.create_task_group() as tasks:

            def ready(url: str) -> None:
                if on_ready is not None:
                    on_ready(url)
                if page.coming:
                    run = partial(_keep, page, url, root_path)
                    tasks.start_soon(supervisor.keep, BackgroundTask("web_page", run))

            yield ready
            tasks.cancel_scope.cancel()


async def _keep(page: WebPage, url: str, root_path: str) -> None:
    for anywhere, here in _ANY.items():
        url = url.replace(f"//{anywhere}:", f"//{here}:")
    begun = perf_counter()
    made = await Threads("webpage", 1).run(_made, url, root_path)
    async with made.running():
        page.app = made.app
        log.info("web_page_ready", seconds=round(perf_counter() - begun, 1))
        try:
            await anyio.sleep_forever()
        finally:
            page.app = None


def _made(url: str, root_path: str) -> GradioPage:
    from inkgate.api.website import UI_PATH
    from inkgate.ui.page import build_page

    return build_page(url, root_path + UI_PATH)
