"""The web page, loaded once the service answers: Gradio takes seconds, which nobody should wait for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING

import anyio
import structlog

from inkgate.concurrency import Threads, single_error
from inkgate.runtimes.memory import keep_for_good
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate.api.webpage import WebPage
    from inkgate.ui.page import Page

log = structlog.get_logger(__name__)

_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not listened on: what to call instead


def is_wanted(settings: Settings) -> bool:
    """Whether there will be a page."""
    return settings.ui.enabled and find_spec("gradio") is not None


@asynccontextmanager
async def beside(
    page: WebPage, on_ready: Callable[[str], None] | None, root_path: str = ""
) -> AsyncIterator[Callable[[str], None]]:
    """What to call, in place of `on_ready`, with the service's URL when it answers; then the page is loaded.

    `root_path`: as in the settings.
    """
    with single_error():
        async with anyio.create_task_group() as tasks:

            def ready(url: str) -> None:
                if on_ready is not None:
                    on_ready(url)
                if page.coming:
                    tasks.start_soon(_keep, page, url, root_path)

            yield ready
            tasks.cancel_scope.cancel()


async def _keep(page: WebPage, url: str, root_path: str) -> None:
    for anywhere, here in _ANY.items():
        url = url.replace(f"//{anywhere}:", f"//{here}:")
    begun = perf_counter()
    try:
        made = await Threads("webpage", 1).run(_made, url, root_path)
    except Exception:  # whatever is wrong with the page or its packages, the API goes on without it
        log.exception("web_page_failed")
        page.coming = False
        return
    keep_for_good()
    async with made.running():
        page.app = made.app
        log.info("web_page_ready", seconds=round(perf_counter() - begun, 1))
        try:
            await anyio.sleep_forever()
        finally:
            page.app = None


def _made(url: str, root_path: str) -> Page:
    from inkgate.api.webpage import PATH
    from inkgate.ui.page import build_page

    return build_page(url, root_path + PATH)
